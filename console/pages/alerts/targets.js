// Targets: where notices go. What is secret of them goes in and never comes out.
import { html, useState } from "../../vendor/core.js";
import { get, post, put, remove, session } from "../../lib/api.js";
import { Check, Dialog, Field, Select, TypedDelete } from "../../parts/controls.js";
import { Empty, Fault, Wait, useAction, useAsync } from "../../parts/states.js";

const KINDS = [["webhook", "Webhook"], ["slack", "Slack"], ["alertManager", "Alertmanager"], ["email", "E-mail"], ["pagerDuty", "PagerDuty"]];
const path = (id, part = "") => `/api/v1/targets/${encodeURIComponent(id)}${part}`;

export function Targets() {
  const { data, error, again } = useAsync((abort) => get("/api/v1/targets", { signal: abort }), []);
  const [open, setOpen] = useState(null);
  const [told, setTold] = useState({});
  const { mayAuthor } = session.value;
  if (error && !data) return html`<${Fault} error=${error} retry=${again} />`;
  if (!data) return html`<${Wait} on=${true} />`;
  const test = async (id) => {
    setTold({ ...told, [id]: "…" });
    const answer = await post(path(id, "/test"), {}).catch((failed) => ({ error: failed.message }));
    setTold((old) => ({ ...old, [id]: answer.error ? `not delivered: ${answer.error}` : `delivered (${answer.status})` }));
  };
  return html`${mayAuthor && html`<div><button type="button" class="primary" onClick=${() => setOpen({ what: "form" })}>New target</button></div>`}
    ${!data.length && html`<${Empty} title="No targets yet">Alerts without one are seen here only.<//>`}
    ${data.length > 0 && html`<div class="scroll"><table class="list-table"><thead><tr><th>Target</th><th class="spare">Kind</th><th>Where</th><th></th></tr></thead>
      <tbody>${data.map((each) => html`<tr key=${each.id}><td>${each.name}</td><td class="spare">${each.type}</td><td class="mono">${[each.endpoint, (each.to ?? []).join(", ")].filter(Boolean).join(" ")}</td>
        <td class="actions-cell"><span role="status">${told[each.id] ?? ""}</span> ${mayAuthor && html`<button type="button" class="tiny" onClick=${() => test(each.id)}>Test</button> <button type="button" class="tiny" onClick=${() => setOpen({ what: "form", target: each })}>Replace</button> <button type="button" class="tiny danger" onClick=${() => setOpen({ what: "delete", target: each })}>Delete</button>`}</td></tr>`)}</tbody></table></div>`}
    ${open?.what === "form" && html`<${TargetForm} target=${open.target} close=${() => setOpen(null)} done=${() => (setOpen(null), again())} />`}
    ${open?.what === "delete" && html`<${TypedDelete} noun="target" name=${open.target.name} close=${() => setOpen(null)} remove=${async () => { await remove(path(open.target.id)); again(); }} />`}`;
}

function body(form) {
  const credentials = form.username ? { auth: { username: form.username, password: form.password } } : {};
  const tls = form.skipTlsCheck ? { skipTlsCheck: true } : {};
  const common = { name: form.name, type: form.type };
  if (form.type === "pagerDuty") return { ...common, routingKey: form.routingKey, ...(form.endpoint ? { endpoint: form.endpoint } : {}) };
  if (form.type === "email") return { ...common, endpoint: form.endpoint, from: form.from, to: form.to.split(",").map((each) => each.trim()).filter(Boolean), ...credentials };
  const headers = form.type === "webhook" && form.header ? { headers: { [form.header]: form.headerValue } } : {};
  return { ...common, endpoint: form.endpoint, ...headers, ...(form.type === "alertManager" ? credentials : {}), ...tls };
}

function TargetForm({ target, close, done }) {
  const [form, setForm] = useState({ name: target?.name ?? "", type: target?.type ?? "webhook", endpoint: "", header: "", headerValue: "", username: "", password: "", from: "", to: "", routingKey: "", skipTlsCheck: false });
  const { act, error, busy } = useAction();
  const text = (name, label, more = {}) => html`<${Field} label=${label}><input value=${form[name]} onInput=${(event) => setForm({ ...form, [name]: event.target.value })} ...${more} /><//>`;
  const submit = async (event) => {
    event.preventDefault();
    if (await act(() => (target ? put(path(target.id), body(form)) : post("/api/v1/targets", body(form))))) done();
  };
  const is = (...types) => types.includes(form.type);
  return html`<${Dialog} title=${target ? `Replace ${target.name}` : "New target"} close=${close}><form class="column" onSubmit=${submit}>
    ${target && html`<p class="soft">Say everything anew: old secrets never go to a new address.</p>`}
    ${text("name", "Title", { required: true })}
    <${Select} label="Kind" value=${form.type} options=${KINDS} onChange=${(type) => setForm({ ...form, type })} />
    ${text("endpoint", is("email") ? "Server (smtp://host:587)" : is("pagerDuty") ? "Address (empty: PagerDuty's own)" : "Address (https://…)", { required: !is("pagerDuty") })}
    ${is("pagerDuty") && text("routingKey", "Routing key", { required: true, type: "password", autocomplete: "off" })}
    ${is("email") && html`${text("from", "From", { required: true, type: "email" })}${text("to", "To (a@example.com, b@example.com)", { required: true })}`}
    ${is("webhook") && html`<div class="form">${text("header", "Header")}${text("headerValue", "Its value", { type: "password", autocomplete: "off" })}</div>`}
    ${is("email", "alertManager") && html`<div class="form">${text("username", "User", { autocomplete: "off" })}${text("password", "Its password", { type: "password", autocomplete: "new-password" })}</div>`}
    ${is("webhook", "alertManager") && html`<${Check} label="Do not check its certificate (only for hosts that an administrator has named)" checked=${form.skipTlsCheck} onChange=${(skipTlsCheck) => setForm({ ...form, skipTlsCheck })} />`}
    <${Fault} error=${error} />
    <div class="actions"><button class="primary" disabled=${busy}>Save</button></div>
  </form><//>`;
}
