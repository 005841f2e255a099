// What columns are: kinds and PostgreSQL's names of their types, and which column plays which part. Pure.

/** @typedef {{name: string, kind: "number"|"bool"|"text"|"time"|"json"|"list", type: string}} Column */

const SCALARS = {
  Boolean: ["bool", "boolean"],
  Int64: ["number", "bigint"],
  Float64: ["number", "double precision"],
  Utf8: ["text", "text"],
  Date32: ["time", "date"],
};

/** @returns {Column[]} the columns of `GET .../schema` */
export const columnsOf = (schema) => schema.fields.map(columnOf);

/** @param {Column[]} columns */
export const instantsOf = (columns) => columns.filter((each) => each.type === "timestamptz").map((each) => each.name);

function columnOf(field) {
  const type = field.data_type;
  if (typeof type === "object" && type.Timestamp) return { name: field.name, kind: "time", type: "timestamptz" };
  if (typeof type === "object") return { name: field.name, kind: "list", type: `${SCALARS[type.List?.data_type]?.[1] ?? "text"}[]` };
  if (field.metadata?.type === "json") return { name: field.name, kind: "json", type: "jsonb" };
  const [kind, name] = SCALARS[type] ?? ["text", String(type)];
  return { name: field.name, kind, type: name };
}

const first = (columns, names, kinds) => {
  for (const name of names) {
    const found = columns.find((each) => each.name.toLowerCase() === name && kinds.includes(each.kind));
    if (found) return found.name;
  }
  return null;
};

export const levelColumn = (columns) =>
  first(columns, ["level", "severity_text", "severity", "log_level", "loglevel", "lvl", "log.level", "status", "span_status_description"], ["text"]) ??
  first(columns, ["severity_number", "level"], ["number"]);

export const messageColumn = (columns) =>
  first(columns, ["message", "body", "msg", "log", "line", "event", "text", "name", "span_name", "metric_name"], ["text", "json"]);

export const serviceColumn = (columns) => first(columns, ["service", "service.name", "service_name", "app", "job"], ["text"]);

export const traceColumn = (columns) => first(columns, ["trace_id", "span_trace_id", "traceid", "trace.id"], ["text"]);

/** The columns of spans, or null where these are none. */
export function spanColumns(columns) {
  const found = {
    trace: traceColumn(columns),
    span: first(columns, ["span_id", "span_span_id"], ["text"]),
    parent: first(columns, ["parent_span_id", "span_parent_span_id"], ["text"]),
    name: first(columns, ["span_name", "name"], ["text"]),
    start: first(columns, ["span_start_time_unix_nano", "start_time", "start_time_unix_nano", "start"], ["time", "text"]),
    duration: first(columns, ["span_duration_ns", "duration_ns", "duration_ms", "duration"], ["number"]),
    service: serviceColumn(columns),
    status: first(columns, ["span_status_description", "status"], ["text"]),
  };
  return found.trace && found.span && found.start && found.duration ? found : null;
}

// How fields are grouped in the panel, by the beginning of their names, as OpenTelemetry's conventions have them.
/** @type {[string, RegExp][]} */
const GROUPS = [
  ["HTTP", /^(http|url|path|status|method|user_agent|route)/i],
  ["Trace", /^(span|trace|parent_span)/i],
  ["Error", /^(error|exception|stack)/i],
  ["Service", /^(service|app|job|deployment|telemetry)/i],
  ["Host", /^(host|k8s|kubernetes|container|pod|node|cloud|process|os)[._]?/i],
  ["Arrival", /^p_/],
];

/** @returns {[string, Column[]][]} groups that have members, the core fields first */
export function grouped(columns, core) {
  /** @type {Map<string, Column[]>} */
  const groups = new Map();
  for (const name of ["Core", ...GROUPS.map(([each]) => each), "Other"]) groups.set(name, []);
  for (const column of columns) {
    const name = core.includes(column.name) ? "Core" : (GROUPS.find(([, pattern]) => pattern.test(column.name))?.[0] ?? "Other");
    groups.get(name).push(column);
  }
  return [...groups].filter(([, members]) => members.length);
}
