// Live tail: events as they are acknowledged. It reconnects where it was, says what was skipped, and waits while paused.
import { html, useEffect, useRef, useState } from "../../vendor/core.js";
import { Refused, send } from "../../lib/api.js";
import { eventReader } from "../../lib/events.js";
import { formatCount } from "../../lib/format.js";
import { rowsStatement } from "../../lib/sql.js";
import { Rows } from "../../parts/rows.js";
import { Empty, Fault, Wait } from "../../parts/states.js";
import { change } from "../../lib/route.js";
import { full } from "./results.js";

// What a table keeps; older rows leave it.
const MOST = 5000;
const DRAW_MS = 200;
const RETRY_MS = 2000;

const sleep = (ms, abort) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    abort.addEventListener("abort", () => (clearTimeout(timer), resolve()));
  });

/** Follows the tail until it is aborted; `on` gets every event. Throws what the server refuses. */
async function follow(query, on, abort) {
  let position = "";
  while (!abort.aborted) {
    try {
      const headers = position ? { "Last-Event-ID": position } : {};
      const answer = await send("POST", "/api/v1/tail", { body: { query, from: "now" }, accept: "text/event-stream", headers, signal: abort });
      on({ event: "open" });
      const read = eventReader();
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        for (const each of read(value)) {
          if (each.id) position = each.id;
          on(each);
          if (each.event === "end") return;
        }
      }
    } catch (error) {
      if (abort.aborted) return;
      if (error instanceof Refused && error.status !== 503) throw error;
    }
    on({ event: "lost" });
    await sleep(RETRY_MS, abort);
  }
}

export function Tail({ about, shown, selected, setSelected }) {
  const { dataset, where, role, zone, columns } = about;
  const statement = rowsStatement({ dataset: dataset.name, where });
  const [state, setState] = useState({ rows: [], seen: 0, rate: 0, note: "Connecting", error: null });
  const [paused, setPaused] = useState(false);
  const held = useRef([]);
  const pausing = useRef(false);
  pausing.current = paused;
  useEffect(() => {
    const abort = new AbortController();
    const arrived = [];
    setState({ rows: [], seen: 0, rate: 0, note: "Connecting", error: null });
    held.current = [];
    const on = (each) => {
      if (each.event === "message") {
        held.current.push(JSON.parse(each.data));
        if (held.current.length > MOST) held.current.splice(0, held.current.length - MOST);
        arrived.push(Date.now());
      } else setState((old) => ({ ...old, note: noteOf(each, old.note) }));
    };
    const timer = setInterval(() => {
      const since = Date.now() - 5000;
      while (arrived.length && arrived[0] < since) arrived.shift();
      const rate = arrived.length / 5;
      setState((old) => {
        if (pausing.current || !held.current.length) return old.rate === rate ? old : { ...old, rate };
        const fresh = held.current.splice(0).reverse();
        return { ...old, rate, seen: old.seen + fresh.length, rows: [...fresh, ...old.rows].slice(0, MOST) };
      });
    }, DRAW_MS);
    follow(statement, on, abort.signal).then(
      () => setState((old) => ({ ...old, rate: 0 })),
      (error) => setState((old) => ({ ...old, error, note: "" })),
    );
    return () => {
      abort.abort();
      clearInterval(timer);
    };
  }, [statement]);
  const select = (index) => {
    setPaused(true);
    setSelected({ index, row: full(state.rows[index], columns) });
  };
  return html`<section class="results" aria-label="Live events">
    <div class="status">
      <span class=${state.note === "Following" ? "state good" : "state"}>${state.note}</span>
      <span>${formatCount(state.seen)} events, ${state.rate.toFixed(state.rate < 10 ? 1 : 0)} per second</span>
      ${paused && html`<span>paused, ${formatCount(held.current.length)} waiting</span>`}
      <span class="grow"></span>
      <button type="button" aria-pressed=${paused} onClick=${() => setPaused(!paused)}>${paused ? "Continue" : "Pause"}</button>
      <button type="button" onClick=${() => setState((old) => ({ ...old, rows: [], seen: 0 }))}>Clear</button>
      <button type="button" onClick=${() => change({ live: "" })}>Stop</button>
    </div>
    <${Wait} on=${state.note === "Connecting"} />
    <${Fault} error=${state.error} />
    ${!state.rows.length && !state.error
      ? html`<${Empty} title="Waiting for events">What is stored from now on appears here${where ? ", if it matches the filters" : ""}.<//>`
      : html`<${Rows} rows=${state.rows} columns=${shown} time=${role.time} level=${role.level} wide=${shown.includes(role.message) ? role.message : shown.at(-1)} zone=${zone} selected=${selected?.index} onSelect=${select} />`}
  </section>`;
}

function noteOf(each, old) {
  if (each.event === "open") return "Following";
  if (each.event === "lost") return "Reconnecting";
  const told = (() => {
    try {
      return JSON.parse(each.data);
    } catch {
      return {};
    }
  })();
  const text = told.message ?? told.reason ?? "";
  if (each.event === "gap" || each.event === "skipped") return `Skipped ${told.rows ?? "some"} rows${text ? `: ${text}` : ""}`;
  if (each.event === "missing") return text || "A host does not answer";
  return each.event === "end" ? `Ended${text ? `: ${text}` : ""}` : old;
}
