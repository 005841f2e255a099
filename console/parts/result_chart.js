// A result as the chart that somebody chose for it.
import { html } from "../vendor/core.js";
import { categories, heat, kindOf, roles, timeSeries } from "../lib/series.js";
import { formatCount, formatValue } from "../lib/format.js";
import { levelOf } from "../lib/levels.js";
import { Bars, HeatMap, Shares, TimeChart, seriesColour } from "./chart.js";
import { Rows } from "./rows.js";
import { Empty } from "./states.js";

export const CHART_NAMES = {
  table: "Table", number: "Number", line: "Lines", area: "Area", bar: "Bars", "stacked-bar": "Stacked bars", pie: "Shares",
  heatmap: "Heat map", scatter: "Points", gauge: "Gauge", logs: "Events",
};
export const CHARTS = Object.keys(CHART_NAMES);

export function ResultChart({ chart, fields, rows, height = 260, zone, range, onSelect, lines }) {
  if (!rows.length) return html`<${Empty} title="No rows">The statement found nothing in this range.<//>`;
  if (chart === "table" || chart === "logs") return html`<${Table} fields=${fields} rows=${rows} zone=${zone} height=${height} />`;
  if (chart === "number" || chart === "gauge") return html`<${Big} fields=${fields} rows=${rows} />`;
  const part = roles(fields, rows);
  if (!part.values.length) return html`<${Empty} title="Nothing to draw">This chart needs a column of numbers; the result has ${fields.join(", ")}.<//>`;
  if (chart === "heatmap" && part.isTime) return html`<${HeatMap} ...${heat(fields, rows)} zone=${zone} />`;
  if (chart === "pie") return html`<${Shares} items=${categories(fields, rows, 20)} />`;
  if (!part.isTime) return html`<${Bars} items=${categories(fields, rows)} />`;
  const { names, data, left } = timeSeries(fields, rows);
  const kind = chart === "area" ? "area" : chart.endsWith("bar") ? "bars" : "line";
  const colours = names.map((name, at) => (part.split && levelOf(name) ? `${levelOf(name)}-fill` : seriesColour(at)));
  return html`<${TimeChart} names=${names} data=${data} kind=${kind} colours=${colours} isStacked=${chart === "stacked-bar" || (chart === "area" && names.length > 1)}
      height=${height} zone=${zone} range=${range} onSelect=${onSelect} lines=${lines} />
    ${left > 0 && html`<div class="small soft">${left} smaller series are not drawn.</div>`}`;
}

/** With times in the zone of the page, and the room that is left for the last text. */
function Table({ fields, rows, zone, height }) {
  const time = fields.find((name) => kindOf(rows, name) === "time");
  const wide = fields.findLast((name) => kindOf(rows, name) === "text");
  return html`<${Rows} rows=${rows} columns=${fields} time=${time} wide=${wide} zone=${zone} height=${height} />`;
}

function Big({ fields, rows }) {
  const last = rows.at(-1);
  const name = fields.find((each) => typeof last[each] === "number") ?? fields[0];
  const value = last[name];
  return html`<div class="big">${typeof value === "number" ? formatCount(value) : formatValue(value)}<div class="small soft">${name}</div></div>`;
}
