// Single sign-on: whether a provider is set, and the role of who comes without one.
import { html, useState } from "../../vendor/core.js";
import { get, put } from "../../lib/api.js";
import { Select } from "../../parts/controls.js";
import { Fault, Wait, useAction, useAsync } from "../../parts/states.js";

export function SignOn() {
  const ask = async (abort) => ({ about: await get("/api/v1/about", { signal: abort }), roles: await get("/api/v1/roles", { signal: abort }), role: await get("/api/v1/role/default", { signal: abort }) });
  const { data, error, again } = useAsync(ask, []);
  if (error && !data) return html`<${Fault} error=${error} retry=${again} />`;
  return data ? html`<${Loaded} data=${data} again=${again} />` : html`<${Wait} on=${true} />`;
}

function Loaded({ data, again }) {
  const [role, setRole] = useState(data.role ?? "");
  const { act, error, busy } = useAction();
  const save = () => act(async () => { await put("/api/v1/role/default", role || null); again(); });
  return html`<div class="panel">
      <h2>Provider</h2>
      ${data.about.oidcActive
        ? html`<p><span class="state good">An OIDC provider is set.</span> Names in its groups claim that are roles here are roles of the user.</p>`
        : html`<p><span class="state off">No provider is set.</span></p><p>Set these for the server and start it anew; the redirect address to register is <code>${location.origin}/api/v1/o/code</code>.</p>
            <pre class="code">WEIR_OIDC_ISSUER=https://id.example.com\nWEIR_OIDC_CLIENT_ID=weir\nWEIR_OIDC_CLIENT_SECRET=…</pre>`}
    </div>
    <div class="panel">
      <h2>Default role</h2>
      <p>Of users who come by single sign-on with neither a group nor a role.</p>
      <div class="form"><${Select} label="Role" value=${role} options=${[["", "none"], ...Object.keys(data.roles).map((each) => [each, each])]} onChange=${setRole} />
      <button type="button" class="primary" disabled=${busy || role === (data.role ?? "")} onClick=${save}>Save</button></div>
      <${Fault} error=${error} />
    </div>`;
}
