// One statement: its text and parameters, its result as rows or chart, its plan.
import { html, useEffect, useMemo, useRef, useState } from "../../vendor/core.js";
import { post, stream } from "../../lib/api.js";
import { formatBytes, formatMs, formatSome } from "../../lib/format.js";
import { asQuery, countParameters, inlined, valuesIn } from "../../lib/parameters.js";
import { asMembers, resolve } from "../../lib/range.js";
import { change, go } from "../../lib/route.js";
import { lineAndColumn } from "../../lib/sql.js";
import { suggest } from "../../lib/series.js";
import { Dialog, Field, Select } from "../../parts/controls.js";
import { Editor } from "../../parts/editor.js";
import { CHARTS, CHART_NAMES, ResultChart } from "../../parts/result_chart.js";
import { LazyRows, Rows } from "../../parts/rows.js";
import { Empty, Fault, Wait, useAction } from "../../parts/states.js";
import { TimePicker, rangeOf, zoneOf } from "../../parts/timepicker.js";
import { AddToDashboard } from "../../parts/add_to_dashboard.js";
import { Download } from "../explore/results.js";

// What a table of this page holds; a download has no such limit.
const MOST = 300_000;
const MOST_DRAWN = 20_000;
/** @type {{rows: LazyRows | null, busy: boolean, error: any, work: any, isPlan: boolean, isCut: boolean, isCancelled: boolean}} */
const IDLE = { rows: null, busy: false, error: null, work: null, isPlan: false, isCut: false, isCancelled: false };

/**
 * @param {{query: Record<string, string>, isShown: boolean, asked: {text?: string, name?: string} | null, noted: () => void}} props
 *   `query`: of its address; `asked`: what somebody chose beside it; `noted`: the history has one more
 */
export function Statement({ query, isShown, asked, noted }) {
  const [text, setText] = useState(query.q ?? "");
  const [state, setState] = useState(IDLE);
  const [values, setValues] = useState(() => valuesIn(query, countParameters(query.q ?? "")));
  const controller = useRef(null);
  const current = useRef({ text, values, query });
  current.current = { text, values, query };
  const count = countParameters(text);
  const range = () => (query.from ? resolve(rangeOf(query)) : null);

  const ask = async (statement, given, isPlan) => {
    if (!statement.trim()) return;
    controller.current?.abort();
    const abort = new AbortController();
    controller.current = abort;
    setState({ ...IDLE, busy: true });
    if (!isPlan) note(statement).then(noted, () => {});
    const found = [];
    const began = Date.now();
    try {
      const onLines = (lines) => {
        for (const line of lines) found.push(line);
        if (found.length > MOST) throw new TooMany();
      };
      const work = await stream(isPlan ? `EXPLAIN ${statement}` : statement, members(range(), given), { signal: abort.signal, onLines });
      setState({ ...IDLE, rows: new LazyRows(found), work, isPlan });
    } catch (error) {
      if (error instanceof TooMany) {
        abort.abort();
        setState({ ...IDLE, rows: new LazyRows(found.slice(0, MOST)), work: { elapsedMs: Date.now() - began }, isCut: true });
      } else if (!abort.signal.aborted) setState({ ...IDLE, error: isPlan ? shifted(error) : error });
    }
  };
  const given = () => valuesIn(asQuery(current.current.values, {}), countParameters(current.current.text));
  const run = () => {
    const next = { q: current.current.text, ...asQuery(given(), query) };
    const isSame = Object.entries(next).every(([name, value]) => (current.current.query[name] ?? "") === value);
    if (isSame) ask(current.current.text, given());
    else change(next);
  };
  // The address is what runs: a link shows what its sender saw.
  const inAddress = valuesIn(query, countParameters(query.q ?? ""));
  useEffect(() => {
    if (!query.q) return;
    setText(query.q);
    setValues(inAddress);
    ask(query.q, inAddress);
  }, [query.q, query.from, query.to, inAddress.join("\n")]);
  useEffect(() => () => controller.current?.abort(), []);
  useEffect(() => {
    if (asked?.text !== undefined) setText(asked.text);
    if (asked?.name !== undefined) setText((old) => `${old}${/\s$|^$/.test(old) ? "" : " "}${asked.name} `);
  }, [asked]);
  const cancel = () => {
    controller.current?.abort();
    setState({ ...IDLE, isCancelled: true });
  };
  return html`<div class="results" role="tabpanel" hidden=${!isShown}>
    <${Editor} value=${text} onChange=${setText} run=${run} fault=${state.error?.position} label="SQL statement" />
    ${count > 0 && html`<form class="form" aria-label="Parameters" onSubmit=${(event) => (event.preventDefault(), run())}>
      ${valuesIn(asQuery(values, {}), count).map((value, at, all) => html`<${Field} key=${at} label=${`Parameter $${at + 1}`}><input class="mono" value=${value} onInput=${(event) => setValues(all.with(at, event.target.value))} /><//>`)}
      <button hidden>Run with these</button></form>`}
    <div class="status">
      <button type="button" class="primary" disabled=${!text.trim()} onClick=${run} title="Ctrl+Enter">Run</button>
      ${state.busy ? html`<button type="button" onClick=${cancel}>Cancel</button>` : html`<button type="button" disabled=${!text.trim()} onClick=${() => ask(text, given(), true)}>Explain</button>`}
      <${Actions} text=${text} whole=${inlined(text, given())} chart=${query.chart ?? "table"} state=${state} saved=${noted} />
      <span class="grow"></span>
      ${query.from
        ? isShown && html`<${TimePicker} again=${run} busy=${state.busy} /><button type="button" onClick=${() => change({ from: "", to: "" })}>Any time</button>`
        : html`<button type="button" title="Read only what is in a range" onClick=${() => change({ from: "1h" })}>Within a range…</button>`}
    </div>
    <${Wait} on=${state.busy} />
    <${SqlFault} error=${state.error} text=${text} />
    ${state.rows && html`<${Result} state=${state} query=${query} text=${text} about=${{ members: members(range(), given()) }} />`}
    ${state.isCancelled && html`<${Empty} title="Cancelled">The statement stopped before its result was there.<//>`}
    ${!state.rows && !state.error && !state.busy && !state.isCancelled && html`<${Empty} title="Ask something">Ctrl+Enter sends the statement. Ctrl+Space completes datasets, columns and functions. <code>$1</code> is a value that you enter below.<//>`}
  </div>`;
}

/** What the API gets besides the statement. */
const members = (range, values) => ({ ...(range ? asMembers(range) : {}), ...(values.length ? { parameters: values } : {}) });

class TooMany extends Error {}

const note = (query, name = null) => post("/api/v1/saved-queries", { query, name });
/** The place in the statement, of an error in `EXPLAIN` and the statement. */
const shifted = (error) => (error.position ? Object.assign(error, { position: Math.max(1, error.position - "EXPLAIN ".length) }) : error);

function SqlFault({ error, text }) {
  if (!error) return null;
  const place = error.position ? lineAndColumn(text, error.position) : null;
  return html`<${Fault} error=${error}>${place && html`<div>Position ${error.position}: line ${place.line}, column ${place.column}</div>`}<//>`;
}

