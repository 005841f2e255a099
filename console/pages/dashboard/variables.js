// The variables of a dashboard: chosen above it, defined by a statement that lists their values.
import { html, useState } from "../../vendor/core.js";
import { rows } from "../../lib/api.js";
import { asMembers } from "../../lib/range.js";
import { change } from "../../lib/route.js";
import { Dialog, Field, Select } from "../../parts/controls.js";
import { useAsync } from "../../parts/states.js";

const ALL = "*";

export const Variables = ({ variables, values, range }) =>
  html`<div class="form">${variables.map((each) => html`<${Variable} key=${each.name} variable=${each} value=${values[each.name]} range=${range} />`)}</div>`;

function Variable({ variable, value, range }) {
  const ask = async (abort) => {
    const { fields, records } = await rows(variable.query, range ? asMembers(range) : {}, abort);
    return records.map((row) => String(row[fields[0]] ?? "")).filter(Boolean).slice(0, 500);
  };
  const { data, error } = useAsync(ask, [variable.query, range?.start, range?.end]);
  const options = [[ALL, "all"], ...new Set([...(data ?? []), ...(value === ALL ? [] : [value])])].map((each) => (Array.isArray(each) ? each : [each, each]));
  return html`<div><${Select} label=${variable.name} value=${value} options=${options} onChange=${(next) => change({ [`var-${variable.name}`]: next })} />${error && html`<div class="small" role="alert">${error.message}</div>`}</div>`;
}

export function VariablesDialog({ variables, store, close }) {
  const [list, setList] = useState(variables);
  const set = (at, members) => setList(list.map((each, index) => (index === at ? { ...each, ...members } : each)));
  const submit = (event) => {
    event.preventDefault();
    store(list);
  };
  return html`<${Dialog} title="Variables" close=${close}><form class="column" onSubmit=${submit}>
    <p class="soft">In tiles, <code>'$name'</code> stands for the chosen value, and <code>*</code> for all.</p>
    ${list.map((each, at) => html`<div class="form" key=${at}>
      <${Field} label="Variable"><input required pattern="[A-Za-z_][A-Za-z0-9_]*" value=${each.name} onInput=${(event) => set(at, { name: event.target.value })} /><//>
      <${Field} label="Statement that lists its values" style=${{ flex: 1 }}><input required class="mono" value=${each.query} placeholder="SELECT DISTINCT host FROM app" onInput=${(event) => set(at, { query: event.target.value })} /><//>
      <button type="button" aria-label="Remove the variable" onClick=${() => setList(list.filter((_, index) => index !== at))}>✕</button></div>`)}
    <div class="actions"><button type="button" onClick=${() => setList([...list, { name: "", query: "", value: "*" }])}>+ Variable</button><button class="primary">Keep</button></div>
  </form><//>`;
}
