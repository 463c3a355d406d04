/** Settings of the services and of the HTTP client that calls them. */
import { z } from 'zod'
import {
  httpAddress,
  milliseconds,
  off,
  on,
  optionalFlag,
  optionalText,
  optionalTexts,
  port,
  type SettingsOf,
  type SettingsReport,
  setting,
  settings,
  texts,
  whole,
  withoutEffect,
} from '../settings/setting.ts'
import { type CircuitSettings, usualCircuit } from './circuit.ts'
import type { CallBounds } from './endpoint.ts'
import { toServiceTls } from './service-tls.ts'
import { isEmbeddable, type ServiceName, serviceNames } from './services.ts'

/** Calls that may wait for each that runs, unless configured. */
const waitingPerConnection = 19

const Shard = z.strictObject({
  baseUrl: httpAddress.describe('Address of the instance.'),
  priority: z.int().default(1).describe('Among the instances whose selector matches, the highest number wins.'),
  config: z.record(z.string(), z.unknown()).default({}).describe('Selector (`selectorClass`) and its arguments.'),
})

const ServiceConfig = z.looseObject({
  dynamicEndpoints: z
    .record(z.string(), httpAddress)
    .optional()
    .describe('Other addresses: of clouddriver by origin (`deck`, `api`), of fiat for `login`.'),
  includedAccounts: optionalTexts.describe('For front50: keep only applications that use one of these accounts.'),
})
type ServiceConfig = z.infer<typeof ServiceConfig>

/** The keys that every service has; one schema, so that the reference prints them once. */
const service = {
  baseUrl: z
    .string()
    .transform((text, context) => {
      if (text === 'embedded') return text
      const parsed = httpAddress.safeParse(text)
      if (parsed.success) return parsed.data
      context.addIssue('must be an absolute address such as http://orca.example:8083, or the word embedded')
      return z.NEVER
    })
    .optional()
    .meta({
      description:
        'Address of the service, or `embedded` for the embedded back end. Without address, clouddriver, echo, fiat, front50, ' +
        'igor, orca and rosco are embedded, the others disabled.',
      type: 'address or `embedded`',
    }),
  baseUrls: z
    .array(httpAddress)
    .default([])
    .describe(
      'Several addresses of the service, instead of `baseUrl`. Each call goes to the least busy one that answers; a read that ' +
        'fails is retried at another.',
    ),
  enabled: optionalFlag.describe(
    '`false` switches the service off; most operations that need it then return 503. Default: on if it has an address.',
  ),
  host: optionalText.describe('Host of the service; used when `baseUrl` is not set.'),
  port: port.optional().describe('Port of the service; used when `baseUrl` is not set.'),
  protocol: z
    .enum(['http', 'https'])
    .optional()
    .describe('Protocol for `host` and `port`. Default: `services.default.protocol`.'),
  connectTimeoutMs: milliseconds
    .optional()
    .describe('Milliseconds to establish a connection to this service; 0: no limit. Default: `okHttpClient.connectTimeoutMs`.'),
  readTimeoutMs: milliseconds
    .optional()
    .describe('Milliseconds without a byte from this service; 0: no limit. Default: `okHttpClient.readTimeoutMs`.'),
  changeTimeoutMs: milliseconds
    .optional()
    .describe(
      'The same for answers to POST, PUT, PATCH and DELETE, and for what these operations have to read first. Default: ' +
        '`services.default.changeTimeoutMs`.',
    ),
  listTimeoutMs: milliseconds
    .optional()
    .describe('The same for lists over everything, those that cost five requests. Default: `services.default.listTimeoutMs`.'),
  maxRequests: whole(1)
    .optional()
    .describe('Concurrent requests to each address of this service; more wait. Default: `okHttpClient.maxRequestsPerHost`.'),
  maxWaitingRequests: whole(0)
    .optional()
    .describe(
      'Requests that may wait for each address of this service; more are answered with 503. A request waits no longer ' +
        'than its timeout. Default: 19 for each concurrent one.',
    ),
  'shards.baseUrl': httpAddress.optional().describe('Address, where a service is configured through its shards only.'),
  'shards.baseUrls': z
    .array(Shard)
    .default([])
    .describe('Several instances of orca, clouddriver or rosco, and when each is used.'),
  config: ServiceConfig.default({}).describe('Settings for routing and filtering; further keys are kept.'),
  vipAddress: withoutEffect('Name in a service registry; Fairlead uses addresses.'),
} as const

