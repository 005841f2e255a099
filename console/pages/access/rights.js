// What entries of roles come to, as a table.
import { html } from "../../vendor/core.js";
import { ACTIONS, effective } from "../../lib/rights.js";

export function Rights({ entries }) {
  if (!entries.length) return html`<p class="soft">Nothing: no role gives a privilege.</p>`;
  return html`<div class="scroll"><table class="list-table">
    <thead><tr><th>On</th>${ACTIONS.map(([name, text]) => html`<th key=${name}>${text}</th>`)}<th>Rows</th></tr></thead>
    <tbody>${effective(entries).map(
      (line) => html`<tr key=${line.dataset ?? "*"}>
        <td>${line.dataset ?? "all other datasets"}</td>
        ${ACTIONS.map(([name]) => html`<td key=${name}>${line.may[name] ? "✓ yes" : html`<span class="soft">no</span>`}</td>`)}
        <td>${!line.may.query ? html`<span class="soft">none</span>` : line.tags ? `only ${line.tags.join(" or ")}` : "all"}</td>
      </tr>`,
    )}</tbody></table></div>`;
}
