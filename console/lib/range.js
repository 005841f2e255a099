// Time ranges: as an address holds them, as the API takes them, as Unix ms.

const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

export const QUICK = [
  ["5m", "Last 5 minutes"],
  ["15m", "Last 15 minutes"],
  ["1h", "Last hour"],
  ["6h", "Last 6 hours"],
  ["24h", "Last 24 hours"],
  ["7d", "Last 7 days"],
  ["30d", "Last 30 days"],
];
export const DEFAULT = { from: "1h", to: "now" };

/** Milliseconds of `1h 30m`; null for what is no duration. */
export function durationMs(text) {
  const parts = [...text.trim().matchAll(/(\d+(?:\.\d+)?)\s*(ms|[smhdw])/g)];
  if (!parts.length || parts.map((each) => each[0]).join("").replace(/\s/g, "") !== text.replace(/\s/g, "")) return null;
  return parts.reduce((sum, [, number, unit]) => sum + Number(number) * UNIT_MS[unit], 0);
}

/** Unix ms of one side as an address holds it: `now`, `now-1h`, a duration (of a start), Unix ms or RFC 3339. */
export function sideMs(text, now) {
  const trimmed = text.trim();
  if (trimmed === "now") return now;
  const ago = durationMs(trimmed.replace(/^now\s*-/, ""));
  if (ago !== null) return now - ago;
  if (/^\d{12,14}$/.test(trimmed)) return Number(trimmed);
  const ms = new Date(trimmed.replace(" ", "T")).getTime();
  return Number.isNaN(ms) ? null : ms;
}

/**
 * The range as instants: [start, end) in Unix ms, or null where a side cannot be read.
 * @returns {{start: number, end: number} | null}
 */
export function resolve({ from, to }, now = Date.now()) {
  const end = sideMs(to || "now", now);
  const start = sideMs(from || DEFAULT.from, now);
  return start === null || end === null || start >= end ? null : { start, end };
}

/** As the query API takes it. */
export const asMembers = ({ start, end }) => ({
  startTime: new Date(start).toISOString(),
  endTime: new Date(end).toISOString(),
});

export const isRelative = ({ to }) => !to || to.startsWith("now");

/** What the picker's button says. */
export function describe(range, format) {
  const quick = QUICK.find(([from]) => from === range.from && (range.to || "now") === "now");
  if (quick) return quick[1];
  if (durationMs(range.from) !== null && (range.to || "now") === "now") return `Last ${range.from}`;
  const side = (text) => (/^\d{12,14}$/.test(text) ? format(Number(text)) : text);
  return `${side(range.from)} – ${side(range.to || "now")}`;
}

/** The neighbour of a range, by whole lengths: -1 before it, 1 after it. */
export function shift(range, steps, now = Date.now()) {
  const found = resolve(range, now);
  if (!found) return range;
  const by = steps * (found.end - found.start);
  return { from: String(found.start + by), to: String(found.end + by) };
}

/** Twice as long around the same middle. */
export function widen(range, now = Date.now()) {
  const found = resolve(range, now);
  if (!found) return range;
  const half = (found.end - found.start) / 2;
  return { from: String(Math.round(found.start - half)), to: String(Math.round(Math.min(found.end + half, now))) };
}

const WIDTHS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 15e3, 30e3, 60e3, 120e3, 300e3, 600e3, 900e3, 1800e3,
  3600e3, 7200e3, 10800e3, 21600e3, 43200e3, 86400e3, 172800e3, 604800e3, 2592000e3,
];

/** A round width of bins, in ms, so that about `wanted` of them make the range. */
export const binWidth = ({ start, end }, wanted = 80) =>
  WIDTHS.find((each) => (end - start) / each <= wanted) ?? Math.ceil((end - start) / wanted);
