// Charts over time by uPlot, which is fetched when the first one is drawn; and the few that plain elements draw.
import { html, useEffect, useRef, useState } from "../vendor/core.js";
import { formatCount, formatShare, formatShort, formatTime } from "../lib/format.js";
import { isolated, stacked } from "../lib/series.js";

const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
export const seriesColour = (at) => `series-${(at % 8) + 1}`;

let library = null;
const plot = () => (library ??= import("../vendor/plot.js"));

let styled = null;
/** Resolved once the style is there, without which a legend has another height. */
const style = () =>
  (styled ??= new Promise((done) => {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = new URL("../vendor/plot.css", import.meta.url).href;
    link.onload = link.onerror = done;
    document.head.append(link);
  }));

/** Grows and shrinks with its room, and is drawn anew when the theme changes. */
function useRoom(ref) {
  const [room, setRoom] = useState({ width: 0, height: 0, theme: 0 });
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => {
      const { width, height } = entry.contentRect;
      setRoom((old) => (old.width === Math.floor(width) && old.height === Math.floor(height) ? old : { ...old, width: Math.floor(width), height: Math.floor(height) }));
    });
    const redraw = () => setRoom((old) => ({ ...old, theme: old.theme + 1 }));
    const dark = matchMedia("(prefers-color-scheme: dark)");
    watch.observe(ref.current);
    document.addEventListener("weir:theme", redraw);
    dark.addEventListener("change", redraw);
    return () => {
      watch.disconnect();
      document.removeEventListener("weir:theme", redraw);
      dark.removeEventListener("change", redraw);
    };
  }, []);
  return room;
}

/**
 * @param {{names: string[], data: (number|null)[][], kind?: "line"|"area"|"bars", isStacked?: boolean, colours?: string[],
 *   height?: number, zone?: string, range?: {start: number, end: number}, onSelect?: (range: {start: number, end: number}) => void,
 *   legend?: boolean, lines?: number[], label?: string}} props `data[0]` in seconds; `lines`: thresholds drawn across;
 *   `height` null: with its legend as high as its room
 */
export function TimeChart(props) {
  const { names, data, kind = "line", isStacked = false, height = 220, range, zone = "local", legend = true, label } = props;
  const ref = useRef(null);
  const latest = useRef(props);
  latest.current = props;
  const room = useRoom(ref);
  useEffect(() => {
    if (!room.width) return undefined;
    let chart = null;
    let gone = false;
    Promise.all([plot(), style()]).then(([{ uPlot }]) => {
      if (gone) return;
      chart = draw(uPlot, ref.current, latest, room.width, height ?? room.height);
      if (height === null) chart.setSize({ width: room.width, height: Math.max(60, room.height - legendHeight(chart, room.width)) });
    });
    return () => {
      gone = true;
      chart?.destroy();
    };
  }, [data, names.join("\n"), kind, isStacked, height ?? room.height, room.width, room.theme, zone, range?.start, range?.end, legend]);
  // The room is kept, so that nothing jumps when the chart comes.
  return html`<div class="chart" role="img" aria-label=${label ?? `Chart of ${names.join(", ")}`} ref=${ref} style=${height === null ? undefined : { minHeight: `${height}px` }}></div>`;
}

/** In a chart of that width, which uPlot gives its elements only later. */
function legendHeight(chart, width) {
  chart.root.style.width = `${width}px`;
  return chart.root.querySelector(".u-legend")?.offsetHeight ?? 0;
}

