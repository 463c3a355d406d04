/** Sends spans to an OpenTelemetry collector. Imported only with traces on: the library loads slowly. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingHttpHeaders } from 'node:http'
import {
  type Context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapPropagator,
  type Tracer,
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
import type { TracingSettings } from './tracing-settings.ts'

const closeMs = 5_000

interface CurrentRequest {
  readonly context: Context
  /** Timers that a request has set may outlive it; what they do is not part of it. */
  ended: boolean
}

interface AnsweredRequest {
  readonly route: string | undefined
  readonly operation: string | undefined
  readonly status: number
  readonly scheme: 'http' | 'https'
  readonly requestId: string
  readonly errorCode: string | undefined
}

export type RequestSpan = ReturnType<Tracing['startRequest']>
export type StartCall = Tracing['startCall']
export type CallSpan = NonNullable<ReturnType<StartCall>>

export class Tracing {
  /** Without path and credentials. */
  readonly #collector: string
  readonly #provider: TracerProvider
  readonly #tracer: Tracer
  readonly #propagator: TextMapPropagator
  readonly #current = new AsyncLocalStorage<CurrentRequest>()
  readonly #log: Logger

  constructor(settings: TracingSettings, version: string, log: Logger) {
    const { resource, delayMs: scheduledDelayMillis, timeoutMs: exportTimeoutMillis } = settings
    const collector = new URL(settings.url).host
    const exporter = new ReportingExporter(createExporter(settings), collector, log)
    this.#collector = collector
    this.#log = log
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({ 'service.version': version, ...resource }),
      sampler: createSampler(settings.sampler),
      spanProcessors: [
        new BatchSpanProcessor({ exporter, scheduledDelayMillis, exportTimeoutMillis }),
      ],
    })
    this.#tracer = this.#provider.getTracer('fairlead', version)
    this.#propagator = createPropagator(settings.propagators)
    log.info({ collector, service: resource['service.name'] }, 'traces are sent to a collector')
  }

  startRequest(asked: string, headers: IncomingHttpHeaders) {
    const method = methodLabel(asked)
    const parent = this.#propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter)
    const attributes = { 'http.request.method': method }
    const span = this.#tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent)
    const request: CurrentRequest = { context: trace.setSpan(parent, span), ended: false }
    this.#current.enterWith(request)
    return {
      traceId: span.spanContext().traceId,
      end({ route, operation, status, scheme, requestId, errorCode }: AnsweredRequest): void {
        request.ended = true
        if (route !== undefined)
          span.updateName(`${method} ${route}`).setAttribute('http.route', route)
        span.setAttributes({
          'http.response.status_code': status,
          'url.scheme': scheme,
          'fairlead.operation': operation,
          'fairlead.request_id': requestId,
        })
        if (status >= 500) markFailed(span, errorCode ?? String(status))
        span.end()
      },
    }
  }

  /** Begins the span of a call to a service; undefined outside of requests, such as in refreshes. */
  readonly startCall = (service: string, method: string) => {
    const request = this.#current.getStore()
    if (request === undefined || request.ended) return undefined
    const attributes = { 'http.request.method': method, 'peer.service': service }
    const span = this.#tracer.startSpan(
      `${method} ${service}`,
      { kind: SpanKind.CLIENT, attributes },
      request.context,
    )
    const headers: Record<string, string> = {}
    this.#propagator.inject(trace.setSpan(request.context, span), headers, defaultTextMapSetter)
    return {
      headers: headers as Readonly<Record<string, string>>,
      end(status: number | undefined): void {
        if (status !== undefined) span.setAttribute('http.response.status_code', status)
        if (status === undefined || status >= 400)
          markFailed(span, status === undefined ? 'no_answer' : String(status))
        span.end()
      },
    }
  }

  async close(): Promise<void> {
    const ended = this.#provider.shutdown().catch(() => {})
    await within(closeMs, ended, () => {
      const collector = this.#collector
      this.#log.warn(
        { collector },
        'the collector of traces did not answer in time; the last spans are lost',
      )
    })
  }
}

function markFailed(span: Span, type: string): void {
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR })
}

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
        this.#log.warn(
          { ...fields, err: result.error },
          'the collector does not take traces; check otel.exporter.otlp.endpoint',
        )
      } else if (!failed && this.#failing)
        this.#log.info(fields, 'the collector takes traces again')
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
  const known = {
    tracecontext: () => new W3CTraceContextPropagator(),
    baggage: () => new W3CBaggagePropagator(),
  }
  return new CompositePropagator({ propagators: names.map((name) => known[name]()) })
}
