// Variables of dashboards: the literal `'$name'` in SQL stands for the chosen value. So a tile is SQL also without one. Pure.
import { literal } from "./sql.js";

const PLACE = /'\$([a-z_][a-z0-9_]*)'/gi;

/** The variables that a text names. */
export const variablesOf = (text) => [...new Set([...text.matchAll(PLACE)].map((found) => found[1]))];

/** The text with each known variable as an SQL literal: nothing that a value holds becomes SQL. */
export const fill = (text, values) => text.replace(PLACE, (whole, name) => (Object.hasOwn(values, name) ? literal(String(values[name])) : whole));
