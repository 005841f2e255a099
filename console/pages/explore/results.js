// The events themselves: streamed, scrolled, found in, downloaded.
import { html, useEffect, useMemo, useRef, useState } from "../../vendor/core.js";
import { get, rows as ask, send, stream } from "../../lib/api.js";
import { formatBytes, formatCount, formatMs, formatSome } from "../../lib/format.js";
import { change, route } from "../../lib/route.js";
import { instantsOf } from "../../lib/schema.js";
import { identifier, rowsStatement } from "../../lib/sql.js";
import { Check, Select, saveBlob } from "../../parts/controls.js";
import { LazyRows, Rows } from "../../parts/rows.js";
import { Empty, Fault, Wait, useAction } from "../../parts/states.js";
import { conditionFault } from "./filters.js";

const LIMITS = [["1000", "1,000 rows"], ["10000", "10,000 rows"], ["100000", "100,000 rows"]];
const DRAW_MS = 120;

/** Rows as they come, drawn a few times a second. */
function useStream(statement, members, inputs) {
  const [state, setState] = useState({ rows: new LazyRows(), busy: true, cancelled: false, error: null, work: null });
  const controller = useRef(null);
  useEffect(() => {
    const abort = new AbortController();
    controller.current = abort;
    let waiting = [];
    let drawn = 0;
    let isFirst = true;
    const draw = (more) => {
      const lines = waiting;
      waiting = [];
      drawn = Date.now();
      const fresh = isFirst;
      isFirst = false;
      setState((old) => ({ ...old, rows: fresh ? new LazyRows(lines) : old.rows.with(lines), ...more }));
    };
    setState((old) => ({ ...old, busy: true, cancelled: false, error: null }));
    const onLines = (lines) => {
      waiting.push(...lines);
      if (Date.now() - drawn > DRAW_MS && !abort.signal.aborted) draw({});
    };
    stream(statement, { ...members, sendNull: false }, { signal: abort.signal, onLines }).then(
      (work) => draw({ busy: false, work }),
      (error) => !abort.signal.aborted && setState((old) => ({ ...old, busy: false, error })),
    );
    return () => abort.abort();
  }, inputs);
  const cancel = () => {
    controller.current?.abort();
    setState((old) => ({ ...old, busy: false, cancelled: true }));
  };
  return { ...state, cancel };
}

