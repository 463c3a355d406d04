/** Settings of the listener, trusted proxies, and CORS. */
import { availableParallelism } from 'node:os'
import { z } from 'zod'
import { byteCount, duration, httpAddress, port, type SettingsReport, wholePattern, withoutEffect } from '../setting.ts'
import type { BodySettings } from './body-bounds.ts'
import type { CorsSettings } from './cors.ts'
import type { OriginSettings } from './origin.ts'
import { TlsKeys, toTls } from './tls/settings.ts'

/** Peers whose forwarded headers are trusted: private IPv4 ranges, link-local, loopback, unique local IPv6. */
const privateAddresses = [
  String.raw`10\.\d{1,3}\.\d{1,3}\.\d{1,3}`,
  String.raw`192\.168\.\d{1,3}\.\d{1,3}`,
  String.raw`169\.254\.\d{1,3}\.\d{1,3}`,
  String.raw`127\.\d{1,3}\.\d{1,3}\.\d{1,3}`,
  String.raw`100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.\d{1,3}\.\d{1,3}`,
  String.raw`172\.(?:1[6-9]|2\d|3[01])\.\d{1,3}\.\d{1,3}`,
  '0:0:0:0:0:0:0:1|::1|fe[89ab][0-9a-f]:.*|f[cd][0-9a-f]{2}:.*',
].join('|')

/** Kubernetes and balancers take a few seconds to turn away from a replica. */
const usualDrainMs = 5000
/** As far as a timer reaches, less what is added to some of these times. A longer timer would fire at once. */
const maxTimerMs = 2_147_000_000

const contextPath = z.string().regex(/^(?:\/|(?:\/[A-Za-z0-9._~-]+)*\/?)$/, 'must be a path such as /gate')
const headerName = z.string().regex(/^[A-Za-z0-9-]*$/, 'must be the name of a header')

