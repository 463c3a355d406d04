/** Settings of traces; environment variables are the standard `OTEL_*`. */
import { z } from 'zod'
import { boundedTimeout, duration, httpAddress, off, optionalText, type SettingsReport } from '../settings/setting.ts'

const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const
const propagators = ['tracecontext', 'baggage', 'none'] as const
const protocols = ['http/protobuf'] as const
const exporters = ['otlp', 'none'] as const

type Propagator = Exclude<(typeof propagators)[number], 'none'>

/** An empty variable means the same as none. */
const text = optionalText

/**
 * One of several words, checked only where traces are on: the variables may be meant for other programs, or be left over from the
 * agent of a Java service.
 */
function choice(words: readonly string[]): z.ZodString {
  return z.string().meta({ type: words.join(', ') })
}

export const TracingKeys = z.strictObject({
  'otel.exporter.otlp.endpoint': httpAddress
    .optional()
    .describe(
      'Base address of an OpenTelemetry collector, such as `http://collector:4318`; `/v1/traces` is added. Switches traces on.',
    ),
  'otel.exporter.otlp.traces.endpoint': httpAddress
    .optional()
    .describe('Whole address for traces; overrides `otel.exporter.otlp.endpoint`. Switches traces on.'),
  'otel.exporter.otlp.headers': text.describe('Headers for the collector: `name=value,name=value`, values percent-encoded.'),
  'otel.exporter.otlp.traces.headers': text.describe('The same; overrides single headers of `otel.exporter.otlp.headers`.'),
  'otel.exporter.otlp.protocol': choice(protocols).default(protocols[0]).describe('Protocol for spans; gRPC is not supported.'),
  'otel.exporter.otlp.traces.protocol': choice(protocols).optional().describe('The same as `otel.exporter.otlp.protocol`.'),
  'otel.exporter.otlp.timeout': duration('ms').prefault('10s').describe('Timeout of one transmission of spans; 0: a minute.'),
  'otel.exporter.otlp.compression': z.enum(['none', 'gzip']).default('none').describe('Compression of spans.'),
  'otel.service.name': text.describe(
    'Name of the service in traces. Default: that of `otel.resource.attributes`, else `fairlead`.',
  ),
  'otel.resource.attributes': text.describe('Attributes of this instance: `key=value,key=value`, values percent-encoded.'),
  'otel.traces.sampler': choice(samplers)
    .default('parentbased_always_on')
    .describe('Sampling of requests; `parentbased_…` follows the `traceparent` header of the client, if present.'),
  'otel.traces.sampler-arg': z
    .string()
    .default('1')
    .describe('Share of the requests that `traceidratio` traces, 0 to 1.')
    .meta({ type: 'number', env: 'OTEL_TRACES_SAMPLER_ARG' }),
  'otel.propagators': z
    .string()
    .default('tracecontext')
    .describe(
      'Headers that are read from clients and sent to services: `tracecontext` (`traceparent`, `tracestate`), `baggage`, both ' +
        'with a comma, or `none`. Baggage is off by default: it would let clients send any text to services.',
    ),
  'otel.bsp.schedule.delay': duration('ms').prefault('5s').describe('Maximum delay before spans are sent.'),
  'otel.traces.exporter': choice(exporters).default('otlp').describe('`none` switches traces off.'),
  'otel.sdk.disabled': off.describe('`true` switches traces off.'),
})
export type TracingKeys = z.infer<typeof TracingKeys>

interface Sampling {
  kind: 'on' | 'off' | 'ratio'
  ratio: number
  followsParent: boolean
}

export type TracingSettings = NonNullable<ReturnType<typeof toTracingSettings>>

/** Undefined unless an endpoint is set. */
export function toTracingSettings(keys: TracingKeys, report: SettingsReport) {
  const base = keys['otel.exporter.otlp.endpoint']
  const url = keys['otel.exporter.otlp.traces.endpoint'] ?? (base && `${base}/v1/traces`)
  if (url === undefined || keys['otel.sdk.disabled'] || keys['otel.traces.exporter'] === 'none') return undefined
  const pairs = (key: 'otel.exporter.otlp.headers' | 'otel.exporter.otlp.traces.headers' | 'otel.resource.attributes') => {
    const parsed = parsePairs(keys[key] ?? '')
    if (parsed === undefined) report.problem(key, 'must be a list such as name=value,other=value, with percent-encoded values')
    return parsed ?? {}
  }
  const check = (key: keyof TracingKeys, offered: readonly string[], advice = '') => {
    const unknown = String(keys[key] ?? offered[0])
    if (!offered.includes(unknown)) report.problem(key, `"${unknown}" is not supported; use ${offered.join(', ')}${advice}`)
  }
  const port = ', usually port 4318 of the collector'
  check('otel.exporter.otlp.traces.protocol', protocols, port)
  if (keys['otel.exporter.otlp.traces.protocol'] === undefined) check('otel.exporter.otlp.protocol', protocols, port)
  check('otel.traces.exporter', exporters)
  check('otel.traces.sampler', samplers)
  const resource = pairs('otel.resource.attributes')
  return {
    url,
    headers: { ...pairs('otel.exporter.otlp.headers'), ...pairs('otel.exporter.otlp.traces.headers') },
    timeoutMs: boundedTimeout(keys['otel.exporter.otlp.timeout']),
    compression: keys['otel.exporter.otlp.compression'],
    resource: { ...resource, 'service.name': keys['otel.service.name'] || resource['service.name'] || 'fairlead' },
    sampler: toSampler(keys, report),
    propagators: toPropagators(keys['otel.propagators'], report),
    delayMs: keys['otel.bsp.schedule.delay'],
  }
}

function toSampler(keys: TracingKeys, report: SettingsReport): Sampling {
  const name = keys['otel.traces.sampler']
  const kind = name.endsWith('traceidratio') ? 'ratio' : name.endsWith('on') ? 'on' : 'off'
  const ratio = kind === 'ratio' ? Number(keys['otel.traces.sampler-arg'].trim() || Number.NaN) : 1
  if (!(ratio >= 0 && ratio <= 1)) report.problem('otel.traces.sampler-arg', 'must be a number from 0 to 1, such as 0.1')
  return { kind, ratio, followsParent: name.startsWith('parentbased_') }
}

function toPropagators(list: string, report: SettingsReport): Propagator[] {
  const names = new Set(list.split(',').map((name) => name.trim()))
  const unknown = [...names].find((name) => !(propagators as readonly string[]).includes(name))
  if (unknown !== undefined) report.problem('otel.propagators', `"${unknown}" is not offered; use ${propagators.join(', ')}`)
  return names.has('none') ? [] : (['tracecontext', 'baggage'] as const).filter((name) => names.has(name))
}

/** @see W3C Baggage, section 3.3: lists in the variables of OpenTelemetry have its form, without properties */
function parsePairs(list: string): Record<string, string> | undefined {
  const entries: [string, string][] = []
  for (const part of list.split(',')) {
    if (part.trim() === '') continue
    const equals = part.indexOf('=')
    const name = part.slice(0, equals).trim()
    if (equals === -1 || !/^[!#$%&'*+.^`|~\w-]+$/.test(name)) return undefined
    try {
      entries.push([name, decodeURIComponent(part.slice(equals + 1).trim())])
    } catch {
      return undefined
    }
  }
  return Object.fromEntries(entries)
}