export function Results({ about, shown, setColumns, selected, setSelected, find, setFind }) {
  const { dataset, where, members, role, columns, zone, turn } = about;
  const { query } = route.value;
  const order = query.order === "asc" ? "asc" : "desc";
  const limit = LIMITS.some(([each]) => each === query.limit) ? query.limit : "1000";
  const statement = rowsStatement({ dataset: dataset.name, where, time: role.time, order, limit });
  const { rows, busy, cancelled, error, work, cancel } = useStream(statement, members, [statement, members.startTime, members.endTime, turn]);
  const wraps = query.wrap === "1";
  const wide = shown.includes(role.message) ? role.message : shown.at(-1);
  const select = (index) => setSelected({ index, row: full(rows.at(index), columns) });
  const matches = useMemo(() => (find ? matching(rows, find) : []), [find, rows]);
  const next = () => {
    const following = matches.find((each) => each > (selected?.index ?? -1)) ?? matches[0];
    if (following !== undefined) select(following);
  };
  return html`<section class="results" aria-label="Events">
    <div class="status">
      <span>${error ? "" : `${formatSome(rows.length, "row")}${busy ? " so far" : ""}${cancelled ? ", then cancelled" : ""}`}</span>
      ${work && !error && html`<span title="Until the result began">${formatMs(work.elapsedMs)}</span>`}
      ${work?.bytes !== null && work && !error && html`<span title="What the query had to look into">${formatBytes(work.bytes)} read in ${formatSome(work.files, "file")}</span>`}
      ${busy && html`<button type="button" class="tiny" onClick=${cancel}>Cancel</button>`}
      <span class="grow"></span>
      <form class="find row" onSubmit=${(event) => { event.preventDefault(); next(); }}>
        <input type="search" aria-label="Find in these rows" placeholder="Find in these rows" value=${find} onInput=${(event) => setFind(event.target.value)} />
        ${find && html`<span>${formatCount(matches.length)} found</span>`}
      </form>
      <${Select} label="At most" hidden value=${limit} options=${LIMITS} onChange=${(value) => change({ limit: value === "1000" ? "" : value })} />
      <${Check} label="Wrap" checked=${wraps} onChange=${(value) => change({ wrap: value ? "1" : "" }, { replace: true })} />
      <${Download} about=${about} order=${order} />
    </div>
    <${Wait} on=${busy} />
    ${error && html`<${Fault} error=${conditionFault(error, statement, where)}>${where && html`<button type="button" onClick=${() => change({ where: "" })}>Remove the filters</button>`}<//>`}
    ${!busy && !error && !rows.length
      ? cancelled
        ? html`<${Empty} title="Cancelled">No row had come yet: load again, or ask for a shorter range.<//>`
        : html`<${Nothing} about=${about} outside=${work?.outside} />`
      : !error && html`<${Rows} rows=${rows} columns=${shown} time=${role.time} instants=${instantsOf(columns)} level=${role.level} wide=${wide} zone=${zone} wraps=${wraps} find=${find} selected=${selected?.index} onSelect=${select}
          onDrop=${(name) => setColumns(shown.filter((each) => each !== name))} sort=${role.time && { name: role.time, order }} onSort=${() => change({ order: order === "desc" ? "asc" : "" })} />`}
  </section>`;
}

/** The row with all columns of its dataset: those without a value are not sent. */
export const full = (row, columns) => ({ ...Object.fromEntries(columns.map((each) => [each.name, null])), ...row });

function matching(rows, find) {
  const needle = find.toLowerCase();
  const found = [];
  rows.lines.forEach((line, index) => line.toLowerCase().includes(needle) && found.push(index));
  return found;
}

/** Why there is nothing to see, and what would show something. */
function Nothing({ about, outside }) {
  const { dataset, where, role } = about;
  const latest = async () => {
    const at = dataset.seesAllRows
      ? (await get(`/api/v1/logstream/${encodeURIComponent(dataset.name)}/info`)).latestEventAt
      : (await ask(`SELECT max(${identifier(role.time)}) AS at FROM ${identifier(dataset.name)}`)).records[0].at;
    if (!at) return;
    const end = new Date(at).getTime() + 1000;
    change({ from: String(end - 3_600_000), to: String(end) });
  };
  if (where) return html`<${Empty} title="No event matches">The filters leave nothing over in this range. <button onClick=${() => change({ where: "" })}>Remove the filters</button><//>`;
  return html`<${Empty} title="No events in this range">${outside || dataset.hasEvents ? html`There are events at other times. <button onClick=${latest}>Show the latest</button>` : "Nothing was sent to this dataset yet."}<//>`;
}

const FORMATS = [["text/csv", "CSV", "csv"], ["application/x-ndjson", "NDJSON", "ndjson"], ["application/vnd.apache.parquet", "Parquet", "parquet"]];

/** The whole result, not only what the table holds. */
export function Download({ about, order, statement: given }) {
  const [format, setFormat] = useState(FORMATS[0][0]);
  const { act, busy, error } = useAction();
  const controller = useRef(null);
  const start = () => {
    controller.current = new AbortController();
    const { dataset, where, members, role } = about;
    const query = given ?? rowsStatement({ dataset: dataset.name, where, time: role.time, order });
    act(async () => {
      const answer = await send("POST", "/api/v1/query", { body: { query, ...members, escapeFormulas: format === "text/csv" }, accept: format, signal: controller.current.signal });
      saveBlob(await answer.blob(), `${dataset?.name ?? "result"}.${FORMATS.find(([each]) => each === format)[2]}`);
    });
  };
  return html`<span class="joined">
    <${Select} label="Format" hidden value=${format} options=${FORMATS.map(([name, text]) => [name, text])} onChange=${setFormat} />
    ${busy ? html`<button type="button" onClick=${() => controller.current.abort()}>Cancel the download</button>` : html`<button type="button" title="The whole result" onClick=${start}>Download</button>`}
  </span>
  ${error && error.name !== "AbortError" && html`<span class="fault small" role="alert">${error.message}</span>`}`;
}
