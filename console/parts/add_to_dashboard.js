// Puts a statement and its chart on a dashboard, an existing or a new one.
import { html, useState } from "../vendor/core.js";
import { get, post, put } from "../lib/api.js";
import { go } from "../lib/route.js";
import { Dialog, Field, Select } from "./controls.js";
import { CHARTS } from "./result_chart.js";
import { Fault, Wait, useAction, useAsync } from "./states.js";

const NEW = "";

export function AddToDashboard({ tile, close }) {
  const { data, error } = useAsync((abort) => get("/api/v1/dashboards", { signal: abort }), []);
  const [chosen, setChosen] = useState(NEW);
  const [title, setTitle] = useState("");
  const [board, setBoard] = useState("");
  const [chart, setChart] = useState(tile.chart);
  const { act, error: refused, busy } = useAction();
  const submit = async (event) => {
    event.preventDefault();
    const made = { ...tile, title, chart };
    const stored = await act(() =>
      chosen === NEW ? post("/api/v1/dashboards", { title: board, tiles: [made] }) : put(`/api/v1/dashboards/${chosen}/add_tile`, made),
    );
    if (stored) go(["dashboards", stored.dashboardId]);
  };
  return html`<${Dialog} title="To a dashboard" close=${close}>
    <${Fault} error=${error} />
    ${!data && !error && html`<${Wait} on=${true} />`}
    ${data && html`<form class="column" onSubmit=${submit}>
      <${Select} label="Dashboard" value=${chosen} options=${[[NEW, "A new one"], ...data.map((each) => [each.dashboardId, each.title])]} onChange=${setChosen} />
      ${chosen === NEW && html`<${Field} label="Its title"><input required value=${board} onInput=${(event) => setBoard(event.target.value)} /><//>`}
      <${Field} label="Title of the tile"><input required value=${title} onInput=${(event) => setTitle(event.target.value)} /><//>
      <${Select} label="Chart" value=${chart} options=${CHARTS} onChange=${setChart} />
      <${Fault} error=${refused} />
      <div class="actions"><button class="primary" disabled=${busy}>Add</button></div>
    </form>`}
  <//>`;
}
