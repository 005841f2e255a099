// What an alert's query gives for one window: the rows that the service would judge.
import { rows } from "../../lib/api.js";
import { queryInstant } from "../../lib/prometheus.js";

/**
 * @param {{query: string, queryType?: string, datasets?: string[]}} alert
 * @param {{start: number, end: number}} window Unix ms
 * @param {AbortSignal} [abort]
 */
export function askWindow({ query, queryType, datasets }, { start, end }, abort) {
  if (queryType === "promql") return queryInstant(datasets?.[0] ?? "", query, end, abort);
  return rows(query, { startTime: new Date(start).toISOString(), endTime: new Date(end).toISOString() }, abort);
}
