/** Sends spans to an OpenTelemetry collector. Imported only with traces on: the library loads slowly. */
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type TextMapPropagator,
  trace,
} from '@opentelemetry/api'
import {
  CompositePropagator,
  type ExportResult,
  ExportResultCode,
  W3CBaggagePropagator,
  W3CTraceContextPropagator,
} from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { CompressionAlgorithm } from '@opentelemetry/otlp-exporter-base'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Logger } from 'pino'
import { within } from '../concurrency/within.ts'
import { methodLabel } from './methods.ts'
import type { Tracing } from './tracing.ts'
import type { TracingSettings } from './tracing-settings.ts'

/** How long the end of the gateway waits for a collector. */
const closeMs = 5_000

/** What a request and the calls that it causes have in common. */
interface CurrentRequest {
  readonly context: Context
  /** Timers that a request has set may outlive it; what they do is not part of it. */
  ended: boolean
}

/** @param version Of the package. */
export function openTracing(settings: TracingSettings, version: string, log: Logger): Tracing {
  // Without path and credentials.
  const collector = new URL(settings.url).host
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.version': version, ...settings.resource }),
    sampler: createSampler(settings.sampler),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new ReportingExporter(createExporter(settings), collector, log),
        scheduledDelayMillis: settings.delayMs,
        exportTimeoutMillis: settings.timeoutMs,
      }),
    ],
  })
  log.info({ collector, service: settings.resource['service.name'] }, 'traces are sent to a collector')
  const tracer = provider.getTracer('fairlead', version)
  const propagator = createPropagator(settings.propagators)
  const current = new AsyncLocalStorage<CurrentRequest>()

  return {
    startRequest(asked, headers) {
      const method = methodLabel(asked)
      const parent = propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter)
      const attributes = { 'http.request.method': method }
      const span = tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent)
      const request: CurrentRequest = { context: trace.setSpan(parent, span), ended: false }
      current.enterWith(request)
      return {
        traceId: span.spanContext().traceId,
        end({ route, operation, status, scheme, requestId, errorCode }) {
          request.ended = true
          if (route !== undefined) span.updateName(`${method} ${route}`).setAttribute('http.route', route)
          span.setAttributes({
            'http.response.status_code': status,
            'url.scheme': scheme,
            'fairlead.operation': operation,
            'fairlead.request_id': requestId,
          })
          if (status >= 500) {
            span.setAttribute('error.type', errorCode ?? String(status))
            span.setStatus({ code: SpanStatusCode.ERROR })
          }
          span.end()
        },
      }
    },

    startCall(service, method) {
      const request = current.getStore()
      if (request === undefined || request.ended) return undefined
      const attributes = { 'http.request.method': method, 'peer.service': service }
      const span = tracer.startSpan(`${method} ${service}`, { kind: SpanKind.CLIENT, attributes }, request.context)
      const headers: Record<string, string> = {}
      propagator.inject(trace.setSpan(request.context, span), headers, defaultTextMapSetter)
      return {
        headers,
        end(status) {
          if (status !== undefined) span.setAttribute('http.response.status_code', status)
          if (status === undefined || status >= 400) {
            span.setAttribute('error.type', status === undefined ? 'no_answer' : String(status))
            span.setStatus({ code: SpanStatusCode.ERROR })
          }
          span.end()
        },
      }
    },

    async close() {
      // What fails is in the log already.
      const ended = provider.shutdown().catch(() => {})
      await within(closeMs, ended, () => {
        log.warn({ collector }, 'the collector of traces did not answer in time; the last spans are lost')
      })
    },
  }
}

/** Says once that the collector fails, and once that it works again. */
class ReportingExporter implements SpanExporter {
  readonly #exporter: SpanExporter
  readonly #collector: string
  readonly #log: Logger
  #failing = false

  constructor(exporter: SpanExporter, collector: string, log: Logger) {
    this.#exporter = exporter
    this.#collector = collector
    this.#log = log
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.#exporter.export(spans, (result) => {
      const failed = result.code !== ExportResultCode.SUCCESS
      const fields = { collector: this.#collector, spans: spans.length }
      if (failed && !this.#failing) {
        this.#log.warn({ ...fields, err: result.error }, 'the collector does not take traces; check otel.exporter.otlp.endpoint')
      } else if (!failed && this.#failing) this.#log.info(fields, 'the collector takes traces again')
      this.#failing = failed
      done(result)
    })
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush?.()
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown()
  }
}

function createExporter({ url, headers, timeoutMs, compression }: TracingSettings): SpanExporter {
  return new OTLPTraceExporter({
    url,
    headers: { ...headers },
    timeoutMillis: timeoutMs,
    compression: compression === 'gzip' ? CompressionAlgorithm.GZIP : CompressionAlgorithm.NONE,
  })
}

function createSampler({ kind, ratio, followsParent }: TracingSettings['sampler']): Sampler {
  const root = {
    on: () => new AlwaysOnSampler(),
    off: () => new AlwaysOffSampler(),
    ratio: () => new TraceIdRatioBasedSampler(ratio),
  }[kind]()
  return followsParent ? new ParentBasedSampler({ root }) : root
}

function createPropagator(names: TracingSettings['propagators']): TextMapPropagator {
  const known = { tracecontext: () => new W3CTraceContextPropagator(), baggage: () => new W3CBaggagePropagator() }
  return new CompositePropagator({ propagators: names.map((name) => known[name]()) })
}
