// Sends one log record, one sum with two points and one span with an event, then ends.
// node send.js <base url> <http|proto> <none|gzip> <dataset prefix> <api key>
import { resourceFromAttributes } from '@opentelemetry/resources'
import { LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'

const [base, encoding, compression, prefix, key] = process.argv.slice(2)
const { OTLPLogExporter } = await import(`@opentelemetry/exporter-logs-otlp-${encoding}`)
const { OTLPMetricExporter } = await import(`@opentelemetry/exporter-metrics-otlp-${encoding}`)
const { OTLPTraceExporter } = await import(`@opentelemetry/exporter-trace-otlp-${encoding}`)

const resource = resourceFromAttributes({ 'service.name': 'shop' })
const options = (signal) => ({
  url: `${base}/v1/${signal}`,
  compression,
  headers: { 'X-API-Key': key, 'X-P-Stream': `${prefix}_${signal}`, 'X-P-Log-Source': `otel-${signal}` }
})

const logs = new LoggerProvider({
  resource,
  processors: [new SimpleLogRecordProcessor({ exporter: new OTLPLogExporter(options('logs')) })]
})
logs.getLogger('test').emit({
  severityNumber: 9,
  body: 'hello',
  attributes: { n: 5, ratio: 0.5, ok: true, list: ['a', 'b'] }
})

const traces = new BasicTracerProvider({
  resource,
  spanProcessors: [new SimpleSpanProcessor(new OTLPTraceExporter(options('traces')))]
})
const span = traces.getTracer('test').startSpan('work', { kind: 1, attributes: { n: 5 } })
span.addEvent('retry', { attempt: 2 })
span.end()

const reader = new PeriodicExportingMetricReader({
  exporter: new OTLPMetricExporter(options('metrics')),
  exportIntervalMillis: 3600000
})
const metrics = new MeterProvider({ resource, readers: [reader] })
const counter = metrics.getMeter('test').createCounter('requests')
counter.add(3, { route: '/a' })
counter.add(4, { route: '/b' })

await metrics.forceFlush()
await logs.shutdown()
await traces.shutdown()
// Shutting the meter provider down would export the metrics once more.
process.exit(0)
