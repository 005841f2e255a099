// Traces: spans put in the order of their tree, with what a waterfall draws of each. Pure.

/**
 * @typedef {{id: string, parent: string | null, name: string, service: string, startMs: number, ms: number,
 *   failed: boolean, depth: number, offset: number, share: number, row: object}} Span
 */

/** Milliseconds of RFC 3339 text, with the fraction that Date forgets. */
export function exactMs(text) {
  const ms = new Date(text).getTime();
  const digits = /\.\d{3}(\d+)/.exec(String(text))?.[1] ?? "";
  return ms + (digits ? Number(`0.${digits}`) : 0);
}

const perMs = (name) => (/_ns$|nano/.test(name) ? 1e-6 : /_us$|micro/.test(name) ? 1e-3 : 1);

/**
 * @param {object[]} rows
 * @param {Record<string, string | null>} columns as `spanColumns` gives them
 * @returns {{spans: Span[], startMs: number, ms: number}}
 */
export function waterfall(rows, columns) {
  const spans = rows.map((row) => ({
    id: row[columns.span],
    parent: (columns.parent && row[columns.parent]) || null,
    name: (columns.name && row[columns.name]) || "span",
    service: (columns.service && row[columns.service]) || "",
    startMs: exactMs(row[columns.start]),
    ms: Number(row[columns.duration] ?? 0) * perMs(columns.duration),
    failed: /error/i.test((columns.status && row[columns.status]) || ""),
    row,
  }));
  const startMs = Math.min(...spans.map((each) => each.startMs));
  const ms = Math.max(...spans.map((each) => each.startMs + each.ms)) - startMs || 1;
  const placed = ordered(spans).map((each) => ({
    ...each,
    offset: (each.startMs - startMs) / ms,
    share: Math.max(each.ms / ms, 0),
  }));
  return { spans: placed, startMs, ms };
}

/** Parents before children, siblings by their start; what has lost its parent stands at the top. Rings are cut. */
function ordered(spans) {
  const ids = new Set(spans.map((each) => each.id));
  const children = new Map();
  for (const span of spans) {
    const parent = span.parent && ids.has(span.parent) && span.parent !== span.id ? span.parent : null;
    children.set(parent, [...(children.get(parent) ?? []), span]);
  }
  const found = [];
  const seen = new Set();
  const visit = (list, depth) => {
    for (const span of [...list].sort((a, b) => a.startMs - b.startMs)) {
      if (seen.has(span)) continue;
      seen.add(span);
      found.push({ ...span, depth });
      visit(children.get(span.id) ?? [], depth + 1);
    }
  };
  visit(children.get(null) ?? [], 0);
  visit(spans.filter((each) => !seen.has(each)), 0);
  return found;
}
