// SQL: a statement, its result as rows or chart, its plan, what was asked before.
import { html, useEffect, useMemo, useRef, useState } from "../vendor/core.js";
import { get, post, remove, stream } from "../lib/api.js";
import { loadColumns, loadDatasets, datasets } from "../lib/datasets.js";
import { formatAgo, formatBytes, formatCount, formatMs } from "../lib/format.js";
import { asMembers, resolve } from "../lib/range.js";
import { change, go, route } from "../lib/route.js";
import { identifier, lineAndColumn } from "../lib/sql.js";
import { suggest } from "../lib/series.js";
import { Dialog, Field, Select, Tabs } from "../parts/controls.js";
import { Editor } from "../parts/editor.js";
import { CHARTS, ResultChart } from "../parts/result_chart.js";
import { LazyRows, Rows } from "../parts/rows.js";
import { Empty, Fault, Wait, useAction, useAsync } from "../parts/states.js";
import { TimePicker, rangeOf, zoneOf } from "../parts/timepicker.js";
import { AddToDashboard } from "../parts/add_to_dashboard.js";
import { Download } from "./explore/results.js";

// What a table of this page holds; a download has no such limit.
const MOST = 300_000;
const MOST_DRAWN = 20_000;
/** @type {{rows: LazyRows | null, busy: boolean, error: any, work: any, isPlan: boolean, isCut: boolean}} */
const IDLE = { rows: null, busy: false, error: null, work: null, isPlan: false, isCut: false };

export function Sql() {
  const { query } = route.value;
  const [text, setText] = useState(query.q ?? "");
  const [state, setState] = useState(IDLE);
  const [side, setSide] = useState("datasets");
  const [turn, setTurn] = useState(0);
  const controller = useRef(null);
  const isRanged = Boolean(query.from);
  const current = useRef(text);
  current.current = text;

  const ask = async (statement, isPlan) => {
    if (!statement.trim()) return;
    controller.current?.abort();
    const abort = new AbortController();
    controller.current = abort;
    setState({ ...IDLE, busy: true });
    if (!isPlan) note(statement).then(() => setTurn((old) => old + 1), () => {});
    const found = [];
    const began = Date.now();
    try {
      const range = isRanged ? resolve(rangeOf(route.value.query)) : null;
      const onLines = (lines) => {
        for (const line of lines) found.push(line);
        if (found.length > MOST) throw new TooMany();
      };
      const work = await stream(isPlan ? `EXPLAIN ${statement}` : statement, range ? asMembers(range) : {}, { signal: abort.signal, onLines });
      setState({ ...IDLE, rows: new LazyRows(found), work, isPlan });
    } catch (error) {
      if (error instanceof TooMany) {
        abort.abort();
        setState({ ...IDLE, rows: new LazyRows(found.slice(0, MOST)), work: { elapsedMs: Date.now() - began }, isCut: true });
      } else if (!abort.signal.aborted) setState({ ...IDLE, error: isPlan ? shifted(error) : error });
    }
  };
  const run = () => {
    if (current.current === route.value.query.q) ask(current.current);
    else change({ q: current.current });
  };
  // The address is what runs: a link shows what its sender saw.
  useEffect(() => {
    if (!query.q) return;
    setText(query.q);
    ask(query.q);
  }, [query.q, query.from, query.to]);
  useEffect(() => () => controller.current?.abort(), []);
  const cancel = () => {
    controller.current?.abort();
    setState({ ...IDLE });
  };
  return html`<div class="explore fit">
    <div class="head"><h1>SQL</h1><span class="grow"></span>
      ${isRanged
        ? html`<${TimePicker} again=${run} busy=${state.busy} /><button type="button" onClick=${() => change({ from: "", to: "" })}>Any time</button>`
        : html`<button type="button" title="Read only what is in a range" onClick=${() => change({ from: "1h" })}>Within a range…</button>`}
    </div>
    <div class="sql-body">
      <div class="results">
        <${Editor} value=${text} onChange=${setText} run=${run} fault=${state.error?.position} label="SQL statement" />
        <div class="status">
          <button type="button" class="primary" disabled=${!text.trim()} onClick=${run} title="Ctrl+Enter">Run</button>
          ${state.busy ? html`<button type="button" onClick=${cancel}>Cancel</button>` : html`<button type="button" disabled=${!text.trim()} onClick=${() => ask(text, true)}>Explain</button>`}
          <${Actions} text=${text} state=${state} saved=${() => setTurn((old) => old + 1)} />
        </div>
        <${Wait} on=${state.busy} />
        <${SqlFault} error=${state.error} text=${text} />
        ${state.rows && html`<${Result} state=${state} text=${text} />`}
        ${!state.rows && !state.error && !state.busy && html`<${Empty} title="Ask something">Ctrl+Enter sends the statement. Ctrl+Space completes datasets, columns and functions.<//>`}
      </div>
      <aside class="sql-side" aria-label="Beside the statement">
        <${Tabs} label="Beside the statement" chosen=${side} choose=${setSide} tabs=${[["datasets", "Tables"], ["history", "History"], ["saved", "Saved"]]} />
        ${side === "datasets" ? html`<${Tables} insert=${(name) => setText((old) => `${old}${/\s$|^$/.test(old) ? "" : " "}${name} `)} />` : html`<${Past} key=${side} isNamed=${side === "saved"} turn=${turn} choose=${setText} />`}
      </aside>
    </div>
  </div>`;
}

class TooMany extends Error {}

const note = (query, name = null) => post("/api/v1/saved-queries", { query, name });
/** The place in the statement, of an error in `EXPLAIN` and the statement. */
const shifted = (error) => (error.position ? Object.assign(error, { position: Math.max(1, error.position - "EXPLAIN ".length) }) : error);

function SqlFault({ error, text }) {
  if (!error) return null;
  const place = error.position ? lineAndColumn(text, error.position) : null;
  return html`<${Fault} error=${error}>${place && html`<div>Position ${error.position}: line ${place.line}, column ${place.column}</div>`}<//>`;
}