function Result({ state, query, text, about }) {
  const { rows, work, isPlan, isCut } = state;
  const fields = useMemo(() => (rows.length ? Object.keys(rows.at(0)) : []), [rows]);
  const plain = useMemo(() => Array.from({ length: Math.min(rows.length, MOST_DRAWN) }, (_, at) => JSON.parse(rows.lines[at])), [rows]);
  const suggested = useMemo(() => suggest(fields, plain), [plain]);
  const chart = query.chart ?? "table";
  if (isPlan) return html`<pre class="code">${plain.map((row) => Object.values(row).join("  ")).join("\n")}</pre>`;
  return html`<div class="status">
      <span>${formatSome(rows.length, "row")}${isCut ? ", cut here: download the whole" : ""}</span>
      <span>${formatMs(work.elapsedMs)}</span>
      ${work.bytes !== null && work.bytes !== undefined && html`<span>${formatBytes(work.bytes)} read in ${formatSome(work.files, "file")}</span>`}
      ${work.outside && html`<span>${work.outside} has rows at other times only</span>`}
      <span class="grow"></span>
      <${Select} label="Shown as" hidden value=${chart} options=${CHARTS.filter((each) => each !== "logs" && each !== "gauge").map((each) => [each, each === suggested && each !== "table" ? `${CHART_NAMES[each]} (suits)` : CHART_NAMES[each]])} onChange=${(value) => change({ chart: value === "table" ? "" : value }, { replace: true })} />
      <${Download} about=${about} statement=${text} />
    </div>
    ${chart === "table" && rows.length ? html`<${Rows} rows=${rows} columns=${fields} zone=${zoneOf(query)} />` : html`<${ResultChart} chart=${chart} fields=${fields} rows=${plain} zone=${zoneOf(query)} height=${320} />`}`;
}

/** `whole`: the text with its parameters filled in, for those who keep statements without. */
function Actions({ text, whole, chart, state, saved }) {
  const [open, setOpen] = useState(null);
  return html`<button type="button" disabled=${!text.trim()} onClick=${() => setOpen("save")}>Save</button>
    <button type="button" disabled=${!state.rows} onClick=${() => setOpen("dashboard")}>To a dashboard</button>
    <button type="button" disabled=${!state.rows} onClick=${() => go(["alerts", "new"], { q: whole })}>To an alert</button>
    ${open === "save" && html`<${SaveDialog} text=${text} close=${() => (setOpen(null), saved())} />`}
    ${open === "dashboard" && html`<${AddToDashboard} tile=${{ query: whole, chart }} close=${() => setOpen(null)} />`}`;
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
