// One alert: its state, its values over the last windows beside the threshold, what happened, what was delivered.
import { html, useEffect, useState } from "../../vendor/core.js";
import { get, patch, put, remove } from "../../lib/api.js";
import { judge } from "../../lib/alerts.js";
import { formatAgo, formatCount, formatTime } from "../../lib/format.js";
import { durationMs } from "../../lib/range.js";
import { go, route, routeTo, useSubject } from "../../lib/route.js";
import { Pop, TypedDelete } from "../../parts/controls.js";
import { TimeChart } from "../../parts/chart.js";
import { Fault, Wait, useAction, useAsync, useEvery } from "../../parts/states.js";
import { AlertForm } from "./form.js";
import { State } from "../alerts.js";
import { askWindow } from "./window.js";

const path = (id, part = "") => `/api/v1/alerts/${encodeURIComponent(id)}${part}`;

export function OneAlert({ id }) {
  const ask = async (abort) => {
    const [alert, history, deliveries] = await Promise.all([get(path(id), { signal: abort }), get(path(id, "/history"), { signal: abort }), get(path(id, "/deliveries"), { signal: abort })]);
    return { alert, history, deliveries };
  };
  const { data, error, again } = useAsync(ask, [id]);
  useEvery(10, again);
  useSubject(data?.alert.title);
  if (error && !data) return html`<h1>Alert</h1><${Fault} error=${error} retry=${again} /><a href=${routeTo(["alerts"])}>All of them</a>`;
  if (!data) return html`<h1>Alert</h1><${Wait} on=${true} />`;
  return route.value.path[2] === "edit" ? html`<${AlertForm} alert=${data.alert} />` : html`<${Shown} ...${data} again=${again} />`;
}

