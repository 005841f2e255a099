// SQL: statements beside each other, each with its result. The address is that of the chosen one.
import { html, useEffect, useRef, useState } from "../vendor/core.js";
import { session } from "../lib/api.js";
import { go, route } from "../lib/route.js";
import { MOST_OPEN, closed, first, moved, opened, read, titleOf } from "../lib/statements.js";
import { Tabs } from "../parts/controls.js";
import { Side } from "./sql/side.js";
import { Statement } from "./sql/statement.js";

// Kept as long as this tab of the browser, for who is signed in: reloading loses nothing, and the next person finds nothing.
const place = () => `weir.statements.${session.value.tenant}.${session.value.name}`;

function begin(query) {
  const kept = read(sessionStorage.getItem(place()));
  if (!kept) return first(query);
  const same = kept.list.find((each) => each.query.q === query.q);
  if (!query.q || same) return same && query.q ? moved({ ...kept, chosen: same.id }, query) : kept;
  return opened(kept, query);
}

export function Sql() {
  const { query } = route.value;
  const [open, setOpen] = useState(() => begin(query));
  const [turn, setTurn] = useState(0);
  const [asked, setAsked] = useState(null);
  const seen = useRef(new Set());
  seen.current.add(open.chosen);
  // A link from elsewhere, and every step of the chosen one, is the address; so is going back to it.
  useEffect(() => {
    const chosen = open.list.find((each) => each.id === open.chosen);
    if (!Object.keys(query).length && Object.keys(chosen.query).length) go(["sql"], chosen.query);
    else setOpen((old) => moved(old, query));
  }, [JSON.stringify(query)]);
  useEffect(() => sessionStorage.setItem(place(), JSON.stringify(open)), [open]);
  const show = (next) => {
    setOpen(next);
    go(["sql"], next.list.find((each) => each.id === next.chosen).query);
  };
  const tell = (member) => (text) => setAsked({ [member]: text, id: open.chosen });
  return html`<div class="explore fit">
    <div class="row statements"><h1>SQL</h1>
      <${Tabs} label="Statements" chosen=${String(open.chosen)} choose=${(id) => show({ ...open, chosen: Number(id) })} tabs=${open.list.map((each) => [String(each.id), titleOf(each)])} />
      <button type="button" class="tiny" aria-label="New statement" title="New statement" disabled=${open.list.length >= MOST_OPEN} onClick=${() => show(opened(open))}>+</button>
      ${open.list.length > 1 && html`<button type="button" class="tiny" onClick=${() => show(closed(open, open.chosen))}>Close</button>`}</div>
    <div class="sql-body">
      ${open.list.filter((each) => seen.current.has(each.id)).map(
        (each) => html`<${Statement} key=${each.id} query=${each.query} isShown=${each.id === open.chosen} asked=${asked?.id === each.id ? asked : null} noted=${() => setTurn((old) => old + 1)} />`,
      )}
      <${Side} turn=${turn} choose=${tell("text")} insert=${tell("name")} />
    </div>
  </div>`;
}
