// Beside the statement: tables with their columns, what was asked before, what was saved.
import { html, useState } from "../../vendor/core.js";
import { get, remove } from "../../lib/api.js";
import { datasets, loadColumns, loadDatasets } from "../../lib/datasets.js";
import { formatAgo } from "../../lib/format.js";
import { identifier } from "../../lib/sql.js";
import { Tabs } from "../../parts/controls.js";
import { Fault, Wait, useAsync } from "../../parts/states.js";

/** `choose` takes a whole statement, `insert` a name. */
export function Side({ turn, choose, insert }) {
  const [side, setSide] = useState("datasets");
  return html`<aside class="sql-side" aria-label="Beside the statement">
    <${Tabs} label="Beside the statement" chosen=${side} choose=${setSide} tabs=${[["datasets", "Tables"], ["history", "History"], ["saved", "Saved"]]} />
    ${side === "datasets" ? html`<${Tables} insert=${insert} />` : html`<${Past} key=${side} isNamed=${side === "saved"} turn=${turn} choose=${choose} />`}
  </aside>`;
}

function Past({ isNamed, turn, choose }) {
  const { data, error, again } = useAsync((abort) => get("/api/v1/saved-queries", { signal: abort }), [turn]);
  if (error) return html`<${Fault} error=${error} retry=${again} />`;
  if (!data) return html`<${Wait} on=${true} />`;
  const shown = data.filter((each) => Boolean(each.name) === isNamed);
  const drop = async (id) => {
    await remove(`/api/v1/saved-queries/${id}`);
    again();
  };
  if (!shown.length) return html`<p class="soft small">${isNamed ? "What you save stands here, on every machine you sign in from." : "What you ask stands here, on every machine you sign in from."}</p>`;
  return html`<ul class="list">${shown.map(
    (each) => html`<li key=${each.id} class="row" style=${{ flexWrap: "nowrap" }}>
      <button type="button" class="entry grow" title=${`${each.query}\n\n${formatAgo(each.askedAt)}`} onClick=${() => choose(each.query)}><span class="ellipsis">${each.name ?? each.query.replace(/\s+/g, " ")}</span></button>
      <button type="button" class="plain tiny" aria-label="Forget it" onClick=${() => drop(each.id)}>✕</button>
    </li>`,
  )}</ul>`;
}

function Tables({ insert }) {
  const loaded = useAsync(loadDatasets, []);
  const [open, setOpen] = useState(null);
  if (loaded.error) return html`<${Fault} error=${loaded.error} />`;
  return html`<ul class="list">${(datasets.value ?? []).map(
    (each) => html`<li key=${each.name}>
      <div class="row" style=${{ flexWrap: "nowrap" }}><button type="button" class="entry grow" aria-expanded=${open === each.name} onClick=${() => setOpen(open === each.name ? null : each.name)}><span class="ellipsis">${each.name}</span></button>
      <button type="button" class="plain tiny" aria-label=${`Insert ${each.name}`} onClick=${() => insert(identifier(each.name))}>+</button></div>
      ${open === each.name && html`<${ColumnList} name=${each.name} insert=${insert} />`}
    </li>`,
  )}</ul>`;
}

function ColumnList({ name, insert }) {
  const { data, error } = useAsync(() => loadColumns(name), [name]);
  if (error) return html`<${Fault} error=${error} />`;
  return html`<ul class="list" style=${{ paddingLeft: "0.75rem" }}>${(data ?? []).map(
    (each) => html`<li key=${each.name}><button type="button" class="entry" onClick=${() => insert(identifier(each.name))}><span class="grow ellipsis" style=${{ textAlign: "left" }}>${each.name}</span><span class="soft">${each.type}</span></button></li>`,
  )}</ul>`;
}
