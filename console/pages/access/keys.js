// API keys: made, shown once with what to paste into a sender, revealed again to administrators, deleted.
import { html, useState } from "../../vendor/core.js";
import { get, post, remove, tenant } from "../../lib/api.js";
import { formatAgo, formatTime } from "../../lib/format.js";
import { snippets } from "../../lib/snippets.js";
import { Check, Copy, Dialog, Field, Tabs, TypedDelete } from "../../parts/controls.js";
import { Empty, Fault, Wait, useAction, useAsync } from "../../parts/states.js";
import { Rights } from "./rights.js";

const PATH = "/api/console/v1/apikeys";

export function Keys() {
  const ask = async (abort) => ({ keys: await get(PATH, { signal: abort }), roles: await get("/api/v1/roles", { signal: abort }) });
  const { data, error, again } = useAsync(ask, []);
  const [shown, setShown] = useState(null);
  const [deleted, setDeleted] = useState(null);
  const { act, error: refused } = useAction();
  if (error && !data) return html`<${Fault} error=${error} retry=${again} />`;
  if (!data) return html`<${Wait} on=${true} />`;
  const reveal = (key) => act(async () => setShown({ ...(await get(`${PATH}/${key.keyId}`)), isNew: false }));
  return html`<${NewKey} roles=${data.roles} done=${(key) => (setShown({ ...key, isNew: true }), again())} />
    <${Fault} error=${refused} />
    ${data.keys.length === 0
      ? html`<${Empty} title="No keys yet">Make one for each sender: then each can be taken back without the others.<//>`
      : html`<div class="scroll"><table class="list-table">
          <thead><tr><th>Key</th><th class="spare">Secret</th><th>Roles</th><th class="spare">Made</th><th>Last used</th><th>Expires</th><th></th></tr></thead>
          <tbody>${data.keys.map(
            (key) => html`<tr key=${key.keyId}>
              <td>${key.keyName}<div class="soft mono spare">${key.keyId}</div></td>
              <td class="mono spare">${key.apiKey}</td>
              <td>${key.roles.join(", ") || html`<span class="soft">none</span>`}</td>
              <td class="nowrap spare">${formatTime(key.createdAt, "local", false)}<div class="soft">by ${key.createdBy}</div></td>
              <td class="nowrap">${formatAgo(key.lastUsedAt)}</td>
              <td class="nowrap">${key.expiresAt ? formatTime(key.expiresAt, "local", false) : "never"}</td>
              <td class="actions-cell"><button type="button" class="tiny" onClick=${() => reveal(key)}>Show</button> <button type="button" class="tiny danger" onClick=${() => setDeleted(key)}>Delete</button></td>
            </tr>`,
          )}</tbody></table></div>`}
    ${shown && html`<${Secret} shown=${shown} roles=${data.roles} close=${() => setShown(null)} />`}
    ${deleted &&
    html`<${TypedDelete} noun="key" name=${deleted.keyName} close=${() => setDeleted(null)} remove=${async () => { await remove(`${PATH}/${deleted.keyId}`); again(); }}>
      <p>Whoever uses it is refused from the next request on, everywhere. It was last used ${formatAgo(deleted.lastUsedAt)}.</p><//>`}`;
}

function NewKey({ roles, done }) {
  const [name, setName] = useState("");
  const [chosen, setChosen] = useState([]);
  const [expires, setExpires] = useState("");
  const { act, error, busy } = useAction();
  const submit = async (event) => {
    event.preventDefault();
    const key = await act(() => post(PATH, { keyName: name, roles: chosen, ...(expires ? { expiresAt: new Date(expires).toISOString() } : {}) }));
    if (!key) return;
    setName("");
    setChosen([]);
    setExpires("");
    done(key);
  };
  const toggle = (role, on) => setChosen(on ? [...chosen, role] : chosen.filter((each) => each !== role));
  const entries = chosen.flatMap((role) => roles[role] ?? []);
  return html`<form class="panel" onSubmit=${submit} aria-label="New key">
    <h2>New key</h2>
    <div class="form">
      <${Field} label="Name"><input required maxlength="100" autocomplete="off" value=${name} onInput=${(event) => setName(event.target.value)} /><//>
      <${Field} label="Expires (empty: never)"><input type="datetime-local" value=${expires} onInput=${(event) => setExpires(event.target.value)} /><//>
      <button class="primary" disabled=${busy}>Create</button>
    </div>
    <fieldset class="row" style=${{ border: 0, padding: 0, margin: 0 }}>
      <legend class="soft small">Roles</legend>
      ${Object.keys(roles).map((role) => html`<${Check} key=${role} label=${role} checked=${chosen.includes(role)} onChange=${(on) => toggle(role, on)} />`)}
      ${!Object.keys(roles).length && html`<span class="soft">There are no roles yet: the tab Roles makes them.</span>`}
    </fieldset>
    ${chosen.length > 0 && html`<${Rights} entries=${entries} />`}
    <${Fault} error=${error} />
  </form>`;
}

function Secret({ shown, roles, close }) {
  const entries = shown.roles.flatMap((role) => roles[role] ?? []);
  const dataset = entries.map((each) => each.resource?.dataset ?? each.resource?.stream).find(Boolean) ?? "app";
  const texts = snippets({ secret: shown.apiKey, dataset, origin: location.origin, keyName: shown.keyName, tenant: tenant() });
  const [chosen, setChosen] = useState("curl");
  const text = texts.find(([name]) => name === chosen)[1];
  return html`<${Dialog} title=${`Key ${shown.keyName}`} close=${close}>
    <p>${shown.isNew ? "Copy the secret now. The list shows its last four characters; administrators can see it again, which is recorded." : "That you looked is recorded in the audit."}</p>
    <div class="row"><code>${shown.apiKey}</code><${Copy} text=${shown.apiKey} label="Copy the secret" /></div>
    <${Tabs} label="Sender" tabs=${texts.map(([name]) => [name, name])} chosen=${chosen} choose=${setChosen} />
    <div class="row"><span class="grow"></span><${Copy} text=${text} /></div>
    <pre class="code">${text}</pre>
  <//>`;
}
