// Explore: the events of one dataset over a range, by time, field, pattern and trace. The address holds all of it.
import { html, useEffect, useMemo, useRef, useState } from "../vendor/core.js";
import { datasets, forgetSchemas, loadColumns, loadDatasets } from "../lib/datasets.js";
import { useKeys } from "../lib/keys.js";
import { asMembers, resolve, shift } from "../lib/range.js";
import { change, go, route, useSubject } from "../lib/route.js";
import { levelColumn, messageColumn, serviceColumn } from "../lib/schema.js";
import { fromWhere, toWhere } from "../lib/where.js";
import { rowsStatement } from "../lib/sql.js";
import { Select, Tabs } from "../parts/controls.js";
import { Empty, Fault, Wait, useAsync } from "../parts/states.js";
import { TimePicker, rangeOf, zoneOf } from "../parts/timepicker.js";
import { Detail } from "./explore/detail.js";
import { Fields } from "./explore/fields.js";
import { Filters } from "./explore/filters.js";
import { Histogram } from "./explore/histogram.js";
import { Patterns } from "./explore/patterns.js";
import { Results } from "./explore/results.js";
import { Tail } from "./explore/tail.js";
import { Trace } from "./explore/trace.js";

const LAST = "weir.dataset";

export function Explore({ who }) {
  const loaded = useAsync(loadDatasets, []);
  const { query } = route.value;
  const known = datasets.value;
  useEffect(() => {
    if (!known?.length || query.dataset) return;
    const last = localStorage.getItem(LAST);
    const found = known.find((each) => each.name === last) ?? known.find((each) => each.hasEvents && !each.name.startsWith("p_")) ?? known[0];
    change({ dataset: found.name }, { replace: true });
  }, [known, query.dataset]);
  const isFresh = known && !known.some((each) => each.hasEvents && each.name !== "p_audit");
  useEffect(() => {
    if (isFresh && !query.dataset && who.mayAdminister) go(["start"]);
  }, [isFresh]);
  if (loaded.error && !known) return html`<${Fault} error=${loaded.error} retry=${loaded.again} />`;
  if (!known) return html`<${Wait} on=${true} />`;
  if (!known.length) {
    return html`<h1>Explore</h1><${Empty} title="There is no dataset that you may read yet">Events that somebody sends make one. ${who.mayAdminister ? html`<button onClick=${() => go(["start"])}>Send the first event</button>` : "An administrator can give you a role that reads one."}<//>`;
  }
  const dataset = known.find((each) => each.name === query.dataset);
  if (query.dataset && !dataset) {
    return html`<h1>Explore</h1><${Empty} title=${`There is no dataset ${query.dataset} that you may read`}><button onClick=${() => go(["explore"])}>Choose another one</button><//>`;
  }
  return dataset ? html`<${Dataset} key=${dataset.name} dataset=${dataset} known=${known} />` : html`<${Wait} on=${true} />`;
}

function Dataset({ dataset, known }) {
  useEffect(() => localStorage.setItem(LAST, dataset.name), [dataset.name]);
  const schema = useAsync(() => loadColumns(dataset.name), [dataset.name]);
  if (schema.error) return html`<${Head} dataset=${dataset} known=${known} again=${schema.again} /><${Fault} error=${schema.error} retry=${schema.again} />`;
  if (!schema.data) return html`<${Head} dataset=${dataset} known=${known} again=${schema.again} /><${Wait} on=${true} />`;
  return html`<${View} dataset=${dataset} known=${known} columns=${schema.data} />`;
}

function Head({ dataset, known, again, busy, children }) {
  // What was chosen for one dataset means nothing in another, but for the time.
  const choose = (name) => change({ dataset: name, where: "", cols: "", stack: "", view: "", trace: "", live: "" });
  const names = known.map((each) => each.name);
  return html`<div class="head">
    <h1>Explore</h1>
    <${Select} label="Dataset" hidden value=${dataset.name} options=${names} onChange=${choose} />
    ${children}
    <span class="grow"></span>
    <${TimePicker} again=${again} busy=${busy} />
  </div>`;
}

function focusOn(selector) {
  const found = /** @type {HTMLElement | null} */ (document.querySelector(selector));
  found?.focus();
  return found;
}

/** What the columns of a dataset stand for, and which of them a table shows first. */
function parts(dataset, columns) {
  const level = levelColumn(columns);
  const message = messageColumn(columns);
  const time = dataset.timeColumn && columns.some((each) => each.name === dataset.timeColumn) ? dataset.timeColumn : null;
  const core = [time, level, serviceColumn(columns), message].filter((each, at, all) => each && all.indexOf(each) === at);
  const others = columns.map((each) => each.name).filter((name) => !name.startsWith("p_") && !core.includes(name));
  // A phone has room for little besides the message.
  const first = message && innerWidth < 704 ? [time, level, message].filter(Boolean) : core;
  const shown = first.length >= 3 ? first : [...first, ...others.slice(0, 7 - first.length)];
  return { time, level, message, core, shown };
}

