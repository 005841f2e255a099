// The time of a view: quick and typed ranges, zone, steps back and forward, refresh. What is chosen stands in the address.
import { html, useState } from "../vendor/core.js";
import { formatTime, fromInput, toInput } from "../lib/format.js";
import { DEFAULT, QUICK, describe, isRelative, resolve, shift, widen } from "../lib/range.js";
import { change, route } from "../lib/route.js";
import { Field, Pop, Select } from "./controls.js";
import { useEvery } from "./states.js";

const REFRESH = [["0", "Off"], ["5", "5 s"], ["15", "15 s"], ["60", "1 min"], ["300", "5 min"]];

/** The range that the address names. */
export const rangeOf = (query) => ({ from: query.from || DEFAULT.from, to: query.to || "now" });
export const zoneOf = (query) => query.zone || localStorage.getItem("weir.zone") || "local";

export function TimePicker({ again, busy }) {
  const { query } = route.value;
  const range = rangeOf(query);
  const zone = zoneOf(query);
  const every = Number(query.every ?? 0);
  useEvery(isRelative(range) ? every : 0, again);
  const choose = (next, close) => {
    change(next);
    close?.();
  };
  return html`<div class="row">
    <div class="joined">
      <button type="button" aria-label="Earlier" title="Earlier ( [ )" onClick=${() => change(shift(range, -1))}>‹</button>
      <${Pop} label=${describe(range, (ms) => formatTime(ms, zone, false))} title="Time range">
        ${(close) => html`<${Choices} range=${range} zone=${zone} choose=${(next) => choose(next, close)} />`}
      <//>
      <button type="button" aria-label="Later" title="Later ( ] )" onClick=${() => change(shift(range, 1))}>›</button>
      <button type="button" aria-label="Zoom out" title="Twice as long" onClick=${() => change(widen(range))}>⊖</button>
    </div>
    <div class="joined">
      <button type="button" aria-label="Refresh" title="Load again (r)" disabled=${busy} onClick=${again}>↻</button>
      <${Select} label="Refresh every" hidden value=${String(every)} options=${REFRESH} onChange=${(value) => change({ every: value === "0" ? "" : value }, { replace: true })} />
    </div>
  </div>`;
}

function Choices({ range, zone, choose }) {
  const now = Date.now();
  const found = resolve(range, now) ?? resolve(DEFAULT, now);
  const [from, setFrom] = useState(toInput(found.start, zone));
  const [to, setTo] = useState(toInput(found.end, zone));
  const [typed, setTyped] = useState(range.from);
  const isGood = resolve({ from: typed, to: "now" }, now) !== null;
  const absolute = (event) => {
    event.preventDefault();
    const [start, end] = [fromInput(from, zone), fromInput(to, zone)];
    if (start !== null && end !== null && start < end) choose({ from: String(start), to: String(end) });
  };
  const relative = (event) => {
    event.preventDefault();
    if (isGood) choose({ from: typed.trim(), to: "" });
  };
  const setZone = (value) => {
    localStorage.setItem("weir.zone", value);
    choose({ zone: value });
  };
  return html`<div class="row" style=${{ alignItems: "flex-start", gap: "1rem" }}>
    <ul class="list">
      ${QUICK.map(([each, text]) => html`<li key=${each}><button type="button" class="plain" aria-pressed=${range.from === each && range.to === "now"} onClick=${() => choose({ from: each, to: "" })}>${text}</button></li>`)}
    </ul>
    <div class="column">
      <form class="column" onSubmit=${relative}>
        <${Field} label="Up to now, from"><input value=${typed} placeholder="90m, 1h 30m, 2d" aria-invalid=${!isGood} onInput=${(event) => setTyped(event.target.value)} /><//>
      </form>
      <form class="column" onSubmit=${absolute}>
        <${Field} label="From"><input type="datetime-local" step="1" value=${from} onInput=${(event) => setFrom(event.target.value)} /><//>
        <${Field} label="To"><input type="datetime-local" step="1" value=${to} onInput=${(event) => setTo(event.target.value)} /><//>
        <button>Apply</button>
      </form>
      <${Select} label="Zone" value=${zone} options=${[["local", `Local (${Intl.DateTimeFormat().resolvedOptions().timeZone})`], ["utc", "UTC"]]} onChange=${setZone} />
    </div>
  </div>`;
}