type ServiceField = keyof typeof service
type ServiceShape = { [K in `services.${ServiceName}.${ServiceField}`]: (typeof service)[LastField<K>] }
type LastField<K extends string> = K extends `services.${ServiceName}.${infer F extends ServiceField}` ? F : never

function serviceKeys(): ServiceShape {
  const entries = serviceNames.flatMap((name) =>
    Object.entries(service).map(([field, schema]) => [`services.${name}.${field}`, schema] as const),
  )
  return Object.fromEntries(entries) as unknown as ServiceShape
}

export const clientKeys = settings(
  {
    client: {
      connectTimeoutMs: setting(
        ['okHttpClient.connectTimeoutMs', 'okHttpClient.connectTimoutMs'],
        milliseconds.default(5000),
      ).describe('Milliseconds to establish a connection; 0: no limit.'),
      readTimeoutMs: setting('okHttpClient.readTimeoutMs', milliseconds.default(120_000)).describe(
        'Milliseconds without a byte from a service; 0: no limit.',
      ),
      keepAliveMs: setting('okHttpClient.connectionPool.keepAliveDurationMs', milliseconds.default(30_000)).describe(
        'Milliseconds that an idle connection is kept.',
      ),
      maxRequestsPerHost: setting('okHttpClient.maxRequestsPerHost', whole(1).default(100)).describe(
        'Concurrent requests to one service; more wait.',
      ),
      retryOnConnectionFailure: setting('okHttpClient.retryOnConnectionFailure', on).describe(
        'Retry a request whose connection failed before anything was sent, and a read whose connection broke, within a ' +
          'budget of a fifth of the calls to a service.',
      ),
      propagateSpinnakerHeaders: setting('okHttpClient.propagateSpinnakerHeaders', on).describe(
        'Send identity and tracing headers (`X-SPINNAKER-*`) to the services.',
      ),
      additionalHeaders: setting(
        'okHttpClient.additionalHeaders',
        texts.transform((names) => names.map((name) => name.toLowerCase())),
      ).describe('Further `X-SPINNAKER-*` headers of clients to forward.'),
    },
    tls: {
      keyStore: setting('okHttpClient.keyStore', optionalText).describe(
        'PKCS #12, JKS or PEM file with client certificate and private key for calls to services; read at the start.',
      ),
      keyStorePassword: setting('okHttpClient.keyStorePassword', optionalText).describe('Password of `keyStore`.'),
      trustStore: setting('okHttpClient.trustStore', optionalText).describe(
        'PKCS #12, JKS or PEM file with the authorities that services are trusted by, and no others; read at the start. ' +
          'Default: those of Node and of `NODE_EXTRA_CA_CERTS`.',
      ),
      trustStorePassword: setting('okHttpClient.trustStorePassword', optionalText).describe('Password of `trustStore`.'),
    },
    routing: {
      isOn: setting('dynamic-routing.enabled', off).describe('Choose among the shards of clouddriver by request.'),
      forClouddriver: setting('dynamic-routing.clouddriver.enabled', off).describe(
        'Choose among the shards of clouddriver by request; both switches are needed.',
      ),
    },
  },
  {
    'okHttpClient.writeTimeoutMs': 'Fairlead stops writing when the service stops reading.',
    'okHttpClient.connectionPool.maxIdleConnections': 'How long an idle connection is kept is what counts.',
    'okHttpClient.maxRequests': 'Each service has a limit of its own.',
    'okHttpClient.keyStoreType': 'Detected from the file.',
    'okHttpClient.trustStoreType': 'Detected from the file.',
    'okHttpClient.refreshableKeys.enabled': 'Reloading of key stores.',
    'okHttpClient.refreshableKeys.refreshPeriod': 'Reloading of key stores.',
    'okHttpClient.tlsVersions': 'Fairlead speaks TLS 1.2 and 1.3.',
    'okHttpClient.cipherSuites': 'Fairlead uses the suites that Node considers safe.',
    'okHttpClient.secureRandomInstanceType': 'A setting of the Java runtime.',
    'okHttpClient.interceptor': 'Filter of header names; Fairlead passes a fixed list.',
    'okHttpClient.logging': 'Wire logging of the Java client.',
    'okHttpClient.skipLogging': 'Wire logging of the Java client.',
  },
)
type ClientValues = SettingsOf<typeof clientKeys>

