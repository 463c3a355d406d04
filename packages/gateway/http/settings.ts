/** Settings of the listener, trusted proxies, and CORS. */

import {
  byteCount,
  duration,
  httpAddress,
  off,
  on,
  optionalFlag,
  optionalText,
  port,
  type SettingsOf,
  type SettingsReport,
  setting,
  settings,
  whole,
  wholePattern,
  withoutSlash,
  word,
} from '@fairlead/base/settings/setting.ts'
import { type TlsValues, toTls } from '@fairlead/base/tls/settings.ts'
import { z } from 'zod'
import type { BodySettings } from './body-bounds.ts'
import { namesProxies, type OriginSettings, trustsEveryAddress } from './origin.ts'

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
/** Longest timer, less what is added to some of these times. A longer one would fire at once. */
const maxTimerMs = 2_147_000_000
const timer = duration('ms').transform((ms) => Math.min(ms, maxTimerMs))

const contextPath = z
  .string()
  .regex(/^(?:\/|(?:\/[A-Za-z0-9._~-]+)*\/?)$/, 'must be a path such as /gate')
const headerName = z.string().regex(/^[A-Za-z0-9-]*$/, 'must be the name of a header')

export const httpKeys = settings(
  {
    port: setting('server.port', port.default(8084)).describe(
      'Port of the listener; 0 takes a free one.',
    ),
    address: setting('server.address', optionalText).describe(
      'Address of the listener. Default: 127.0.0.1 while every service is embedded, else 0.0.0.0.',
    ),
    contextPath: setting(
      ['server.servlet.context-path', 'server.context-path'],
      contextPath.default(''),
    ).describe('Prefix of every path.'),
    publicUrl: setting('http.publicUrl', httpAddress.optional()).describe(
      'Address of the gateway as browsers see it, with the context path. Default: derived from each request.',
    ),
    bodies: {
      maxBytes: setting('http.maxBodyBytes', byteCount.prefault('10MB')).describe(
        'Largest body of a request.',
      ),
      maxValues: setting('http.maxBodyValues', whole(1).default(100_000)).describe(
        'Maximum number of values in the JSON or YAML of a request body: objects, lists, texts, numbers and words together.',
      ),
      maxTextBytes: setting('http.maxBodyTextBytes', byteCount.prefault('6MB')).describe(
        'Maximum size of one text in the JSON of a request body. A pipeline of `pipelines.max-size` fits as the Base64 text of a task.',
      ),
      maxBytesAtOnce: setting('http.maxBodyBytesAtOnce', byteCount.prefault('128MB')).describe(
        'Bytes in memory of all request bodies at once, without the first 64 KB of each; further large ones are rejected with 503.',
      ),
    },
    openBodies: {
      maxBytes: setting('http.openPaths.maxBodyBytes', byteCount.prefault('1MB')).describe(
        'Largest body of a request without login, such as a webhook.',
      ),
      maxValues: setting('http.openPaths.maxBodyValues', whole(1).default(50_000)).describe(
        'Maximum number of values in it.',
      ),
      maxBytesAtOnce: setting(
        'http.openPaths.maxBodyBytesAtOnce',
        byteCount.prefault('32MB'),
      ).describe('The same for requests without login, forms of identity providers included.'),
    },
    limits: {
      maxHeaderBytes: setting(
        [
          'http.maxHeaderBytes',
          'server.max-http-request-header-size',
          'server.max-http-header-size',
        ],
        byteCount.prefault('32KB'),
      ).describe('Maximum size of request line and headers together.'),
      writeTimeoutMs: setting('http.writeTimeout', timer.prefault('60s')).describe(
        'Time without progress in sending a response after which the client is disconnected; 0: never.',
      ),
      maxUnreadBytes: setting('http.maxUnreadBytes', byteCount.prefault('256MB')).describe(
        'Unsent bytes of complete responses over all connections. Beyond it, the clients that wait longest are disconnected.',
      ),
      maxConnectionsPerAddress: setting(
        'http.maxConnectionsPerAddress',
        whole(0).default(0),
      ).describe(
        'Open connections of one client address; further ones get 503 and are closed. With TLS, twice as many may be in a handshake. ' +
          '0: any number, as a load balancer in front needs it.',
      ),
      maxConnections: setting('http.maxConnections', whole(0).optional()).describe(
        'Open connections of all clients; requests on further ones get 503, except probes, metrics and logins on a few. 0: any number. ' +
          'Unless set: 10,000, or fewer where the process may open too few files (`ulimit -n`).',
      ),
      browserCache: setting('http.browserCache', off).describe(
        'Responses with an `ETag` carry `Cache-Control: private, no-cache`: browsers keep a copy on disk, and revalidate it before ' +
          'each use. Without it browsers store nothing, and clients send `If-None-Match` themselves.',
      ),
      sharedReads: setting('http.sharedReads', on).describe(
        'Identical reads at the same moment, by callers with the same rights, share one call to the service where Fairlead reads the answer as a whole ([decision](../decisions/shared-reads.md)).',
      ),
    },
    overload: {
      enabled: setting('http.overload.enabled', on).describe(
        'Reject requests with 503 and `Retry-After` while the process is overloaded, those of low priority first.',
      ),
      maxDelayMs: setting(
        'http.overload.maxEventLoopDelay',
        duration('ms').prefault('1s'),
      ).describe(
        'How long a request of low priority waits for its turn while the process is busy, before it is rejected. Others wait twice as long.',
      ),
      maxRequests: setting('http.overload.maxRequests', whole(1).default(5000)).describe(
        'Requests at once, running and waiting; further ones are rejected. Probes, metrics and logins are always served.',
      ),
    },
    drainMs: setting('server.drain-ms', timer.optional()).describe(
      'Time after SIGTERM or SIGINT in which requests are still served while readiness is 503, so that load balancers switch. ' +
        'Default: 5 seconds in Kubernetes, if forwarded headers are trusted, and in a container whose readiness is probed again and ' +
        'again; else 0. 0 on a terminal and with an immediate shutdown.',
    ),
    shutdown: setting(
      'server.shutdown',
      z.enum(['graceful', 'immediate']).default('graceful'),
    ).describe('Whether running requests may finish when the gateway stops.'),
    graceMs: setting('spring.lifecycle.timeout-per-shutdown-phase', timer.prefault('30s')).describe(
      'How long running requests may take when the gateway stops, after `server.drain-ms`.',
    ),
    forwarding: {
      strategy: setting(
        'server.forward-headers-strategy',
        word(['native', 'framework', 'none']).optional(),
      ).describe(
        'Whether Fairlead trusts the forwarded headers of proxies. Default: `native` in Kubernetes and if a header is set, else `none`.',
      ),
      isTrusted: setting('server.use-forward-headers', optionalFlag).describe(
        'Older form: `true` means `native`.',
      ),
      scheme: setting('server.tomcat.remoteip.protocol-header', headerName.optional()).describe(
        'Header with the scheme that the browser used. Default: `X-Forwarded-Proto`.',
      ),
      olderScheme: setting('server.tomcat.protocolHeader', headerName.optional()).describe(
        'Older name of `server.tomcat.remoteip.protocol-header`.',
      ),
      address: setting('server.tomcat.remoteip.remote-ip-header', headerName.optional()).describe(
        'Header with the address of the client. Default: `X-Forwarded-For`. `Forwarded` takes scheme and host from that header, too, ' +
          'as in RFC 7239, and nothing from `X-Forwarded-*`.',
      ),
      olderAddress: setting('server.tomcat.remoteIpHeader', headerName.optional()).describe(
        'Older name of `server.tomcat.remoteip.remote-ip-header`.',
      ),
      port: setting(
        ['server.tomcat.remoteip.port-header', 'server.tomcat.portHeader'],
        headerName.default('X-Forwarded-Port'),
      ).describe('Header with the port that the browser used.'),
      host: setting(
        'server.tomcat.remoteip.host-header',
        headerName.default('X-Forwarded-Host'),
      ).describe('Header with the host that the browser used.'),
      trustedProxies: setting(
        ['server.tomcat.remoteip.internal-proxies', 'server.tomcat.internalProxies'],
        wholePattern.prefault(privateAddresses),
      ).describe(
        'Addresses of trusted proxies. Default: private, link-local and loopback addresses.',
      ),
    },
    cors: {
      uiHostPattern: setting('services.deck.redirectHostPattern', wholePattern.optional()).describe(
        'Hosts that a redirect may lead to and whose pages may call. Default: the host of the web UI alone.',
      ),
      mode: setting('cors.allow-mode', word(['regex', 'list']).prefault('regex')).describe(
        'Whether a regular expression or a list defines the allowed origins.',
      ),
      allowedOriginsPattern: setting(
        'cors.allowed-origins-pattern',
        wholePattern.optional(),
      ).describe(
        'Origins of pages that may call the gateway with cookies. Default: see `services.deck.redirectHostPattern`.',
      ),
      allowedOrigins: setting('cors.allowed-origins', z.array(z.string()).default(['*'])).describe(
        'The same as a list, for the mode `list`; `*` means every page, without cookies.',
      ),
      refuseForeignOrigins: setting('cors.refuse-foreign-origins', off).describe(
        'Reject every change that a page of another origin sends with the cookies of its visitor. Without it, Fairlead rejects only ' +
          'requests without preflight (a POST with a form, with text, or without body) and requests that the browser marks as ' +
          'cross-site.',
      ),
    },
    answerHeaders: setting(
      'interceptors.responseHeader.fields',
      z.array(z.string()).default(['X-SPINNAKER-REQUEST-ID']),
    ).describe('Tracing headers of responses.'),
    ignoreTrailingSlash: setting('url-handler.trailingSlash.enabled', on).describe(
      'Ignore a slash at the end of a path.',
    ),
    shedding: {
      enabled: setting('requestShedding.enabled', off).describe(
        'Reject requests of low priority: those without the header `X-Spinnaker-Priority`, or with `low` in it.',
      ),
      paths: setting('requestShedding.paths', z.array(wholePattern).default([])).describe(
        'Regular expressions for whole paths on which they are rejected.',
      ),
      chancePercent: setting(
        'requestShedding.chance',
        z
          .int()
          .default(100)
          .transform((value) => (value >= 0 && value <= 100 ? value : 100)),
      ).describe('Percentage of them that is rejected; 100 if the value is no percentage.'),
    },
  },
  {
    'server.tomcat.remoteip.protocol-header-https-value': 'The header says "https".',
    'server.workers':
      'One process serves; [gateways beside each other](../guides/replicas.md) use more cores.',
    'server.reload':
      'SIGHUP applies [what can change](../guides/reload.md); a restart of one of several gateways loses no request.',
    'server.tomcat.protocolHeaderHttpsValue': 'The header says "https".',
    'server.tomcat.httpsServerPort':
      'Written as in old instructions; the port header is believed anyway.',
    'server.tomcat.remoteip.trusted-proxies': '`internal-proxies` decides.',
    'cors.expect-localhost': 'Silences a warning of Gate.',
    'content.cachingFilter.enabled': 'Fairlead sends the length of an answer where it knows it.',
  },
)

