// Numbers, sizes and times as people read them.

const count = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const formatCount = (value) => (value === null || value === undefined ? "–" : count.format(value));
export const formatShort = (value) => (value === null || value === undefined ? "–" : short.format(value));

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** @param {number | null | undefined} bytes */
export function formatBytes(bytes) {
  if (bytes === null || bytes === undefined) return "–";
  const power = Math.min(UNITS.length - 1, bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${value.toFixed(power === 0 || value >= 100 ? 0 : 1)} ${UNITS[power]}`;
}

/** `12.3 %`; what is there is never shown as nothing. */
export const formatShare = (share) => (share > 0 && share < 0.001 ? "< 0.1 %" : `${(share * 100).toFixed(1)} %`);

/** `1 file`, `2 files`: for nouns that take an s. */
export const formatSome = (number, noun) => `${formatCount(number)} ${noun}${number === 1 ? "" : "s"}`;

/** A length of time in the largest unit that leaves a readable number. */
export function formatMs(ms) {
  if (ms === null || ms === undefined) return "–";
  if (Math.abs(ms) < 1) return `${(ms * 1000).toFixed(0)} µs`;
  if (Math.abs(ms) < 1000) return `${ms < 10 ? ms.toFixed(1) : ms.toFixed(0)} ms`;
  if (Math.abs(ms) < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  return formatSeconds(ms / 1000);
}

/** `90` is `1 m 30 s`; the two largest units. */
export function formatSeconds(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 60) return `${seconds < 10 ? +seconds.toFixed(1) : Math.round(seconds)} s`;
  const first = UNITS_OF_TIME.findIndex((each) => seconds >= each.seconds);
  const unit = UNITS_OF_TIME[first];
  const next = UNITS_OF_TIME[first + 1];
  const rest = next ? Math.floor((seconds % unit.seconds) / next.seconds) : 0;
  const whole = `${Math.floor(seconds / unit.seconds)} ${unit.name}`;
  return rest ? `${whole} ${rest} ${next.name}` : whole;
}

const UNITS_OF_TIME = [
  { name: "d", seconds: 86_400 },
  { name: "h", seconds: 3_600 },
  { name: "m", seconds: 60 },
  { name: "s", seconds: 1 },
];

const pad = (number, width = 2) => String(number).padStart(width, "0");

/** The parts of an instant in a zone: "utc" or "local". */
function parts(date, zone) {
  const utc = zone === "utc";
  return {
    year: utc ? date.getUTCFullYear() : date.getFullYear(),
    month: (utc ? date.getUTCMonth() : date.getMonth()) + 1,
    day: utc ? date.getUTCDate() : date.getDate(),
    hour: utc ? date.getUTCHours() : date.getHours(),
    minute: utc ? date.getUTCMinutes() : date.getMinutes(),
    second: utc ? date.getUTCSeconds() : date.getSeconds(),
    ms: date.getMilliseconds(),
  };
}

/**
 * `2026-01-02 03:04:05.678` in the zone. Text that is no time stays as it is.
 * @param {string | number | null | undefined} instant RFC 3339 or Unix ms
 */
export function formatTime(instant, zone = "local", withMs = true) {
  if (instant === null || instant === undefined || instant === "") return "–";
  const date = new Date(instant);
  if (Number.isNaN(date.getTime())) return String(instant);
  const p = parts(date, zone);
  const day = `${p.year}-${pad(p.month)}-${pad(p.day)}`;
  return `${day} ${pad(p.hour)}:${pad(p.minute)}:${pad(p.second)}${withMs ? `.${pad(p.ms, 3)}` : ""}`;
}

/** What `<input type="datetime-local" step="1">` takes. */
export const toInput = (ms, zone) => formatTime(ms, zone, false).replace(" ", "T");

/** Unix ms of what such an input gives; null for nothing. */
export function fromInput(text, zone) {
  if (!text) return null;
  const ms = new Date(zone === "utc" ? `${text}Z` : text).getTime();
  return Number.isNaN(ms) ? null : ms;
}

/** `3 minutes ago`. */
export function formatAgo(instant, now = Date.now()) {
  if (!instant) return "never";
  const seconds = (now - new Date(instant).getTime()) / 1000;
  return seconds < 5 ? "just now" : `${formatSeconds(seconds)} ago`;
}

/** A value of a row as one line of text. */
export function formatValue(value) {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

// Colours and cursor moves of terminals, which are noise in a browser. What is left is shown as text in any case.
// eslint-disable-next-line no-control-regex
const ANSI = /\u001b\[[0-9;?]*[A-Za-z]|\u001b\][^\u0007]*\u0007?/g;
// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/g;
// Marks that turn the reading direction for what follows, the rest of the page included.
const BIDI = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Hostile text made harmless to read: no terminal codes, control and direction marks made visible. */
export const readable = (text) =>
  text
    .replace(ANSI, "")
    .replace(CONTROL, (each) => String.fromCharCode(0x2400 + (each === "\u007f" ? 0x21 : each.charCodeAt(0))))
    .replace(BIDI, (each) => `⟨U+${each.charCodeAt(0).toString(16).toUpperCase()}⟩`);
