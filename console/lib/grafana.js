// Dashboards of Grafana: the panels that ask SQL or PromQL become tiles. Pure.

const CHARTS = {
  timeseries: "line", graph: "line", barchart: "bar", bargauge: "bar", stat: "number", singlestat: "number", gauge: "gauge",
  table: "table", piechart: "pie", heatmap: "heatmap", logs: "logs",
};

/** Tiles and what was left out, with the reason. */
export function importGrafana(dashboard) {
  const model = dashboard.dashboard ?? dashboard;
  const panels = (model.panels ?? []).flatMap((panel) => (panel.type === "row" ? (panel.panels ?? []) : [panel]));
  const tiles = [];
  const skipped = [];
  for (const panel of panels) {
    const target = (panel.targets ?? []).find((each) => sqlOf(each) || each.expr);
    if (!target) {
      skipped.push({ title: panel.title || `panel ${panel.id}`, reason: `a ${panel.type ?? "panel"} without SQL or PromQL` });
      continue;
    }
    tiles.push(tileOf(panel, target));
  }
  return { title: model.title || "Imported from Grafana", tiles, skipped };
}

function tileOf(panel, target) {
  const sql = sqlOf(target);
  const place = panel.gridPos ?? {};
  return {
    title: panel.title || "",
    chart: CHARTS[panel.type] ?? "table",
    query: sql ? plainSql(sql) : "SELECT 1 AS promql",
    ...(sql ? {} : { promql: plainPromql(target.expr) }),
    // Grafana's grid has 24 columns and rows of 30 pixels, ours 12 and 60.
    layout: { x: Math.round((place.x ?? 0) / 2), y: Math.round((place.y ?? 0) / 2), w: Math.max(2, Math.round((place.w ?? 12) / 2)), h: Math.max(3, Math.round((place.h ?? 8) / 2)) },
  };
}

const sqlOf = (target) => target.rawSql || target.query || target.queryText || "";

/** The range is the dashboard's own, so Grafana's macros for it go. */
export const plainSql = (sql) =>
  sql
    .replace(/\$__timeFilter\(([^)]*)\)/g, "true")
    .replace(/\$__timeGroup(?:Alias)?\(([^,]+),\s*'?([^')]+)'?[^)]*\)/g, (_, column, width) => `date_bin('${width.startsWith("$") ? "1m" : width}', ${column.trim()}, TIMESTAMPTZ '2000-01-01')`)
    .trim();

export const plainPromql = (text) => text.replace(/\$__rate_interval|\$__interval/g, "5m").replace(/\$__range/g, "1h");
