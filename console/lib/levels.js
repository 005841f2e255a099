// Severities: what the many spellings of a level mean. Pure.

export const LEVELS = ["fatal", "error", "warn", "info", "debug", "trace"];

/** @type {[string, RegExp][]} */
const WORDS = [
  ["fatal", /^(fatal|crit|critical|emerg|emergency|alert|panic)/],
  ["error", /^(err|error|severe|fail|failed|failure)/],
  ["warn", /^(warn|warning)/],
  ["info", /^(info|information|notice|ok|unset)/],
  ["debug", /^(debug|fine)/],
  ["trace", /^(trace|verbose|finest)/],
];
// OpenTelemetry's severity numbers, four to a level from 1 on.
const BY_NUMBER = ["trace", "debug", "info", "warn", "error", "fatal"];

/** The level that a value stands for, or null: it may be anything. */
export function levelOf(value) {
  if (value === null || value === undefined || value === "") return null;
  const number = Number(value);
  if (Number.isFinite(number)) return number >= 1 && number <= 24 ? BY_NUMBER[Math.floor((number - 1) / 4)] : null;
  const text = String(value).toLowerCase().replace(/^status_code_/, "");
  return WORDS.find(([, pattern]) => pattern.test(text))?.[0] ?? null;
}

/** The most severe first, what is no level after them by its name. */
export function bySeverity(a, b) {
  const rank = (value) => {
    const level = levelOf(value);
    return level ? LEVELS.indexOf(level) : LEVELS.length;
  };
  return rank(a) - rank(b) || String(a).localeCompare(String(b));
}
