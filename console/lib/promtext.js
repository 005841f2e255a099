// Prometheus' text format, as Weir writes its own numbers. Pure.

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** @returns {{name: string, labels: Record<string, string>, value: number}[]} */
export function parseSamples(text) {
  const samples = [];
  for (const line of text.split("\n")) {
    const found = line.startsWith("#") ? null : LINE.exec(line);
    if (!found) continue;
    /** @type {Record<string, string>} */
    const labels = {};
    for (const [, name, value] of (found[2] ?? "").matchAll(LABEL)) {
      labels[name] = value.replace(/\\(.)/g, (_, each) => (each === "n" ? "\n" : each));
    }
    samples.push({ name: found[1], labels, value: Number(found[3].replace("Inf", "Infinity")) });
  }
  return samples;
}

/** The sum of a metric's samples whose labels match; null without any. */
export function total(samples, name, labels = {}) {
  const found = samples.filter(
    (each) => each.name === name && Object.entries(labels).every(([label, value]) => each.labels[label] === value),
  );
  return found.length ? found.reduce((sum, each) => sum + each.value, 0) : null;
}

/** A quantile of a histogram, by its cumulative buckets, linear within one; null without observations. */
export function quantile(samples, name, q) {
  const sums = new Map();
  for (const each of samples) {
    if (each.name !== `${name}_bucket`) continue;
    const bound = each.labels.le === "+Inf" ? Infinity : Number(each.labels.le);
    sums.set(bound, (sums.get(bound) ?? 0) + each.value);
  }
  const buckets = [...sums].sort((a, b) => a[0] - b[0]);
  const all = buckets.at(-1)?.[1] ?? 0;
  if (!all) return null;
  const at = buckets.findIndex(([, count]) => count >= q * all);
  const [bound, count] = buckets[at];
  const [low, below] = at ? buckets[at - 1] : [0, 0];
  if (bound === Infinity) return low;
  return low + (bound - low) * (count > below ? (q * all - below) / (count - below) : 1);
}
