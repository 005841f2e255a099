// Roles: lists of privileges, with what they come to shown while one writes.
import { html, useState } from "../../vendor/core.js";
import { get, put, remove } from "../../lib/api.js";
import { entryText } from "../../lib/rights.js";
import { Dialog, Field, Select } from "../../parts/controls.js";
import { Empty, Fault, Wait, useAction, useAsync } from "../../parts/states.js";
import { Rights } from "./rights.js";

const PRIVILEGES = [["ingestor", "ingestor: sends events"], ["reader", "reader: queries"], ["writer", "writer: queries, makes dashboards and alerts"], ["admin", "admin: everything"]];

export function Roles() {
  const { data, error, again } = useAsync((abort) => get("/api/v1/roles", { signal: abort }), []);
  const names = useAsync(async (abort) => (await get("/api/v1/logstream", { signal: abort })).map((each) => each.name), []);
  const [editing, setEditing] = useState(null);
  const { act, error: refused } = useAction();
  if (error && !data) return html`<${Fault} error=${error} retry=${again} />`;
  if (!data) return html`<${Wait} on=${true} />`;
  const drop = (name) => act(async () => { await remove(`/api/v1/role/${encodeURIComponent(name)}`); again(); });
  return html`<div class="row"><button type="button" class="primary" onClick=${() => setEditing({ name: "", entries: [{ privilege: "reader" }] })}>New role</button></div>
    <${Fault} error=${refused} />
    ${!Object.keys(data).length && html`<${Empty} title="No roles yet">A role says what its holders may do, and on which datasets.<//>`}
    ${Object.keys(data).length > 0 && html`<div class="scroll"><table class="list-table">
      <thead><tr><th>Role</th><th>Privileges</th><th></th></tr></thead>
      <tbody>${Object.entries(data).map(
        ([name, entries]) => html`<tr key=${name}><td>${name}</td>
          <td>${entries.map((each, at) => html`<div key=${at}>${entryText(each)}</div>`)}${!entries.length && html`<span class="soft">none</span>`}</td>
          <td class="actions-cell"><button type="button" class="tiny" onClick=${() => setEditing({ name, entries })}>Edit</button> <button type="button" class="tiny danger" onClick=${() => drop(name)}>Delete</button></td></tr>`,
      )}</tbody></table></div>`}
    ${editing && html`<${Editing} start=${editing} datasets=${names.data ?? []} close=${() => setEditing(null)} done=${() => (setEditing(null), again())} />`}`;
}

function Editing({ start, datasets, close, done }) {
  const [name, setName] = useState(start.name);
  const [entries, setEntries] = useState(start.entries);
  const { act, error, busy } = useAction();
  const change = (at, entry) => setEntries(entries.map((each, index) => (index === at ? entry : each)));
  const submit = async (event) => {
    event.preventDefault();
    if (await act(() => put(`/api/v1/role/${encodeURIComponent(name)}`, entries))) done();
  };
  return html`<${Dialog} title=${start.name ? `Role ${start.name}` : "New role"} close=${close}><form class="column" onSubmit=${submit}>
    ${!start.name && html`<${Field} label="Role"><input required value=${name} onInput=${(event) => setName(event.target.value)} /><//>`}
    <datalist id="role-datasets">${datasets.map((each) => html`<option key=${each} value=${each} />`)}</datalist>
    ${entries.map((entry, at) => html`<${Entry} key=${at} entry=${entry} change=${(next) => change(at, next)} drop=${() => setEntries(entries.filter((_, index) => index !== at))} />`)}
    <div><button type="button" onClick=${() => setEntries([...entries, { privilege: "reader" }])}>+ Privilege</button></div>
    <h3>What a holder may do</h3>
    <${Rights} entries=${entries} />
    <${Fault} error=${error} />
    <div class="actions"><button class="primary" disabled=${busy}>Save</button></div>
  </form><//>`;
}

function Entry({ entry, change, drop }) {
  const dataset = entry.resource?.dataset ?? entry.resource?.stream ?? "";
  const tag = entry.resource?.tag ?? "";
  const set = (privilege, name, rows) => {
    const resource = { ...(name ? { dataset: name } : {}), ...(rows && privilege === "reader" ? { tag: rows } : {}) };
    change({ privilege, ...(Object.keys(resource).length ? { resource } : {}) });
  };
  return html`<div class="form">
    <${Select} label="Privilege" value=${entry.privilege} options=${PRIVILEGES} onChange=${(value) => set(value, dataset, tag)} />
    <${Field} label="Dataset (empty: all)"><input list="role-datasets" value=${dataset} onInput=${(event) => set(entry.privilege, event.target.value.trim(), tag)} /><//>
    ${entry.privilege === "reader" && html`<${Field} label="Only rows with"><input placeholder="env=prod" value=${tag} onInput=${(event) => set(entry.privilege, dataset, event.target.value)} /><//>`}
    <button type="button" aria-label="Remove this privilege" onClick=${drop}>✕</button>
  </div>`;
}
