/** Settings of the services and of the HTTP client that calls them. */

import { toServiceTls } from '@fairlead/base/services/service-tls.ts'
import { isEmbeddable, type ServiceName, serviceNames } from '@fairlead/base/services/services.ts'
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
  textAs,
  texts,
  whole,
} from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'
import { type CircuitSettings, usualCircuit } from './circuit.ts'
import type { CallBounds } from './endpoint.ts'

const waitingPerConnection = 19

const Shard = z.strictObject({
  baseUrl: httpAddress.describe('Address of the instance.'),
  priority: z
    .int()
    .default(1)
    .describe('Among the instances whose selector matches, the highest number wins.'),
  config: z
    .record(z.string(), z.unknown())
    .default({})
    .describe('Selector (`selectorClass`) and its arguments.'),
})

const ServiceConfig = z.looseObject({
  dynamicEndpoints: z
    .record(z.string(), httpAddress)
    .optional()
    .describe('Other addresses: of clouddriver by origin (`deck`, `api`), of fiat for `login`.'),
  includedAccounts: optionalTexts.describe(
    'For front50: keep only applications that use one of these accounts.',
  ),
})

const protocol = z.enum(['http', 'https'])
const optionalMs = milliseconds.optional()

const baseUrl = textAs(
  (text) => (text === 'embedded' ? text : httpAddress.safeParse(text).data),
  'an absolute address such as http://orca.example:8083, or the word embedded',
)
  .optional()
  .meta({ type: 'address or `embedded`' })

function serviceKeys(name: ServiceName) {
  return {
    baseUrl: setting(`services.${name}.baseUrl`, baseUrl).describe(
      'Address of the service, or `embedded` for the embedded back end. Without address, clouddriver, echo, fiat, front50, ' +
        'igor, orca and rosco are embedded, and kayenta beside an embedded orca; the others are disabled.',
    ),
    baseUrls: setting(`services.${name}.baseUrls`, z.array(httpAddress).default([])).describe(
      'Several addresses of the service, instead of `baseUrl`. Each call goes to the least busy one that answers; a read that ' +
        'fails is retried at another.',
    ),
    enabled: setting(`services.${name}.enabled`, optionalFlag).describe(
      '`false` switches the service off; most operations that need it then return 503. Default: on if it has an address.',
    ),
    host: setting(`services.${name}.host`, optionalText).describe(
      'Host of the service; used when `baseUrl` is not set.',
    ),
    port: setting(`services.${name}.port`, port.optional()).describe(
      'Port of the service; used when `baseUrl` is not set.',
    ),
    protocol: setting(`services.${name}.protocol`, protocol.optional()).describe(
      'Protocol for `host` and `port`. Default: `services.default.protocol`.',
    ),
    ...callKeys(name),
    shardAddress: setting(`services.${name}.shards.baseUrl`, httpAddress.optional()).describe(
      'Address, where a service is configured through its shards only.',
    ),
    shards: setting(`services.${name}.shards.baseUrls`, z.array(Shard).default([])).describe(
      'Several instances of orca, clouddriver or rosco, and when each is used.',
    ),
    config: setting(`services.${name}.config`, ServiceConfig.default({})).describe(
      'Settings for routing and filtering; further keys are kept.',
    ),
  }
}

function callKeys(name: ServiceName) {
  return {
    connectTimeoutMs: setting(`services.${name}.connectTimeoutMs`, optionalMs).describe(
      'Milliseconds to establish a connection to this service; 0: no limit. Default: `okHttpClient.connectTimeoutMs`.',
    ),
    readTimeoutMs: setting(`services.${name}.readTimeoutMs`, optionalMs).describe(
      'Milliseconds without a byte from this service; 0: no limit. Default: `okHttpClient.readTimeoutMs`.',
    ),
    changeTimeoutMs: setting(`services.${name}.changeTimeoutMs`, optionalMs).describe(
      'The same for answers to POST, PUT, PATCH and DELETE, and for what these operations have to read first. Default: ' +
        '`services.default.changeTimeoutMs`.',
    ),
    listTimeoutMs: setting(`services.${name}.listTimeoutMs`, optionalMs).describe(
      'The same for lists over everything, those that cost five requests. Default: `services.default.listTimeoutMs`.',
    ),
    maxRequests: setting(`services.${name}.maxRequests`, whole(1).optional()).describe(
      'Concurrent requests to each address of this service; more wait. Default: `okHttpClient.maxRequestsPerHost`.',
    ),
    maxWaitingRequests: setting(
      `services.${name}.maxWaitingRequests`,
      whole(0).optional(),
    ).describe(
      'Requests that may wait for each address of this service; more are answered with 503. A request waits no longer ' +
        'than its timeout. Default: 19 for each concurrent one.',
    ),
  }
}

function ofServices<Value>(create: (name: ServiceName) => Value): Record<ServiceName, Value> {
  return Object.fromEntries(serviceNames.map((name) => [name, create(name)])) as Record<
    ServiceName,
    Value
  >
}

