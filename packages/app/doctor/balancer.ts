/** Examines the headers of a proxy: resulting addresses, cookies, and errors. */

import { type Finding, findingsOn } from '@fairlead/base/findings/finding.ts'
import { withoutSlash } from '@fairlead/base/settings/setting.ts'
import { isTrustedPeer, originOf, type RawRequest } from '@fairlead/gateway/http/origin.ts'
import { listAddresses } from '@fairlead/gateway/login/settings.ts'
import { formatSessionCookie } from '@fairlead/gateway/sessions/session-cookie.ts'
import type { Config } from '../config/config.ts'

interface BalancerOptions {
  readonly config: Config
  /** URL that browsers see, without a trailing slash. */
  readonly publicUrl: string
  /** The address is an assumption, so a failure concerns an example. */
  readonly isExample: boolean
  readonly proxyAddress: string
}

interface Setup {
  readonly name: string
  readonly headers: (url: URL, upstream: string) => Record<string, string>
  readonly complete: boolean
}

const client = '203.0.113.7'

/** `$host` has no port, `$http_host` has. */
const setups: readonly Setup[] = [
  {
    name: 'proxy_pass alone',
    headers: (_url, upstream) => ({ host: upstream }),
    complete: false,
  },
  {
    name: 'proxy_pass with Host $host',
    headers: ({ hostname }) => ({ host: hostname }),
    complete: false,
  },
  {
    name: 'proxy_pass with Host $host, X-Forwarded-For and X-Forwarded-Proto $scheme',
    headers: (url) => ({ host: url.hostname, ...forwarded(url) }),
    complete: false,
  },
  {
    name: 'proxy_pass with Host $http_host, X-Forwarded-For, X-Forwarded-Proto $scheme, X-Forwarded-Host $http_host and X-Forwarded-Port $server_port',
    headers: (url) => ({
      host: url.host,
      ...forwarded(url),
      'x-forwarded-host': url.host,
      'x-forwarded-port': portOf(url),
    }),
    complete: true,
  },
]

function forwarded({ protocol }: URL): Record<string, string> {
  return { 'x-forwarded-for': client, 'x-forwarded-proto': protocol.slice(0, -1) }
}

function portOf({ port, protocol }: URL): string {
  return port || (protocol === 'https:' ? '443' : '80')
}

export function simulateBalancer(options: BalancerOptions): Finding[] {
  return setups.map((setup) => simulate(setup, options))
}

function simulate(setup: Setup, options: BalancerOptions): Finding {
  const { config, publicUrl, isExample, proxyAddress } = options
  const { http, login } = config
  const report = findingsOn(`Balancer in front, ${publicUrl}${isExample ? ' as an example' : ''}`)
  const raw = toRawRequest(setup, options)
  const { baseUrl, scheme } = originOf(raw, http.origin)
  const tried = `a request as nginx at ${proxyAddress} sends it: ${setup.name}`
  const registered = listAddresses(login, { baseUrl, contextPath: http.origin.contextPath })
    .filter(({ needed, what }) => needed && what !== 'metadata')
    .map(({ login: name, what, url }) => `${what} ${url} (${name})`)
  const cookie = formatSessionCookie('…', scheme === 'https', {
    settings: config.sessions.cookie,
    contextPath: http.origin.contextPath,
  })
  const results = [...registered, `Location ${baseUrl}/login`, `cookie ${cookie}`].join('; ')
  const breaks = [
    ...compare(new URL(baseUrl), new URL(publicUrl), registered.length > 0),
    ...findCookieProblems(config, cookie, publicUrl),
  ]
  if (breaks.length === 0) return report.ok(tried, results)
  const found = `${results}. What breaks: ${breaks.join('; ')}`
  const bad = setup.complete && !isExample ? report.problem : report.warning
  return bad(tried, found, advise(raw, options, setup))
}

function toRawRequest(
  { headers }: Setup,
  { config, publicUrl, proxyAddress }: BalancerOptions,
): RawRequest {
  const { address, port, listeners } = config.http
  const localAddress = address === '0.0.0.0' || address === '::' ? '127.0.0.1' : address
  const upstream = `${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${port}`
  return {
    headers: headers(new URL(publicUrl), upstream),
    socket: {
      remoteAddress: proxyAddress,
      localAddress,
      localPort: port,
      encrypted: listeners.mainTls,
    },
  }
}

