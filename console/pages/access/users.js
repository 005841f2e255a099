// Users and the roles they hold.
import { html, useState } from "../../vendor/core.js";
import { get, post, put, remove } from "../../lib/api.js";
import { Check, Copy, Dialog, Field, TypedDelete } from "../../parts/controls.js";
import { Fault, Wait, useAction, useAsync } from "../../parts/states.js";
import { Rights } from "./rights.js";

const path = (name, more = "") => `/api/v1/user/${encodeURIComponent(name)}${more}`;

export function Users() {
  const ask = async (abort) => ({ users: await get("/api/v1/users", { signal: abort }), roles: await get("/api/v1/roles", { signal: abort }) });
  const { data, error, again } = useAsync(ask, []);
  const [open, setOpen] = useState(null);
  const [password, setPassword] = useState(null);
  const { act, error: refused } = useAction();
  if (error && !data) return html`<${Fault} error=${error} retry=${again} />`;
  if (!data) return html`<${Wait} on=${true} />`;
  const renew = (user) => act(async () => setPassword({ name: user.id, text: await post(path(user.id, "/generate-new-password")) }));
  const close = () => (setOpen(null), again());
  return html`<div class="row"><button type="button" class="primary" onClick=${() => setOpen({ what: "new" })}>New user</button></div>
    <${Fault} error=${refused} />
    <div class="scroll"><table class="list-table">
      <thead><tr><th>User</th><th class="spare">Signs in by</th><th>Roles</th><th></th></tr></thead>
      <tbody>${data.users.map(
        (user) => html`<tr key=${user.id}><td>${user.username}${user.email && html`<div class="soft">${user.email}</div>`}</td>
          <td class="spare">${user.method === "native" ? "password" : "single sign-on"}</td>
          <td>${Object.keys(user.roles).join(", ") || html`<span class="soft">none</span>`}</td>
          <td class="actions-cell"><button type="button" class="tiny" onClick=${() => setOpen({ what: "roles", user })}>Roles</button>
            ${user.method === "native" && html` <button type="button" class="tiny" onClick=${() => renew(user)}>New password</button> `}
            <button type="button" class="tiny danger" onClick=${() => setOpen({ what: "delete", user })}>Delete</button></td></tr>`,
      )}</tbody></table></div>
    ${open?.what === "new" && html`<${NewUser} roles=${data.roles} close=${() => setOpen(null)} done=${(made) => (close(), setPassword(made))} />`}
    ${open?.what === "roles" && html`<${UserRoles} user=${open.user} roles=${data.roles} close=${() => setOpen(null)} done=${close} />`}
    ${open?.what === "delete" && html`<${TypedDelete} noun="user" name=${open.user.id} close=${() => setOpen(null)} remove=${async () => { await remove(path(open.user.id)); again(); }}><p>Sessions end at once. What they made stays.</p><//>`}
    ${password && html`<${Dialog} title=${`Password of ${password.name}`} close=${() => setPassword(null)}><p>It is shown this once.</p><div class="row"><code>${password.text}</code><${Copy} text=${password.text} /></div><//>`}`;
}

function Choice({ roles, chosen, choose }) {
  return html`<fieldset class="row" style=${{ border: 0, padding: 0, margin: 0 }}><legend class="soft small">Roles</legend>
      ${Object.keys(roles).map((role) => html`<${Check} key=${role} label=${role} checked=${chosen.includes(role)} onChange=${(on) => choose(on ? [...chosen, role] : chosen.filter((each) => each !== role))} />`)}
    </fieldset>
    <${Rights} entries=${chosen.flatMap((role) => roles[role] ?? [])} />`;
}

function NewUser({ roles, close, done }) {
  const [name, setName] = useState("");
  const [chosen, setChosen] = useState([]);
  const { act, error, busy } = useAction();
  const submit = async (event) => {
    event.preventDefault();
    const text = await act(() => post(path(name), chosen));
    if (text) done({ name, text });
  };
  return html`<${Dialog} title="New user" close=${close}><form class="column" onSubmit=${submit}>
    <${Field} label="User"><input required autocomplete="off" value=${name} onInput=${(event) => setName(event.target.value)} /><//>
    <${Choice} roles=${roles} chosen=${chosen} choose=${setChosen} />
    <${Fault} error=${error} />
    <div class="actions"><button class="primary" disabled=${busy}>Add</button></div>
  </form><//>`;
}

function UserRoles({ user, roles, close, done }) {
  const [chosen, setChosen] = useState(Object.keys(user.roles));
  const { act, error, busy } = useAction();
  const submit = async (event) => {
    event.preventDefault();
    if (await act(() => put(path(user.id, "/role"), chosen))) done();
  };
  return html`<${Dialog} title=${`Roles of ${user.username}`} close=${close}><form class="column" onSubmit=${submit}>
    <${Choice} roles=${roles} chosen=${chosen} choose=${setChosen} />
    <${Fault} error=${error} />
    <div class="actions"><button class="primary" disabled=${busy}>Save</button></div>
  </form><//>`;
}
