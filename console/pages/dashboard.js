// One dashboard: tiles on a grid, all of one range; moved and sized by hand while it is edited.
import { html, useEffect, useMemo, useRef, useState } from "../vendor/core.js";
import { get, remove, rows, send, session } from "../lib/api.js";
import { Pop, TypedDelete, saveBlob } from "../parts/controls.js";
import { arrange, clamp } from "../lib/grid.js";
import { queryBuckets, queryRange } from "../lib/prometheus.js";
import { asMembers, resolve } from "../lib/range.js";
import { change, go, route, routeTo, useSubject } from "../lib/route.js";
import { fill, variablesOf } from "../lib/variables.js";
import { ResultChart } from "../parts/result_chart.js";
import { Empty, Fault, Wait, useAction, useAsync } from "../parts/states.js";
import { TimePicker, rangeOf, zoneOf } from "../parts/timepicker.js";
import { TileDialog } from "./dashboard/tile.js";
import { Variables, VariablesDialog } from "./dashboard/variables.js";

const ROW_PX = 60;
const GAP_PX = 8;

export function Board({ id }) {
  const load = async (abort) => {
    const answer = await send("GET", `/api/v1/dashboards/${encodeURIComponent(id)}`, { signal: abort });
    return { board: await answer.json(), etag: answer.headers.get("ETag") };
  };
  const { data, error, again } = useAsync(load, [id]);
  if (error && !data) return html`<h1>Dashboard</h1><${Fault} error=${error} retry=${again} /><a href=${routeTo(["dashboards"])}>All of them</a>`;
  return data ? html`<${Loaded} key=${data.etag} stored=${data.board} etag=${data.etag} again=${again} />` : html`<h1>Dashboard</h1><${Wait} on=${true} />`;
}

