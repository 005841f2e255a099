// Sign in: by name and password, or at the OIDC provider.
import { html, useState } from "../vendor/core.js";
import { chooseTenant, page, signIn, tenant } from "../lib/api.js";
import { Field } from "../parts/controls.js";
import { Fault, useAction } from "../parts/states.js";

export function SignIn() {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [where, setWhere] = useState(tenant());
  const { act, busy, error } = useAction();
  const submit = (event) => {
    event.preventDefault();
    if (where) chooseTenant(where);
    act(() => signIn(name, password));
  };
  const wrong = error?.status === 401 ? new Error("Name or password is wrong.") : error;
  return html`<div class="sign-in"><main>
    <form onSubmit=${submit}>
      <h1>Weir</h1>
      ${page.tenants === "true" && html`<${Field} label="Tenant"><input value=${where} required onInput=${(event) => setWhere(event.target.value)} /><//>`}
      <${Field} label="User name"><input name="username" autocomplete="username" autofocus required value=${name} onInput=${(event) => setName(event.target.value)} /><//>
      <${Field} label="Password"><input name="password" type="password" autocomplete="current-password" required value=${password} onInput=${(event) => setPassword(event.target.value)} /><//>
      <${Fault} error=${wrong} />
      <button class="primary" disabled=${busy}>Sign in</button>
      ${page.oidc === "true" && html`<a class="button" href=${`/api/v1/o/login?redirect=/${where ? `&tenant=${encodeURIComponent(where)}` : ""}`} onClick=${remember}>Continue with single sign-on</a>`}
    </form>
  </main></div>`;
}

const remember = () => sessionStorage.setItem("weir.began", location.hash);
