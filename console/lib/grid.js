// The grid of a dashboard: 12 columns, rows as many as it takes; tiles never overlap. Pure.

export const COLUMNS = 12;

/** @typedef {{x: number, y: number, w: number, h: number}} Place */

const meet = (a, b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

export const clamp = (place) => {
  const w = Math.min(COLUMNS, Math.max(2, Math.round(place.w)));
  return { w, h: Math.min(40, Math.max(2, Math.round(place.h))), x: Math.min(COLUMNS - w, Math.max(0, Math.round(place.x))), y: Math.max(0, Math.round(place.y)) };
};

/** Places for all, in their order: who has none gets the next free one; who overlaps goes down; all move up. */
export function arrange(tiles, fixed = null) {
  const wished = tiles.map((tile, at) => ({ at, place: tile.layout ? clamp(tile.layout) : null }));
  const found = [];
  const settle = (place) => {
    let next = { ...place };
    while (found.some((other) => meet(other.place, next))) next = { ...next, y: next.y + 1 };
    while (next.y > 0 && !found.some((other) => meet(other.place, { ...next, y: next.y - 1 }))) next = { ...next, y: next.y - 1 };
    return next;
  };
  const placed = wished.filter((each) => each.place).sort((a, b) => a.place.y - b.place.y || a.place.x - b.place.x);
  if (fixed !== null && wished[fixed]?.place) {
    // The tile under the hand stays where it is held; the others give way.
    found.push({ at: fixed, place: wished[fixed].place });
  }
  for (const each of placed) if (each.at !== fixed) found.push({ at: each.at, place: settle(each.place) });
  for (const each of wished) if (!each.place) found.push({ at: each.at, place: firstFree(found, 6, 4) });
  return found.sort((a, b) => a.at - b.at).map((each) => each.place);
}

function firstFree(found, w, h) {
  for (let y = 0; ; y += 1) {
    for (let x = 0; x + w <= COLUMNS; x += w) {
      const place = { x, y, w, h };
      if (!found.some((other) => meet(other.place, place))) return place;
    }
  }
}
