// The API as pages call it: JSON in and out, rows as they come, errors as the server says them.
import { signal } from "../vendor/core.js";

/** Who is signed in; null: nobody; undefined: not known yet. */
export const session = signal(undefined);

/** What the server refused, in its own words. */
export class Refused extends Error {
  constructor(status, body) {
    super(body.message || `the server answered ${status}`);
    this.status = status;
    this.code = body.code || "";
    this.position = body.position;
    this.field = body.field;
    this.requestId = body.requestId;
  }
}

/** Since when nobody answers, in Unix ms; 0: the server does. */
export const lostSince = signal(0);
const lose = () => {
  lostSince.value ||= Date.now();
};
globalThis.addEventListener?.("offline", lose);

export const page = document.documentElement.dataset;
const TENANT = "weir.tenant";

export const tenant = () => (page.tenants === "true" ? localStorage.getItem(TENANT) || "default" : "");
export const chooseTenant = (name) => localStorage.setItem(TENANT, name);

// The header keeps browsers from asking for a password in a window of their own.
const headers = (more = {}) => ({
  "X-Requested-With": "XMLHttpRequest",
  ...(tenant() ? { "X-P-Tenant": tenant() } : {}),
  ...more,
});

/**
 * @typedef {{body?: any, accept?: string, signal?: AbortSignal, headers?: Record<string, string>}} Options
 */

/**
 * The answer, if it is a success. Throws Refused, or what fetch throws when nobody answers.
 * @param {string} method
 * @param {string} path
 * @param {Options} [options]
 */
export async function send(method, path, { body, accept = "application/json", signal: abort, headers: more } = {}) {
  const has = body !== undefined;
  const answer = await fetch(path, {
    method,
    signal: abort,
    credentials: "same-origin",
    headers: headers({ Accept: accept, ...(has ? { "Content-Type": "application/json" } : {}), ...more }),
    body: has ? JSON.stringify(body) : undefined,
  }).catch((error) => {
    if (error instanceof TypeError) lose();
    throw error;
  });
  lostSince.value = 0;
  if (!answer.ok) throw await refusal(answer);
  return answer;
}

async function refusal(answer) {
  const body = await answer.json().catch(() => ({}));
  // What Prometheus' shape calls it.
  const refused = new Refused(answer.status, { message: body.error, code: body.errorType, ...body });
  if (answer.status === 401 && session.value) session.value = null;
  return refused;
}

/** @param {string} path @param {Options} [options] */
export const get = async (path, options) => (await send("GET", path, options)).json();
/** @param {string} path @param {any} body @param {Options} [options] */
export const post = async (path, body, options) => (await send("POST", path, { body, ...options })).json();
/** @param {string} path @param {any} body @param {Options} [options] */
export const put = async (path, body, options) => (await send("PUT", path, { body, ...options })).json();
/** @param {string} path @param {any} body @param {Options} [options] */
export const patch = async (path, body, options) => (await send("PATCH", path, { body, ...options })).json();
/** @param {string} path @param {Options} [options] */
export const remove = async (path, options) => (await send("DELETE", path, options)).json();

/**
 * Rows of a statement that has few: `{fields, records}`.
 * @param {string} query
 * @param {{startTime?: string, endTime?: string}} [range]
 * @param {AbortSignal} [abort]
 * @returns {Promise<{fields: string[], records: any[]}>}
 */
export const rows = (query, range = {}, abort) =>
  post("/api/v1/query?fields=true", { query, ...range }, { signal: abort });

/**
 * The lines of a statement's result, in pieces as they come, each the JSON text of a row.
 * Returns what the server says of the work.
 */
export async function stream(query, range, { signal: abort, onLines }) {
  const answer = await send("POST", "/api/v1/query", {
    body: { query, ...range },
    accept: "application/x-ndjson",
    signal: abort,
  });
  await lines(answer, onLines);
  return work(answer);
}

/** What the query had to look into, by the answer's headers; null where that is not ours to know. */
export function work(answer) {
  const number = (name) => (answer.headers.has(name) ? Number(answer.headers.get(name)) : null);
  return {
    elapsedMs: number("X-Weir-Elapsed-Ms"),
    files: number("X-Weir-Files-Scanned"),
    bytes: number("X-Weir-Bytes-Scanned"),
    outside: answer.headers.get("X-Weir-Outside-Range"),
  };
}

/** Hands over the complete lines of an answer as they arrive. */
export async function lines(answer, onLines) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    if (parts.length) onLines(parts);
  }
  if (rest) onLines([rest]);
}

/** Signs in by name and password; the session is a cookie that scripts cannot read. */
export async function signIn(name, password) {
  const utf8 = String.fromCharCode(...new TextEncoder().encode(`${name}:${password}`));
  const where = tenant() ? `&tenant=${encodeURIComponent(tenant())}` : "";
  const answer = await fetch(`/api/v1/o/login?redirect=/${where}`, {
    headers: headers({ Authorization: `Basic ${btoa(utf8)}` }),
    redirect: "manual",
  });
  if (answer.type !== "opaqueredirect") throw await refusal(answer);
  await findSession();
}

/** Asks who is signed in. Throws where the server cannot tell. */
export async function findSession() {
  if (page.session === "false") {
    session.value = null;
    page.session = "true";
    return;
  }
  try {
    session.value = await get("/api/v1/session");
  } catch (error) {
    if (!(error instanceof Refused) || ![400, 401].includes(error.status)) throw error;
    session.value = null;
  }
}

export function signOut() {
  const where = tenant() ? `&tenant=${encodeURIComponent(tenant())}` : "";
  location.assign(`/api/v1/o/logout?redirect=/${where}`);
}
