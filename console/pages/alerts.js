// Alerts: which are on, their history, the forms; where notices go.
import { html } from "../vendor/core.js";
import { get, session } from "../lib/api.js";
import { formatAgo, formatTime } from "../lib/format.js";
import { go, route, routeTo } from "../lib/route.js";
import { Tabs } from "../parts/controls.js";
import { Empty, Fault, Wait, useAsync, useEvery } from "../parts/states.js";
import { AlertForm } from "./alerts/form.js";
import { OneAlert } from "./alerts/one.js";
import { Targets } from "./alerts/targets.js";

export function Alerts() {
  const { path: [, id], query } = route.value;
  if (id === "new") return html`<${AlertForm} key=${`${query.promql} ${query.q}`} />`;
  if (id && id !== "targets") return html`<${OneAlert} key=${id} id=${id} />`;
  return html`<div class="head"><h1>Alerts</h1><span class="grow"></span>${session.value.mayAuthor && id !== "targets" && html`<button type="button" class="primary" onClick=${() => go(["alerts", "new"])}>New alert</button>`}</div>
    <${Tabs} label="Alerts" chosen=${id ?? "all"} choose=${(name) => go(name === "all" ? ["alerts"] : ["alerts", name])} tabs=${[["all", "Alerts"], ["targets", "Targets"]]} />
    ${id === "targets" ? html`<${Targets} />` : html`<${All} />`}`;
}

const mutedText = (state) => {
  if (!state?.mute) return "";
  return Number.isNaN(Date.parse(state.mute)) ? "silenced" : `silenced until ${formatTime(state.mute, "local", false)}`;
};

export const STATES = { triggered: ["bad", "triggered"], "not-triggered": ["good", "quiet"], disabled: ["off", "disabled"] };
/** @param {{alert: any, isShort?: boolean}} props */
export const State = ({ alert, isShort = false }) => {
  const [kind, text] = STATES[alert.state] ?? ["", alert.state];
  const muted = mutedText(alert.notificationState);
  return html`<span class=${`state ${kind}`}>${text}</span>${muted && html` <span class="soft" title=${muted}>${isShort ? "silenced" : muted}</span>`}`;
};

function All() {
  const { data, error, again } = useAsync((abort) => get("/api/v1/alerts?limit=1000", { signal: abort }), []);
  useEvery(15, again);
  if (error && !data) return html`<${Fault} error=${error} retry=${again} />`;
  if (!data) return html`<${Wait} on=${true} />`;
  if (!data.length) return html`<${Empty} title="No alerts yet">An alert asks a statement over and over, and tells somebody when its number is beyond a threshold.<//>`;
  return html`<${Fault} error=${error} retry=${again} /><div class="scroll"><table class="list-table"><thead><tr><th>State</th><th>Alert</th><th>Severity</th><th class="spare">Dataset</th><th class="spare">Tags</th><th>Last triggered</th></tr></thead>
    <tbody>${data.map((each) => html`<tr key=${each.id}><td class="nowrap"><${State} alert=${each} isShort=${true} /></td><td><a href=${routeTo(["alerts", each.id])}>${each.title}</a></td><td>${each.severity.toLowerCase()}</td><td class="spare">${each.datasets.join(", ")}</td><td class="spare">${each.tags.join(", ")}</td><td class="nowrap">${formatAgo(each.lastTriggeredAt)}</td></tr>`)}</tbody></table></div>`;
}
