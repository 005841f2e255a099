// What the entries of roles come to: the rules of docs/access.md, for a preview. The server has the last word. Pure.

const GRANTS = {
  ingestor: ["ingest"],
  reader: ["query", "readAuthored"],
  writer: ["query", "readAuthored", "author"],
  admin: ["ingest", "query", "readAuthored", "author", "administer"],
};
export const ACTIONS = [
  ["ingest", "Send events"],
  ["query", "Query"],
  ["readAuthored", "See dashboards, alerts"],
  ["author", "Make dashboards, alerts"],
  ["administer", "Manage"],
];

const datasetOf = (entry) => {
  const name = entry.resource?.dataset ?? entry.resource?.stream ?? null;
  return name === "*" ? null : name;
};

/**
 * One line for all datasets together, and one for each that is named.
 * @returns {{dataset: string | null, may: Record<string, boolean>, tags: string[] | null}[]} `tags` null: every row
 */
export function effective(entries) {
  const named = [...new Set(entries.map(datasetOf).filter(Boolean))].sort();
  return [null, ...named].map((dataset) => {
    const granting = entries.filter((each) => datasetOf(each) === null || datasetOf(each) === dataset);
    const may = Object.fromEntries(ACTIONS.map(([action]) => [action, granting.some((each) => grants(each, action))]));
    const reading = granting.filter((each) => grants(each, "query"));
    const isNarrowed = reading.length > 0 && reading.every((each) => each.resource?.tag);
    return { dataset, may, tags: isNarrowed ? reading.map((each) => each.resource.tag) : null };
  });
}

const grants = (entry, action) => (GRANTS[entry.privilege] ?? []).includes(action);

/** An entry in words. */
export function entryText(entry) {
  const dataset = datasetOf(entry);
  const tag = entry.resource?.tag;
  return `${entry.privilege} on ${dataset ?? "all datasets"}${tag ? `, rows with ${tag}` : ""}`;
}
