// The fields of a dataset: what values they have most, with one click to keep or to leave out; which are columns.
import { html, useState } from "../../vendor/core.js";
import { rows } from "../../lib/api.js";
import { formatCount, formatShare, formatShort, readable } from "../../lib/format.js";
import { grouped } from "../../lib/schema.js";
import { cardinalityStatement, topStatement } from "../../lib/sql.js";
import { Fault, Wait, useAsync } from "../../parts/states.js";
import { typed } from "./filters.js";

const SIGN = { number: "#", bool: "◐", text: "T", time: "@", json: "{}", list: "[]" };

export function Fields({ about, shown, addFilter, toggleColumn }) {
  const [search, setSearch] = useState("");
  const [open, setOpen] = useState(null);
  const found = about.columns.filter((each) => each.name.toLowerCase().includes(search.toLowerCase()));
  return html`<aside class="fields" aria-label="Fields">
    <input type="search" aria-label="Search fields" placeholder=${`Search ${about.columns.length} fields`} value=${search} onInput=${(event) => setSearch(event.target.value)} />
    ${grouped(found, about.role.core).map(
      ([group, members]) => html`<section key=${group}>
        <h3>${group}</h3>
        <ul>${members.map(
          (column) => html`<li key=${column.name}>
            <div class="field-name">
              <button type="button" class="plain tiny" aria-expanded=${open === column.name} title=${`${column.name}: ${column.type}`} onClick=${() => setOpen(open === column.name ? null : column.name)}>
                <span class="kind" aria-hidden="true">${SIGN[column.kind]}</span><span class="ellipsis">${readable(column.name)}</span></button>
              <button type="button" class="plain tiny" aria-pressed=${shown.includes(column.name)} aria-label=${`Column ${column.name}`} title=${shown.includes(column.name) ? "Hide the column" : "Show as a column"} onClick=${() => toggleColumn(column.name)}>▥</button>
            </div>
            ${open === column.name && html`<${Top} about=${about} column=${column} addFilter=${addFilter} />`}
          </li>`,
        )}</ul>
      </section>`,
    )}
    ${!found.length && html`<p class="soft small">No field has “${search}” in its name.</p>`}
  </aside>`;
}

function Top({ about, column, addFilter }) {
  const { dataset, where, members, range } = about;
  const source = { dataset: dataset.name, where, field: column.name };
  const ask = async (abort) => {
    const top = rows(topStatement(source), members, abort);
    const [counted] = (await rows(cardinalityStatement(source), members, abort)).records;
    return { ...counted, top: (await top).records };
  };
  const { data, error, again } = useAsync(ask, [dataset.name, where, range?.start, range?.end, column.name]);
  if (error) return html`<${Fault} error=${error} retry=${again} />`;
  if (!data) return html`<${Wait} on=${true} />`;
  const filter = (value, op) => addFilter(value === null ? { field: column.name, op: op === "=" ? "null" : "present" } : { field: column.name, op, value: typed(value, column.kind, op) });
  return html`<div class="top">
    ${data.top.map((each, at) => {
      const name = each.value === null ? "(none)" : readable(each.value);
      const share = each.n / Math.max(1, data.rows);
      return html`<span key=${`v${at}`} class="bar-behind ellipsis" title=${`${name}: ${formatCount(each.n)} events, ${formatShare(share)}`}>${name === "" ? "(empty)" : name}</span>
        <span key=${`n${at}`} class="number">${formatShort(each.n)}</span>
        <span key=${`b${at}`} class="nowrap"><button type="button" class="plain tiny" aria-label=${`Include ${name}`} title="Only these" onClick=${() => filter(each.value, "=")}>+</button><button type="button" class="plain tiny" aria-label=${`Exclude ${name}`} title="Not these" onClick=${() => filter(each.value, "!=")}>−</button></span>`;
    })}
    <span class="soft" style=${{ gridColumn: "1 / -1" }}>${formatCount(data.different)} values in ${formatCount(data.present)} of ${formatCount(data.rows)} events</span>
  </div>`;
}