function Shown({ alert, history, deliveries, again }) {
  const [isDeleting, setDeleting] = useState(false);
  const { act, error, busy } = useAction();
  const does = (work) => () => act(async () => { await work(); again(); });
  const mute = (state) => does(() => patch(path(alert.id, "/update_notification_state"), { state }));
  const isMuted = Boolean(alert.notificationState?.mute);
  const isOff = alert.state === "disabled";
  const { operator, value } = alert.thresholdConfig;
  return html`<div class="head"><a class="button" href=${routeTo(["alerts"])} aria-label="Back to the list">‹</a><h1>${alert.title}</h1><${State} alert=${alert} /><span class="grow"></span>
      <button type="button" disabled=${busy || isOff} onClick=${does(() => put(path(alert.id, "/evaluate_alert")))}>Evaluate now</button>
      ${isMuted ? html`<button type="button" onClick=${mute("notify")}>End the silence</button>` : html`<${Pop} label="Silence" title="Silence">${(close) => html`<ul class="list">${[["1h", "One hour"], ["8h", "Eight hours"], ["2d", "Two days"], ["indefinite", "Until somebody ends it"]].map(([state, text]) => html`<li key=${state}><button type="button" class="plain" onClick=${() => (mute(state)(), close())}>${text}</button></li>`)}</ul>`}<//>`}
      <button type="button" onClick=${does(() => patch(path(alert.id, isOff ? "/enable" : "/disable")))}>${isOff ? "Enable" : "Disable"}</button>
      <button type="button" onClick=${() => go(["alerts", alert.id, "edit"])}>Edit</button>
      <button type="button" class="danger" onClick=${() => setDeleting(true)}>Delete</button></div>
    <${Fault} error=${error} />
    ${alert.lastError && html`<div class="fault" role="status">Its last evaluation failed: ${alert.lastError}</div>`}
    ${alert.disabledReason && html`<div class="notice">${alert.disabledReason}</div>`}
    <div class="facts">
      <div class="fact"><span>Last value</span><b>${formatCount(alert.lastValue)}</b></div><div class="fact"><span>Triggers when</span><b>${operator} ${value}</b></div>
      <div class="fact"><span>Window</span><b>${alert.evalConfig.rollingWindow.evalStart}, every ${alert.evalConfig.rollingWindow.evalFrequency} min</b></div>
      <div class="fact"><span>Last evaluated</span><b>${formatAgo(alert.lastEvaluatedAt)}</b></div><div class="fact"><span>Last triggered</span><b>${formatAgo(alert.lastTriggeredAt)}</b></div><div class="fact"><span>Severity</span><b>${alert.severity}</b></div>
    </div>
    <pre class="code">${alert.query}</pre>
    <${Values} alert=${alert} />
    <div class="panel"><h2>History</h2>${history.length ? html`<div class="scroll"><table class="list-table"><thead><tr><th>When</th><th>What</th><th class="number">Value</th><th>Detail</th></tr></thead><tbody>${history.map((each, at) => html`<tr key=${at}><td class="nowrap">${formatTime(each.at, "local", false)}</td><td>${each.kind}</td><td class="number">${each.value === null ? "" : formatCount(each.value)}</td><td class="text">${each.detail ?? ""}</td></tr>`)}</tbody></table></div>` : html`<p class="soft">It has never changed its state.</p>`}</div>
    <div class="panel"><h2>Deliveries</h2>${deliveries.length ? html`<div class="scroll"><table class="list-table"><thead><tr><th>When</th><th>What</th><th>State</th><th class="number">Attempts</th><th>Answer</th></tr></thead><tbody>${deliveries.map((each) => html`<tr key=${each.id}><td class="nowrap">${formatTime(each.created, "local", false)}</td><td>${each.kind}</td><td><span class=${{ delivered: "state good", failed: "state bad" }[each.state] ?? "state"}>${each.state}</span></td><td class="number">${each.attempts}</td><td>${each.lastError ?? each.lastStatus ?? ""}</td></tr>`)}</tbody></table></div>` : html`<p class="soft">Nothing was sent yet.</p>`}</div>
    ${isDeleting && html`<${TypedDelete} noun="alert" name=${alert.title} close=${() => setDeleting(false)} remove=${async () => { await remove(path(alert.id)); go(["alerts"]); }} />`}`;
}

const WINDOWS = 24;

/** The value of the last windows, one after another, as the service would have judged them. */
export function Values({ alert }) {
  const [points, setPoints] = useState([]);
  const [range, setRange] = useState(null);
  const [error, setError] = useState(null);
  const window = durationMs(alert.evalConfig.rollingWindow.evalStart) ?? 300_000;
  const { operator, value } = alert.thresholdConfig;
  useEffect(() => {
    const abort = new AbortController();
    const ask = async () => {
      const last = Math.floor(Date.now() / 60_000) * 60_000;
      // The axis stands before the values: the chart does not move while they come, the latest first.
      setRange({ start: last - WINDOWS * window, end: last + window / 2 });
      const found = [];
      for (let at = 0; at < WINDOWS && !abort.signal.aborted; at += 1) {
        const end = last - at * window;
        const { fields, records } = await askWindow(alert, { start: end - window, end }, abort.signal);
        found.unshift({ end, value: judge(fields, records, operator, value).value });
        if (at % 4 === 3) setPoints([...found]);
      }
    };
    setPoints([]);
    ask().catch((failed) => !abort.signal.aborted && setError(failed));
    return () => abort.abort();
  }, [alert.query, alert.queryType, alert.datasets?.[0], window, operator, value]);
  return html`<div class="panel"><h2>The last ${WINDOWS} windows</h2><${Wait} on=${!error && points.length < WINDOWS} /><${Fault} error=${error} />
    ${points.length > 0 ? html`<${TimeChart} names=${["value"]} data=${[points.map((each) => each.end / 1000), points.map((each) => each.value)]} height=${160} range=${range} lines=${[value]} label=${`Values and the threshold ${operator} ${value}`} /><p class="soft small">The dashed line is the threshold ${operator} ${value}.</p>` : !error && html`<div style=${{ height: "160px" }}></div>`}</div>`;
}
