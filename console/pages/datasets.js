// Datasets: how large, how fast, since when; columns, retention, sample; made and deleted.
import { html, useEffect, useState } from "../vendor/core.js";
import { get, put, remove, rows, send, session } from "../lib/api.js";
import { loadDatasets } from "../lib/datasets.js";
import { formatAgo, formatBytes, formatCount, formatTime } from "../lib/format.js";
import { binWidth } from "../lib/range.js";
import { go, route, routeTo, useSubject } from "../lib/route.js";
import { columnsOf, instantsOf } from "../lib/schema.js";
import { alignedOrigin, histogramStatement, identifier } from "../lib/sql.js";
import { TimeChart } from "../parts/chart.js";
import { Check, Dialog, Field, Select, TypedDelete } from "../parts/controls.js";
import { Rows } from "../parts/rows.js";
import { Empty, Fault, Wait, useAction, useAsync } from "../parts/states.js";
import { binned } from "./explore/histogram.js";
import { Senders } from "./senders.js";

const path = (name, part = "") => `/api/v1/logstream/${encodeURIComponent(name)}${part}`;

export function Datasets({ who }) {
  const name = route.value.path[1];
  return name ? html`<${One} key=${name} name=${name} who=${who} />` : html`<${All} who=${who} />`;
}

/** Numbers of each, a few at a time; who sees some rows only is told nothing of all. */
async function measure(datasets, found) {
  const waiting = [...datasets];
  const work = async () => {
    for (let each = waiting.shift(); each; each = waiting.shift()) {
      const measured = each.seesAllRows ? await get(path(each.name, "/stats")).catch((error) => ({ error })) : { hidden: true };
      found(each.name, measured);
    }
  };
  await Promise.all([work(), work(), work(), work()]);
}

