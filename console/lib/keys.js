// Keyboard shortcuts, which are off while somebody writes.
import { useEffect } from "../vendor/core.js";

const writes = (target) => target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);

/** Calls `handlers[key]` while the component is there. */
export function useKeys(handlers) {
  useEffect(() => {
    const onKey = (event) => {
      const target = event.composedPath()[0];
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (writes(target) || document.querySelector("dialog[open]")) return;
      const handler = handlers[event.key];
      if (!handler) return;
      event.preventDefault();
      handler();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  });
}
