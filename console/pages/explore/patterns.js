// Message patterns: texts that differ in ids and numbers only, counted together.
import { html } from "../../vendor/core.js";
import { rows } from "../../lib/api.js";
import { formatCount, formatShare, formatTime, readable } from "../../lib/format.js";
import { change } from "../../lib/route.js";
import { patternCondition, patternStatement } from "../../lib/sql.js";
import { Empty, Fault, Wait, useAsync } from "../../parts/states.js";

export function Patterns({ about }) {
  const { dataset, where, role, members, zone, turn } = about;
  const field = role.message;
  const statement = patternStatement({ dataset: dataset.name, where, field, time: role.time });
  const { data, error, busy, again } = useAsync((abort) => rows(statement, members, abort), [statement, members.startTime, members.endTime, turn]);
  const total = data?.records.reduce((sum, each) => sum + each.n, 0) ?? 0;
  const choose = (pattern, not) => {
    const condition = patternCondition(field, pattern);
    // One change of the address: a second one would begin at the address before the first.
    change({ where: [where, not ? `NOT ${condition}` : condition].filter(Boolean).join(" AND "), view: "" });
  };
  return html`<section class="results" aria-label="Patterns">
    <div class="status"><span>${data ? `${formatCount(data.records.length)} patterns of ${field}` : ""}</span></div>
    <${Wait} on=${busy} />
    <${Fault} error=${error} retry=${again} />
    ${data && !data.records.length && html`<${Empty} title="No messages in this range">Choose a longer range or fewer filters.<//>`}
    ${data?.records.length > 0 && html`<div class="scroll"><table class="list-table">
      <thead><tr><th class="number">Events</th><th class="number">Share</th><th>Pattern</th><th class="spare">Latest</th><th></th></tr></thead>
      <tbody>${data.records.map(
        (each, at) => html`<tr key=${at}>
          <td class="number">${formatCount(each.n)}</td>
          <td class="number">${formatShare(each.n / total)}</td>
          <td class="mono text" title=${readable(each.example ?? "")}>${readable(each.pattern ?? "")}</td>
          <td class="nowrap spare">${formatTime(each.latest, zone, false)}</td>
          <td class="actions-cell"><button type="button" class="tiny" onClick=${() => choose(each.pattern)}>Only these</button> <button type="button" class="tiny" onClick=${() => choose(each.pattern, true)}>Not these</button></td>
        </tr>`,
      )}</tbody></table></div>`}
  </section>`;
}
