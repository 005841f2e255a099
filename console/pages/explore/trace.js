// A trace: its spans as a waterfall, over all datasets of spans, and what the log says about it.
import { html, useMemo, useState } from "../../vendor/core.js";
import { rows } from "../../lib/api.js";
import { loadColumns } from "../../lib/datasets.js";
import { formatMs, formatTime, readable } from "../../lib/format.js";
import { change } from "../../lib/route.js";
import { spanColumns, traceColumn } from "../../lib/schema.js";
import { rowsStatement } from "../../lib/sql.js";
import { waterfall } from "../../lib/spans.js";
import { toWhere } from "../../lib/where.js";
import { ROW, Rows } from "../../parts/rows.js";
import { seriesColour } from "../../parts/chart.js";
import { Empty, Fault, Wait, useAsync } from "../../parts/states.js";
import { Tree } from "../../parts/tree.js";

const HOUR = 3_600_000;
const MOST = 5000;

/** The spans of all datasets that have some, in an hour around the range. */
async function findSpans(known, id, members, abort) {
  const found = [];
  for (const dataset of known) {
    const columns = await loadColumns(dataset.name);
    const roles = spanColumns(columns);
    if (!roles || !(dataset.telemetryType === "traces" || columns.some((each) => each.name === roles.span))) continue;
    const where = toWhere([{ field: roles.trace, op: "=", value: id }]);
    const { records } = await rows(rowsStatement({ dataset: dataset.name, where, limit: MOST }), members, abort);
    if (records.length) found.push({ dataset: dataset.name, roles, records });
  }
  return found;
}

export function Trace({ about, id, known, setSelected }) {
  const { range, role, zone, dataset, columns } = about;
  const members = { startTime: new Date(range.start - HOUR).toISOString(), endTime: new Date(range.end + HOUR).toISOString() };
  const spans = useAsync((abort) => findSpans(known, id, members, abort), [id, range.start, range.end]);
  const trace = traceColumn(columns);
  const isLog = trace && !spanColumns(columns);
  const log = useAsync(
    async (abort) => (isLog ? (await rows(rowsStatement({ dataset: dataset.name, where: toWhere([{ field: trace, op: "=", value: id }]), time: role.time, order: "asc", limit: MOST }), members, abort)).records : []),
    [id, dataset.name, range.start, range.end],
  );
  return html`<section class="column" aria-label="Trace">
    <div class="status"><span class="mono">${readable(id)}</span><button type="button" class="tiny" onClick=${() => change({ trace: "" })}>Back to the events</button></div>
    <${Wait} on=${spans.busy || log.busy} />
    <${Fault} error=${spans.error ?? log.error} />
    ${spans.data?.map((each) => html`<${Waterfall} key=${each.dataset} ...${each} zone=${zone} />`)}
    ${spans.data && !spans.data.length && html`<${Empty} title="No spans of this trace">No dataset that you may read has spans with this id around this range.<//>`}
    ${log.data?.length > 0 && html`<h2>Events of the trace in ${dataset.name}</h2>
      <${Rows} rows=${log.data} columns=${role.shown} time=${role.time} level=${role.level} wide=${role.message ?? undefined} zone=${zone} height=${(Math.min(12, log.data.length) + 2) * ROW} onSelect=${(index) => setSelected({ index, row: log.data[index] })} />`}
  </section>`;
}

function Waterfall({ dataset, roles, records, zone }) {
  const { spans, startMs, ms } = useMemo(() => waterfall(records, roles), [records]);
  const [open, setOpen] = useState(null);
  const services = [...new Set(spans.map((each) => each.service))];
  return html`<div class="waterfall panel">
    <div class="row"><strong>${spans.length} spans in ${dataset}</strong><span class="soft">from ${formatTime(startMs, zone)}, ${formatMs(ms)}</span><span class="grow"></span>
      <span class="legend row">${services.filter(Boolean).map((name) => html`<span key=${name} class="row"><span class="swatch" style=${{ background: `var(--${seriesColour(services.indexOf(name))})` }}></span>${name}</span>`)}</span></div>
    <div>${spans.map(
      (span, at) => html`<div key=${at}>
        <div class=${span.failed ? "span failed" : "span"}>
          <button type="button" class="plain tiny who" style=${{ paddingLeft: `${span.depth * 12}px`, justifyContent: "flex-start" }} aria-expanded=${open === at} onClick=${() => setOpen(open === at ? null : at)}><span class="ellipsis">${span.failed ? "▲ " : ""}${span.service && `${span.service} · `}${readable(String(span.name))}</span></button>
          <span class="lane" aria-hidden="true"><i style=${{ left: `${span.offset * 100}%`, width: `${span.share * 100}%`, background: span.failed ? "var(--error-fill)" : `var(--${seriesColour(services.indexOf(span.service))})` }}></i></span>
          <span class="number">${formatMs(span.ms)}</span>
        </div>
        ${open === at && html`<${Tree} row=${span.row} zone=${zone} />`}
      </div>`,
    )}</div>
  </div>`;
}