export const UpstreamKeys = z.strictObject({
  ...serviceKeys(),
  'services.default.protocol': z
    .enum(['http', 'https'])
    .default('http')
    .describe('Protocol of services that are given by host and port.'),
  'services.default.changeTimeoutMs': milliseconds
    .optional()
    .describe('Milliseconds without a byte from a service that makes a change; 0: no limit. Default: its read timeout.'),
  'services.default.listTimeoutMs': milliseconds
    .optional()
    .describe(
      'Milliseconds without a byte from a service that lists everything, such as all executions; 0: no limit. Default: its read timeout.',
    ),
  'services.default.circuitBreaker.enabled': on.describe(
    'Suspend calls to an address of an external service that fails repeatedly, until it answers a probe (`GET /health`). ' +
      'Requests that need it are answered with 503 and `Retry-After` meanwhile.',
  ),
  'services.default.circuitBreaker.failures': whole(1)
    .default(usualCircuit.failures)
    .describe(
      'Calls that have to fail within ten seconds, at least half of all; responses with an error status are no failures.',
    ),
  'services.default.circuitBreaker.openMs': milliseconds
    .default(usualCircuit.openMs)
    .describe('Milliseconds until the first probe; doubled after each failed one, up to `maxOpenMs`.'),
  'services.default.circuitBreaker.maxOpenMs': milliseconds
    .default(usualCircuit.maxOpenMs)
    .describe('Most milliseconds between two probes.'),
  'services.deck.baseUrl': httpAddress
    .prefault('http://localhost:9000')
    .describe('Address of the web UI: target of redirects, and the origin that may use cookies.'),
  'authz.enabled': off.describe(
    'Identity tokens between services, signed by Gate. Not supported: switch it off in all services.',
  ),
})
export type UpstreamKeys = z.infer<typeof UpstreamKeys>

interface ServiceShard {
  baseUrl: string
  priority: number
  config: Record<string, unknown>
}

/** One service. `kind` says where it is; the other fields have a meaning only where it is enabled. */
interface ServiceSettings {
  kind: 'embedded' | 'external' | 'disabled'
  /** Address of an external service without trailing slash, also known for a disabled one; else undefined. */
  baseUrl: string | undefined
  /** All addresses without trailing slash, `baseUrl` first. */
  baseUrls: readonly string[]
  /** Instances besides `baseUrl`, empty in most installations. */
  shards: ServiceShard[]
  config: ServiceConfig
  bounds: CallBounds
}

type ServicesSettings = Record<ServiceName, ServiceSettings>

export interface ConfiguredUpstreams {
  services: ServicesSettings
  okHttpClient: ReturnType<typeof toOkHttpClient>
  /** Address of the web UI, without trailing slash. */
  uiBaseUrl: string
  /** Every enabled service is embedded. */
  standalone: boolean
}

/** Keys to settings: an address makes a service external, `enabled: false` switches it off, otherwise it is embedded. */
export function toConfiguredUpstreams(
  keys: UpstreamKeys,
  clientValues: ClientValues,
  report: SettingsReport,
): ConfiguredUpstreams {
  const services = Object.fromEntries(
    serviceNames.map((name) => [name, toService(name, keys, clientValues, report)]),
  ) as ServicesSettings
  const external = serviceNames.filter((name) => services[name].kind === 'external')
  const embedded = serviceNames.filter((name) => services[name].kind === 'embedded')
  if (external.length > 0 && embedded.length > 0) {
    report.notice(
      `${external.join(', ')} ${external.length > 1 ? 'are' : 'is'} external; ${embedded.join(', ')} ` +
        `without an address ${embedded.length > 1 ? 'stay' : 'stays'} embedded. Set services.<name>.baseUrl, or ` +
        'services.<name>.enabled: false to switch one off.',
    )
  }
  if (keys['authz.enabled']) {
    report.problem(
      'authz.enabled',
      'this version signs no identity tokens, so services that demand them would refuse every call; ' +
        'set authz.enabled: false for all services',
    )
  }
  return {
    services,
    okHttpClient: toOkHttpClient(keys, clientValues, report),
    uiBaseUrl: keys['services.deck.baseUrl'],
    standalone: external.length === 0,
  }
}

