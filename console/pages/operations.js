// Operations: lag, syncs, queues, disk, workers, hosts; what runs now, and its end; what took long.
import { html, useRef, useState } from "../vendor/core.js";
import { Refused, get, remove, send } from "../lib/api.js";
import { formatAgo, formatBytes, formatCount, formatMs, formatSeconds, formatShort, formatSome, formatTime, readable } from "../lib/format.js";
import { parseSamples, quantile, total } from "../lib/promtext.js";
import { TimeChart } from "../parts/chart.js";
import { Copy, Select } from "../parts/controls.js";
import { Empty, Fault, Wait, useAction, useAsync, useEvery } from "../parts/states.js";

const EVERY_SECONDS = 5;
// An hour of the page being open.
const MOST_POINTS = 720;

export function Operations({ who }) {
  const { data, error, again } = useAsync(async (abort) => parseSamples(await (await send("GET", "/api/v1/metrics", { accept: "text/plain", signal: abort })).text()), []);
  useEvery(EVERY_SECONDS, again);
  const points = useHistory(data);
  return html`<div class="head"><h1>Operations</h1><span class="soft small">every ${EVERY_SECONDS} s</span></div>
    <${Fault} error=${error} retry=${again} />
    <${Wait} on=${!data && !error} />
    ${data && html`<${Numbers} samples=${data} points=${points} />`}
    <${Running} />
    <${Slow} />
    ${who.mayAdminister && html`<${Hosts} />`}
    ${data && html`<${Refusals} samples=${data} />`}`;
}

/** The rates since this page was opened: counters as differences. */
function useHistory(samples) {
  const kept = useRef({ last: null, points: [] });
  if (samples && kept.current.last?.samples !== samples) {
    const now = { samples, at: Date.now(), events: total(samples, "weir_ingested_events_total") ?? 0, bytes: total(samples, "weir_ingested_bytes_total") ?? 0, requests: total(samples, "weir_requests_total") ?? 0 };
    const before = kept.current.last;
    if (before) {
      const seconds = (now.at - before.at) / 1000 || 1;
      // A worker that is gone takes its counts with it for a moment: no rate is below nothing.
      const rate = (name) => Math.max(0, (now[name] - before[name]) / seconds);
      kept.current.points = [...kept.current.points, { at: now.at / 1000, events: rate("events"), bytes: rate("bytes"), requests: rate("requests") }].slice(-MOST_POINTS);
    }
    kept.current.last = now;
  }
  return kept.current.points;
}

const Fact = ({ label, value, bad, title }) => html`<div class="fact" title=${title}><span>${label}</span><b>${bad ? html`<span class="state bad" style=${{ display: "inline" }}></span>` : ""}${value}</b></div>`;

function Numbers({ samples, points }) {
  const one = (name) => total(samples, `weir_${name}`);
  const disk = one("disk_used_ratio");
  const lag = one("conversion_lag_seconds");
  const last = points.at(-1);
  if (disk === null) return html`<${Empty} title="The host's numbers are not yours to see">They are for identities that see all rows of all datasets of the default tenant.<//>`;
  const p99 = (name) => {
    const found = quantile(samples, `weir_${name}`, 0.99);
    return found === null ? "–" : formatMs(found * 1000);
  };
  return html`<div class="facts">
      <${Fact} label="Workers" value=${formatCount(one("workers"))} />
      <${Fact} label="Disk used" value=${`${(disk * 100).toFixed(1)} %`} bad=${disk > 0.88} title="Ingestion stops above the high-water mark" />
      <${Fact} label="Waiting for Parquet" value=${`${formatBytes(one("segments_unconverted_bytes"))} in ${formatCount(one("segments_unconverted"))}`} title="Segments of the write-ahead log" />
      <${Fact} label="Conversion lag" value=${formatSeconds(lag)} bad=${lag > 120} />
      <${Fact} label="Sync, p99" value=${p99("sync_duration_seconds")} title="fdatasync of a segment" />
      <${Fact} label="Commit, p99" value=${p99("commit_duration_seconds")} />
      <${Fact} label="Queries" value=${`${formatCount(one("queries_in_progress"))} of ${formatCount(one("query_slots"))} slots`} />
      <${Fact} label="Queries, p99" value=${p99("query_duration_seconds")} />
      <${Fact} label="Wait for a slot, p99" value=${p99("query_wait_seconds")} />
      <${Fact} label="Events per second" value=${last ? formatShort(last.events) : "…"} />
      <${Fact} label="Taken in" value=${last ? `${formatBytes(last.bytes)}/s` : "…"} />
      <${Fact} label="Requests per second" value=${last ? formatShort(last.requests) : "…"} />
    </div>
    ${points.length > 1 && html`<div class="panel"><h2>Since this page was opened</h2><${TimeChart} names=${["events per second", "requests per second"]} data=${[points.map((each) => each.at), points.map((each) => each.events), points.map((each) => each.requests)]} height=${160} /></div>`}`;
}

function Running() {
  const { data, error, again } = useAsync((abort) => get("/api/v1/queries", { signal: abort }), []);
  const { act, error: refused } = useAction();
  useEvery(2, again);
  const kill = (id) => act(async () => { await remove(`/api/v1/queries/${id}`); again(); });
  const shown = [...(data ?? [])].sort((a, b) => a.startedAt.localeCompare(b.startedAt));
  return html`<div class="panel"><h2>Queries under way</h2><${Fault} error=${error ?? refused} />
    ${data && !shown.length && html`<p class="soft">None at this moment.</p>`}
    ${shown.length > 0 && html`<div class="scroll"><table class="list-table"><thead><tr><th>By</th><th class="number">For</th><th>Statement</th><th></th></tr></thead>
      <tbody>${shown.map((each) => html`<tr key=${each.id}><td class="nowrap">${each.identity}</td><td class="number">${formatAgo(each.startedAt).replace(" ago", "")}</td><td class="mono text">${readable(each.query)}</td><td class="actions-cell"><button type="button" class="tiny danger" onClick=${() => kill(each.id)}>Kill</button></td></tr>`)}</tbody></table></div>`}</div>`;
}

