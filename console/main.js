// The frame around every page: who is signed in, where one can go, which page the address names.
import { html, render, useEffect, useState } from "./vendor/core.js";
import { chooseTenant, findSession, lostSince, page, send, session, signOut, tenant } from "./lib/api.js";
import { formatTime } from "./lib/format.js";
import { useKeys } from "./lib/keys.js";
import { go, route, routeTo, subject } from "./lib/route.js";
import { Fault, Wait, useEvery } from "./parts/states.js";
import { Help } from "./parts/help.js";
import { SignIn } from "./pages/signin.js";
import { Explore } from "./pages/explore.js";
import { Start } from "./pages/start.js";

// Name of the page in its address, what the navigation calls it, who may see it, and where it is.
/** @type {[string, string, string | null, () => Promise<any>][]} */
const PAGES = [
  ["explore", "Explore", "mayQuery", async () => Explore],
  ["sql", "SQL", "mayQuery", async () => (await import("./pages/sql.js")).Sql],
  ["metrics", "Metrics", "mayQuery", async () => (await import("./pages/metrics.js")).Metrics],
  ["dashboards", "Dashboards", "mayQuery", async () => (await import("./pages/dashboards.js")).Dashboards],
  ["alerts", "Alerts", "mayQuery", async () => (await import("./pages/alerts.js")).Alerts],
  ["datasets", "Datasets", "mayQuery", async () => (await import("./pages/datasets.js")).Datasets],
  ["access", "Access", null, async () => (await import("./pages/access.js")).AccessPage],
  ["operations", "Operations", "mayQuery", async () => (await import("./pages/operations.js")).Operations],
  ["api", "API", null, async () => (await import("./pages/api.js")).Api],
];
/** @type {Record<string, () => Promise<any>>} */
const HIDDEN = { start: async () => Start };

function App() {
  const [failed, setFailed] = useState(null);
  useEffect(() => {
    findSession().catch(setFailed);
  }, []);
  if (failed) return html`<main><${Fault} error=${failed} retry=${() => location.reload()} /></main>`;
  if (session.value === undefined) return html`<${Wait} on=${true} />`;
  return session.value === null ? html`<${SignIn} />` : html`<${Frame} who=${session.value} />`;
}

function Frame({ who }) {
  const name = route.value.path[0] ?? (who.mayQuery ? "explore" : "access");
  const [help, setHelp] = useState(false);
  useKeys({ "?": () => setHelp(true) });
  useEffect(() => {
    const found = PAGES.find(([each]) => each === name);
    document.title = [subject.value, found ? found[1] : "Welcome", "Weir"].filter(Boolean).join(" – ");
  }, [name, subject.value]);
  useEffect(() => {
    // On a phone the navigation is wider than the screen.
    document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [name]);
  return html`<div class="frame">
    <a class="skip" href="#main" onClick=${skipToMain}>Skip to the content</a>
    <div class="side">
      <div class="brand"><${Logo} />Weir</div>
      <nav aria-label="Pages">
        ${PAGES.map(
          ([each, title]) =>
            html`<a key=${each} href=${routeTo([each])} aria-current=${each === name ? "page" : undefined}>${title}</a>`,
        )}
      </nav>
      <footer>
        ${who.multiTenant && html`<span class="who ellipsis">Tenant ${who.tenant}</span>`}
        <span class="who ellipsis" title=${`${who.name}: ${who.roles.join(", ") || "no roles"}`}>${who.name}</span>
        <div class="row">
          <${Theme} />
          <button type="button" class="tiny" aria-label="Keyboard shortcuts" onClick=${() => setHelp(true)}>?</button>
        </div>
        <button type="button" onClick=${signOut}>Sign out</button>
        <span class="version">Weir ${page.version}</span>
      </footer>
    </div>
    <main id="main" tabindex="-1"><${Page} name=${name} key=${name} who=${who} /></main>
    <${Lost} />
    ${help && html`<${Help} close=${() => setHelp(false)} />`}
  </div>`;
}

const ASK_AGAIN_SECONDS = 3;

/** Pages that ask by themselves go on showing what they had, which must not pass for what is. */
function Lost() {
  const since = lostSince.value;
  useEvery(since ? ASK_AGAIN_SECONDS : 0, () => send("GET", "/api/v1/liveness").catch(() => null));
  return since ? html`<div class="lost" role="status"><strong>The server does not answer since ${formatTime(since, "local", false).slice(11)}.</strong> What you see is of before. This goes away when it answers.</div>` : null;
}

function skipToMain(event) {
  event.preventDefault();
  document.getElementById("main").focus();
}

function Page({ name, who }) {
  const [View, setView] = useState(null);
  const [failed, setFailed] = useState(null);
  const entry = PAGES.find(([each]) => each === name);
  const load = entry ? entry[3] : HIDDEN[name];
  useEffect(() => {
    load?.().then((found) => setView(() => found), setFailed);
  }, [name]);
  if (!load) {
    return html`<div class="empty"><strong>There is no page ${name}</strong><button onClick=${() => go(["explore"])}>To the first page</button></div>`;
  }
  if (entry?.[2] && !who[entry[2]]) {
    return html`<h1>${entry[1]}</h1>
      <div class="empty"><strong>This needs the privilege reader</strong>You have: ${who.entries.map((each) => each.privilege).join(", ") || "no privileges"}. An administrator can give you a role under Access.</div>`;
  }
  if (failed) return html`<${Fault} error=${failed} retry=${() => location.reload()} />`;
  return View ? html`<${View} who=${who} />` : html`<${Wait} on=${true} />`;
}

const THEMES = ["auto", "light", "dark"];

function Theme() {
  const [theme, setTheme] = useState(localStorage.getItem("weir.theme") ?? "auto");
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  const choose = () => {
    localStorage.setItem("weir.theme", next);
    setTheme(next);
    applyTheme();
  };
  return html`<button type="button" class="tiny" title=${`Change to ${next}`} onClick=${choose}>Theme: ${theme}</button>`;
}

function applyTheme() {
  const theme = localStorage.getItem("weir.theme") ?? "auto";
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  document.dispatchEvent(new Event("weir:theme"));
}

const Logo = () => html`<svg viewBox="0 0 16 16" aria-hidden="true"><rect width="16" height="16" rx="3" fill="#14616b" /><path d="M2 5h12M2 8h5m2 0h5M2 11h8" stroke="#fff" stroke-width="1.6" stroke-linecap="round" /></svg>`;

// `?tenant=` of a link that somebody was sent.
const named = new URLSearchParams(location.search).get("tenant");
if (named && tenant() !== "") chooseTenant(named);
// Where the way to the OIDC provider began: it brings browsers back without what stood behind `#`.
const began = sessionStorage.getItem("weir.began");
sessionStorage.removeItem("weir.began");
if (began && !location.hash) location.hash = began;
applyTheme();
render(html`<${App} />`, document.getElementById("app"));
