// Who sends how much to a dataset: the rate of each key and user now, and over a day.
import { html } from "../vendor/core.js";
import { get } from "../lib/api.js";
import { formatAgo, formatBytes, formatCount, formatShort } from "../lib/format.js";
import { ratesOver, senderName } from "../lib/senders.js";
import { TimeChart } from "../parts/chart.js";
import { Fault, Wait, useAsync, useEvery } from "../parts/states.js";

const EVERY_SECONDS = 10;
const KINDS = { api_key: "API key", native: "user", oauth: "single sign-on" };

export function Senders({ path }) {
  const ask = async (abort) => {
    const answer = await get(`${path}?hours=24`, { signal: abort });
    return { senders: answer.senders, range: { start: Date.parse(answer.from), end: Date.parse(answer.to) }, ...ratesOver(answer) };
  };
  const { data, error, busy, again } = useAsync(ask, [path]);
  useEvery(EVERY_SECONDS, again);
  const all = (data?.senders ?? []).reduce((sum, each) => sum + each.bytes, 0);
  return html`<div class="panel"><h2>By key and user</h2><${Wait} on=${busy && !data} /><${Fault} error=${error} />
    ${data && !data.senders.length && html`<p class="soft">Nobody sent anything in the last day. Weir's own events are not counted here.</p>`}
    ${data?.senders.length > 0 && html`<p class="soft small">Bytes per second in the last day. The rates below are of the last minutes; Events and Sent, of the day.</p>
      <${TimeChart} names=${data.names} data=${data.data} kind="bars" isStacked=${true} height=${170} range=${data.range} label="Bytes per second by sender" />
      <div class="scroll"><table class="list-table"><thead><tr><th>Sender</th><th>Kind</th><th class="number">Events/s</th><th class="number">Bytes/s</th><th class="number">Requests</th><th class="number">Events</th><th class="number">Sent</th><th class="number">Share</th><th>Latest</th></tr></thead>
        <tbody>${data.senders.map((each) => html`<${Line} key=${`${each.kind}:${each.id}`} sender=${each} all=${all} />`)}</tbody></table></div>`}</div>`;
}

const Line = ({ sender, all }) => html`<tr><td title=${sender.id}>${senderName(sender)}</td><td>${KINDS[sender.kind] ?? sender.kind}</td>
  <td class="number">${formatShort(sender.eventsPerSecond)}</td><td class="number">${formatBytes(sender.bytesPerSecond)}/s</td><td class="number">${formatCount(sender.requests)}</td>
  <td class="number">${formatCount(sender.events)}</td><td class="number">${formatBytes(sender.bytes)}</td><td class="number">${all ? `${((sender.bytes / all) * 100).toFixed(1)} %` : "–"}</td>
  <td class="nowrap">${formatAgo(sender.latestAt)}</td></tr>`;