function View({ dataset, known, columns }) {
  const { query } = route.value;
  const [turn, setTurn] = useState(0);
  const [selected, setSelected] = useState(null);
  const [find, setFind] = useState("");
  const [fieldsShown, setFieldsShown] = useState(innerWidth > 960);
  const role = useMemo(() => parts(dataset, columns), [dataset, columns]);
  const range = rangeOf(query);
  // A relative range is pinned when it is asked, so that rows, bars and counts are of the same moment.
  const resolved = useMemo(() => resolve(range), [range.from, range.to, turn]);
  const zone = zoneOf(query);
  const where = query.where ?? "";
  const shown = query.cols ? query.cols.split(",").map(decodeURIComponent) : role.shown;
  const view = query.trace ? "trace" : query.live ? "live" : (query.view ?? "rows");
  const again = () => {
    forgetSchemas();
    setTurn((old) => old + 1);
  };
  const setWhere = (next) => {
    setSelected(null);
    change({ where: next });
  };
  const addFilter = (pill) => setWhere(toWhere([...fromWhere(where).filter((each) => each.field !== pill.field || each.op !== pill.op || each.value !== pill.value), pill]));
  const setColumns = (names) => change({ cols: names.join() === role.shown.join() ? "" : names.map(encodeURIComponent).join(",") }, { replace: true });
  const toggleColumn = (name) => setColumns(shown.includes(name) ? shown.filter((each) => each !== name) : [...shown, name]);
  const search = useRef(null);
  useSubject(dataset.name);
  useKeys({
    ArrowDown: () => focusOn(".results .grid")?.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", cancelable: true })),
    "/": () => focusOn(".fields input, .find input"),
    f: () => focusOn("[data-filter]")?.click(),
    r: again,
    "[": () => change(shift(range, -1)),
    "]": () => change(shift(range, 1)),
    l: () => change({ live: query.live ? "" : "1" }),
    w: () => change({ wrap: query.wrap ? "" : "1" }, { replace: true }),
    Escape: () => setSelected(null),
  });
  const about = { dataset, columns, role, where, range: resolved, members: resolved && dataset.timeColumn ? asMembers(resolved) : {}, zone, turn };
  const openSql = () => go(["sql"], { q: rowsStatement({ dataset: dataset.name, where, time: role.time, limit: 100 }), from: query.from, to: query.to });
  return html`<div class="explore fit" ref=${search}>
    <${Head} dataset=${dataset} known=${known} again=${again} />
    ${!resolved && html`<${Fault} error=${new Error(`“${range.from}” to “${range.to}” is no time range: write 1h, now-1d or an instant.`)}><button onClick=${() => change({ from: "", to: "" })}>Back to the last hour</button><//>`}
    <${Filters} columns=${columns} where=${where} setWhere=${setWhere} about=${about} openSql=${openSql} />
    ${view !== "trace" && view !== "live" && resolved && role.time && html`<${Histogram} about=${about} addFilter=${addFilter} />`}
    <div class="row">
      <${Tabs} label="View" chosen=${view} choose=${(name) => change({ view: name === "rows" || name === "live" || name === "trace" ? "" : name, live: name === "live" ? "1" : "", trace: name === "trace" ? query.trace : "" })}
        tabs=${[["rows", "Events"], ...(role.message ? [["patterns", "Patterns"]] : []), ["live", "Live"], ...(query.trace ? [["trace", "Trace"]] : [])]} />
      <span class="grow"></span>
      <button type="button" aria-pressed=${fieldsShown} onClick=${() => setFieldsShown(!fieldsShown)}>Fields</button>
    </div>
    <div class=${`explore-body${fieldsShown ? "" : " no-fields"}${selected ? " with-detail" : ""}`}>
      ${fieldsShown && html`<${Fields} about=${about} shown=${shown} addFilter=${addFilter} toggleColumn=${toggleColumn} />`}
      ${view === "rows" && resolved && html`<${Results} about=${about} shown=${shown} setColumns=${setColumns} selected=${selected} setSelected=${setSelected} find=${find} setFind=${setFind} />`}
      ${view === "patterns" && resolved && html`<${Patterns} about=${about} />`}
      ${view === "live" && html`<${Tail} about=${about} shown=${shown} setSelected=${setSelected} selected=${selected} />`}
      ${view === "trace" && resolved && html`<${Trace} about=${about} id=${query.trace} known=${known} setSelected=${setSelected} />`}
      ${selected && html`<${Detail} about=${about} row=${selected.row} close=${() => setSelected(null)} addFilter=${addFilter} toggleColumn=${toggleColumn} />`}
    </div>
  </div>`;
}
