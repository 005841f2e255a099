// The states that every view has besides its content: waiting, failed, empty; and how to come by each.
import { html, useCallback, useEffect, useRef, useState } from "../vendor/core.js";

/** A line that moves after 200 ms. Its room is always there, so nothing jumps. */
export const Wait = ({ on }) =>
  html`<div class=${on ? "wait on" : "wait"} role="status">${on && html`<span class="only-read">Loading</span>`}</div>`;

/** What went wrong, as the server says it. */
export function Fault({ error, retry, children }) {
  if (!error) return null;
  const lost = error instanceof TypeError;
  const refused = error.status !== undefined;
  const text = lost && !refused ? `The server does not answer (${error.message}).` : error.message;
  return html`<div class="fault" role="alert">
    <strong>${text}</strong>
    ${children}
    ${refused && html`<div class="small">${[error.code, error.status, error.requestId && `request ${error.requestId}`].filter(Boolean).join(" · ")}</div>`}
    ${retry && html`<div><button type="button" onClick=${retry}>Try again</button></div>`}
  </div>`;
}

export const Empty = ({ title, children }) => html`<div class="empty"><strong>${title}</strong>${children}</div>`;

/**
 * The result of an asynchronous question, asked again whenever `inputs` change. The last result stays until the next one
 * is there; a question that nobody waits for any more is cancelled.
 * @returns {{data: any, error: Error | null, busy: boolean, again: () => void, cancel: () => void}}
 */
export function useAsync(ask, inputs) {
  const [state, setState] = useState({ data: undefined, error: null, busy: true });
  const [turn, setTurn] = useState(0);
  const current = useRef(null);
  useEffect(() => {
    const controller = new AbortController();
    current.current = controller;
    setState((old) => ({ ...old, busy: true }));
    Promise.resolve(ask(controller.signal)).then(
      (data) => !controller.signal.aborted && setState({ data, error: null, busy: false }),
      (error) => !controller.signal.aborted && setState((old) => ({ data: old.data, error, busy: false })),
    );
    return () => controller.abort();
  }, [...inputs, turn]);
  const again = useCallback(() => setTurn((old) => old + 1), []);
  const cancel = useCallback(() => {
    current.current?.abort();
    setState((old) => ({ ...old, busy: false }));
  }, []);
  return { ...state, again, cancel };
}

/** Calls again every so many seconds, unless the page is hidden; 0: never. */
export function useEvery(seconds, call) {
  const latest = useRef(call);
  latest.current = call;
  useEffect(() => {
    if (!seconds) return undefined;
    const timer = setInterval(() => document.hidden || latest.current(), seconds * 1000);
    return () => clearInterval(timer);
  }, [seconds]);
}

/** An action of a button: busy while it runs, its error kept until the next try. */
export function useAction() {
  const [state, setState] = useState({ error: null, busy: false });
  const act = async (work) => {
    setState({ error: null, busy: true });
    try {
      const result = await work();
      setState({ error: null, busy: false });
      return result ?? true;
    } catch (error) {
      setState({ error, busy: false });
      return undefined;
    }
  };
  return { ...state, act };
}

/** A text that people change, which begins again, before it is drawn, whenever what it came from does. */
export function useDraft(from) {
  const [, draw] = useState(0);
  const draft = useRef({ from, text: from });
  if (draft.current.from !== from) draft.current = { from, text: from };
  const set = (text) => {
    draft.current.text = text;
    draw((old) => old + 1);
  };
  return [draft.current.text, set];
}
