// What the keys do.
import { html } from "../vendor/core.js";
import { Dialog } from "./controls.js";

const KEYS = [
  ["/", "Search in the field list or the page"],
  ["f", "Add a filter"],
  ["r", "Load again"],
  ["[ and ]", "Earlier and later range"],
  ["l", "Live tail on or off"],
  ["w", "Wrap lines"],
  ["↑ ↓ Enter", "Go through rows, open one"],
  ["Escape", "Close what is open"],
  ["Ctrl+Enter", "Run the statement"],
  ["?", "This list"],
];

export const Help = ({ close }) => html`<${Dialog} title="Keyboard" close=${close}>
  <table class="list-table"><tbody>
    ${KEYS.map(([key, meaning]) => html`<tr key=${key}><td class="nowrap"><kbd>${key}</kbd></td><td>${meaning}</td></tr>`)}
  </tbody></table>
<//>`;
