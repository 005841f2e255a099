// The statements that are open beside each other on the SQL page. Pure.

/**
 * @typedef {{id: number, query: Record<string, string>}} Open `query`: of its address
 * @typedef {{list: Open[], chosen: number}} Statements
 */

const TITLE = 24;
export const MOST_OPEN = 12;

/** @param {Record<string, string>} query @returns {Statements} */
export const first = (query) => ({ list: [{ id: 1, query }], chosen: 1 });

/** @param {Statements} open @param {Record<string, string>} [query] @returns {Statements} */
export function opened(open, query = {}) {
  const id = Math.max(...open.list.map((each) => each.id)) + 1;
  return { list: [...open.list, { id, query }], chosen: id };
}

/** Without one of them; its neighbour takes its place. @param {Statements} open @param {number} id @returns {Statements} */
export function closed(open, id) {
  const at = open.list.findIndex((each) => each.id === id);
  const list = open.list.filter((each) => each.id !== id);
  if (!list.length) return first({});
  return { list, chosen: open.chosen === id ? list[Math.min(at, list.length - 1)].id : open.chosen };
}

/** The chosen one has another address now. @param {Statements} open @param {Record<string, string>} query @returns {Statements} */
export const moved = (open, query) => ({ ...open, list: open.list.map((each) => (each.id === open.chosen ? { ...each, query } : each)) });

/** What stands on a tab. @param {Open} each */
export const titleOf = ({ id, query }) => {
  const text = (query.q ?? "").replace(/\s+/g, " ").trim();
  if (!text) return `Statement ${id}`;
  return text.length > TITLE ? `${text.slice(0, TITLE)}…` : text;
};

/** What was kept of an earlier visit, if it is of this form. @param {string | null} text @returns {Statements | null} */
export function read(text) {
  try {
    const { list, chosen } = JSON.parse(text ?? "null");
    const isWhole = Array.isArray(list) && list.length > 0 && list.every((each) => Number.isInteger(each.id) && typeof each.query === "object");
    return isWhole && list.some((each) => each.id === chosen) ? { list, chosen } : null;
  } catch {
    return null;
  }
}
