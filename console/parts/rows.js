// Rows of a result: 100,000 of them scroll, because only those in sight exist.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../vendor/core.js";
import { formatTime, formatValue, readable } from "../lib/format.js";
import { levelOf } from "../lib/levels.js";

// Browsers draw nothing beyond some 17 million pixels: at this height, that is 700,000 rows.
export const ROW = 23;
const SAMPLE = 200;
const LEAST_WRAPPED_PX = 140;
// A phone shows times without year and fractions, which leaves room for the message.
const isNarrow = () => innerWidth < 704;

/** How wide columns are, by the first rows: in characters, bounded. */
function widths(columns, at, count, isTime) {
  return Object.fromEntries(
    columns.map((name) => {
      let most = name.length + 5;
      if (isTime(name)) most = Math.max(most, isNarrow() ? 14 : 24);
      else for (let index = 0; index < Math.min(SAMPLE, count); index += 1) most = Math.max(most, formatValue(at(index)?.[name]).length);
      return [name, Math.min(60, Math.max(5, most)) * 7.4 + 18];
    }),
  );
}

/** Whether its first values are numbers, which stand right. */
function isNumeric(name, at, count) {
  const seen = [];
  for (let index = 0; index < Math.min(SAMPLE, count); index += 1) seen.push(at(index)?.[name] ?? null);
  const present = seen.filter((each) => each !== null);
  return present.length > 0 && present.every((each) => typeof each === "number");
}

/**
 * @param {{rows: object[] | {length: number, at: (index: number) => object}, columns: string[], time?: string, instants?: string[], level?: string,
 *   wide?: string, zone?: string, wraps?: boolean, selected?: number, onSelect?: (index: number) => void, height?: number | string,
 *   find?: string, onDrop?: (name: string) => void, sort?: {name: string, order: string}, onSort?: (name: string) => void}} props
 */
export function Rows(props) {
  const { rows, columns, time, instants = [], level, wide, zone, wraps = false, selected, onSelect, height, find = "", onDrop, sort, onSort } = props;
  const at = useMemo(() => (Array.isArray(rows) ? (index) => rows[index] : (index) => rows.at(index)), [rows, rows.length]);
  const ref = useRef(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const [own, setOwn] = useState({});
  const measured = useRef(new Map());
  const [, setMeasures] = useState(0);
  const isTime = (name) => name === time || instants.includes(name);
  const natural = useMemo(() => widths(columns, at, rows.length, isTime), [columns.join("\n"), rows.length > 0, at]);
  // What wraps takes the room that is left, also on a phone.
  const width = (name) => own[name] ?? (wraps && name === wide ? Math.min(LEAST_WRAPPED_PX, natural[name]) : natural[name]);
  const numbers = useMemo(() => new Set(columns.filter((name) => isNumeric(name, at, rows.length))), [columns.join("\n"), rows.length > 0, at]);

  useEffect(() => {
    const element = ref.current;
    const look = () => setView({ top: element.scrollTop, height: element.clientHeight });
    const watch = new ResizeObserver(look);
    watch.observe(element);
    let waiting = false;
    const onScroll = () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        look();
      });
    };
    element.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      watch.disconnect();
      element.removeEventListener("scroll", onScroll);
    };
  }, []);

  const layout = wraps ? wrapped(rows.length, measured.current) : even(rows.length);
  const [first, last] = layout.between(view.top - 200, view.top + view.height + 200);
  const shown = [];
  for (let index = first; index <= last && index < rows.length; index += 1) shown.push(index);

  useLayoutEffect(() => {
    if (!wraps) return;
    let changed = false;
    for (const element of ref.current.querySelectorAll(".grid-row")) {
      const index = Number(element.dataset.index);
      if (measured.current.get(index) !== element.offsetHeight) {
        measured.current.set(index, element.offsetHeight);
        changed = true;
      }
    }
    if (changed) setMeasures((old) => old + 1);
  });
  useEffect(() => measured.current.clear(), [wraps, columns.join("\n"), rows]);

  const move = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 }[event.key];
    const edge = { Home: 0, End: rows.length - 1 }[event.key];
    if (!onSelect || (step === undefined && edge === undefined)) return;
    event.preventDefault();
    const next = edge ?? Math.max(0, Math.min(rows.length - 1, (selected ?? -1) + step));
    onSelect(next);
    const top = layout.top(next);
    if (top < ref.current.scrollTop) ref.current.scrollTop = top;
    if (top + 2 * ROW > ref.current.scrollTop + ref.current.clientHeight - ROW) ref.current.scrollTop = top - ref.current.clientHeight + 3 * ROW;
  };
  const resize = (name) => (event) => {
    event.preventDefault();
    const from = event.clientX;
    const start = width(name);
    const drag = (each) => setOwn((old) => ({ ...old, [name]: Math.max(40, start + each.clientX - from) }));
    const stop = () => document.removeEventListener("pointermove", drag);
    document.addEventListener("pointermove", drag);
    document.addEventListener("pointerup", stop, { once: true });
  };
  const total = columns.reduce((sum, name) => sum + width(name), 0);
  return html`<div class=${wraps ? "grid wrap" : "grid"} ref=${ref} tabindex="0" role="grid" aria-rowcount=${rows.length + 1} aria-colcount=${columns.length} aria-label="Rows"
      onKeyDown=${move} style=${height === undefined ? undefined : typeof height === "number" ? { height: `${height}px`, minHeight: 0 } : { height }}>
    <div class="grid-head" role="row" aria-rowindex="1" style=${{ minWidth: `${total}px` }}>
      ${columns.map(
        (name) => html`<div key=${name} class=${`cell${name === wide ? " wide" : ""}${numbers.has(name) ? " number" : ""}`} role="columnheader" aria-sort=${sort?.name === name ? `${sort.order}ending` : undefined} style=${{ width: `${width(name)}px` }}>
          ${onSort && name === sort?.name ? html`<button type="button" class="plain tiny" onClick=${() => onSort(name)}>${name} ${sort.order === "asc" ? "↑" : "↓"}</button>` : html`<span class="ellipsis">${name}</span>`}
          ${onDrop && columns.length > 1 && html`<button type="button" class="plain tiny drop" aria-label=${`Hide column ${name}`} onClick=${() => onDrop(name)}>✕</button>`}
          <span class="grip" onPointerDown=${resize(name)}></span>
        </div>`,
      )}
    </div>
    <div class="grid-body" role="rowgroup" style=${{ height: `${layout.height}px`, minWidth: wraps ? undefined : `${total}px` }}>
      ${shown.map((index) => {
        const row = at(index) ?? {};
        const severity = level ? levelOf(row[level]) : null;
        return html`<div key=${index} class=${severity ? `grid-row edge-${severity}` : "grid-row"} role="row" aria-rowindex=${index + 2} aria-selected=${onSelect ? index === selected : undefined}
            data-index=${index} style=${{ transform: `translateY(${layout.top(index)}px)`, height: wraps ? undefined : `${ROW}px` }} onClick=${onSelect && (() => onSelect(index))}>
          ${columns.map((name) => html`<${Cell} key=${name} value=${row[name]} width=${width(name)} isWide=${name === wide} isNumber=${numbers.has(name)} isTime=${isTime(name)} level=${name === level ? severity : null} zone=${zone} find=${find} wraps=${wraps} />`)}
        </div>`;
      })}
    </div>
  </div>`;
}

