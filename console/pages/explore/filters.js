// Filters: pills for who clicks, SQL for who writes. Both are the same condition, in the address.
import { html, useState } from "../../vendor/core.js";
import { get, post, remove } from "../../lib/api.js";
import { readable } from "../../lib/format.js";
import { lineAndColumn } from "../../lib/sql.js";
import { OPERATORS, fromWhere, toSql, toWhere } from "../../lib/where.js";
import { Dialog, Field, Pop, Select } from "../../parts/controls.js";
import { Fault, Wait, useAction, useAsync, useDraft } from "../../parts/states.js";

const NAMES = Object.fromEntries(OPERATORS);
const VALUELESS = ["null", "present"];

const pillText = (pill) => ("sql" in pill ? pill.sql : `${pill.field} ${NAMES[pill.op]}${VALUELESS.includes(pill.op) ? "" : ` ${pill.value}`}`);

export function Filters({ columns, where, setWhere, about, openSql }) {
  const [asSql, setAsSql] = useState(false);
  const [editing, setEditing] = useState(null);
  const [saving, setSaving] = useState(false);
  const pills = fromWhere(where);
  const drop = (at) => setWhere(toWhere(pills.filter((_, index) => index !== at)));
  const store = (pill) => {
    setWhere(toWhere(editing.at === undefined ? [...pills, pill] : pills.map((each, index) => (index === editing.at ? pill : each))));
    setEditing(null);
  };
  return html`<div class="row filters" role="group" aria-label="Filters">
    ${asSql
      ? html`<${WhereInput} where=${where} setWhere=${setWhere} about=${about} />`
      : html`<div class="pills">
          ${pills.map(
            (pill, at) => html`<span class="pill" key=${at}><button type="button" class="plain tiny text ellipsis" title=${toSql(pill)} onClick=${() => setEditing({ at, pill })}>${readable(pillText(pill))}</button><button type="button" class="plain tiny" aria-label=${`Remove filter ${pillText(pill)}`} onClick=${() => drop(at)}>✕</button></span>`,
          )}
          <button type="button" class="tiny" data-filter onClick=${() => setEditing({ pill: { field: about.role.message ?? columns[0]?.name, op: "contains", value: "" } })}>+ Filter</button>
        </div>`}
    <span class="grow"></span>
    <button type="button" class="tiny" aria-pressed=${asSql} onClick=${() => setAsSql(!asSql)}>WHERE</button>
    <button type="button" class="tiny" title="The same rows as a statement" onClick=${openSql}>As a statement</button>
    <${Pop} label="Saved" title="Saved filters">${(close) => html`<${Saved} about=${about} choose=${(next) => (setWhere(next), close())} />`}<//>
    ${about.dataset.mayAuthor && html`<button type="button" class="tiny" onClick=${() => setSaving(true)}>Save filter</button>`}
    ${editing && html`<${PillDialog} columns=${columns} pill=${editing.pill} store=${store} close=${() => setEditing(null)} />`}
    ${saving && html`<${SaveDialog} about=${about} close=${() => setSaving(false)} />`}
  </div>`;
}

function WhereInput({ where, setWhere }) {
  const [text, setText] = useDraft(where);
  const submit = (event) => {
    event.preventDefault();
    setWhere(text.trim());
  };
  return html`<form class="row grow" onSubmit=${submit}>
    <span class="mono">WHERE</span>
    <input class="grow mono" aria-label="Condition" spellcheck="false" value=${text} placeholder="level = 'error' AND status >= 500" onInput=${(event) => setText(event.target.value)} />
    <button>Apply</button>
  </form>`;
}

/** The position that the server gives is one of the whole statement; people see the condition alone. */
export function conditionFault(error, statement, where) {
  if (!error?.position || !where) return error;
  const before = statement.indexOf(` WHERE ${where}`) + " WHERE ".length;
  const own = error.position - before;
  if (before < " WHERE ".length || own < 1 || own > where.length + 1) return error;
  const { line, column } = lineAndColumn(where, own);
  return Object.assign(new Error(`${error.message} (condition, line ${line}, position ${column})`), { status: error.status, code: error.code, requestId: error.requestId });
}

