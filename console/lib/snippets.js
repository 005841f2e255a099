// What to write into a sender's configuration, ready to paste. Pure.

const host = (origin) => new URL(origin);
const tls = (origin) => (host(origin).protocol === "https:" ? "On" : "Off");
const port = (origin) => host(origin).port || (host(origin).protocol === "https:" ? "443" : "80");

/** @returns {[string, string][]} name and text, for a key's secret, a dataset and the address of this server */
export function snippets({ secret, dataset, origin, keyName, tenant }) {
  const more = tenant ? [`X-P-Tenant: ${tenant}`] : [];
  const curl = ["X-API-Key: " + secret, `X-P-Stream: ${dataset}`, ...more].map((each) => `  -H '${each}' \\\n`).join("");
  return [
    ["curl", `curl ${origin}/api/v1/ingest \\\n${curl}  -H 'Content-Type: application/json' \\\n  -d '[{"level": "info", "message": "hello"}]'`],
    ["Fluent Bit", fluentBit({ secret, dataset, origin, tenant })],
    ["OpenTelemetry", collector({ secret, dataset, origin, tenant })],
    ["Prometheus", prometheus({ secret, dataset, origin, tenant })],
    ["psql", `PGPASSWORD='${secret}' psql -h ${host(origin).hostname} -p 5433 -U '${keyName}' -d ${tenant || "weir"} \\\n  -c 'SELECT count(*) FROM "${dataset}"'`],
  ];
}

const fluentBit = ({ secret, dataset, origin, tenant }) => `[OUTPUT]
    Name             http
    Match            *
    Host             ${host(origin).hostname}
    Port             ${port(origin)}
    TLS              ${tls(origin)}
    URI              /api/v1/ingest
    Format           json
    Json_date_key    timestamp
    Json_date_format iso8601
    Header           X-API-Key ${secret}
    Header           X-P-Stream ${dataset}${tenant ? `\n    Header           X-P-Tenant ${tenant}` : ""}
    Compress         gzip`;

const collector = ({ secret, dataset, origin, tenant }) => `exporters:
  otlphttp/weir:
    endpoint: ${origin}
    headers:
      X-API-Key: "${secret}"
      X-P-Stream: "${dataset}"
      X-P-Log-Source: "otel-logs"   # otel-traces, otel-metrics for the others${tenant ? `\n      X-P-Tenant: "${tenant}"` : ""}
service:
  pipelines:
    logs:
      receivers: [otlp]
      exporters: [otlphttp/weir]`;

const prometheus = ({ secret, dataset, origin, tenant }) => `remote_write:
  - url: ${origin}/v1/prometheus/write
    headers:
      X-API-Key: "${secret}"
      X-P-Stream: "${dataset}"
      X-P-Log-Source: "otel-metrics"${tenant ? `\n      X-P-Tenant: "${tenant}"` : ""}`;
