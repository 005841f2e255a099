// The form of a tile, with its chart drawn before it is stored.
import { html, useState } from "../../vendor/core.js";
import { datasets, loadDatasets } from "../../lib/datasets.js";
import { Check, Dialog, Field, Select } from "../../parts/controls.js";
import { CHART_NAMES, ResultChart } from "../../parts/result_chart.js";
import { Fault, Wait, useAction, useAsync } from "../../parts/states.js";
import { askTile } from "../dashboard.js";

// What the API asks of every tile; PromQL is a member of our own.
const NO_SQL = "SELECT 1 AS promql";
const PLACE = [["x", "Column", 0, 10], ["y", "Row", 0, 500], ["w", "Width", 2, 12], ["h", "Height", 2, 40]];

export function TileDialog({ tile: start, range, values, store, close, remove }) {
  const [tile, setTile] = useState(start);
  const [data, setData] = useState(null);
  const { act, error, busy } = useAction();
  useAsync(loadDatasets, []);
  const set = (members) => setTile({ ...tile, ...members });
  const isPromql = tile.promql !== undefined;
  const metrics = (datasets.value ?? []).filter((each) => each.telemetryType === "metrics").map((each) => each.name);
  const choose = (on) => {
    const { promql, dataset, ...rest } = tile;
    setTile(on ? { ...tile, promql: "", dataset: metrics[0] ?? "", query: NO_SQL } : { ...rest, query: rest.query === NO_SQL ? "" : rest.query });
  };
  const attempt = () => act(async () => setData(await askTile(tile, range, values)));
  const submit = (event) => {
    event.preventDefault();
    store(tile);
  };
  return html`<${Dialog} title="Tile" close=${close}><form class="column" onSubmit=${submit}>
    <div class="form">
      <${Field} label="Title"><input required value=${tile.title ?? ""} onInput=${(event) => set({ title: event.target.value })} /><//>
      <${Select} label="Chart" value=${tile.chart} options=${Object.entries(CHART_NAMES)} onChange=${(chart) => set({ chart })} />
      <${Check} label="PromQL" checked=${isPromql} onChange=${choose} />
      ${isPromql && html`<${Select} label="Dataset" value=${tile.dataset ?? ""} options=${metrics} onChange=${(dataset) => set({ dataset })} />`}
    </div>
    ${isPromql
      ? html`<${Field} label="PromQL"><textarea required value=${tile.promql} onInput=${(event) => set({ promql: event.target.value })}></textarea><//>`
      : html`<${Field} label="Statement"><textarea required style=${{ minHeight: "8rem" }} value=${tile.query} onInput=${(event) => set({ query: event.target.value })}></textarea><//>
          <p class="soft small">The range is the dashboard's. A variable is the text <code>'$name'</code>: <code>WHERE '$host' = '*' OR host = '$host'</code>.</p>`}
    ${tile.layout && html`<div class="form">${PLACE.map(([name, label, min, max]) => html`<${Field} key=${name} label=${label}><input type="number" min=${min} max=${max} value=${tile.layout[name]} onInput=${(event) => set({ layout: { ...tile.layout, [name]: Number(event.target.value) } })} /><//>`)}</div>`}
    <${Wait} on=${busy} /><${Fault} error=${error} />
    ${data && html`<${ResultChart} chart=${tile.chart} fields=${data.fields} rows=${data.records} height=${200} range=${range} />`}
    <div class="actions">${remove && html`<button type="button" class="danger" onClick=${remove}>Remove</button>`}<span class="grow"></span><button type="button" disabled=${busy} onClick=${attempt}>Try</button><button class="primary">Keep</button></div>
  </form><//>`;
}