function PillDialog({ columns, pill, store, close }) {
  const isRaw = "sql" in pill;
  const [field, setField] = useState(pill.field);
  const [op, setOp] = useState(pill.op);
  const [value, setValue] = useState(String((isRaw ? pill.sql : pill.value) ?? ""));
  const kind = columns.find((each) => each.name === field)?.kind;
  const submit = (event) => {
    event.preventDefault();
    store(isRaw ? { sql: value.trim() } : VALUELESS.includes(op) ? { field, op } : { field, op, value: typed(value, kind, op) });
  };
  return html`<${Dialog} title=${isRaw ? "Condition" : "Filter"} close=${close}><form class="column" onSubmit=${submit}>
    ${isRaw
      ? html`<${Field} label="Condition"><textarea value=${value} onInput=${(event) => setValue(event.target.value)}></textarea><//>`
      : html`<div class="form">
          <${Select} label="Field" value=${field} options=${columns.map((each) => each.name)} onChange=${setField} />
          <${Select} label="Condition" value=${op} options=${OPERATORS} onChange=${setOp} />
          ${!VALUELESS.includes(op) && html`<${Field} label="Value"><input autofocus value=${value} onInput=${(event) => setValue(event.target.value)} /><//>`}
        </div>`}
    <div class="actions"><button type="button" onClick=${close}>Cancel</button><button class="primary">Apply</button></div>
  </form><//>`;
}

/** A value as its column's kind writes it: numbers bare, all else as text. */
export function typed(value, kind, op) {
  if (op === "contains" || op === "excludes") return String(value);
  if (kind === "number" && String(value).trim() !== "" && !Number.isNaN(Number(value))) return Number(value);
  if (kind === "bool") return String(value).toLowerCase() === "true";
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}

/** What was saved for this dataset. Filters of other clients are statements; their condition is what stands behind WHERE. */
function Saved({ about, choose }) {
  const { data, error, again } = useAsync((abort) => get("/api/v1/filters", { signal: abort }), []);
  if (error) return html`<${Fault} error=${error} />`;
  if (!data) return html`<${Wait} on=${true} />`;
  const own = data.filter((each) => each.stream_name === about.dataset.name && each.query.filter_type === "filter" && each.query.filter_query);
  if (!own.length) return html`<span class="soft">No filter of ${about.dataset.name} was saved yet.</span>`;
  const drop = async (id) => {
    await remove(`/api/v1/filters/${id}`);
    again();
  };
  return html`<ul class="list">${own.map(
    (each) => html`<li key=${each.filter_id} class="row"><button type="button" class="plain grow" title=${each.query.filter_query} onClick=${() => choose(each.query.filter_query === "true" ? "" : each.query.filter_query)}>${each.filter_name}</button>
      ${about.dataset.mayAuthor && html`<button type="button" class="plain tiny" aria-label=${`Delete ${each.filter_name}`} onClick=${() => drop(each.filter_id)}>✕</button>`}</li>`,
  )}</ul>`;
}

function SaveDialog({ about, close }) {
  const [name, setName] = useState("");
  const { act, error, busy } = useAction();
  const submit = async (event) => {
    event.preventDefault();
    const query = { filter_type: "filter", filter_query: about.where || "true" };
    if (await act(() => post("/api/v1/filters", { stream_name: about.dataset.name, filter_name: name, query, tags: [] }))) close();
  };
  return html`<${Dialog} title="Save filter" close=${close}><form class="column" onSubmit=${submit}>
    <p class="soft">Everybody who may read ${about.dataset.name} finds it under Saved filters.</p>
    <pre class="code">${about.where || "all events"}</pre>
    <${Field} label="Title"><input required value=${name} onInput=${(event) => setName(event.target.value)} /><//>
    <${Fault} error=${error} />
    <div class="actions"><button class="primary" disabled=${busy}>Save</button></div>
  </form><//>`;
}
