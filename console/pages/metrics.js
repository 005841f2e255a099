// Metrics: PromQL over a dataset of metrics, drawn.
import { html, useMemo, useState } from "../vendor/core.js";
import { Refused } from "../lib/api.js";
import { datasets, loadColumns, loadDatasets } from "../lib/datasets.js";
import { formatCount } from "../lib/format.js";
import { lastWord } from "../lib/promql.js";
import { metricNames, queryBuckets, queryRange } from "../lib/prometheus.js";
import { resolve } from "../lib/range.js";
import { change, go, route } from "../lib/route.js";
import { identifier } from "../lib/sql.js";
import { AddToDashboard } from "../parts/add_to_dashboard.js";
import { Select } from "../parts/controls.js";
import { ResultChart } from "../parts/result_chart.js";
import { HeatMap } from "../parts/chart.js";
import { heat } from "../lib/series.js";
import { Empty, Fault, Wait, useAsync, useDraft } from "../parts/states.js";
import { TimePicker, rangeOf, zoneOf } from "../parts/timepicker.js";

const CHARTS = [["line", "Lines"], ["area", "Area"], ["stacked-bar", "Bars"], ["heatmap", "Heat map of buckets"], ["table", "Table"]];
const FUNCTIONS = "rate increase sum avg max min count topk bottomk histogram_quantile quantile by without delta deriv irate abs ceil floor round clamp label_replace label_join avg_over_time max_over_time min_over_time sum_over_time count_over_time quantile_over_time absent changes resets predict_linear time vector scalar sort sort_desc offset".split(" ");

export function Metrics() {
  const loaded = useAsync(loadDatasets, []);
  if (loaded.error && !datasets.value) return html`<h1>Metrics</h1><${Fault} error=${loaded.error} retry=${loaded.again} />`;
  if (!datasets.value) return html`<h1>Metrics</h1><${Wait} on=${true} />`;
  const found = datasets.value.filter((each) => each.telemetryType === "metrics");
  if (!found.length) return html`<h1>Metrics</h1><${Empty} title="No dataset of metrics">Prometheus' remote write and OTLP make one. <button onClick=${() => go(["start"])}>How to send</button><//>`;
  const asked = route.value.query.dataset;
  if (asked && !found.some((each) => each.name === asked)) {
    return html`<h1>Metrics</h1><${Empty} title=${`There is no dataset of metrics ${asked} that you may read`}><button onClick=${() => change({ dataset: "" })}>Choose another one</button><//>`;
  }
  return html`<${Page} found=${found} />`;
}