export const upstreamKeys = settings(
  {
    services: ofServices(serviceKeys),
    byDefault: {
      protocol: setting('services.default.protocol', protocol.default('http')).describe(
        'Protocol of services that are given by host and port.',
      ),
      changeTimeoutMs: setting('services.default.changeTimeoutMs', optionalMs).describe(
        'Milliseconds without a byte from a service that makes a change; 0: no limit. Default: its read timeout.',
      ),
      listTimeoutMs: setting('services.default.listTimeoutMs', optionalMs).describe(
        'Milliseconds without a byte from a service that lists everything, such as all executions; 0: no limit. Default: its read timeout.',
      ),
    },
    circuit: {
      enabled: setting('services.default.circuitBreaker.enabled', on).describe(
        'Suspend calls to an address of an external service that fails repeatedly, until it answers a probe (`GET /health`). ' +
          'Requests that need it are answered with 503 and `Retry-After` meanwhile.',
      ),
      failures: setting(
        'services.default.circuitBreaker.failures',
        whole(1).default(usualCircuit.failures),
      ).describe(
        'Calls that have to fail within ten seconds, at least half of all; responses with an error status are no failures.',
      ),
      openMs: setting(
        'services.default.circuitBreaker.openMs',
        milliseconds.default(usualCircuit.openMs),
      ).describe(
        'Milliseconds until the first probe; doubled after each failed one, up to `maxOpenMs`.',
      ),
      maxOpenMs: setting(
        'services.default.circuitBreaker.maxOpenMs',
        milliseconds.default(usualCircuit.maxOpenMs),
      ).describe('Most milliseconds between two probes.'),
    },
    uiBaseUrl: setting(
      'services.deck.baseUrl',
      httpAddress.prefault('http://localhost:9000'),
    ).describe('Address of the web UI: target of redirects, and the origin that may use cookies.'),
    identityTokens: setting('authz.enabled', off).describe(
      'Identity tokens between services, signed by Gate. Not supported: switch it off in all services.',
    ),
    client: {
      connectTimeoutMs: setting(
        ['okHttpClient.connectTimeoutMs', 'okHttpClient.connectTimoutMs'],
        milliseconds.default(5000),
      ).describe('Milliseconds to establish a connection; 0: no limit.'),
      readTimeoutMs: setting('okHttpClient.readTimeoutMs', milliseconds.default(120_000)).describe(
        'Milliseconds without a byte from a service; 0: no limit.',
      ),
      keepAliveMs: setting(
        'okHttpClient.connectionPool.keepAliveDurationMs',
        milliseconds.default(30_000),
      ).describe('Milliseconds that an idle connection is kept.'),
      maxRequestsPerHost: setting(
        'okHttpClient.maxRequestsPerHost',
        whole(1).default(100),
      ).describe('Concurrent requests to one service; more wait.'),
      retry: setting('okHttpClient.retryOnConnectionFailure', on).describe(
        'Retry a request whose connection failed before anything was sent, and a read whose connection broke, within a ' +
          'budget of a fifth of the calls to a service.',
      ),
      sendIdentity: setting('okHttpClient.propagateSpinnakerHeaders', on).describe(
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
      keyStorePassword: setting('okHttpClient.keyStorePassword', optionalText).describe(
        'Password of `keyStore`.',
      ),
      trustStore: setting('okHttpClient.trustStore', optionalText).describe(
        'PKCS #12, JKS or PEM file with the authorities that services are trusted by, and no others; read at the start. ' +
          'Default: those of Node and of `NODE_EXTRA_CA_CERTS`.',
      ),
      trustStorePassword: setting('okHttpClient.trustStorePassword', optionalText).describe(
        'Password of `trustStore`.',
      ),
    },
    routing: {
      isOn: setting('dynamic-routing.enabled', off).describe(
        'Choose among the shards of clouddriver by request.',
      ),
      forClouddriver: setting('dynamic-routing.clouddriver.enabled', off).describe(
        'Choose among the shards of clouddriver by request; both switches are needed.',
      ),
    },
  },
  {
    ...Object.fromEntries(
      serviceNames.map((name) => [
        `services.${name}.vipAddress`,
        'Name in a service registry; Fairlead uses addresses.',
      ]),
    ),
    'okHttpClient.writeTimeoutMs': 'Fairlead stops writing when the service stops reading.',
    'okHttpClient.connectionPool.maxIdleConnections':
      'How long an idle connection is kept is what counts.',
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
type UpstreamValues = SettingsOf<typeof upstreamKeys>

export type ConfiguredUpstreams = ReturnType<typeof toConfiguredUpstreams>

/** Keys to settings: an address makes a service external, `enabled: false` switches it off, otherwise it is embedded. */
export function toConfiguredUpstreams(values: UpstreamValues, report: SettingsReport) {
  const services = withCompanions(
    ofServices((name) => toService(name, values, report)),
    values,
  )
  const external = serviceNames.filter((name) => services[name].kind === 'external')
  const embedded = serviceNames.filter((name) => services[name].kind === 'embedded')
  if (external.length > 0 && embedded.length > 0) {
    report.notice(
      `${external.join(', ')} ${external.length > 1 ? 'are' : 'is'} external; ${embedded.join(', ')} ` +
        `without an address ${embedded.length > 1 ? 'stay' : 'stays'} embedded. Set services.<name>.baseUrl, or ` +
        'services.<name>.enabled: false to switch one off.',
    )
  }
  if (values.identityTokens) {
    report.problem(
      'authz.enabled',
      'this version signs no identity tokens, so services that demand them would refuse every call; ' +
        'set authz.enabled: false for all services',
    )
  }
  const { client, tls, routing, uiBaseUrl } = values
  return {
    services,
    okHttpClient: {
      ...client,
      tls: toServiceTls(tls, report),
      circuit: toCircuit(values.circuit),
      routeClouddriver: routing.isOn && routing.forClouddriver,
    },
    uiBaseUrl,
    standalone: external.length === 0,
  }
}

/** One service. `kind` says where it is; the other fields have a meaning only where it is enabled. */
function toService(name: ServiceName, values: UpstreamValues, report: SettingsReport) {
  const {
    baseUrl: written,
    baseUrls: several,
    enabled,
    shards,
    config,
    ...own
  } = values.services[name]
  const address = written ?? several[0] ?? composeAddress(own, values.byDefault) ?? own.shardAddress
  const baseUrl = address === 'embedded' ? undefined : (address ?? shards[0]?.baseUrl)
  const baseUrls =
    several.length > 0 ? [...new Set(several)] : [baseUrl].filter((known) => known !== undefined)
  if (several.length > 0 && written !== undefined) {
    report.problem(`services.${name}.baseUrls`, `set either this or services.${name}.baseUrl`)
  }
  for (const known of [...baseUrls, ...shards.map((shard) => shard.baseUrl)]) {
    if (new URL(known).username + new URL(known).password === '') continue
    report.notice(
      `Warning: the user and password in the address of ${name} are not sent to it, as in Gate. Remove them.`,
    )
    break
  }
  if (address === 'embedded' && !isEmbeddable(name)) {
    report.problem(`services.${name}.baseUrl`, `must be an address: there is no embedded ${name}`)
  } else if (
    enabled === true &&
    address === undefined &&
    baseUrl === undefined &&
    !isEmbeddable(name)
  ) {
    report.problem(
      `services.${name}.enabled`,
      `there is no embedded ${name}: set services.${name}.baseUrl, or services.${name}.enabled: false`,
    )
  }
  return {
    kind: enabled === false ? 'disabled' : kindOf(name, baseUrl),
    /** Address of an external service without trailing slash, also known for a disabled one; else undefined. */
    baseUrl,
    /** All addresses without trailing slash, `baseUrl` first. */
    baseUrls,
    shards,
    config,
    bounds: toBounds(own, values),
  }
}

type ConfiguredService = ReturnType<typeof toService>

function withCompanions(
  services: Record<ServiceName, ConfiguredService>,
  values: UpstreamValues,
): Record<ServiceName, ConfiguredService> {
  const { kayenta, orca } = services
  const { baseUrl, enabled } = values.services.kayenta
  const isWanted = orca.kind === 'embedded' || baseUrl === 'embedded' || enabled === true
  return kayenta.kind !== 'embedded' || isWanted
    ? services
    : { ...services, kayenta: { ...kayenta, kind: 'disabled' } }
}

function kindOf(
  name: ServiceName,
  baseUrl: string | undefined,
): 'embedded' | 'external' | 'disabled' {
  if (baseUrl !== undefined) return 'external'
  return isEmbeddable(name) ? 'embedded' : 'disabled'
}

type OwnValues = Omit<
  UpstreamValues['services'][ServiceName],
  'baseUrl' | 'baseUrls' | 'enabled' | 'shards' | 'config'
>

function toBounds(own: OwnValues, { client, byDefault }: UpstreamValues): CallBounds {
  const maxConnections = own.maxRequests ?? client.maxRequestsPerHost
  return {
    connectTimeoutMs: own.connectTimeoutMs ?? client.connectTimeoutMs,
    readTimeoutMs: own.readTimeoutMs ?? client.readTimeoutMs,
    changeTimeoutMs: own.changeTimeoutMs ?? byDefault.changeTimeoutMs,
    listTimeoutMs: own.listTimeoutMs ?? byDefault.listTimeoutMs,
    maxConnections,
    maxWaiting: own.maxWaitingRequests ?? maxConnections * waitingPerConnection,
  }
}

function toCircuit({
  enabled,
  failures,
  openMs,
  maxOpenMs,
}: UpstreamValues['circuit']): CircuitSettings | false {
  return enabled && { ...usualCircuit, failures, openMs, maxOpenMs: Math.max(openMs, maxOpenMs) }
}

function composeAddress(
  { host, port: portNumber, protocol: own }: OwnValues,
  byDefault: UpstreamValues['byDefault'],
): string | undefined {
  if (!host && portNumber === undefined) return undefined
  return `${own ?? byDefault.protocol}://${host || 'localhost'}${portNumber === undefined ? '' : `:${portNumber}`}`
}