export const HttpKeys = z.strictObject({
  'server.port': port.default(8084).describe('Port of the listener; 0 takes a free one.'),
  'server.address': z
    .string()
    .optional()
    .describe('Address of the listener. Default: 127.0.0.1 while every service is embedded, else 0.0.0.0.'),
  'server.workers': z
    .string()
    .regex(/^(?:auto|[1-9]|[1-5]\d|6[0-4])$/, 'must be a number from 1 to 64, or auto')
    .prefault('1')
    .meta({
      description:
        'Processes that serve requests, behind the same ports; `auto`: as many as the machine has cores. See [several processes](../guides/workers.md).',
      type: 'number or auto',
    }),
  'server.reload': z
    .enum(['partial', 'full'])
    .default('partial')
    .describe(
      '`full`: SIGHUP applies all settings without a lost request with one worker, too, because a second process (30 MiB) accepts its ' +
        'connections and replaces it. With several workers this is always so. See ' +
        '[several processes](../guides/workers.md#reload-the-configuration).',
    ),
  'server.servlet.context-path': contextPath.default('').describe('Prefix of every path.'),
  'server.context-path': contextPath.optional().describe('Older name of `server.servlet.context-path`.'),
  'http.publicUrl': httpAddress
    .optional()
    .describe('Address of the gateway as browsers see it, with the context path. Default: derived from each request.'),
  'http.maxBodyBytes': byteCount.prefault('10MB').describe('Largest body of a request.'),
  'http.maxBodyValues': z
    .int()
    .min(1)
    .default(100_000)
    .describe(
      'Maximum number of values in the JSON or YAML of a request body: objects, lists, texts, numbers and words together.',
    ),
  'http.maxBodyTextBytes': byteCount
    .prefault('6MB')
    .describe(
      'Maximum size of one text in the JSON of a request body. A pipeline of `pipelines.max-size` fits as the Base64 text of a task.',
    ),
  'http.maxBodyBytesAtOnce': byteCount
    .prefault('128MB')
    .describe(
      'Bytes in memory of all request bodies at once, without the first 64 KB of each; further large ones are rejected with 503.',
    ),
  'http.openPaths.maxBodyBytes': byteCount
    .prefault('1MB')
    .describe('Largest body of a request without login, such as a webhook.'),
  'http.openPaths.maxBodyValues': z.int().min(1).default(50_000).describe('Maximum number of values in it.'),
  'http.openPaths.maxBodyBytesAtOnce': byteCount
    .prefault('32MB')
    .describe('The same for requests without login, forms of identity providers included.'),
  'http.maxHeaderBytes': byteCount.prefault('32KB').describe('Maximum size of request line and headers together.'),
  'server.max-http-request-header-size': byteCount
    .optional()
    .describe('The same key of Spring; overrides `http.maxHeaderBytes`.'),
  'server.max-http-header-size': byteCount.optional().describe('The older name of `server.max-http-request-header-size`.'),
  'http.writeTimeout': duration('ms')
    .prefault('60s')
    .describe('Time without progress in sending a response after which the client is disconnected; 0: never.'),
  'http.maxUnreadBytes': byteCount
    .prefault('256MB')
    .describe(
      'Unsent bytes of complete responses over all connections. Beyond it, the clients that wait longest are disconnected.',
    ),
  'http.maxConnectionsPerAddress': z
    .int()
    .min(0)
    .default(0)
    .describe(
      'Open connections of one client address; further ones get 503 and are closed. With TLS, twice as many may be in a handshake. ' +
        '0: any number, as a load balancer in front needs it.',
    ),
  'http.maxConnections': z
    .int()
    .min(0)
    .optional()
    .describe(
      'Open connections of all clients; requests on further ones get 503, except probes, metrics and logins on a few. 0: any number. ' +
        'Unless set: 10,000, or fewer where the process may open too few files (`ulimit -n`).',
    ),
  'http.browserCache': z
    .boolean()
    .default(false)
    .describe(
      'Responses with an `ETag` carry `Cache-Control: private, no-cache`: browsers keep a copy on disk, and revalidate it before ' +
        'each use. Without it browsers store nothing, and clients send `If-None-Match` themselves.',
    ),
  'http.sharedReads': z
    .boolean()
    .default(true)
    .describe(
      'Identical reads at the same moment, by callers with the same rights, share one call to the service ([decision](../decisions/shared-reads.md)).',
    ),
  'http.overload.enabled': z
    .boolean()
    .default(true)
    .describe('Reject requests with 503 and `Retry-After` while the process is overloaded, those of low priority first.'),
  'http.overload.maxEventLoopDelay': duration('ms')
    .prefault('1s')
    .describe(
      'How long a request of low priority waits for its turn while the process is busy, before it is rejected. Others wait twice as long.',
    ),
  'http.overload.maxRequests': z
    .int()
    .min(1)
    .default(5000)
    .describe('Requests at once, running and waiting; further ones are rejected. Probes, metrics and logins are always served.'),
  'server.drain-ms': duration('ms')
    .optional()
    .describe(
      'Time after SIGTERM or SIGINT in which requests are still served while readiness is 503, so that load balancers switch. ' +
        'Default: 5 seconds in Kubernetes, if forwarded headers are trusted, and in a container whose readiness is probed again and ' +
        'again; else 0. 0 on a terminal and with an immediate shutdown.',
    ),
  'server.shutdown': z
    .enum(['graceful', 'immediate'])
    .default('graceful')
    .describe('Whether running requests may finish when the gateway stops.'),
  'spring.lifecycle.timeout-per-shutdown-phase': duration('ms')
    .prefault('30s')
    .describe('How long running requests may take when the gateway stops, after `server.drain-ms`.'),
  ...TlsKeys.shape,
  'server.forward-headers-strategy': z
    .string()
    .transform((text) => text.toLowerCase())
    .pipe(z.enum(['native', 'framework', 'none']))
    .optional()
    .meta({
      description:
        'Whether Fairlead trusts the forwarded headers of proxies. Default: `native` in Kubernetes and if a header is set, else `none`.',
      type: 'native, framework or none',
    }),
  'server.use-forward-headers': z.boolean().optional().describe('Older form: `true` means `native`.'),
  'server.tomcat.remoteip.protocol-header': headerName
    .optional()
    .describe('Header with the scheme that the browser used. Default: `X-Forwarded-Proto`.'),
  'server.tomcat.protocolHeader': headerName.optional().describe('Older name of `server.tomcat.remoteip.protocol-header`.'),
  'server.tomcat.remoteip.protocol-header-https-value': withoutEffect('The header says "https".'),
  'server.tomcat.protocolHeaderHttpsValue': withoutEffect('The header says "https".'),
  'server.tomcat.remoteip.remote-ip-header': headerName
    .optional()
    .describe(
      'Header with the address of the client. Default: `X-Forwarded-For`. `Forwarded` takes scheme and host from that header, too, ' +
        'as in RFC 7239, and nothing from `X-Forwarded-*`.',
    ),
  'server.tomcat.remoteIpHeader': headerName.optional().describe('Older name of `server.tomcat.remoteip.remote-ip-header`.'),
  'server.tomcat.remoteip.port-header': headerName
    .default('X-Forwarded-Port')
    .describe('Header with the port that the browser used.'),
  'server.tomcat.portHeader': headerName.optional().describe('Older name of `server.tomcat.remoteip.port-header`.'),
  'server.tomcat.httpsServerPort': withoutEffect('Written as in old instructions; the port header is believed anyway.'),
  'server.tomcat.remoteip.host-header': headerName
    .default('X-Forwarded-Host')
    .describe('Header with the host that the browser used.'),
  'server.tomcat.remoteip.internal-proxies': wholePattern
    .prefault(privateAddresses)
    .describe('Addresses of trusted proxies. Default: private, link-local and loopback addresses.'),
  'server.tomcat.internalProxies': wholePattern.optional().describe('Older name of `server.tomcat.remoteip.internal-proxies`.'),
  'server.tomcat.remoteip.trusted-proxies': withoutEffect('`internal-proxies` decides.'),
  'services.deck.redirectHostPattern': wholePattern
    .optional()
    .describe('Hosts that a redirect may lead to and whose pages may call. Default: the host of the web UI alone.'),
  'cors.allow-mode': z
    .string()
    .transform((text) => text.toLowerCase())
    .pipe(z.enum(['regex', 'list']))
    .prefault('regex')
    .meta({ description: 'Whether a regular expression or a list defines the allowed origins.', type: 'regex or list' }),
  'cors.allowed-origins-pattern': wholePattern
    .optional()
    .describe('Origins of pages that may call the gateway with cookies. Default: see `services.deck.redirectHostPattern`.'),
  'cors.allowed-origins': z
    .array(z.string())
    .default(['*'])
    .describe('The same as a list, for the mode `list`; `*` means every page, without cookies.'),
  'cors.refuse-foreign-origins': z
    .boolean()
    .default(false)
    .describe(
      'Reject every change that a page of another origin sends with the cookies of its visitor. Without it, Fairlead rejects only ' +
        'requests without preflight (a POST with a form, with text, or without body) and requests that the browser marks as ' +
        'cross-site.',
    ),
  'cors.expect-localhost': withoutEffect('Silences a warning of Gate.'),
  'interceptors.responseHeader.fields': z
    .array(z.string())
    .default(['X-SPINNAKER-REQUEST-ID'])
    .describe('Tracing headers of responses.'),
  'url-handler.trailingSlash.enabled': z.boolean().default(true).describe('Ignore a slash at the end of a path.'),
  'content.cachingFilter.enabled': withoutEffect('Fairlead sends the length of an answer where it knows it.'),
  'requestShedding.enabled': z
    .boolean()
    .default(false)
    .describe('Reject requests of low priority: those without the header `X-Spinnaker-Priority`, or with `low` in it.'),
  'requestShedding.paths': z
    .array(wholePattern)
    .default([])
    .describe('Regular expressions for whole paths on which they are rejected.'),
  'requestShedding.chance': z
    .int()
    .default(100)
    .describe('Percentage of them that is rejected; 100 if the value is no percentage.'),
})
export type HttpKeys = z.infer<typeof HttpKeys>

