// The record of changes: who did what, from where, with which result.
import { html, useState } from "../../vendor/core.js";
import { Refused, rows } from "../../lib/api.js";
import { literal } from "../../lib/sql.js";
import { Field, Select } from "../../parts/controls.js";
import { Rows } from "../../parts/rows.js";
import { Empty, Fault, Wait, useAsync } from "../../parts/states.js";

const COLUMNS = ["p_timestamp", "actor_name", "action", "target", "status", "p_src_ip", "request_id"];
const SPANS = [["1d", "Last day"], ["7d", "Last 7 days"], ["30d", "Last 30 days"], ["365d", "Last year"]];

export function Audit() {
  const [span, setSpan] = useState("7d");
  const [typed, setTyped] = useState("");
  const [text, setText] = useState("");
  const pattern = literal(`%${text.replace(/[\\%_]/g, "\\$&")}%`);
  const where = text ? ` WHERE concat_ws(' ', actor_name, action, target) ILIKE ${pattern}` : "";
  const statement = `SELECT ${COLUMNS.join(", ")} FROM p_audit${where} ORDER BY p_timestamp DESC LIMIT 1000`;
  const { data, error, busy, again } = useAsync((abort) => rows(statement, { startTime: span }, abort), [statement, span]);
  const isMissing = error instanceof Refused && error.code === "dataset_not_found";
  return html`<div class="form">
      <${Select} label="When" value=${span} options=${SPANS} onChange=${setSpan} />
      <${Field} label="Who, what or whom"><input type="search" value=${typed} onInput=${(event) => setTyped(event.target.value)} onChange=${(event) => setText(event.target.value)} /><//>
      <button type="button" onClick=${again}>Load again</button>
    </div>
    <${Wait} on=${busy} />
    ${isMissing || data?.records.length === 0 ? html`<${Empty} title="Nothing is recorded">Changes of keys, roles, users and datasets, and refused passwords, stand here.<//>` : html`<${Fault} error=${error} retry=${again} />`}
    ${data?.records.length > 0 && !error && html`<${Rows} rows=${data.records} columns=${COLUMNS} time="p_timestamp" wide="target" height="60vh" />`}`;
}