type HttpValues = SettingsOf<typeof httpKeys>

interface HttpSurroundings {
  /** Every service is embedded, so only this machine must reach the listener. */
  standalone: boolean
  inKubernetes: boolean
  inContainer: boolean
  /** Started by hand: after Ctrl-C users do not want to wait. */
  onTerminal: boolean
  uiUrl: string
  headerCertificates: boolean
}

export type HttpSettings = ReturnType<typeof toHttpSettings>

export function toHttpSettings(
  values: HttpValues,
  tls: TlsValues,
  report: SettingsReport,
  surroundings: HttpSurroundings,
) {
  const { limits, shedding, shutdown, overload, port, ignoreTrailingSlash } = values
  const origin = toOrigin(values, report, surroundings)
  return {
    ...limits,
    port,
    overload,
    ignoreTrailingSlash,
    address: values.address || (surroundings.standalone ? '127.0.0.1' : '0.0.0.0'),
    ...toTls(tls, report, surroundings.headerCertificates),
    bodies: toBodies(values),
    drainMs: values.drainMs ?? toDrainMs(shutdown, origin, surroundings),
    drainsAlways:
      values.drainMs !== undefined || surroundings.inKubernetes || origin.trustForwarded,
    shutdownGraceMs: shutdown === 'immediate' ? 0 : values.graceMs,
    answerHeaders: values.answerHeaders.map((name) => name.toLowerCase()),
    cors: { ...values.cors, uiUrl: surroundings.uiUrl },
    origin,
    shedding,
  }
}

