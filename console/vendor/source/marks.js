// One mark in an editor: where the server found the fault.
import { StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView } from "@codemirror/view";

const setMark = StateEffect.define();
const mark = Decoration.mark({ class: "cm-fault", attributes: { "aria-invalid": "true" } });

export const markField = StateField.define({
  create: () => Decoration.none,
  update(marks, transaction) {
    for (const each of transaction.effects) {
      if (each.is(setMark)) return each.value ? Decoration.set([mark.range(...each.value)]) : Decoration.none;
    }
    return transaction.docChanged ? Decoration.none : marks;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** Marks [from, to) of the text, or nothing. */
export const setFault = (view, range) => view.dispatch({ effects: setMark.of(range) });