function Result({ state, text }) {
  const { query } = route.value;
  const { rows, work, isPlan, isCut } = state;
  const fields = useMemo(() => (rows.length ? Object.keys(rows.at(0)) : []), [rows]);
  const plain = useMemo(() => Array.from({ length: Math.min(rows.length, MOST_DRAWN) }, (_, at) => JSON.parse(rows.lines[at])), [rows]);
  const suggested = useMemo(() => suggest(fields, plain), [plain]);
  const chart = query.chart ?? "table";
  if (isPlan) return html`<pre class="code">${plain.map((row) => Object.values(row).join("  ")).join("\n")}</pre>`;
  const range = query.from ? resolve(rangeOf(query)) : null;
  return html`<div class="status">
      <span>${formatCount(rows.length)} ${rows.length === 1 ? "row" : "rows"}${isCut ? ", cut here: download the whole" : ""}</span>
      <span>${formatMs(work.elapsedMs)}</span>
      ${work.bytes !== null && work.bytes !== undefined && html`<span>${formatBytes(work.bytes)} read in ${formatCount(work.files)} files</span>`}
      ${work.outside && html`<span>${work.outside} has rows at other times only</span>`}
      <span class="grow"></span>
      <${Select} label="Shown as" hidden value=${chart} options=${CHARTS.filter((each) => each !== "logs" && each !== "gauge").map((each) => [each, each === suggested && each !== "table" ? `${each} (suits)` : each])} onChange=${(value) => change({ chart: value === "table" ? "" : value }, { replace: true })} />
      <${Download} about=${{ members: range ? asMembers(range) : {} }} statement=${text} />
    </div>
    ${chart === "table" && rows.length ? html`<${Rows} rows=${rows} columns=${fields} zone=${zoneOf(query)} />` : html`<${ResultChart} chart=${chart} fields=${fields} rows=${plain} zone=${zoneOf(query)} height=${320} />`}`;
}