function draw(uPlot, element, latest, width, height) {
  const { names, data, kind = "line", isStacked = false, colours, zone = "local", range, legend = true, lines = [] } = latest.current;
  const sums = isStacked ? stacked(data) : data;
  // The top of a stack is drawn first, so that the lower ones cover what is not its own.
  const order = names.map((_, at) => at);
  if (isStacked) order.reverse();
  const isFilled = kind === "area" || kind === "bars";
  const series = order.map((at) => {
    const colour = token(colours?.[at] ?? seriesColour(at));
    return {
      label: names[at],
      stroke: colour,
      width: kind === "bars" ? 0 : 1.5,
      fill: isFilled ? (isStacked || kind === "bars" ? colour : `${colour}33`) : undefined,
      paths: kind === "bars" ? uPlot.paths.bars({ size: [0.86, 60], align: 1 }) : undefined,
      points: { show: kind !== "bars", size: 6, filter: (self, index) => isolated(self.data[index]) },
      spanGaps: false,
      value: (_, __, ___, index) => (index === null || index === undefined ? "–" : formatShort(data[at + 1][index])),
    };
  });
  // There is no half event.
  const isWhole = data.slice(1).every((column) => column.every((value) => value === null || Number.isInteger(value)));
  const axis = { stroke: token("soft"), grid: { stroke: token("edge"), width: 1 }, ticks: { show: false }, font: "11px system-ui", size: 26 };
  const chart = new uPlot(
    {
      width,
      height,
      padding: [8, null, null, null],
      legend: { show: legend, live: true },
      cursor: { drag: { x: Boolean(latest.current.onSelect), y: false, setScale: false }, points: { show: kind !== "bars" } },
      tzDate: zone === "utc" ? (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC") : undefined,
      scales: {
        x: { time: true, range: range ? () => [range.start / 1000, range.end / 1000] : undefined },
        y: { range: (_, low, high) => bounds(low, high, isFilled, lines) },
      },
      series: [{ value: (_, seconds) => (seconds === null ? "–" : formatTime(seconds * 1000, zone, false)) }, ...series],
      axes: [{ ...axis, values: (_, seconds) => seconds.map((each, at) => tick(each, seconds[at - 1], seconds.at(-1) - seconds[0], zone)) }, { ...axis, size: 48, space: 24, values: (_, values) => values.map((each) => (isWhole && !Number.isInteger(each) ? "" : formatShort(each))) }],
      hooks: {
        setSelect: [
          (self) => {
            if (self.select.width < 4) return;
            const at = (pixel) => Math.round(self.posToVal(pixel, "x") * 1000);
            latest.current.onSelect?.({ start: at(self.select.left), end: at(self.select.left + self.select.width) });
            self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          },
        ],
        draw: [(self) => drawLines(self, lines)],
      },
    },
    [sums[0], ...order.map((at) => sums[at + 1])],
    element,
  );
  // Its elements get their sizes by the object model, which the policy of styles allows; nothing of it is markup.
  return chart;
}

/** A time on the axis, as short as its neighbours allow. */
function tick(seconds, before, span, zone) {
  const text = formatTime(seconds * 1000, zone);
  const day = text.slice(5, 10);
  if (span > 2 * 86_400 && text.slice(11, 16) === "00:00") return day;
  const isNewDay = before !== undefined && formatTime(before * 1000, zone).slice(5, 10) !== day;
  const time = span < 5 ? text.slice(17, 23) : span < 600 ? text.slice(11, 19) : text.slice(11, 16);
  return isNewDay ? `${day} ${time}` : time;
}

function bounds(low, high, fromZero, lines) {
  const least = Math.min(low ?? 0, ...lines);
  const most = Math.max(high ?? 1, ...lines);
  if (fromZero || least >= 0) return [Math.min(0, least), most <= 0 ? 1 : most * 1.06];
  const margin = (most - least || 1) * 0.06;
  return [least - margin, most + margin];
}

function drawLines(chart, lines) {
  const { ctx, bbox } = chart;
  ctx.save();
  ctx.strokeStyle = token("wrong");
  ctx.setLineDash([6, 4]);
  for (const value of lines) {
    const y = chart.valToPos(value, "y", true);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
  }
  ctx.restore();
}

/** Label and value as bars, longest first as they come. */
export function Bars({ items, colour = "series-1", format = formatCount }) {
  const most = Math.max(...items.map((each) => Math.abs(each.value)), 0) || 1;
  return html`<div class="bars">
    ${items.map(
      (each, at) => html`<span key=${`l${at}`} class="ellipsis" title=${each.label}>${each.label}</span>
        <i key=${`b${at}`} style=${{ width: `${(Math.abs(each.value) / most) * 100}%`, background: `var(--${colour})` }}></i>
        <span key=${`n${at}`} class="number">${format(each.value)}</span>`,
    )}
  </div>`;
}

/** Shares of a whole, as one bar with its parts named: people compare lengths better than angles. */
export function Shares({ items }) {
  const sum = items.reduce((all, each) => all + Math.max(0, each.value), 0) || 1;
  return html`<div class="column">
    <div style=${{ display: "flex", height: "1.5rem", borderRadius: "4px", overflow: "hidden" }} aria-hidden="true">
      ${items.map((each, at) => html`<i key=${at} title=${each.label} style=${{ width: `${(Math.max(0, each.value) / sum) * 100}%`, background: `var(--${seriesColour(at)})` }}></i>`)}
    </div>
    <div class="bars">${items.map(
      (each, at) => html`<span key=${`l${at}`} class="ellipsis">${each.label}</span>
        <i key=${`b${at}`} style=${{ width: `${(Math.max(0, each.value) / sum) * 100}%`, background: `var(--${seriesColour(at)})` }}></i>
        <span key=${`n${at}`} class="number">${formatCount(each.value)} · ${formatShare(Math.max(0, each.value) / sum)}</span>`,
    )}</div>
  </div>`;
}

/** Counts by time and bucket: the darker, the more. */
export function HeatMap({ xs, ys, cells, most, zone }) {
  const ref = useRef(null);
  const room = useRoom(ref);
  const canvas = useRef(null);
  const [pointed, setPointed] = useState("");
  const height = Math.max(120, Math.min(420, ys.length * 18));
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || !room.width || !xs.length) return;
    const scale = devicePixelRatio || 1;
    canvas.current.width = room.width * scale;
    canvas.current.height = height * scale;
    context.scale(scale, scale);
    const [w, h] = [room.width / xs.length, height / ys.length];
    context.fillStyle = token("series-1");
    for (const cell of cells) {
      // By the square root: most of a histogram is in few cells, and the rest should still be seen.
      context.globalAlpha = most ? Math.sqrt(cell.value / most) : 0;
      context.fillRect(cell.x * w, height - (cell.y + 1) * h, Math.max(1, w - 1), Math.max(1, h - 1));
    }
  }, [cells, room.width, room.theme]);
  const point = (event) => {
    const box = canvas.current.getBoundingClientRect();
    const x = Math.floor(((event.clientX - box.left) / box.width) * xs.length);
    const y = Math.floor(((box.bottom - event.clientY) / box.height) * ys.length);
    const found = cells.find((each) => each.x === x && each.y === y);
    setPointed(found ? `${formatTime(xs[x], zone, false)}, ${ys[y]}: ${formatCount(found.value)}` : "");
  };
  // Every so manieth name, where there are more than lines of text.
  const every = Math.ceil(ys.length / (height / 14));
  return html`<div class="column">
    <div class="heat-map">
      <div class="names" aria-hidden="true">${ys.map((each, at) => html`<span key=${at}>${at % every ? "" : each}</span>`)}</div>
      <div ref=${ref}><canvas class="heat" ref=${canvas} role="img" aria-label="Heat map" style=${{ height: `${height}px` }} onPointerMove=${point} onPointerLeave=${() => setPointed("")}></canvas></div>
      <div class="times"><span>${formatTime(xs[0], zone, false)}</span><span>${formatTime(xs.at(-1), zone, false)}</span></div>
    </div>
    <div class="row small soft"><span>${ys.length} rows from ${ys[0]} to ${ys.at(-1)}, at most ${formatShort(most)} in a cell</span><span class="number">${pointed}</span></div>
  </div>`;
}