interface HttpSurroundings {
  /** Every service is embedded, so only this machine must reach the listener. */
  standalone: boolean
  inKubernetes: boolean
  inContainer: boolean
  /** Started by hand: after Ctrl-C users do not want to wait. */
  onTerminal: boolean
  uiUrl: string
  /** A proxy hands on the certificates of clients. */
  headerCertificates: boolean
}

export type HttpSettings = ReturnType<typeof toHttpSettings>

export function toHttpSettings(keys: HttpKeys, report: SettingsReport, surroundings: HttpSurroundings) {
  const contextPath = (keys['server.context-path'] ?? keys['server.servlet.context-path']).replace(/(?<!\/)\/+$/, '')
  const origin = toOrigin(keys, report, { contextPath, inKubernetes: surroundings.inKubernetes })
  return {
    port: keys['server.port'],
    address: keys['server.address'] || (surroundings.standalone ? '127.0.0.1' : '0.0.0.0'),
    workers: keys['server.workers'] === 'auto' ? availableParallelism() : Number(keys['server.workers']),
    reload: keys['server.reload'],
    ...toTls(keys, report, surroundings.headerCertificates),
    bodies: toBodies(keys),
    maxHeaderBytes:
      keys['server.max-http-request-header-size'] ?? keys['server.max-http-header-size'] ?? keys['http.maxHeaderBytes'],
    writeTimeoutMs: Math.min(keys['http.writeTimeout'], maxTimerMs),
    maxUnreadBytes: keys['http.maxUnreadBytes'],
    maxConnectionsPerAddress: keys['http.maxConnectionsPerAddress'],
    maxConnections: keys['http.maxConnections'],
    browserCache: keys['http.browserCache'],
    sharedReads: keys['http.sharedReads'],
    overload: {
      enabled: keys['http.overload.enabled'],
      maxDelayMs: keys['http.overload.maxEventLoopDelay'],
      maxRequests: keys['http.overload.maxRequests'],
    },
    drainMs: Math.min(keys['server.drain-ms'] ?? toDrainMs(keys, origin, surroundings), maxTimerMs),
    drainsAlways: keys['server.drain-ms'] !== undefined || surroundings.inKubernetes || origin.trustForwarded,
    shutdownGraceMs:
      keys['server.shutdown'] === 'immediate' ? 0 : Math.min(keys['spring.lifecycle.timeout-per-shutdown-phase'], maxTimerMs),
    ignoreTrailingSlash: keys['url-handler.trailingSlash.enabled'],
    answerHeaders: keys['interceptors.responseHeader.fields'].map((name) => name.toLowerCase()),
    cors: toCors(keys, surroundings.uiUrl),
    origin,
    shedding: {
      enabled: keys['requestShedding.enabled'],
      paths: keys['requestShedding.paths'],
      chancePercent: isPercentage(keys['requestShedding.chance']) ? keys['requestShedding.chance'] : 100,
    },
  }
}

