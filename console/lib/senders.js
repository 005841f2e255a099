// What the senders of a dataset stored, as a chart takes it. Pure.

export const REST = "the rest";

/** What a sender is called. A key that is deleted has its id alone. */
export const senderName = (sender) => sender.name ?? `deleted key ${sender.id}`;

/**
 * Bytes per second over time, a column for each of the senders that stored most, and one for all others.
 * @param {{from: string, to: string, bucketSeconds: number, senders: {kind: string, id: string, name: string | null,
 *   buckets: {begins: string, bytes: number}[]}[]}} answer the most bytes first
 * @returns {{names: string[], data: number[][]}} `data[0]`: the beginnings of the buckets, in seconds
 */
export function ratesOver({ from, to, bucketSeconds, senders }, most = 7) {
  const first = Date.parse(from) / 1000;
  const length = Math.max(1, Math.ceil((Date.parse(to) / 1000 - first) / bucketSeconds));
  const column = (those) => {
    const values = new Array(length).fill(0);
    for (const { begins, bytes } of those.flatMap((each) => each.buckets)) {
      const at = Math.round((Date.parse(begins) / 1000 - first) / bucketSeconds);
      if (at >= 0 && at < length) values[at] += bytes / bucketSeconds;
    }
    return values;
  };
  const rest = senders.slice(most);
  const columns = [...senders.slice(0, most).map((each) => [senderName(each), column([each])]), ...(rest.length ? [[REST, column(rest)]] : [])];
  const times = Array.from({ length }, (_, at) => first + at * bucketSeconds);
  return { names: columns.map(([name]) => name), data: [times, ...columns.map(([, values]) => values)] };
}