function Loaded({ stored, etag, again }) {
  const { query } = route.value;
  const [board, setBoard] = useState(stored);
  const [turn, setTurn] = useState(0);
  const [open, setOpen] = useState(null);
  const { act, error, busy } = useAction();
  const frame = useRef(null);
  useSubject(stored.title);
  const isEditing = query.edit === "1";
  const range = useMemo(() => resolve(rangeOf(query)), [query.from, query.to, turn]);
  const values = Object.fromEntries((board.variables ?? []).map((each) => [each.name, query[`var-${each.name}`] ?? each.value ?? "*"]));
  const isChanged = board !== stored;
  const save = async () => {
    const done = await act(() => send("PUT", `/api/v1/dashboards/${stored.dashboardId}`, { body: { ...board, tiles: placed(board.tiles) }, headers: { "If-Match": etag } }));
    if (!done) return;
    change({ edit: "" }, { replace: true });
    again();
  };
  const leave = () => {
    setBoard(stored);
    change({ edit: "" }, { replace: true });
  };
  const setTiles = (tiles) => setBoard({ ...board, tiles });
  const storeTile = (tile) => {
    setTiles(open.at === undefined ? [...board.tiles, tile] : board.tiles.map((each, at) => (at === open.at ? tile : each)));
    setOpen(null);
  };
  return html`<div class="head"><a class="button" href=${routeTo(["dashboards"])} aria-label="Back to the list">‹</a>
      ${isEditing ? html`<h1 class="only-read">Edit ${board.title}</h1><input aria-label="Title" value=${board.title} onInput=${(event) => setBoard({ ...board, title: event.target.value })} />` : html`<h1>${board.title}</h1>`}
      <span class="grow"></span>
      ${isEditing
        ? html`<button type="button" onClick=${() => setOpen({ tile: { title: "", query: "", chart: "line" } })}>+ Tile</button><button type="button" onClick=${() => setOpen("variables")}>Variables</button>
            <button type="button" onClick=${leave}>Leave as it was</button><button type="button" class="primary" disabled=${busy || !isChanged} onClick=${save}>Save</button>`
        : html`<${TimePicker} again=${() => setTurn((old) => old + 1)} /><button type="button" onClick=${() => frame.current.requestFullscreen()}>Full screen</button>
            ${session.value.mayAuthor && html`<button type="button" onClick=${() => change({ edit: "1" }, { replace: true })}>Edit</button>`}
            <${Pop} label="More" title="More">${() => html`<button type="button" onClick=${() => saveBlob(new Blob([JSON.stringify(stored, null, 2)], { type: "application/json" }), `${stored.title}.json`)}>Export as JSON</button>
              ${session.value.mayAuthor && html`<button type="button" class="danger" onClick=${() => setOpen("delete")}>Delete</button>`}`}<//>`}
    </div>
    <${Fault} error=${error} />
    ${(board.variables ?? []).length > 0 && html`<${Variables} variables=${board.variables} values=${values} range=${range} />`}
    ${!board.tiles.length && html`<${Empty} title="Nothing on it yet">${isEditing ? html`<button onClick=${() => setOpen({ tile: { title: "", query: "", chart: "line" } })}>The first tile</button>` : "Edit it to add tiles."}<//>`}
    <div ref=${frame} class="screen"><${Grid} tiles=${board.tiles} isEditing=${isEditing} setTiles=${setTiles} edit=${(at) => setOpen({ at, tile: board.tiles[at] })} about=${{ range, values, zone: zoneOf(query), turn }} /></div>
    ${open?.tile && html`<${TileDialog} tile=${open.tile} range=${range} values=${values} store=${storeTile} close=${() => setOpen(null)} remove=${open.at === undefined ? null : () => (setTiles(board.tiles.filter((_, at) => at !== open.at)), setOpen(null))} />`}
    ${open === "variables" && html`<${VariablesDialog} variables=${board.variables ?? []} store=${(variables) => (setBoard({ ...board, variables }), setOpen(null))} close=${() => setOpen(null)} />`}
    ${open === "delete" && html`<${TypedDelete} noun="dashboard" name=${stored.title} close=${() => setOpen(null)} remove=${async () => { await remove(`/api/v1/dashboards/${stored.dashboardId}`); go(["dashboards"]); }} />`}`;
}

/** Every tile with the place that it was seen at. */
const placed = (tiles) => {
  const places = arrange(tiles);
  return tiles.map((tile, at) => ({ ...tile, layout: places[at] }));
};

function Grid({ tiles, isEditing, setTiles, edit, about }) {
  const ref = useRef(null);
  const [width, setWidth] = useState(0);
  const [held, setHeld] = useState(null);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => setWidth(entry.contentRect.width));
    watch.observe(ref.current);
    return () => watch.disconnect();
  }, []);
  const shown = held ? tiles.map((tile, at) => (at === held.at ? { ...tile, layout: held.place } : tile)) : tiles;
  const places = arrange(shown, held?.at ?? null);
  const cell = (width + GAP_PX) / 12;
  const hold = (at, what) => (event) => {
    if (!isEditing || event.target.closest("button:not(.corner)")) return;
    event.preventDefault();
    const from = { x: event.clientX, y: event.clientY, place: places[at] };
    let latest = from.place;
    const drag = (each) => {
      const dx = (each.clientX - from.x) / cell;
      const dy = (each.clientY - from.y) / ROW_PX;
      latest = clamp(what === "move" ? { ...from.place, x: from.place.x + dx, y: from.place.y + dy } : { ...from.place, w: from.place.w + dx, h: from.place.h + dy });
      setHeld({ at, place: latest });
    };
    const drop = () => {
      document.removeEventListener("pointermove", drag);
      const settled = arrange(tiles.map((tile, index) => ({ ...tile, layout: index === at ? latest : places[index] })), at);
      setHeld(null);
      setTiles(tiles.map((tile, index) => ({ ...tile, layout: settled[index] })));
    };
    document.addEventListener("pointermove", drag);
    document.addEventListener("pointerup", drop, { once: true });
  };
  const height = Math.max(0, ...places.map((each) => each.y + each.h)) * ROW_PX;
  return html`<div class="board" ref=${ref} style=${{ height: `${height}px` }}>
    ${width > 0 && tiles.map((tile, at) => {
      const { x, y, w, h } = places[at];
      return html`<section key=${tile.tile_id ?? at} class=${`tile${isEditing ? " editing" : ""}${["number", "gauge"].includes(tile.chart) ? " low" : ""}`} aria-label=${tile.title || "Tile"}
          style=${{ left: `${x * cell}px`, top: `${y * ROW_PX}px`, width: `${w * cell - GAP_PX}px`, height: `${h * ROW_PX - GAP_PX}px` }}>
        <header onPointerDown=${hold(at, "move")}><span class="grow ellipsis">${tile.title}</span>
          ${isEditing ? html`<button type="button" class="tiny" onClick=${() => edit(at)}>Edit the tile</button>` : html`<button type="button" class="plain tiny" aria-label=${`Open the statement of ${tile.title}`} title="Open the statement" onClick=${() => openTile(tile, about)}>↗</button>`}</header>
        <${Tile} tile=${tile} about=${about} />
        ${isEditing && html`<button type="button" class="corner" aria-label="Size" tabindex="-1" onPointerDown=${hold(at, "size")}></button>`}
      </section>`;
    })}
  </div>`;
}

function openTile(tile, { values }) {
  const { from, to } = route.value.query;
  if (tile.promql) go(["metrics"], { dataset: tile.dataset, q: tile.promql, from: from || "1h", to });
  else go(["sql"], { q: fill(tile.query, values), from: from || "1h", to, chart: tile.chart });
}

/** What a tile shows: of SQL or of PromQL, over the range and with the variables filled in. */
export async function askTile(tile, range, values, abort) {
  if (tile.promql) {
    if (!tile.dataset) throw new Error("Edit this tile: it does not say which dataset its PromQL is about.");
    const ask = tile.chart === "heatmap" ? queryBuckets : queryRange;
    return ask(tile.dataset, tile.promql, range, abort);
  }
  const missing = variablesOf(tile.query).filter((name) => !(name in values));
  if (missing.length) throw new Error(`The variable ${missing[0]} is not defined: edit the dashboard's variables.`);
  return rows(fill(tile.query, values), asMembers(range), abort);
}

function Tile({ tile, about }) {
  const { range, values, zone, turn } = about;
  const key = JSON.stringify(values);
  const { data, error, busy, again } = useAsync((abort) => (range ? askTile(tile, range, values, abort) : null), [tile.query, tile.promql, tile.dataset, range?.start, range?.end, key, turn]);
  return html`<${Wait} on=${busy} /><div class="body">
    ${error ? html`<${Fault} error=${error} retry=${again} />` : data && html`<${ResultChart} chart=${tile.chart} fields=${data.fields} rows=${data.records} height=${null} zone=${zone} range=${range} onSelect=${({ start, end }) => change({ from: String(start), to: String(end) })} />`}
  </div>`;
}