const SLOW_SHOWN = 10;
const ORDERS = { slowest: (a, b) => b.durationMs - a.durationMs, latest: (a, b) => b.endedAt.localeCompare(a.endedAt), read: (a, b) => (b.bytesScanned ?? 0) - (a.bytesScanned ?? 0) };

function Slow() {
  const { data, error, again } = useAsync((abort) => get("/api/v1/queries/slow", { signal: abort }), []);
  const [order, setOrder] = useState("slowest");
  const [isWhole, setWhole] = useState(false);
  useEvery(10, again);
  const sorted = [...(data ?? [])].sort(ORDERS[order]);
  const shown = isWhole ? sorted : sorted.slice(0, SLOW_SHOWN);
  return html`<div class="panel"><div class="row"><h2 class="grow">Slow queries of the last day</h2>
      ${sorted.length > 1 && html`<${Select} label="Order" hidden value=${order} options=${[["slowest", "Slowest first"], ["latest", "Latest first"], ["read", "Most read first"]]} onChange=${setOrder} />`}</div>
    <${Fault} error=${error} />
    ${data && !sorted.length && html`<p class="soft">None of yours took longer than <code>WEIR_SLOW_QUERY_SECONDS</code> on this host.</p>`}
    ${shown.length > 0 && html`<div class="scroll"><table class="list-table">
      <thead><tr><th class="number">Took</th><th class="number spare">Of it waiting</th><th class="number spare">Read</th><th class="number spare">Rows</th><th>Outcome</th><th class="spare">Dataset</th><th class="spare">By</th><th class="spare">Ended</th><th>Statement</th><th></th></tr></thead>
      <tbody>${shown.map((each) => html`<${SlowLine} key=${each.id} query=${each} />`)}</tbody></table></div>`}
    ${sorted.length > shown.length && html`<div><button type="button" onClick=${() => setWhole(true)}>All ${sorted.length}</button></div>`}</div>`;
}

const SlowLine = ({ query }) => html`<tr><td class="number">${formatMs(query.durationMs)}</td><td class="number spare">${formatMs(query.waitedMs)}</td>
  <td class="number spare" title=${query.filesScanned === null ? undefined : formatSome(query.filesScanned, "file")}>${formatBytes(query.bytesScanned)}</td><td class="number spare">${formatCount(query.rows)}</td>
  <td><span class=${query.status === "done" ? "state good" : "state bad"}>${query.status.replaceAll("_", " ")}</span></td><td class="spare">${query.datasets.join(", ") || "–"}</td><td class="nowrap spare">${query.identity}</td>
  <td class="nowrap spare" title=${formatTime(query.endedAt)}>${formatAgo(query.endedAt)}</td><td class="mono text"><div class="few-lines" title=${query.query}>${readable(query.query)}</div></td><td class="actions-cell"><${Copy} text=${query.query} /></td></tr>`;

function Hosts() {
  const { data, error, again } = useAsync((abort) => get("/api/v1/hosts", { signal: abort }), []);
  const ready = useAsync((abort) => get("/api/v1/readiness", { signal: abort }).catch((failed) => (failed instanceof Refused ? { status: failed.message } : Promise.reject(failed))), []);
  useEvery(10, () => (again(), ready.again()));
  return html`<div class="panel"><h2>Hosts</h2><${Fault} error=${error} />
    ${ready.data && html`<p><span class=${ready.data.status === "ready" ? "state good" : "state bad"}>${ready.data.status === "ready" ? "This host stores and answers" : ready.data.status}</span></p>`}
    ${data && html`<div class="scroll"><table class="list-table"><thead><tr><th>Host</th><th>State</th><th class="spare">Address</th><th class="spare">Started</th><th>Last seen</th></tr></thead>
      <tbody>${data.map((each) => html`<tr key=${each.name}><td>${each.name}${each.self ? " (this one)" : ""}</td><td><span class=${{ living: "state good", missing: "state bad" }[each.state] ?? "state off"}>${each.state}</span></td><td class="spare">${each.url ?? "none"}</td><td class="spare">${formatAgo(each.startedAt)}</td><td class="nowrap">${formatAgo(each.seenAt)}</td></tr>`)}</tbody></table></div>`}</div>`;
}

function Refusals({ samples }) {
  const found = samples.filter((each) => each.name === "weir_refusals_total" && each.value > 0).sort((a, b) => b.value - a.value);
  const rejected = samples.filter((each) => each.name === "weir_rejected_events_total" && each.value > 0);
  if (!found.length && !rejected.length) return null;
  return html`<div class="panel"><h2>Refused since the start</h2><div class="scroll"><table class="list-table"><thead><tr><th>What</th><th class="number">How often</th></tr></thead>
    <tbody>${found.map((each) => html`<tr key=${each.labels.code}><td class="mono">${each.labels.code}</td><td class="number">${formatCount(each.value)}</td></tr>`)}
    ${rejected.map((each, at) => html`<tr key=${at}><td>events of ${each.labels.protocol}: <span class="mono">${each.labels.reason}</span></td><td class="number">${formatCount(each.value)}</td></tr>`)}</tbody></table></div></div>`;
}