function All({ who }) {
  const { data, error, again } = useAsync(loadDatasets, []);
  const [stats, setStats] = useState({});
  const [isNew, setNew] = useState(false);
  const [search, setSearch] = useState("");
  useEffect(() => {
    if (data) measure(data, (name, measured) => setStats((old) => ({ ...old, [name]: measured })));
  }, [data]);
  if (error && !data) return html`<h1>Datasets</h1><${Fault} error=${error} retry=${again} />`;
  const shown = (data ?? []).filter((each) => each.name.includes(search));
  const sums = Object.values(stats).filter((each) => each.ingestion);
  const sum = (pick) => sums.reduce((all, each) => all + pick(each), 0);
  return html`<div class="head"><h1>Datasets</h1><span class="grow"></span>
      <input type="search" aria-label="Search datasets" placeholder="Search" value=${search} onInput=${(event) => setSearch(event.target.value)} />
      ${who.mayAdminister && html`<button type="button" class="primary" onClick=${() => setNew(true)}>New dataset</button>`}</div>
    <${Wait} on=${!data} />
    ${data && !data.length && html`<${Empty} title="No datasets yet">The first event makes one. <button onClick=${() => go(["start"])}>Send the first event</button><//>`}
    ${sums.length > 1 && html`<div class="facts">
      <div class="fact"><span>Events</span><b>${formatCount(sum((each) => each.ingestion.count))}</b></div>
      <div class="fact"><span>As sent</span><b>${formatBytes(sum((each) => each.ingestion.size))}</b></div>
      <div class="fact"><span>As stored</span><b>${formatBytes(sum((each) => each.storage.size))}</b></div>
    </div>`}
    ${shown.length > 0 && html`<div class="scroll"><table class="list-table">
      <thead><tr><th>Dataset</th><th class="spare">Kind</th><th class="number">Events</th><th class="number spare">As sent</th><th class="number">As stored</th><th class="number spare">Ratio</th><th>Latest event</th><th></th></tr></thead>
      <tbody>${shown.map((each) => html`<${Line} key=${each.name} dataset=${each} stats=${stats[each.name]} />`)}</tbody></table></div>`}
    ${isNew && html`<${NewDataset} close=${() => setNew(false)} />`}`;
}

const ratio = (stats) => (stats.storage.size && stats.ingestion.size ? `${(stats.ingestion.size / stats.storage.size).toFixed(1)} : 1` : "–");

function Line({ dataset, stats }) {
  const numbers = stats?.ingestion
    ? html`<td class="number">${formatCount(stats.ingestion.count)}</td><td class="number spare">${formatBytes(stats.ingestion.size)}</td><td class="number">${formatBytes(stats.storage.size)}</td><td class="number spare">${ratio(stats)}</td><td class="nowrap" title=${stats.time}>${formatAgo(stats.time)}</td>`
    : html`<td colspan="5" class="soft">${stats?.hidden ? "You see some of its rows only" : (stats?.error?.message ?? "")}</td>`;
  return html`<tr><td><a href=${routeTo(["datasets", dataset.name])}>${dataset.name}</a></td><td class="spare">${dataset.timeColumn ? dataset.telemetryType : "lookup"}</td>${numbers}
    <td class="actions-cell"><button type="button" class="tiny" onClick=${() => go(["explore"], { dataset: dataset.name })}>Look</button></td></tr>`;
}

async function load(name, abort) {
  const options = { signal: abort };
  const all = await loadDatasets();
  const dataset = all.find((each) => each.name === name);
  if (!dataset) throw new Error(`There is no dataset ${name} that you may read.`);
  const [schema, retention] = await Promise.all([get(path(name, "/schema"), options), get(path(name, "/retention"), options)]);
  const whole = dataset.seesAllRows ? await Promise.all([get(path(name, "/stats"), options), get(path(name, "/info"), options)]) : [null, null];
  const senders = session.value.mayAdminister ? await get(path(name, "/columns"), options).catch(() => []) : [];
  return { dataset, columns: columnsOf(schema), retention: retention[0] ?? null, stats: whole[0], info: whole[1], senders };
}

function One({ name, who }) {
  const { data, error, again } = useAsync((abort) => load(name, abort), [name]);
  const [isDeleting, setDeleting] = useState(false);
  useSubject(name);
  if (error && !data) return html`<h1>${name}</h1><${Fault} error=${error} retry=${again} /><a href=${routeTo(["datasets"])}>All of them</a>`;
  if (!data) return html`<h1>${name}</h1><${Wait} on=${true} />`;
  const { dataset, stats, info } = data;
  return html`<div class="head"><a class="button" href=${routeTo(["datasets"])} aria-label="Back to the list">‹</a><h1>${name}</h1><span class="grow"></span>
      <button type="button" onClick=${() => go(["explore"], { dataset: name })}>Look at the events</button>
      ${who.mayAdminister && !name.startsWith("p_") && html`<button type="button" class="danger" onClick=${() => setDeleting(true)}>Delete</button>`}</div>
    ${stats && html`<div class="facts wide">
      <div class="fact"><span>Events</span><b>${formatCount(stats.ingestion.count)}</b></div>
      <div class="fact"><span>As sent</span><b>${formatBytes(stats.ingestion.size)}</b></div>
      <div class="fact"><span>As stored</span><b>${formatBytes(stats.storage.size)}</b></div>
      <div class="fact"><span>Ratio</span><b>${ratio(stats)}</b></div>
      <div class="fact"><span>First event</span><b>${info.firstEventAt ? formatTime(info.firstEventAt, "local", false) : "none"}</b></div>
      <div class="fact"><span>Latest event</span><b>${info.latestEventAt ? formatTime(info.latestEventAt, "local", false) : "none"}</b></div>
      <div class="fact"><span>Kind</span><b>${info.datasetKind ?? info.telemetryType}</b></div>
      <div class="fact"><span>Time of events</span><b>${dataset.timeColumn ?? "none"}</b></div>
    </div>`}
    ${dataset.timeColumn && html`<${Arrivals} name=${name} />`}
    ${session.value.mayAdminister && html`<${Senders} path=${path(name, "/senders")} />`}
    <${Retention} name=${name} retention=${data.retention} mayChange=${who.mayAdminister && Boolean(dataset.timeColumn)} again=${again} />
    <${Columns} data=${data} name=${name} again=${again} />
    <${Sample} name=${name} columns=${data.columns} time=${dataset.timeColumn} />
    ${isDeleting && html`<${TypedDelete} noun="dataset" name=${name} close=${() => setDeleting(false)} remove=${async () => { await remove(path(name)); go(["datasets"]); }}><p>Its ${stats ? formatCount(stats.ingestion.count) : ""} events are gone for good.</p><//>`}`;
}

const DAY = 86_400_000;

/** What arrived in the last day, and from whom. */
function Arrivals({ name }) {
  const ask = async (abort) => {
    const end = Date.now();
    const range = { start: end - DAY, end };
    const widthMs = binWidth(range, 100);
    const originMs = alignedOrigin(range.start, widthMs);
    const since = `p_timestamp >= '${new Date(range.start).toISOString()}'`;
    const { records } = await rows(histogramStatement({ dataset: name, where: since, time: "p_timestamp", widthMs, originMs }), {}, abort);
    const senders = await rows(`SELECT p_src_ip, p_user_agent, count(*) AS events, max(p_timestamp) AS latest FROM ${identifier(name)} WHERE ${since} GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 10`, {}, abort);
    return { ...binned({ records, originMs, widthMs }, end, false), range, senders: senders.records };
  };
  const { data, error, busy } = useAsync(ask, [name]);
  return html`<div class="panel"><h2>Arrived in the last day</h2><${Wait} on=${busy} /><${Fault} error=${error} />
    ${data && html`<${TimeChart} names=${data.names} data=${data.data} kind="bars" height=${130} range=${data.range} legend=${false} label="Events that arrived" />`}
    ${data?.senders.length > 0 && html`<div class="scroll"><table class="list-table"><thead><tr><th>From</th><th>By</th><th class="number">Events</th><th>Latest</th></tr></thead>
      <tbody>${data.senders.map((each, at) => html`<tr key=${at}><td class="mono">${each.p_src_ip}</td><td>${each.p_user_agent}</td><td class="number">${formatCount(each.events)}</td><td class="nowrap">${formatAgo(each.latest)}</td></tr>`)}</tbody></table></div>`}</div>`;
}

function Retention({ name, retention, mayChange, again }) {
  const [days, setDays] = useState(retention ? retention.duration.replace("d", "") : "");
  const { act, error, busy } = useAction();
  const submit = (event) => {
    event.preventDefault();
    act(async () => {
      await put(path(name, "/retention"), days ? [{ description: "", action: "delete", duration: `${days}d` }] : []);
      again();
    });
  };
  return html`<form class="panel" onSubmit=${submit}><h2>Retention</h2>
    <p>${retention ? `Events are deleted ${retention.duration.replace("d", " days")} after their time.` : "Events are kept for ever."}</p>
    ${mayChange && html`<div class="form"><${Field} label="Days (empty: for ever)"><input type="number" min="1" max="36500" value=${days} onInput=${(event) => setDays(event.target.value)} /><//><button disabled=${busy}>Save</button></div>`}
    <${Fault} error=${error} /></form>`;
}

const SIBLING = /^(.+)_(utf8|int64|float64|bool|json|list_utf8|list_int64|list_float64|list_bool|timestamp_us|timestamp_ns)$/;

function Columns({ data, name, again }) {
  const [search, setSearch] = useState("");
  const { act, error } = useAction();
  const names = new Set(data.columns.map((each) => each.name));
  const sibling = (column) => {
    const base = SIBLING.exec(column)?.[1];
    return base && names.has(base) ? base : null;
  };
  const of = new Map(data.senders.map((each) => [each.name, each]));
  const shown = data.columns.filter((each) => each.name.toLowerCase().includes(search.toLowerCase()));
  const drop = (column) => act(async () => { await remove(path(name, `/columns/${of.get(column).id}`)); again(); });
  const [asked, setAsked] = useState(null);
  return html`<div class="panel"><div class="row"><h2 class="grow">${data.columns.length} columns</h2><input type="search" aria-label="Search columns" placeholder="Search" value=${search} onInput=${(event) => setSearch(event.target.value)} /></div>
    <${Fault} error=${error} />
    <div class="scroll" style=${{ maxHeight: "26rem" }}><table class="list-table"><thead><tr><th>Column</th><th>Type</th><th>Note</th>${of.size > 0 && html`<th>First sent by</th><th></th>`}</tr></thead>
      <tbody>${shown.map(
        (each) => html`<tr key=${each.name}><td class="mono">${each.name}</td><td class="mono">${each.type}</td>
          <td class="note">${sibling(each.name) ? `values of ${sibling(each.name)} that have another type` : ""}</td>
          ${of.size > 0 && html`<td>${of.get(each.name)?.addedBy ?? ""}</td><td class="actions-cell">${of.get(each.name) && !each.name.startsWith("p_") && each.name !== data.dataset.timeColumn && html`<button type="button" class="tiny danger" onClick=${() => setAsked(each.name)}>Drop</button>`}</td>`}</tr>`,
      )}</tbody></table></div>
    ${asked && html`<${TypedDelete} noun="column" name=${asked} close=${() => setAsked(null)} remove=${() => drop(asked)}><p>Its values are forgotten.</p><//>`}</div>`;
}

/** When it happened, what was sent, and last what Weir noted. */
const inReadingOrder = (names, time) => [...names].sort((a, b) => rank(a, time) - rank(b, time));
const rank = (name, time) => (name === time ? 0 : name.startsWith("p_") ? 2 : 1);

function Sample({ name, columns, time }) {
  const order = time ? ` ORDER BY ${identifier(time)} DESC` : "";
  const { data, error } = useAsync((abort) => rows(`SELECT * FROM ${identifier(name)}${order} LIMIT 20`, {}, abort), [name]);
  return html`<div class="panel"><h2>Latest events</h2><${Fault} error=${error} />
    ${data && (data.records.length ? html`<${Rows} rows=${data.records} columns=${inReadingOrder(columns.map((each) => each.name), time).slice(0, 40)} time=${time} instants=${instantsOf(columns)} height=${300} />` : html`<p class="soft">There are none.</p>`)}</div>`;
}

function NewDataset({ close }) {
  const [name, setName] = useState("");
  const [kind, setKind] = useState("logs");
  const [time, setTime] = useState("");
  const [isLookup, setLookup] = useState(false);
  const { act, error, busy } = useAction();
  const submit = async (event) => {
    event.preventDefault();
    const headers = { "X-P-Telemetry-Type": kind, ...(time ? { "X-P-Time-Partition": time } : {}), ...(isLookup ? { "X-P-Dataset-Kind": "lookup" } : {}) };
    if (await act(() => send("PUT", path(name), { headers }))) go(["datasets", name]);
  };
  return html`<${Dialog} title="New dataset" close=${close}><form class="column" onSubmit=${submit}>
    <p class="soft">Senders make datasets by themselves; make one here to choose its time field first.</p>
    <${Field} label="Dataset"><input required value=${name} pattern="[A-Za-z0-9_\\-]{1,100}" onInput=${(event) => setName(event.target.value)} /><//>
    <${Select} label="Holds" value=${kind} options=${["logs", "metrics", "traces", "events"]} onChange=${setKind} />
    <${Field} label="Field with the time of events (empty: when they arrive)"><input value=${time} disabled=${isLookup} onInput=${(event) => setTime(event.target.value)} /><//>
    <${Check} label="A lookup table: its rows have no time" checked=${isLookup} onChange=${setLookup} />
    <${Fault} error=${error} />
    <div class="actions"><button class="primary" disabled=${busy}>Add</button></div>
  </form><//>`;
}