function Page({ found }) {
  const { query } = route.value;
  const dataset = found.find((each) => each.name === query.dataset) ?? found[0];
  const [turn, setTurn] = useState(0);
  const [text, setText] = useDraft(query.q ?? "");
  const [isAdding, setAdding] = useState(false);
  const range = useMemo(() => resolve(rangeOf(query)), [query.from, query.to, turn]);
  const zone = zoneOf(query);
  const chart = query.chart ?? "line";
  const names = useAsync((abort) => (range ? metricNames(dataset.name, range, abort) : []), [dataset.name]);
  const ask = (abort) => {
    if (!query.q || !range) return null;
    return chart === "heatmap" ? queryBuckets(dataset.name, query.q, range, abort) : queryRange(dataset.name, query.q, range, abort);
  };
  const { data, error, busy, cancel } = useAsync(ask, [dataset.name, query.q, chart === "heatmap", range?.start, range?.end]);
  const isAbsent = names.error instanceof Refused && names.error.status === 404 && names.error.code !== "dataset_not_found";
  const submit = (event) => {
    event.preventDefault();
    if (text === query.q) setTurn((old) => old + 1);
    else change({ q: text });
  };
  return html`<div class="head"><h1>Metrics</h1>
      <${Select} label="Dataset" hidden value=${dataset.name} options=${found.map((each) => each.name)} onChange=${(name) => change({ dataset: name })} />
      <span class="grow"></span><${TimePicker} again=${() => setTurn((old) => old + 1)} busy=${busy} /></div>
    ${isAbsent
      ? html`<${Absent} dataset=${dataset} />`
      : html`<form class="row" onSubmit=${submit}>
          <${PromqlInput} text=${text} setText=${setText} names=${names.data ?? []} />
          <button class="primary" disabled=${!text.trim()}>Ask</button>
          ${busy && query.q && html`<button type="button" onClick=${cancel}>Cancel</button>`}
          <${Select} label="Shown as" hidden value=${chart} options=${CHARTS} onChange=${(value) => change({ chart: value === "line" ? "" : value })} />
          <button type="button" disabled=${!query.q} onClick=${() => setAdding(true)}>To a dashboard</button>
          ${dataset.mayAuthor && html`<button type="button" disabled=${!query.q} onClick=${() => go(["alerts", "new"], { q: query.q, promql: dataset.name })}>To an alert</button>`}
        </form>
        <${Fault} error=${names.error} retry=${names.again} />
        <${Wait} on=${busy} />
        <${Fault} error=${error} />
        ${!error && data?.warnings?.map((each) => html`<div class="notice small">${each}</div>`)}
        ${data && !error && html`<div class="status"><span>${formatCount(data.series)} series, a point every ${data.step} s</span></div>
          ${chart === "heatmap" ? html`<${HeatMap} ...${heat(["time", "le", "n"], data.records)} zone=${zone} />` : html`<${ResultChart} chart=${chart} fields=${data.fields} rows=${data.records} height=${380} zone=${zone} range=${range} onSelect=${({ start, end }) => change({ from: String(start), to: String(end) })} />`}`}
        ${!query.q && html`<${Names} names=${names.data ?? []} choose=${(name) => change({ q: name })} />`}
        ${isAdding && html`<${AddToDashboard} tile=${{ query: "SELECT 1 AS promql", promql: query.q, dataset: dataset.name, chart: chart === "table" ? "table" : chart }} close=${() => setAdding(false)} />`}`}`;
}

/** The text with what may follow it offered by the browser's own list. */
function PromqlInput({ text, setText, names }) {
  const word = lastWord(text);
  const begin = text.slice(0, text.length - word.length);
  const offered = word ? [...names, ...FUNCTIONS].filter((each) => each.toLowerCase().includes(word.toLowerCase())).slice(0, 40) : names.slice(0, 40);
  return html`<input class="grow mono" aria-label="PromQL" list="promql-words" spellcheck="false" autocomplete="off" placeholder=${'sum by (job) (rate(http_requests_total[5m]))'} value=${text} onInput=${(event) => setText(event.target.value)} />
    <datalist id="promql-words">${offered.map((each) => html`<option key=${each} value=${begin + each} />`)}</datalist>`;
}

function Names({ names, choose }) {
  const [search, setSearch] = useState("");
  if (!names.length) return html`<${Empty} title="No metric in this range">Choose a longer range.<//>`;
  const shown = names.filter((each) => each.includes(search)).slice(0, 500);
  return html`<div class="panel"><div class="row"><h2 class="grow">${names.length} metrics</h2><input type="search" aria-label="Search metrics" placeholder="Search" value=${search} onInput=${(event) => setSearch(event.target.value)} /></div>
    <ul class="list">${shown.map((each) => html`<li key=${each}><button type="button" class="plain mono" onClick=${() => choose(each)}>${each}</button></li>`)}</ul></div>`;
}

/** A server without PromQL answers SQL all the same. */
function Absent({ dataset }) {
  const { data } = useAsync(() => loadColumns(dataset.name), [dataset.name]);
  const has = (name) => data?.some((each) => each.name === name);
  const ask = () => {
    const time = dataset.timeColumn ?? "p_timestamp";
    const name = has("metric_name") ? "metric_name" : has("name") ? "name" : null;
    const value = has("data_point_value") ? "data_point_value" : "value";
    go(["sql"], { q: `SELECT date_bin('1 minute', ${identifier(time)}, TIMESTAMPTZ '2000-01-01') AS time${name ? `, ${name}` : ""}, avg(${value}) AS value\nFROM ${identifier(dataset.name)}\nGROUP BY 1${name ? ", 2" : ""} ORDER BY 1`, from: "1h", chart: "line" });
  };
  return html`<${Empty} title="This server does not speak PromQL">It answers SQL over the same samples. <button onClick=${ask}>Ask by a statement</button><//>`;
}

