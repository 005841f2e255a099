// A row as a tree: every field with what one can do with its value.
import { html, useState } from "../vendor/core.js";
import { formatTime, formatValue, readable } from "../lib/format.js";
import { copyText } from "./controls.js";

/** @param {{row: object, act?: (name: string, value: any, what: string) => void, kinds?: Record<string, string>, zone?: string, find?: string}} props */
export function Tree({ row, act, kinds = {}, zone, find = "" }) {
  const names = Object.keys(row).filter((name) => !find || `${name} ${formatValue(row[name])}`.toLowerCase().includes(find.toLowerCase()));
  const present = names.filter((name) => row[name] !== null);
  const empty = names.filter((name) => row[name] === null);
  return html`<ul class="tree">
    ${present.map((name) => html`<${Node} key=${name} name=${name} value=${row[name]} act=${act} isTime=${kinds[name] === "time"} zone=${zone} />`)}
    ${empty.length > 0 && html`<li class="soft">empty: ${empty.join(", ")}</li>`}
  </ul>`;
}

function Node({ name, value, act, isTime, zone }) {
  const inner = nested(value);
  const [open, setOpen] = useState(true);
  if (inner) {
    const entries = Array.isArray(inner) ? inner.map((each, at) => [String(at), each]) : Object.entries(inner);
    return html`<li>
      <div class="leaf"><button type="button" class="plain tiny" aria-expanded=${open} onClick=${() => setOpen(!open)}>${open ? "▾" : "▸"} ${readable(name)}</button><span class="soft">${Array.isArray(inner) ? `${entries.length} items` : `${entries.length} members`}</span></div>
      ${open && html`<ul>${entries.map(([key, each]) => html`<${Node} key=${key} name=${key} value=${each} />`)}</ul>`}
    </li>`;
  }
  return html`<li><div class="leaf">
    <span class="name">${readable(name)}</span>
    <span class="value" dir="ltr">${isTime ? formatTime(value, zone) : readable(formatValue(value))}</span>
    <span class="tools">
      ${act &&
      html`<button type="button" class="plain" title="Only rows with this value" aria-label=${`Include ${name}`} onClick=${() => act(name, value, "=")}>+</button>
        <button type="button" class="plain" title="No rows with this value" aria-label=${`Exclude ${name}`} onClick=${() => act(name, value, "!=")}>−</button>
        <button type="button" class="plain" title="As a column" aria-label=${`Show ${name} as a column`} onClick=${() => act(name, value, "column")}>▥</button>`}
      <button type="button" class="plain" title="Copy" aria-label=${`Copy ${name}`} onClick=${() => copyText(formatValue(value))}><i class="copies"></i></button>
    </span>
  </div></li>`;
}

/** Objects and lists, also those that a column holds as text. */
function nested(value) {
  if (value !== null && typeof value === "object") return value;
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return null;
  try {
    const parsed = JSON.parse(value);
    return parsed !== null && typeof parsed === "object" ? parsed : null;
  } catch {
    return null;
  }
}
