/** Settings of traces; environment variables are the standard `OTEL_*`. */
import { z } from 'zod'
import {
  boundedTimeout,
  duration,
  httpAddress,
  off,
  optionalText,
  type SettingsOf,
  type SettingsReport,
  setting,
  settings,
} from '../settings/setting.ts'

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

const list = z.string().default('')

/**
 * One of several words, checked only where traces are on: the variables may be meant for other programs, or be left over from the
 * agent of a Java service.
 */
function choice(words: readonly string[]): z.ZodString {
  return z.string().meta({ type: words.join(', ') })
}

const headersKey = 'otel.exporter.otlp.headers'
const tracesHeadersKey = 'otel.exporter.otlp.traces.headers'
const resourceKey = 'otel.resource.attributes'

export const tracingKeys = settings({
  base: setting('otel.exporter.otlp.endpoint', httpAddress.optional()).describe(
    'Base address of an OpenTelemetry collector, such as `http://collector:4318`; `/v1/traces` is added. Switches traces on.',
  ),
  endpoint: setting('otel.exporter.otlp.traces.endpoint', httpAddress.optional()).describe(
    'Whole address for traces; overrides `otel.exporter.otlp.endpoint`. Switches traces on.',
  ),
  headers: setting(headersKey, list).describe(
    'Headers for the collector: `name=value,name=value`, values percent-encoded.',
  ),
  tracesHeaders: setting(tracesHeadersKey, list).describe(
    'The same; overrides single headers of `otel.exporter.otlp.headers`.',
  ),
  protocol: setting(
    'otel.exporter.otlp.protocol',
    choice(protocols).default(protocols[0]),
  ).describe('Protocol for spans; gRPC is not supported.'),
  tracesProtocol: setting(
    'otel.exporter.otlp.traces.protocol',
    choice(protocols).optional(),
  ).describe('The same as `otel.exporter.otlp.protocol`.'),
  timeoutMs: setting(
    'otel.exporter.otlp.timeout',
    duration('ms').prefault('10s').transform(boundedTimeout),
  ).describe('Timeout of one transmission of spans; 0: a minute.'),
  compression: setting(
    'otel.exporter.otlp.compression',
    z.enum(['none', 'gzip']).default('none'),
  ).describe('Compression of spans.'),
  serviceName: setting('otel.service.name', optionalText).describe(
    'Name of the service in traces. Default: that of `otel.resource.attributes`, else `fairlead`.',
  ),
  resource: setting(resourceKey, list).describe(
    'Attributes of this instance: `key=value,key=value`, values percent-encoded.',
  ),
  sampler: setting(
    'otel.traces.sampler',
    choice(samplers).default('parentbased_always_on'),
  ).describe(
    'Sampling of requests; `parentbased_…` follows the `traceparent` header of the client, if present.',
  ),
  samplerArg: setting(
    'otel.traces.sampler-arg',
    z.string().default('1').meta({ type: 'number', env: 'OTEL_TRACES_SAMPLER_ARG' }),
  ).describe('Share of the requests that `traceidratio` traces, 0 to 1.'),
  propagators: setting('otel.propagators', z.string().default('tracecontext')).describe(
    'Headers that are read from clients and sent to services: `tracecontext` (`traceparent`, `tracestate`), `baggage`, both ' +
      'with a comma, or `none`. Baggage is off by default: it would let clients send any text to services.',
  ),
  delayMs: setting('otel.bsp.schedule.delay', duration('ms').prefault('5s')).describe(
    'Maximum delay before spans are sent.',
  ),
  exporter: setting('otel.traces.exporter', choice(exporters).default('otlp')).describe(
    '`none` switches traces off.',
  ),
  isDisabled: setting('otel.sdk.disabled', off).describe('`true` switches traces off.'),
})
type TracingValues = SettingsOf<typeof tracingKeys>

export type TracingSettings = NonNullable<ReturnType<typeof toTracingSettings>>

export function toTracingSettings(values: TracingValues, report: SettingsReport) {
  const {
    base,
    endpoint,
    protocol,
    tracesProtocol,
    timeoutMs,
    compression,
    serviceName,
    exporter,
    sampler,
    delayMs,
  } = values
  const url = endpoint ?? (base && `${base}/v1/traces`)
  if (url === undefined || values.isDisabled || exporter === 'none') return undefined
  const pairs = (key: string, text: string) => {
    const parsed = parsePairs(text)
    if (parsed === undefined)
      report.problem(
        key,
        'must be a list such as name=value,other=value, with percent-encoded values',
      )
    return parsed ?? {}
  }
  const check = (key: string, word: string, offered: readonly string[], advice = '') => {
    if (!offered.includes(word))
      report.problem(key, `"${word}" is not supported; use ${offered.join(', ')}${advice}`)
  }
  const protocolKey = `otel.exporter.otlp.${tracesProtocol === undefined ? '' : 'traces.'}protocol`
  check(protocolKey, tracesProtocol ?? protocol, protocols, ', usually port 4318 of the collector')
  check('otel.traces.exporter', exporter, exporters)
  check('otel.traces.sampler', sampler, samplers)
  const resource = pairs(resourceKey, values.resource)
  return {
    url,
    headers: {
      ...pairs(headersKey, values.headers),
      ...pairs(tracesHeadersKey, values.tracesHeaders),
    },
    timeoutMs,
    compression,
    resource: {
      ...resource,
      'service.name': serviceName || resource['service.name'] || 'fairlead',
    },
    sampler: toSampler(values, report),
    propagators: toPropagators(values.propagators, report),
    delayMs,
  }
}

function toSampler({ sampler: name, samplerArg }: TracingValues, report: SettingsReport) {
  const kind = name.endsWith('traceidratio') ? 'ratio' : name.endsWith('on') ? 'on' : 'off'
  const ratio = kind === 'ratio' ? Number(samplerArg.trim() || Number.NaN) : 1
  if (!(ratio >= 0 && ratio <= 1))
    report.problem('otel.traces.sampler-arg', 'must be a number from 0 to 1, such as 0.1')
  return { kind, ratio, followsParent: name.startsWith('parentbased_') } as const
}

function toPropagators(list: string, report: SettingsReport): Propagator[] {
  const names = new Set(list.split(',').map((name) => name.trim()))
  const unknown = [...names].find((name) => !(propagators as readonly string[]).includes(name))
  if (unknown !== undefined)
    report.problem('otel.propagators', `"${unknown}" is not offered; use ${propagators.join(', ')}`)
  return names.has('none')
    ? []
    : (['tracecontext', 'baggage'] as const).filter((name) => names.has(name))
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
