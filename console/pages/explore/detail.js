// One event: its fields as a tree, what stands around it, the trace it belongs to.
import { html, useState } from "../../vendor/core.js";
import { rows } from "../../lib/api.js";
import { formatTime } from "../../lib/format.js";
import { change } from "../../lib/route.js";
import { aroundStatements } from "../../lib/sql.js";
import { traceColumn } from "../../lib/schema.js";
import { Check, Copy, Dialog, Select } from "../../parts/controls.js";
import { Rows } from "../../parts/rows.js";
import { Fault, Wait, useAsync } from "../../parts/states.js";
import { Tree } from "../../parts/tree.js";
import { toWhere } from "../../lib/where.js";
import { typed } from "./filters.js";

export function Detail({ about, row, close, addFilter, toggleColumn }) {
  const [find, setFind] = useState("");
  const [around, setAround] = useState(false);
  const { columns, role, zone } = about;
  const kinds = Object.fromEntries(columns.map((each) => [each.name, each.kind]));
  const trace = traceColumn(columns);
  const act = (name, value, what) => (what === "column" ? toggleColumn(name) : addFilter({ field: name, op: what, value: typed(value, kinds[name], what) }));
  return html`<aside class="detail" aria-label="Event">
    <header>
      <strong class="grow">${role.time ? formatTime(row[role.time], zone) : "Event"}</strong>
      ${role.time && html`<button type="button" class="tiny" onClick=${() => setAround(true)}>Around it</button>`}
      ${trace && row[trace] && html`<button type="button" class="tiny" onClick=${() => change({ trace: row[trace], live: "" })}>Trace</button>`}
      <${Copy} text=${JSON.stringify(present(row), null, 2)} label="Copy JSON" />
      <button type="button" class="plain" aria-label="Close the event" onClick=${close}>✕</button>
      <input type="search" class="grow" aria-label="Find in this event" placeholder="Find in this event" value=${find} onInput=${(event) => setFind(event.target.value)} />
    </header>
    <${Tree} row=${row} act=${act} kinds=${kinds} zone=${zone} find=${find} />
    ${around && html`<${Around} about=${about} row=${row} close=${() => setAround(false)} />`}
  </aside>`;
}

const present = (row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null));

/** What happened just before and after, whatever the filters: of the same service and host, if that is wanted. */
function Around({ about, row, close }) {
  const { dataset, role, zone, columns } = about;
  const [count, setCount] = useState("20");
  const sames = ["service", "service.name", "service_name", "host", "host.name", "k8s.pod.name", "container"].filter((name) => row[name] !== null && row[name] !== undefined && columns.some((each) => each.name === name));
  const [same, setSame] = useState([]);
  const where = toWhere(same.map((name) => ({ field: name, op: "=", value: row[name] })));
  const at = row[role.time];
  const ask = async (abort) => {
    // Up to a day either way, so that not all files are read for 20 rows.
    const day = 86_400_000;
    const middle = new Date(at).getTime();
    const members = { startTime: new Date(middle - day).toISOString(), endTime: new Date(middle + day).toISOString() };
    const [before, after] = await Promise.all(aroundStatements({ dataset: dataset.name, time: role.time, at, where, count: Number(count) }).map((each) => rows(each, members, abort)));
    return { records: [...before.records.reverse(), ...after.records], at: before.records.length };
  };
  const { data, error, busy, again } = useAsync(ask, [count, where, at]);
  const [selected, setSelected] = useState(null);
  return html`<${Dialog} title=${`Around ${formatTime(at, zone)}`} close=${close}>
    <div class="row">
      <${Select} label="Rows before and after" value=${count} options=${["10", "20", "50", "200"]} onChange=${setCount} />
      ${sames.map((name) => html`<${Check} key=${name} label=${`same ${name}`} checked=${same.includes(name)} onChange=${(value) => setSame(value ? [...same, name] : same.filter((each) => each !== name))} />`)}
    </div>
    <${Wait} on=${busy} />
    <${Fault} error=${error} retry=${again} />
    ${data && html`<${Rows} rows=${data.records} columns=${role.shown} time=${role.time} level=${role.level} wide=${role.message ?? undefined} zone=${zone} height=${420} selected=${selected ?? data.at} onSelect=${setSelected} />`}
  <//>`;
}