function Actions({ text, state, saved }) {
  const [open, setOpen] = useState(null);
  const chart = route.value.query.chart ?? "table";
  return html`<button type="button" disabled=${!text.trim()} onClick=${() => setOpen("save")}>Save</button>
    <button type="button" disabled=${!state.rows} onClick=${() => setOpen("dashboard")}>To a dashboard</button>
    <button type="button" disabled=${!state.rows} onClick=${() => go(["alerts", "new"], { q: text })}>To an alert</button>
    ${open === "save" && html`<${SaveDialog} text=${text} close=${() => (setOpen(null), saved())} />`}
    ${open === "dashboard" && html`<${AddToDashboard} tile=${{ query: text, chart }} close=${() => setOpen(null)} />`}`;
}

function SaveDialog({ text, close }) {
  const [name, setName] = useState("");
  const { act, error, busy } = useAction();
  const submit = async (event) => {
    event.preventDefault();
    if (await act(() => note(text, name))) close();
  };
  return html`<${Dialog} title="Save the statement" close=${close}><form class="column" onSubmit=${submit}>
    <${Field} label="Title"><input required maxlength="200" value=${name} onInput=${(event) => setName(event.target.value)} /><//>
    <p class="soft small">It is yours alone. Who wants to share it, puts it on a dashboard.</p>
    <${Fault} error=${error} />
    <div class="actions"><button class="primary" disabled=${busy}>Save</button></div>
  </form><//>`;
}

function Past({ isNamed, turn, choose }) {
  const { data, error, again } = useAsync((abort) => get("/api/v1/saved-queries", { signal: abort }), [turn]);
  if (error) return html`<${Fault} error=${error} retry=${again} />`;
  if (!data) return html`<${Wait} on=${true} />`;
  const shown = data.filter((each) => Boolean(each.name) === isNamed);
  const drop = async (id) => {
    await remove(`/api/v1/saved-queries/${id}`);
    again();
  };
  if (!shown.length) return html`<p class="soft small">${isNamed ? "What you save stands here, on every machine you sign in from." : "What you ask stands here, on every machine you sign in from."}</p>`;
  return html`<ul class="list">${shown.map(
    (each) => html`<li key=${each.id} class="row" style=${{ flexWrap: "nowrap" }}>
      <button type="button" class="entry grow" title=${`${each.query}\n\n${formatAgo(each.askedAt)}`} onClick=${() => choose(each.query)}><span class="ellipsis">${each.name ?? each.query.replace(/\s+/g, " ")}</span></button>
      <button type="button" class="plain tiny" aria-label="Forget it" onClick=${() => drop(each.id)}>✕</button>
    </li>`,
  )}</ul>`;
}

function Tables({ insert }) {
  const loaded = useAsync(loadDatasets, []);
  const [open, setOpen] = useState(null);
  if (loaded.error) return html`<${Fault} error=${loaded.error} />`;
  return html`<ul class="list">${(datasets.value ?? []).map(
    (each) => html`<li key=${each.name}>
      <div class="row" style=${{ flexWrap: "nowrap" }}><button type="button" class="entry grow" aria-expanded=${open === each.name} onClick=${() => setOpen(open === each.name ? null : each.name)}><span class="ellipsis">${each.name}</span></button>
      <button type="button" class="plain tiny" aria-label=${`Insert ${each.name}`} onClick=${() => insert(identifier(each.name))}>+</button></div>
      ${open === each.name && html`<${ColumnList} name=${each.name} insert=${insert} />`}
    </li>`,
  )}</ul>`;
}

function ColumnList({ name, insert }) {
  const { data, error } = useAsync(() => loadColumns(name), [name]);
  if (error) return html`<${Fault} error=${error} />`;
  return html`<ul class="list" style=${{ paddingLeft: "0.75rem" }}>${(data ?? []).map(
    (each) => html`<li key=${each.name}><button type="button" class="entry" onClick=${() => insert(identifier(each.name))}><span class="grow ellipsis" style=${{ textAlign: "left" }}>${each.name}</span><span class="soft">${each.type}</span></button></li>`,
  )}</ul>`;
}