function toService(name: ServiceName, keys: UpstreamKeys, client: ClientValues, report: SettingsReport): ServiceSettings {
  const shards = keys[`services.${name}.shards.baseUrls`]
  const several = keys[`services.${name}.baseUrls`]
  const address =
    keys[`services.${name}.baseUrl`] ?? several[0] ?? composeAddress(name, keys) ?? keys[`services.${name}.shards.baseUrl`]
  const baseUrl = address === 'embedded' ? undefined : (address ?? shards[0]?.baseUrl)
  if (several.length > 0 && keys[`services.${name}.baseUrl`] !== undefined) {
    report.problem(`services.${name}.baseUrls`, `set either this or services.${name}.baseUrl`)
  }
  const settings: ServiceSettings = {
    kind: 'disabled',
    baseUrl,
    baseUrls: several.length > 0 ? [...new Set(several)] : [baseUrl].filter((known) => known !== undefined),
    shards,
    config: keys[`services.${name}.config`],
    bounds: toBounds(name, keys, client),
  }
  const enabled = keys[`services.${name}.enabled`]
  for (const known of [...settings.baseUrls, ...shards.map((shard) => shard.baseUrl)]) {
    if (new URL(known).username + new URL(known).password === '') continue
    report.notice(`Warning: the user and password in the address of ${name} are not sent to it, as in Gate. Remove them.`)
    break
  }
  if (address === 'embedded' && !isEmbeddable(name)) {
    report.problem(`services.${name}.baseUrl`, `must be an address: there is no embedded ${name}`)
  }
  if (enabled === false) return settings
  if (baseUrl !== undefined) return { ...settings, kind: 'external' }
  if (isEmbeddable(name)) return { ...settings, kind: 'embedded' }
  if (enabled === true && address === undefined) {
    report.problem(
      `services.${name}.enabled`,
      `there is no embedded ${name}: set services.${name}.baseUrl, or services.${name}.enabled: false`,
    )
  }
  return settings
}

function toBounds(name: ServiceName, keys: UpstreamKeys, { client }: ClientValues): CallBounds {
  const maxConnections = keys[`services.${name}.maxRequests`] ?? client.maxRequestsPerHost
  return {
    connectTimeoutMs: keys[`services.${name}.connectTimeoutMs`] ?? client.connectTimeoutMs,
    readTimeoutMs: keys[`services.${name}.readTimeoutMs`] ?? client.readTimeoutMs,
    changeTimeoutMs: keys[`services.${name}.changeTimeoutMs`] ?? keys['services.default.changeTimeoutMs'],
    listTimeoutMs: keys[`services.${name}.listTimeoutMs`] ?? keys['services.default.listTimeoutMs'],
    maxConnections,
    maxWaiting: keys[`services.${name}.maxWaitingRequests`] ?? maxConnections * waitingPerConnection,
  }
}

function toCircuit(keys: UpstreamKeys): CircuitSettings | false {
  if (!keys['services.default.circuitBreaker.enabled']) return false
  const openMs = keys['services.default.circuitBreaker.openMs']
  return {
    ...usualCircuit,
    failures: keys['services.default.circuitBreaker.failures'],
    openMs,
    maxOpenMs: Math.max(openMs, keys['services.default.circuitBreaker.maxOpenMs']),
  }
}

function composeAddress(name: ServiceName, keys: UpstreamKeys): string | undefined {
  const host = keys[`services.${name}.host`]
  const portNumber = keys[`services.${name}.port`]
  if (!host && portNumber === undefined) return undefined
  const protocol = keys[`services.${name}.protocol`] ?? keys['services.default.protocol']
  return `${protocol}://${host || 'localhost'}${portNumber === undefined ? '' : `:${portNumber}`}`
}

function toOkHttpClient(keys: UpstreamKeys, { client, tls, routing }: ClientValues, report: SettingsReport) {
  return {
    ...client,
    tls: toServiceTls(tls, report),
    circuit: toCircuit(keys),
    routeClouddriver: routing.isOn && routing.forClouddriver,
  }
}
