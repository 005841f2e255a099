// First run: how to send the first event, and its arrival, live.
import { html, useEffect, useState } from "../vendor/core.js";
import { post, put } from "../lib/api.js";
import { datasets, loadDatasets } from "../lib/datasets.js";
import { snippets } from "../lib/snippets.js";
import { go } from "../lib/route.js";
import { Copy, Tabs } from "../parts/controls.js";
import { Fault, useAction, useEvery } from "../parts/states.js";
import { tenant } from "../lib/api.js";

const DATASET = "app";

export function Start({ who }) {
  const [key, setKey] = useState(null);
  const [chosen, setChosen] = useState("curl");
  const { act, error, busy } = useAction();
  useEvery(2, () => loadDatasets().catch(() => {}));
  useEffect(() => void loadDatasets().catch(() => {}), []);
  const arrived = datasets.value?.find((each) => each.hasEvents && each.name !== "p_audit");
  const make = () =>
    act(async () => {
      const role = `send-to-${DATASET}`;
      await put(`/api/v1/role/${role}`, [{ privilege: "ingestor", resource: { dataset: DATASET } }]);
      setKey(await post("/api/v1/apikeys", { keyName: `first-sender-${Date.now().toString(36)}`, roles: [role] }));
    });
  const texts = snippets({ secret: key?.apiKey ?? "SECRET", dataset: DATASET, origin: location.origin, keyName: key?.keyName ?? "KEY", tenant: tenant() });
  return html`<h1>Send the first event</h1>
    ${arrived
      ? html`<div class="notice" role="status"><strong>The first event is there,</strong> in the dataset ${arrived.name}. <button class="primary" onClick=${() => go(["explore"], { dataset: arrived.name })}>Look at it</button></div>`
      : html`<div class="notice" role="status"><span class="state off">Waiting for the first event. This page sees it within two seconds.</span></div>`}
    <div class="panel">
      <h2>1. A key that may send to the dataset ${DATASET}</h2>
      ${who.mayAdminister
        ? key
          ? html`<div class="row"><code>${key.apiKey}</code><${Copy} text=${key.apiKey} /></div><p class="soft">It stands in the texts below too. Its name is ${key.keyName}; Access shows and deletes it.</p>`
          : html`<p>One key for each sender. It can do nothing but send events to ${DATASET}, which the first of them makes.</p><div><button class="primary" disabled=${busy} onClick=${make}>Make the key</button></div>`
        : html`<p>An administrator makes keys under Access.</p>`}
      <${Fault} error=${error} />
    </div>
    <div class="panel">
      <h2>2. Send</h2>
      <${Tabs} label="Sender" chosen=${chosen} choose=${setChosen} tabs=${texts.filter(([name]) => name !== "psql").map(([name]) => [name, name])} />
      <div class="row"><span class="grow"></span><${Copy} text=${texts.find(([name]) => name === chosen)[1]} /></div>
      <pre class="code">${texts.find(([name]) => name === chosen)[1]}</pre>
    </div>
    <p class="soft">Or fill it with an hour of a small shop: <code>weirctl --url ${location.origin} --user ${who.name} demo</code></p>`;
}