function toDrainMs(
  shutdown: HttpValues['shutdown'],
  origin: OriginSettings,
  surroundings: HttpSurroundings,
): number {
  if (surroundings.onTerminal || shutdown === 'immediate') return 0
  return surroundings.inContainer || surroundings.inKubernetes || origin.trustForwarded
    ? usualDrainMs
    : 0
}

function toBodies({ bodies, openBodies }: HttpValues): BodySettings {
  return {
    known: { ...bodies, prefix: 'http' },
    open: {
      maxBytes: Math.min(bodies.maxBytes, openBodies.maxBytes),
      maxValues: Math.min(bodies.maxValues, openBodies.maxValues),
      maxTextBytes: bodies.maxTextBytes,
      maxBytesAtOnce: openBodies.maxBytesAtOnce,
      prefix: 'http.openPaths',
    },
  }
}

/** Like in Spring, naming a header of the proxy is enough to have it believed. */
function toOrigin(
  values: HttpValues,
  report: SettingsReport,
  { inKubernetes }: HttpSurroundings,
): OriginSettings {
  const {
    olderScheme,
    scheme = olderScheme,
    olderAddress,
    address = olderAddress,
    host,
    port,
  } = values.forwarding
  const { isTrusted = inKubernetes, trustedProxies, strategy } = values.forwarding
  const trustForwarded =
    Boolean(scheme || address) || (strategy ?? (isTrusted ? 'native' : 'none')) !== 'none'
  if (trustForwarded) warnOfCrowds(values.forwarding, report)
  return {
    publicUrl: values.publicUrl,
    contextPath: withoutSlash(values.contextPath),
    trustForwarded,
    trustedProxies,
    headers: {
      scheme: scheme || 'X-Forwarded-Proto',
      address: address || 'X-Forwarded-For',
      host: host || 'X-Forwarded-Host',
      port: port || 'X-Forwarded-Port',
    },
  }
}

/** A trusted proxy chooses the address by which wrong passwords are counted, and that of the gateway. */
function warnOfCrowds(
  values: Pick<OriginSettings, 'trustedProxies'>,
  report: SettingsReport,
): void {
  const trustsAll = trustsEveryAddress(values)
  if (namesProxies(report) && !trustsAll) return
  report.notice(
    `Warning: forwarded headers are trusted from every ${trustsAll ? '' : 'private '}address, so any program there may choose the ` +
      'address under which its requests and its wrong passwords are counted, and the address that the gateway takes for its own. ' +
      'Name the addresses of your proxies alone in server.tomcat.remoteip.internal-proxies.',
  )
}