function toDrainMs(keys: HttpKeys, origin: OriginSettings, surroundings: HttpSurroundings): number {
  if (surroundings.onTerminal || keys['server.shutdown'] === 'immediate') return 0
  return surroundings.inContainer || surroundings.inKubernetes || origin.trustForwarded ? usualDrainMs : 0
}

function toBodies(keys: HttpKeys): BodySettings {
  const toBounds = (prefix: 'http' | 'http.openPaths') => ({
    maxBytes: keys[`${prefix}.maxBodyBytes`],
    maxValues: keys[`${prefix}.maxBodyValues`],
    maxTextBytes: keys['http.maxBodyTextBytes'],
    maxBytesAtOnce: keys[`${prefix}.maxBodyBytesAtOnce`],
    prefix,
  })
  const [known, open] = [toBounds('http'), toBounds('http.openPaths')]
  const smaller = { maxBytes: Math.min(known.maxBytes, open.maxBytes), maxValues: Math.min(known.maxValues, open.maxValues) }
  return { known, open: { ...open, ...smaller } }
}

function toCors(keys: HttpKeys, uiUrl: string): CorsSettings {
  return {
    mode: keys['cors.allow-mode'],
    allowedOriginsPattern: keys['cors.allowed-origins-pattern'],
    uiHostPattern: keys['services.deck.redirectHostPattern'],
    uiUrl,
    allowedOrigins: keys['cors.allowed-origins'],
    refuseForeignOrigins: keys['cors.refuse-foreign-origins'],
  }
}

/** As in Spring, naming a header of the proxy is enough to have it believed. */
function toOrigin(
  keys: HttpKeys,
  report: SettingsReport,
  { contextPath, inKubernetes }: { contextPath: string; inKubernetes: boolean },
): OriginSettings {
  const scheme = keys['server.tomcat.remoteip.protocol-header'] ?? keys['server.tomcat.protocolHeader']
  const address = keys['server.tomcat.remoteip.remote-ip-header'] ?? keys['server.tomcat.remoteIpHeader']
  const trusted = keys['server.use-forward-headers'] ?? inKubernetes
  const strategy = keys['server.forward-headers-strategy'] ?? (trusted ? 'native' : 'none')
  const trustForwarded = Boolean(scheme || address) || strategy !== 'none'
  const trustedProxies = keys['server.tomcat.internalProxies'] ?? keys['server.tomcat.remoteip.internal-proxies']
  if (trustForwarded) warnOfCrowds(trustedProxies, report)
  return {
    publicUrl: keys['http.publicUrl'],
    contextPath,
    trustForwarded,
    trustedProxies,
    headers: {
      scheme: scheme || 'X-Forwarded-Proto',
      address: address || 'X-Forwarded-For',
      host: keys['server.tomcat.remoteip.host-header'] || 'X-Forwarded-Host',
      port: (keys['server.tomcat.portHeader'] ?? keys['server.tomcat.remoteip.port-header']) || 'X-Forwarded-Port',
    },
  }
}

/** Addresses reserved for documentation: no proxy has them. */
const strangers = ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1']

/** A trusted proxy chooses the address by which wrong passwords are counted, and that of the gateway. */
function warnOfCrowds(proxies: RegExp, report: SettingsReport): void {
  const named = ['server.tomcat.remoteip.internal-proxies', 'server.tomcat.internalProxies'].some((key) => report.isSet(key))
  const isEverybody = strangers.some((address) => proxies.test(address))
  if (named && !isEverybody) return
  report.notice(
    `Warning: forwarded headers are trusted from every ${isEverybody ? '' : 'private '}address, so any program there may choose the ` +
      'address under which its requests and its wrong passwords are counted, and the address that the gateway takes for its own. ' +
      'Name the addresses of your proxies alone in server.tomcat.remoteip.internal-proxies.',
  )
}

function isPercentage(value: number): boolean {
  return value >= 0 && value <= 100
}