/** @param leaves Whether a login leads to another site and back */
function compare(got: URL, wanted: URL, leaves: boolean): string[] {
  const breaks: string[] = []
  if (got.protocol !== wanted.protocol) {
    const [is, should] = [got, wanted].map(({ protocol }) => protocol.slice(0, -1))
    breaks.push(
      `scheme ${is} instead of ${should}, so ${
        leaves
          ? 'the identity provider refuses the redirect address, which is not the registered one'
          : 'redirects leave the encrypted address'
      }`,
    )
  }
  if (got.hostname !== wanted.hostname) {
    breaks.push(
      `host ${got.hostname} instead of ${wanted.hostname}, so browsers are sent to a host that they cannot reach and that does not get their cookie`,
    )
  }
  if (portOf(got) !== portOf(wanted) && (got.protocol === wanted.protocol || got.port !== '')) {
    breaks.push(
      `port ${portOf(got)} instead of ${portOf(wanted)}, so browsers are sent to a port where nothing listens`,
    )
  }
  if (withoutSlash(got.pathname) !== withoutSlash(wanted.pathname)) {
    breaks.push(
      `prefix "${withoutSlash(got.pathname)}" instead of "${withoutSlash(wanted.pathname)}", so redirects and the cookie belong to another path than that of the gateway`,
    )
  }
  return breaks
}

/** Cookies that browsers drop without a word. */
function findCookieProblems({ sessions }: Config, cookie: string, publicUrl: string): string[] {
  const { protocol, hostname } = new URL(publicUrl)
  const { sameSite, domain } = sessions.cookie
  const secure = /; Secure(?:;|$)/.test(cookie)
  const local = /^(?:localhost|127\.[\d.]+|\[::1\])$/.test(hostname)
  const covers =
    domain === undefined || hostname === bare(domain) || hostname.endsWith(`.${bare(domain)}`)
  return [
    ...(secure && protocol === 'http:' && !local
      ? ['the cookie is for HTTPS only, so users do not stay logged in']
      : []),
    ...(!secure && sameSite === 'none'
      ? [
          'browsers drop a cookie with SameSite=None that is not Secure, so users do not stay logged in',
        ]
      : []),
    ...(!secure && protocol === 'https:'
      ? ['the cookie lacks Secure, so it travels over plain HTTP as well']
      : []),
    ...(covers
      ? []
      : [`the cookie is for ${domain}, which ${hostname} does not belong to, so browsers drop it`]),
  ]
}

function bare(domain: string): string {
  return domain.replace(/^\./, '')
}

function advise(
  raw: RawRequest,
  { config, publicUrl, proxyAddress }: BalancerOptions,
  { complete }: Setup,
): string {
  const { origin } = config.http
  const path = withoutSlash(new URL(publicUrl).pathname)
  if (path !== origin.contextPath) {
    return path === ''
      ? `leave server.servlet.context-path out, or let browsers use ${publicUrl}${origin.contextPath}`
      : `set server.servlet.context-path: ${path}, and have the proxy pass paths on as they are`
  }
  if (origin.publicUrl !== undefined)
    return `correct http.publicUrl, which is ${origin.publicUrl}, or the address you named`
  const fixed = `or set http.publicUrl: ${publicUrl}, which does not depend on the proxy`
  if (!origin.trustForwarded)
    return `set server.forward-headers-strategy: native, so that forwarded headers are trusted, ${fixed}`
  if (!isTrustedPeer(raw, origin)) {
    return `have server.tomcat.remoteip.internal-proxies match ${proxyAddress}, so that its headers are believed, ${fixed}`
  }
  if (!complete) {
    return `if your proxy is set up like this, add proxy_set_header X-Forwarded-Proto $scheme, X-Forwarded-Host $http_host and X-Forwarded-Port $server_port, ${fixed}`
  }
  return `correct server.servlet.session.cookie.*, ${fixed}`
}
