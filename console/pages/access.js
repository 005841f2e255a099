// Access: keys, roles, users, single sign-on, tenants and the record of changes; to who is no administrator, their own rights.
import { html } from "../vendor/core.js";
import { go, route } from "../lib/route.js";
import { Tabs } from "../parts/controls.js";
import { Rights } from "./access/rights.js";
import { Keys } from "./access/keys.js";
import { Roles } from "./access/roles.js";
import { Users } from "./access/users.js";
import { SignOn } from "./access/signon.js";
import { Tenants } from "./access/tenants.js";
import { Audit } from "./access/audit.js";

const TABS = [["keys", "Keys", Keys], ["roles", "Roles", Roles], ["users", "Users", Users], ["oidc", "Single sign-on", SignOn], ["tenants", "Tenants", Tenants], ["audit", "Audit", Audit]];

export function AccessPage({ who }) {
  if (!who.mayAdminister) return html`<h1>Access</h1><${Own} who=${who} />`;
  const tabs = TABS.filter(([name]) => name !== "tenants" || (who.multiTenant && who.tenant === "default"));
  const chosen = tabs.find(([name]) => name === route.value.path[1]) ?? tabs[0];
  const View = chosen[2];
  return html`<div class="head"><h1>Access</h1></div>
    <${Tabs} label="Access" tabs=${tabs} chosen=${chosen[0]} choose=${(name) => go(["access", name])} />
    <div class="column" role="tabpanel" aria-label=${chosen[1]}><${View} key=${chosen[0]} who=${who} /></div>`;
}

/** The session's entries in the form in which roles are written. */
const asWritten = ({ privilege, dataset, tag }) => ({ privilege, ...(dataset || tag ? { resource: { ...(dataset ? { dataset } : {}), ...(tag ? { tag } : {}) } } : {}) });

const Own = ({ who }) => html`<div class="panel">
  <h2>What you may do</h2>
  <p>You are ${who.name}${who.roles.length ? `, with the ${who.roles.length === 1 ? "role" : "roles"} ${who.roles.join(", ")}` : ", without a role"}. Administrators give roles, keys and users.</p>
  <${Rights} entries=${who.entries.map(asWritten)} />
</div>`;
