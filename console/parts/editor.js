// The SQL editor, which is fetched when the first one is opened. It completes datasets, columns with their types, and functions.
import { html, useEffect, useRef, useState } from "../vendor/core.js";
import { page } from "../lib/api.js";
import { datasets, loadColumns } from "../lib/datasets.js";
import { FUNCTIONS } from "../lib/functions.js";
import { identifier, wordAt } from "../lib/sql.js";
import { Wait } from "./states.js";

/** One completion for each name, with all of its forms. */
const byName = new Map();
for (const each of FUNCTIONS) byName.set(each[0], [...(byName.get(each[0]) ?? []), each]);
const options = [...byName].map(([name, forms]) => ({
  label: name,
  apply: `${name}(`,
  type: "function",
  detail: `${forms[0][1].slice(name.length)} → ${forms[0][2]}${forms.length > 1 ? `, and ${forms.length - 1} more` : ""}`,
  info: [forms[0][3], ...forms.map(([, form, result]) => `${form} → ${result}`)].join("\n"),
}));

/** Datasets, the columns of those that the text names, and functions. */
async function complete(context) {
  const word = context.matchBefore(/"?[\p{L}_][\p{L}\p{N}_.]*/u);
  if (!word && !context.explicit) return null;
  const known = datasets.value ?? [];
  const text = context.state.doc.toString();
  const named = known.filter((each) => new RegExp(`\\b${each.name.replace(/[-]/g, "\\-")}\\b`).test(text)).slice(0, 5);
  const columns = (await Promise.all(named.map((each) => loadColumns(each.name).then((found) => found.map((column) => ({ ...column, of: each.name })))))).flat();
  return {
    from: word ? word.from : context.pos,
    options: [
      ...columns.map((each) => ({ label: each.name, apply: identifier(each.name), type: "property", detail: `${each.type} · ${each.of}`, boost: 3 })),
      ...known.map((each) => ({ label: each.name, apply: identifier(each.name), type: "class", detail: each.telemetryType, boost: 2 })),
      ...options,
    ],
    validFor: /^"?[\p{L}\p{N}_.]*$/u,
  };
}

const look = (EditorView) =>
  EditorView.theme({
    "&": { height: "100%", fontSize: "var(--text-2)", backgroundColor: "var(--ground)", color: "var(--ink)" },
    "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
    ".cm-scroller": { fontFamily: "var(--mono)" },
    ".cm-content": { caretColor: "var(--ink)" },
    ".cm-cursor": { borderLeftColor: "var(--ink)" },
    ".cm-gutters": { backgroundColor: "var(--raised)", color: "var(--soft)", border: "none" },
    ".cm-activeLine": { backgroundColor: "transparent" },
    ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": { backgroundColor: "var(--accent-wash)" },
    ".cm-tooltip": { backgroundColor: "var(--ground)", color: "var(--ink)", border: "1px solid var(--control)" },
    ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--accent-ink)" },
    ".cm-completionDetail": { color: "var(--soft)", fontStyle: "normal" },
    ".cm-tooltip-autocomplete ul li[aria-selected] .cm-completionDetail": { color: "var(--accent-ink)" },
    ".cm-fault": { textDecoration: "underline wavy var(--wrong) 2px", backgroundColor: "var(--wrong-wash)" },
    ".cm-placeholder": { color: "var(--soft)" },
  });

function colours({ HighlightStyle, tags }) {
  return HighlightStyle.define([
    { tag: tags.keyword, color: "var(--accent)", fontWeight: "600" },
    { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
    { tag: [tags.number, tags.bool, tags.null], color: "var(--info)" },
    { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
    { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--warn)" },
  ]);
}

/** @param {{value: string, onChange: (text: string) => void, run: () => void, fault?: number, label?: string}} props `fault`: a position from 1 */
export function Editor({ value, onChange, run, fault, label = "Statement" }) {
  const host = useRef(null);
  const view = useRef(null);
  const library = useRef(null);
  /** @type {{current: {onChange: (text: string) => void, run: () => void, told: string[]}}} `told`: what has not come back yet */
  const latest = useRef({ onChange, run, told: [] });
  Object.assign(latest.current, { onChange, run });
  const [ready, setReady] = useState(false);
  useEffect(() => {
    let gone = false;
    import("../vendor/editor.js").then((found) => {
      if (gone) return;
      library.current = found;
      view.current = build(found, host.current, value, latest, label);
      view.current.focus();
      setReady(true);
    });
    return () => {
      gone = true;
      view.current?.destroy();
    };
  }, []);
  useEffect(() => {
    const editor = view.current;
    const echo = latest.current.told.indexOf(value);
    latest.current.told.splice(0, echo + 1);
    // What was written here comes back late, when there is more already: it must not be taken for a change from outside.
    if (!editor || echo >= 0 || editor.state.doc.toString() === value) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
    latest.current.told.length = 0;
  }, [value, ready]);
  useEffect(() => {
    if (view.current) library.current.setFault(view.current, fault ? wordAt(view.current.state.doc.toString(), fault) : null);
  }, [fault, ready]);
  return html`<div class="editor" ref=${host}>${!ready && html`<${Wait} on=${true} />`}</div>`;
}

function tell(latest, text) {
  latest.told.push(text);
  latest.onChange(text);
}

function build(found, parent, doc, latest, label) {
  const { EditorState, EditorView, Prec, PostgreSQL, keymap, sql } = found;
  const go = () => {
    latest.current.run();
    return true;
  };
  return new EditorView({
    parent,
    state: EditorState.create({
      doc,
      extensions: [
        EditorView.cspNonce.of(page.nonce),
        Prec.highest(keymap.of([{ key: "Ctrl-Enter", run: go }, { key: "Mod-Enter", run: go }])),
        found.lineNumbers(),
        found.history(),
        found.drawSelection(),
        found.bracketMatching(),
        found.closeBrackets(),
        found.highlightActiveLine(),
        found.autocompletion({ icons: false, maxRenderedOptions: 60 }),
        found.syntaxHighlighting(colours(found)),
        // The box of completions may reach out of the editor.
        found.tooltips({ position: "fixed", parent: document.body }),
        sql({ dialect: PostgreSQL, upperCaseKeywords: true }),
        PostgreSQL.language.data.of({ autocomplete: complete }),
        found.placeholder("SELECT level, count(*) FROM app GROUP BY level"),
        found.markField,
        keymap.of([...found.completionKeymap, ...found.closeBracketsKeymap, ...found.defaultKeymap, ...found.historyKeymap]),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
        EditorView.updateListener.of((update) => update.docChanged && tell(latest.current, update.state.doc.toString())),
        look(EditorView),
      ],
    }),
  });
}
