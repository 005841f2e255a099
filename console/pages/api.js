// The HTTP API, from the description that the server gives of itself.
import { html, useMemo, useState } from "../vendor/core.js";
import { get } from "../lib/api.js";
import { change, route } from "../lib/route.js";
import { Copy } from "../parts/controls.js";
import { Fault, Wait, useAsync } from "../parts/states.js";

export function Api() {
  const { data, error, again } = useAsync((abort) => get("/api/v1/openapi.json", { signal: abort }), []);
  const { query } = route.value;
  const [open, setOpen] = useState(query.open ?? "");
  const operations = useMemo(() => (data ? listed(data) : []), [data]);
  if (error && !data) return html`<h1>API</h1><${Fault} error=${error} retry=${again} />`;
  if (!data) return html`<h1>API</h1><${Wait} on=${true} />`;
  const words = (query.find ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const shown = operations.filter((each) => words.every((word) => each.text.includes(word)));
  const groups = [...new Set(shown.map((each) => each.tag))];
  const toggle = (id) => {
    const next = open === id ? "" : id;
    setOpen(next);
    change({ open: next }, { replace: true });
  };
  return html`<div class="head"><h1>API</h1><span class="grow"></span>
      <input type="search" aria-label="Search the API" placeholder="Search" value=${query.find ?? ""} onInput=${(event) => change({ find: event.target.value }, { replace: true })} />
      <a class="button" href="/api/v1/openapi.json" download="openapi.json">openapi.json</a></div>
    <p class="soft">${data.info.title} ${data.info.version}. ${data.info.description.split("\n")[0]}</p>
    ${groups.map(
      (tag) => html`<section class="column" key=${tag}><h2>${tag.replaceAll("_", " ")}</h2>
        <ul class="list">${shown.filter((each) => each.tag === tag).map(
          (each) => html`<li key=${each.id}><button type="button" class="plain operation" aria-expanded=${open === each.id} onClick=${() => toggle(each.id)}><code>${each.method}</code><code class="path">${each.path}</code><span class="soft">${each.summary.replaceAll("`", "")}</span></button>
            ${open === each.id && html`<${Operation} each=${each} document=${data} />`}</li>`,
        )}</ul></section>`,
    )}
    ${!shown.length && html`<p class="soft">Nothing in the API has these words.</p>`}`;
}

const listed = (document) =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      id: operation.operationId,
      tag: operation.tags?.[0] ?? "other",
      method: method.toUpperCase(),
      path,
      summary: operation.summary ?? "",
      operation,
      text: `${method} ${path} ${operation.summary} ${operation.tags?.join(" ")}`.toLowerCase(),
    })),
  );

/** A schema with its references filled in, as deep as anybody reads. */
function plain(schema, document, depth = 0) {
  if (!schema || depth > 6) return schema ?? {};
  if (schema.$ref) return plain(document.components?.schemas?.[schema.$ref.split("/").at(-1)], document, depth + 1);
  if (Array.isArray(schema)) return schema.map((each) => plain(each, document, depth + 1));
  if (typeof schema !== "object") return schema;
  return Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, typeof value === "object" ? plain(value, document, depth + 1) : value]));
}

function Operation({ each, document }) {
  const { operation } = each;
  const body = Object.entries(operation.requestBody?.content ?? {});
  const type = body[0]?.[0];
  const headers = (operation.parameters ?? []).filter((one) => one.in === "header" && one.required).map((one) => ` \\\n  -H '${one.name}: …'`);
  const curl = `curl -X ${each.method} '${location.origin}${each.path}' \\\n  -H 'X-API-Key: SECRET'${headers.join("")}${type ? ` \\\n  -H 'Content-Type: ${type}' \\\n  -d '…'` : ""}`;
  return html`<div class="panel">
    ${operation.parameters?.length > 0 && html`<div class="scroll"><table class="list-table"><thead><tr><th>Parameter</th><th>In</th><th>Meaning</th></tr></thead><tbody>${operation.parameters.map((one, at) => html`<tr key=${at}><td class="mono">${one.name}${one.required ? " *" : ""}</td><td>${one.in}</td><td>${one.description ?? ""} ${one.schema?.enum ? html`<span class="soft">${one.schema.enum.join(", ")}</span>` : ""}</td></tr>`)}</tbody></table></div>`}
    ${body.map(([media, { schema }]) => html`<div key=${media}><h3>Body: ${media}</h3><pre class="code">${JSON.stringify(plain(schema, document), null, 2)}</pre></div>`)}
    ${Object.entries(operation.responses ?? {}).map(
      ([status, answer]) => html`<div key=${status}><h3>${status}: ${answer.description}</h3>${status[0] === "2" && Object.entries(answer.content ?? {}).map(([media, { schema }]) => html`<div class="soft small">${media}</div><pre class="code">${JSON.stringify(plain(schema, document), null, 2)}</pre>`)}</div>`,
    )}
    <div class="row"><h3 class="grow">By hand</h3><${Copy} text=${curl} /></div><pre class="code">${curl}</pre>
  </div>`;
}
