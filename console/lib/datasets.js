// The datasets that the session may read, and their columns: asked once, and again when somebody wants them fresh.
import { signal } from "../vendor/core.js";
import { get } from "./api.js";
import { columnsOf } from "./schema.js";

/** @type {{value: {name: string, telemetryType: string, timeColumn: string | null, hasEvents: boolean, seesAllRows: boolean, mayAuthor: boolean}[] | null}} */
export const datasets = signal(null);
const schemas = new Map();

export async function loadDatasets() {
  datasets.value = await get("/api/v1/session/datasets");
  return datasets.value;
}

export const forgetSchemas = () => schemas.clear();

/** @returns {Promise<import("./schema.js").Column[]>} */
export function loadColumns(name) {
  if (!schemas.has(name)) {
    const asked = get(`/api/v1/logstream/${encodeURIComponent(name)}/schema`).then(columnsOf);
    schemas.set(name, asked);
    asked.catch(() => schemas.delete(name));
  }
  return schemas.get(name);
}