const LONGEST = 2000;

function Cell({ value, width, isWide, isNumber, isTime, level, zone, find, wraps }) {
  const text = isTime ? (isNarrow() ? formatTime(value, zone, false).slice(5) : formatTime(value, zone)) : readable(formatValue(value).slice(0, LONGEST));
  const shape = `cell${isWide ? " wide" : ""}${isNumber ? " number" : ""}${level ? ` level level-${level}` : ""}`;
  return html`<div class=${shape} role="gridcell" style=${{ width: `${width}px` }} dir="ltr">${value === null || value === undefined ? html`<span class="soft">–</span>` : marked(wraps ? text : text.replace(/\s*\n\s*/g, " ⏎ "), find)}</div>`;
}

/** The text with what is looked for marked. Text stays text: the parts are nodes, never markup. */
export function marked(text, find) {
  if (!find) return text;
  const parts = [];
  const low = text.toLowerCase();
  const needle = find.toLowerCase();
  let from = 0;
  for (let at = low.indexOf(needle); at >= 0 && parts.length < 200; at = low.indexOf(needle, from)) {
    parts.push(text.slice(from, at), html`<mark>${text.slice(at, at + needle.length)}</mark>`);
    from = at + needle.length;
  }
  return [...parts, text.slice(from)];
}

/** Rows of one height. */
const even = (count) => ({
  height: count * ROW,
  top: (index) => index * ROW,
  between: (low, high) => [Math.max(0, Math.floor(low / ROW)), Math.min(count - 1, Math.ceil(high / ROW))],
});

/** Rows whose heights are known once they were seen, and guessed before. */
function wrapped(count, measured) {
  const sorted = [...measured].filter(([index]) => index < count).sort((a, b) => a[0] - b[0]);
  const top = (index) => sorted.reduce((sum, [at, height]) => (at < index ? sum + height - ROW : sum), index * ROW);
  const find = (pixel) => {
    let low = 0;
    let high = count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (top(middle) < pixel) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return { height: top(count), top, between: (low, high) => [Math.max(0, find(low) - 1), Math.min(count - 1, find(high))] };
}

/** Lines of JSON that are read when they are looked at: 100,000 rows as text take a tenth of what they take as objects. */
export class LazyRows {
  /** @param {string[]} [lines] */
  constructor(lines = []) {
    this.lines = lines;
    this.known = new Map();
  }

  get length() {
    return this.lines.length;
  }

  at(index) {
    if (index >= this.lines.length) return undefined;
    const found = this.known.get(index);
    if (found) return found;
    if (this.known.size > 2000) this.known.clear();
    const row = JSON.parse(this.lines[index]);
    this.known.set(index, row);
    return row;
  }

  /** A new view of the same lines with more at the end, so that who compares sees the change. */
  with(more) {
    for (const line of more) this.lines.push(line);
    const grown = new LazyRows(this.lines);
    grown.known = this.known;
    return grown;
  }
}
