// Variables of dashboards: `$name` in SQL, replaced by the chosen value as a literal. Pure.
import { literal } from "./sql.js";

/** The variables that a text names. */
export const variablesOf = (text) => [...new Set([...text.matchAll(/\$([a-z_][a-z0-9_]*)/gi)].map((found) => found[1]))];

/** The text with each known variable as an SQL literal: nothing that a value holds becomes SQL. */
export const fill = (text, values) =>
  text.replace(/\$([a-z_][a-z0-9_]*)/gi, (whole, name) => (name in values ? literal(values[name]) : whole));
