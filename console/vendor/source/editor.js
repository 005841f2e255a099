// The SQL editor: CodeMirror 6. (The package `codemirror` itself is version 5 under the tag `latest`.)
export { EditorState, Compartment, Prec } from "@codemirror/state";
export {
  EditorView, keymap, lineNumbers, highlightActiveLine, drawSelection, placeholder, tooltips,
} from "@codemirror/view";
export { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
export { autocompletion, completionKeymap, acceptCompletion, closeBrackets, closeBracketsKeymap, startCompletion } from "@codemirror/autocomplete";
export { sql, PostgreSQL } from "@codemirror/lang-sql";
export { HighlightStyle, syntaxHighlighting, bracketMatching } from "@codemirror/language";
export { search, searchKeymap } from "@codemirror/search";
export { markField, setFault } from "./marks.js";
export { tags } from "@lezer/highlight";
