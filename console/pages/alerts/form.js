// The form of an alert, which can be tried before it is stored.
import { html, useState } from "../../vendor/core.js";
import { get, post, put } from "../../lib/api.js";
import { OPERATORS, judge, toBody, toForm } from "../../lib/alerts.js";
import { datasets, loadDatasets } from "../../lib/datasets.js";
import { formatCount } from "../../lib/format.js";
import { durationMs } from "../../lib/range.js";
import { go, route, routeTo } from "../../lib/route.js";
import { Check, Field, Select } from "../../parts/controls.js";
import { Rows } from "../../parts/rows.js";
import { Fault, Wait, useAction, useAsync } from "../../parts/states.js";
import { Values } from "./one.js";
import { askWindow } from "./window.js";

export function AlertForm({ alert }) {
  const [form, setForm] = useState(() => toForm(alert, route.value.query.q, route.value.query.promql));
  const [tried, setTried] = useState(null);
  const targets = useAsync((abort) => get("/api/v1/targets", { signal: abort }), []);
  useAsync(loadDatasets, []);
  const metrics = (datasets.value ?? []).filter((each) => each.telemetryType === "metrics").map((each) => each.name);
  const isPromql = form.queryType === "promql";
  const { act, error, busy } = useAction();
  const attempt = useAction();
  const set = (name) => (value) => setForm({ ...form, [name]: value });
  const input = (name) => (event) => set(name)(event.target.value);
  const submit = async (event) => {
    event.preventDefault();
    const body = toBody(form);
    const stored = await act(() => (alert ? put(`/api/v1/alerts/${alert.id}`, body) : post("/api/v1/alerts", body)));
    if (stored) go(["alerts", stored.id]);
  };
  const attemptNow = () =>
    attempt.act(async () => {
      const [body, end, length] = [toBody(form), Date.now(), durationMs(form.window)];
      if (length === null) throw new Error(`“${form.window}” is no length of time: write 5m or 1h.`);
      setTried({ ...(await askWindow(body, { start: end - length, end })), body });
    });
  const choose = (queryType) => setForm({ ...form, queryType, dataset: form.dataset || metrics[0] || "" });
  return html`<div class="head"><a class="button" href=${routeTo(alert ? ["alerts", alert.id] : ["alerts"])} aria-label="Back">‹</a><h1>${alert ? `Edit ${alert.title}` : "New alert"}</h1></div>
    <form class="column" onSubmit=${submit}>
      <div class="form"><${Field} label="Title"><input required maxlength="200" value=${form.title} onInput=${input("title")} /><//>
        <${Select} label="Severity" value=${form.severity} options=${["critical", "high", "medium", "low"]} onChange=${set("severity")} />
        <${Field} label="Tags (a, b)"><input value=${form.tags} onInput=${input("tags")} /><//>
        ${(metrics.length > 0 || isPromql) && html`<${Select} label="Asked in" value=${form.queryType} options=${[[isPromql ? "code" : form.queryType, "SQL"], ["promql", "PromQL"]]} onChange=${choose} />`}
        ${isPromql && html`<${Select} label="Dataset" value=${form.dataset} options=${[...new Set([...metrics, form.dataset])].filter(Boolean)} onChange=${set("dataset")} />`}</div>
      <${Field} label=${isPromql ? "Expression at the end of the window; the value of each series is compared" : "Statement over one dataset; its last column of numbers is compared"}><textarea required style=${{ minHeight: "8rem" }} value=${form.query} onInput=${input("query")} placeholder=${isPromql ? "sum by (job) (rate(http_requests_total[5m]))" : "SELECT count(*) FROM app WHERE level = 'error'"}></textarea><//>
      <div class="form">
        <${Select} label="Triggers when the value is" value=${form.operator} options=${OPERATORS} onChange=${set("operator")} />
        <${Field} label="Threshold"><input type="number" step="any" required value=${form.threshold} onInput=${input("threshold")} /><//>
        <${Field} label="Over the last"><input required value=${form.window} placeholder="5m" onInput=${input("window")} /><//>
        <${Field} label="Every (minutes)"><input type="number" min="1" max="1440" required value=${form.frequency} onInput=${input("frequency")} /><//>
        <${Field} label="Say so again after (minutes)"><input type="number" min="1" max="10080" required value=${form.interval} onInput=${input("interval")} /><//>
      </div>
      <fieldset class="row" style=${{ border: 0, padding: 0, margin: 0 }}><legend class="soft small">Tell</legend>
        ${(targets.data ?? []).map((each) => html`<${Check} key=${each.id} label=${`${each.name} (${each.type})`} checked=${form.targets.includes(each.id)} onChange=${(on) => set("targets")(on ? [...form.targets, each.id] : form.targets.filter((id) => id !== each.id))} />`)}
        ${targets.data?.length === 0 && html`<span class="soft">Nobody: there are no targets yet.</span>`}</fieldset>
      <${Fault} error=${error} />
      <div class="actions" style=${{ justifyContent: "flex-start" }}><button type="button" disabled=${!form.query.trim() || attempt.busy} onClick=${attemptNow}>Try</button><button class="primary" disabled=${busy}>Save</button></div>
    </form>
    <${Wait} on=${attempt.busy} /><${Fault} error=${attempt.error} />
    ${tried && html`<${Tried} tried=${tried} />`}`;
}

function Tried({ tried: { fields, records, body } }) {
  const { operator, value } = body.thresholdConfig;
  const { column, value: found, beyond } = judge(fields, records, operator, value);
  return html`<div class="panel"><h2>Now it ${beyond.length ? "would trigger" : "would stay quiet"}</h2>
      <p>${column === null ? (records.length ? "The result has no column of numbers: this would be an error." : "The result has no rows, which never triggers.") : `${column} is ${formatCount(found)}; ${formatCount(beyond.length)} of ${formatCount(records.length)} rows are ${operator} ${value}.`}</p>
      ${records.length > 0 && html`<${Rows} rows=${records} columns=${fields} height=${180} />`}</div>
    <${Values} alert=${body} />`;
}
