// Every view is an address: `#/page/part?name=value`. What stands behind `#` is in no log of any server or proxy.
import { signal, useEffect } from "../vendor/core.js";

/**
 * @param {string} hash
 * @returns {{path: string[], query: Record<string, string>}}
 */
export function parseRoute(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return {
    path: path.split("/").filter(Boolean).map(decodeOr),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

function decodeOr(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The address of a view; empty values are left out. */
export function routeTo(path, query = {}) {
  const kept = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

export const route = signal(parseRoute(globalThis.location?.hash ?? ""));

/** What the page is about, for the title of the window: of many tabs, one is that board. */
export const subject = signal("");

/** @param {string | undefined} text while the component is there */
export function useSubject(text) {
  useEffect(() => {
    subject.value = text ?? "";
    return () => {
      subject.value = "";
    };
  }, [text]);
}

export const go = (path, query) => {
  location.hash = routeTo(path, query);
};

/** Changes parts of the current view's query; `replace` leaves no step to go back to. */
export function change(query, { replace = false } = {}) {
  const hash = routeTo(route.value.path, { ...route.value.query, ...query });
  if (hash === location.hash) return;
  if (replace) {
    history.replaceState(null, "", hash);
    route.value = parseRoute(hash);
  } else {
    location.hash = hash;
  }
}

globalThis.addEventListener?.("hashchange", () => {
  route.value = parseRoute(location.hash);
});
