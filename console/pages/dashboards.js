// Dashboards: the list, and how one comes to be: drawn here, or brought from Grafana.
import { html, useState } from "../vendor/core.js";
import { get, post, session } from "../lib/api.js";
import { datasets, loadDatasets } from "../lib/datasets.js";
import { formatAgo } from "../lib/format.js";
import { importGrafana } from "../lib/grafana.js";
import { go, route, routeTo } from "../lib/route.js";
import { Dialog, Field, Select } from "../parts/controls.js";
import { Empty, Fault, Wait, useAction, useAsync } from "../parts/states.js";
import { Board } from "./dashboard.js";

export function Dashboards() {
  const id = route.value.path[1];
  return id ? html`<${Board} key=${id} id=${id} />` : html`<${All} />`;
}

function All() {
  const { data, error, again } = useAsync((abort) => get("/api/v1/dashboards", { signal: abort }), []);
  const [open, setOpen] = useState(null);
  const { mayAuthor } = session.value;
  return html`<div class="head"><h1>Dashboards</h1><span class="grow"></span>
      ${mayAuthor && html`<button type="button" onClick=${() => setOpen("import")}>Import from Grafana</button><button type="button" class="primary" onClick=${() => setOpen("new")}>New dashboard</button>`}</div>
    <${Fault} error=${error} retry=${again} />
    <${Wait} on=${!data && !error} />
    ${data && !data.length && html`<${Empty} title="No dashboards yet">${mayAuthor ? "Make one here, or send a chart from the pages of statements and metrics." : "Who has the privilege writer makes them."}<//>`}
    ${data?.length > 0 && html`<div class="scroll"><table class="list-table"><thead><tr><th>Dashboard</th><th>Tags</th><th>By</th><th>Changed</th></tr></thead>
      <tbody>${data.map((each) => html`<tr key=${each.dashboardId}><td><a href=${routeTo(["dashboards", each.dashboardId])}>${each.isFavorite ? "★ " : ""}${each.title}</a></td><td>${each.tags.join(", ")}</td><td>${each.author}</td><td class="nowrap">${formatAgo(each.modified)}</td></tr>`)}</tbody></table></div>`}
    ${open === "new" && html`<${NewBoard} close=${() => setOpen(null)} />`}
    ${open === "import" && html`<${Import} close=${() => setOpen(null)} />`}`;
}

function NewBoard({ close }) {
  const [title, setTitle] = useState("");
  const { act, error, busy } = useAction();
  const submit = async (event) => {
    event.preventDefault();
    const made = await act(() => post("/api/v1/dashboards", { title, tiles: [] }));
    if (made) go(["dashboards", made.dashboardId], { edit: "1" });
  };
  return html`<${Dialog} title="New dashboard" close=${close}><form class="column" onSubmit=${submit}>
    <${Field} label="Title"><input required value=${title} onInput=${(event) => setTitle(event.target.value)} /><//>
    <${Fault} error=${error} /><div class="actions"><button class="primary" disabled=${busy}>Add</button></div></form><//>`;
}

function Import({ close }) {
  const [text, setText] = useState("");
  const [found, setFound] = useState(null);
  const [dataset, setDataset] = useState("");
  const { act, error, busy } = useAction();
  useAsync(loadDatasets, []);
  const metrics = (datasets.value ?? []).filter((each) => each.telemetryType === "metrics").map((each) => each.name);
  const chosen = dataset || metrics[0] || "";
  const asksPromql = found?.tiles?.some((each) => each.promql);
  const read = (value) => {
    setText(value);
    try {
      setFound(value.trim() ? importGrafana(JSON.parse(value)) : null);
    } catch (failed) {
      setFound({ failed });
    }
  };
  const choose = async (event) => {
    const [file] = event.target.files;
    if (file) read(await file.text());
  };
  const submit = async (event) => {
    event.preventDefault();
    const made = await act(() => post("/api/v1/dashboards", { title: found.title, tiles: found.tiles.map((each) => (each.promql && chosen ? { ...each, dataset: chosen } : each)) }));
    if (made) go(["dashboards", made.dashboardId]);
  };
  return html`<${Dialog} title="Import from Grafana" close=${close}><form class="column" onSubmit=${submit}>
    <p>Panels that ask SQL or PromQL become tiles. In Grafana: Share, Export, Save to file.</p>
    <${Field} label="File"><input type="file" accept="application/json,.json" onChange=${choose} /><//>
    <${Field} label="Or its JSON"><textarea value=${text} onInput=${(event) => read(event.target.value)}></textarea><//>
    ${found?.failed && html`<div class="fault" role="alert">This is no JSON: ${found.failed.message}</div>`}
    ${asksPromql && metrics.length > 0 && html`<${Select} label="Dataset of its PromQL" value=${chosen} options=${metrics} onChange=${setDataset} />`}
    ${asksPromql && !metrics.length && html`<div class="notice">There is no dataset of metrics yet: say later in each tile which one its PromQL is about.</div>`}
    ${found?.tiles && html`<div><strong>${found.title}</strong>: ${found.tiles.length} tiles${found.skipped.length ? html`, left out: <ul>${found.skipped.map((each, at) => html`<li key=${at}>${each.title}: ${each.reason}</li>`)}</ul>` : ""}</div>`}
    <${Fault} error=${error} />
    <div class="actions"><button class="primary" disabled=${busy || !found?.tiles?.length}>Import</button></div>
  </form><//>`;
}
