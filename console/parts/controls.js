// Controls that pages share: labelled fields, dialogs, menus, tabs, text to copy.
import { html, useEffect, useRef, useState } from "../vendor/core.js";

export const Field = ({ label, children, ...rest }) => html`<label class="field" ...${rest}><span>${label}</span>${children}</label>`;

export const Check = ({ label, checked, onChange, ...rest }) =>
  html`<label class="check"><input type="checkbox" checked=${checked} onChange=${(event) => onChange(event.target.checked)} ...${rest} />${label}</label>`;

export const Select = ({ label, value, options, onChange, hidden = false, ...rest }) => {
  const select = html`<select value=${value} aria-label=${hidden ? label : undefined} onChange=${(event) => onChange(event.target.value)} ...${rest}>
    ${options.map((each) => {
      const [name, text] = Array.isArray(each) ? each : [each, each];
      return html`<option key=${name} value=${name} selected=${name === value}>${text}</option>`;
    })}
  </select>`;
  return hidden ? select : html`<${Field} label=${label}>${select}<//>`;
};

/** A modal dialog. `close` is called however it ends. */
export function Dialog({ title, close, children }) {
  const ref = useRef(null);
  useEffect(() => {
    ref.current.showModal();
  }, []);
  return html`<dialog ref=${ref} aria-label=${title} onClose=${close} onClick=${(event) => event.target === ref.current && ref.current.close()}>
    <div>
      <div class="row"><h2 class="grow">${title}</h2><button type="button" class="plain" aria-label="Close" onClick=${() => ref.current.close()}>✕</button></div>
      ${children}
    </div>
  </dialog>`;
}

/** A button with a box below it, which closes by Escape and by a click elsewhere. */
export function Pop({ label, title, left, children, disabled }) {
  const [open, setOpen] = useState(false);
  const ref = useRef(null);
  useEffect(() => {
    if (!open) return undefined;
    const away = (event) => !event.composedPath().includes(ref.current) && setOpen(false);
    const escape = (event) => {
      if (event.key !== "Escape") return;
      setOpen(false);
      ref.current.querySelector("button").focus();
    };
    document.addEventListener("pointerdown", away);
    document.addEventListener("keydown", escape);
    return () => {
      document.removeEventListener("pointerdown", away);
      document.removeEventListener("keydown", escape);
    };
  }, [open]);
  return html`<div class="pop" ref=${ref}>
    <button type="button" aria-expanded=${open} aria-label=${title === label ? undefined : `${title}: ${label}`} disabled=${disabled} onClick=${() => setOpen(!open)}>${label} <span aria-hidden="true">▾</span></button>
    ${open && html`<div class=${left ? "box left" : "box"}>${typeof children === "function" ? children(() => setOpen(false)) : children}</div>`}
  </div>`;
}

/** Tabs whose choice the address holds. Left and right go on, as tabs do. */
export function Tabs({ tabs, chosen, choose, label }) {
  const move = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = tabs.findIndex(([name]) => name === chosen);
    const next = (at + step + tabs.length) % tabs.length;
    choose(tabs[next][0]);
    event.currentTarget.children[next].focus();
  };
  return html`<div class="tabs" role="tablist" aria-label=${label} onKeyDown=${move}>
    ${tabs.map(
      ([name, text]) => html`<button key=${name} type="button" role="tab" aria-selected=${name === chosen} tabindex=${name === chosen ? 0 : -1} onClick=${() => choose(name)}>${text}</button>`,
    )}
  </div>`;
}

export function Copy({ text, label = "Copy" }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await copyText(text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return html`<button type="button" class="tiny" onClick=${copy}>${done ? "Copied" : label}</button>`;
}

/** Also where the page was not loaded by TLS, and there is no clipboard to write to. */
export async function copyText(text) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

/** Deleting what cannot be brought back: its name is typed. */
export function TypedDelete({ noun, name, close, remove, children }) {
  const [typed, setTyped] = useState("");
  const [failed, setFailed] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    try {
      await remove();
      close();
    } catch (error) {
      setFailed(error);
    }
  };
  return html`<${Dialog} title=${`Delete ${noun} ${name}`} close=${close}>
    <form class="column" onSubmit=${submit}>
      ${children}
      <${Field} label=${`Type ${name} to delete it`}><input value=${typed} autocomplete="off" onInput=${(event) => setTyped(event.target.value)} /><//>
      ${failed && html`<div class="fault" role="alert">${failed.message}</div>`}
      <div class="actions"><button type="button" onClick=${close}>Keep it</button><button class="danger" disabled=${typed !== name}>Delete</button></div>
    </form>
  <//>`;
}

/** Hands a file to the browser to keep. */
export function saveBlob(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
