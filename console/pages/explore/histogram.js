// Counts over time, stacked by a field; drag to zoom, click a value to see it alone.
import { html, useMemo } from "../../vendor/core.js";
import { rows } from "../../lib/api.js";
import { formatMs, formatSeconds, formatSome } from "../../lib/format.js";
import { bySeverity, levelOf } from "../../lib/levels.js";
import { binWidth } from "../../lib/range.js";
import { change, route } from "../../lib/route.js";
import { NONE, OTHER, alignedOrigin, histogramStatement, topStatement } from "../../lib/sql.js";
import { Select } from "../../parts/controls.js";
import { TimeChart, seriesColour } from "../../parts/chart.js";
import { Fault, Wait, useAsync } from "../../parts/states.js";
import { conditionFault, typed } from "./filters.js";

const MOST = 8;
const ALONE = "-";

// A level has a handful of values, so they need not be asked for first. If there are more after all, they are.
const MOST_ROWS = 5000;

async function count(about, field, widthMs, abort) {
  const counted = field === about.role.level ? await countAll(about, field, widthMs, abort) : null;
  return counted ?? countTop(about, field, widthMs, abort);
}

/** Counts of every value; null where there are too many. */
async function countAll({ dataset, where, role, members, range }, field, widthMs, abort) {
  const originMs = alignedOrigin(range.start, widthMs);
  const statement = `${histogramStatement({ dataset: dataset.name, where, time: role.time, widthMs, originMs, field, values: null })} LIMIT ${MOST_ROWS}`;
  const { records } = await rows(statement, members, abort).catch((error) => Promise.reject(conditionFault(error, statement, where)));
  const values = new Set(records.map((each) => each.k));
  return records.length < MOST_ROWS && values.size <= MOST ? { records, originMs, widthMs } : null;
}

async function countTop(about, field, widthMs, abort) {
  const { dataset, where, role, members, range } = about;
  const source = { dataset: dataset.name, where };
  const top = field ? (await rows(topStatement({ ...source, field, limit: MOST }), members, abort)).records : [];
  const values = top.map((each) => each.value).filter((each) => each !== null);
  const originMs = alignedOrigin(range.start, widthMs);
  const statement = histogramStatement({ ...source, time: role.time, widthMs, originMs, field, values });
  const { records } = await rows(statement, members, abort).catch((error) => Promise.reject(conditionFault(error, statement, where)));
  return { records, originMs, widthMs };
}

/** Every bin of the range, also the empty ones, with a column for each value. */
export function binned({ records, originMs, widthMs }, endMs, isStacked) {
  const length = Math.max(1, Math.ceil((endMs - originMs) / widthMs));
  const times = Array.from({ length }, (_, at) => (originMs + at * widthMs) / 1000);
  const names = isStacked ? [...new Set(records.map((each) => each.k))].sort(bySeverity) : ["events"];
  const columns = names.map(() => new Array(length).fill(0));
  for (const { t, k, n } of records) {
    const at = Math.floor((new Date(t).getTime() - originMs) / widthMs);
    const column = columns[isStacked ? names.indexOf(k) : 0];
    if (column && at >= 0 && at < length) column[at] += n;
  }
  return { names, data: [times, ...columns] };
}

const colourOf = (name, at) => {
  const level = levelOf(name);
  if (level) return `${level}-fill`;
  return name === NONE || name === OTHER ? "debug-fill" : seriesColour(at);
};

export function Histogram({ about, addFilter }) {
  const { role, columns, range, where, zone, turn } = about;
  const asked = route.value.query.stack;
  const field = asked === ALONE ? null : (asked ?? role.level);
  const widthMs = binWidth(range, Math.max(30, Math.min(120, Math.floor(innerWidth / 14))));
  const { data, error, busy, again } = useAsync((abort) => count(about, field, widthMs, abort), [about.dataset.name, where, range.start, range.end, field, turn]);
  // A condition that is wrong is told where the events would stand.
  const isTold = /** @type {any} */ (error)?.status === 400;
  const drawn = useMemo(() => data && binned(data, range.end, Boolean(field)), [data]);
  const stackable = columns.filter((each) => each.kind === "text" || each.kind === "bool" || each.kind === "number").map((each) => each.name);
  const total = data?.records.reduce((sum, each) => sum + each.n, 0);
  const kind = columns.find((each) => each.name === field)?.kind;
  const only = (name) => addFilter(name === NONE ? { field, op: "null" } : { field, op: "=", value: typed(name, kind, "=") });
  return html`<div class="histogram">
    <${Wait} on=${busy} />
    ${error && !isTold && html`<${Fault} error=${error} retry=${again} />`}
    ${drawn && !error && html`<${TimeChart} names=${drawn.names.length ? drawn.names : ["events"]} data=${drawn.names.length ? drawn.data : [drawn.data[0], drawn.data[0].map(() => 0)]} kind="bars" isStacked=${true} colours=${drawn.names.map(colourOf)}
      height=${130} zone=${zone} range=${range} legend=${false} onSelect=${({ start, end }) => change({ from: String(start), to: String(end) })} label=${`Events over time, ${total} in all`} />`}
    ${(isTold || (!drawn && !error)) && html`<div style=${{ height: "130px" }}></div>`}
    <div class="legend row">
      <span class="soft">${total === undefined || error ? "" : `${formatSome(total, "event")}, bars of ${widthMs < 1000 ? formatMs(widthMs) : formatSeconds(widthMs / 1000)}`}</span>
      ${field && !error && drawn?.names.map((name, at) => html`<button type="button" class="plain" key=${name} title=${name === OTHER ? "All other values" : `Only ${name}`} disabled=${name === OTHER} onClick=${() => only(name)}><span class="swatch" style=${{ background: `var(--${colourOf(name, at)})` }}></span>${name}</button>`)}
      <span class="grow"></span>
      <label class="check small">Stacked by <${Select} label="Stacked by" hidden value=${field ?? ALONE} options=${[[ALONE, "nothing"], ...stackable.map((each) => [each, each])]} onChange=${(value) => change({ stack: value === role.level ? "" : value })} /></label>
    </div>
  </div>`;
}
