// Tenants of a server of several.
import { html, useState } from "../../vendor/core.js";
import { get, put, remove } from "../../lib/api.js";
import { formatTime } from "../../lib/format.js";
import { Copy, Dialog, Field, TypedDelete } from "../../parts/controls.js";
import { Fault, Wait, useAction, useAsync } from "../../parts/states.js";

const path = (id) => `/api/v1/tenants/${encodeURIComponent(id)}`;

export function Tenants() {
  const { data, error, again } = useAsync((abort) => get("/api/v1/tenants", { signal: abort }), []);
  const [id, setId] = useState("");
  const [admin, setAdmin] = useState("");
  const [made, setMade] = useState(null);
  const [deleted, setDeleted] = useState(null);
  const { act, error: refused, busy } = useAction();
  const submit = async (event) => {
    event.preventDefault();
    const answer = await act(() => put(path(id), { admin }));
    if (answer) setMade(answer), setId(""), again();
  };
  if (error && !data) return html`<${Fault} error=${error} retry=${again} />`;
  if (!data) return html`<${Wait} on=${true} />`;
  return html`<form class="panel" onSubmit=${submit}><h2>New tenant</h2><div class="form">
      <${Field} label="Tenant"><input required value=${id} onInput=${(event) => setId(event.target.value)} /><//>
      <${Field} label="Its administrator"><input required value=${admin} onInput=${(event) => setAdmin(event.target.value)} /><//>
      <button class="primary" disabled=${busy}>Add</button></div><${Fault} error=${refused} /></form>
    <div class="scroll"><table class="list-table"><thead><tr><th>Tenant</th><th>Made</th><th></th></tr></thead>
      <tbody>${data.map((each) => html`<tr key=${each.tenantId}><td>${each.tenantId}</td><td>${formatTime(each.createdAt, "local", false)}</td><td class="actions-cell">${each.tenantId !== "default" && html`<button type="button" class="tiny danger" onClick=${() => setDeleted(each)}>Delete</button>`}</td></tr>`)}</tbody></table></div>
    ${made && html`<${Dialog} title=${`Administrator of ${made.tenantId}`} close=${() => setMade(null)}><p>The password is shown this once.</p><div class="row"><code>${made.admin.username}</code> <code>${made.admin.password}</code><${Copy} text=${made.admin.password} /></div><//>`}
    ${deleted && html`<${TypedDelete} noun="tenant" name=${deleted.tenantId} close=${() => setDeleted(null)} remove=${async () => { await remove(`${path(deleted.tenantId)}?purge=true`); again(); }}><p>With all of its users, keys, datasets and events.</p><//>`}`;
}
