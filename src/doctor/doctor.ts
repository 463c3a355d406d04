/** Examines an installation: the effect of its configuration, and every service that it names. */
import type { Config } from '../config/config.ts'
import { type Address, listAddresses } from './addresses.ts'
import { simulateBalancer } from './balancer.ts'
import { checkClock } from './check-clock.ts'
import { checkDataDir } from './check-data-dir.ts'
import { checkLdap, checkRoleDirectory } from './check-ldap.ts'
import { checkNames } from './check-names.ts'
import { checkKeys, checkOAuth2 } from './check-oauth2.ts'
import { checkPeerCertificates } from './check-peer-certificates.ts'
import { checkRedis } from './check-redis.ts'
import { checkSaml } from './check-saml.ts'
import { checkServices } from './check-services.ts'
import { checkTls } from './check-tls.ts'
import {
  type Check,
  type Finding,
  findingsOn,
  runChecks,
  type Timeouts,
  usualTimeouts,
  type Verdict,
  worstOf,
} from './finding.ts'
import { findPublicAddress, type PublicAddress } from './public-address.ts'

export interface DoctorOptions {
  readonly config: Config
  /** What is said at each start. */
  readonly notices: readonly string[]
  /** Address of the gateway as browsers see it, where the configuration does not say it. */
  readonly publicUrl: string | undefined
  /** From which a proxy in front connects. */
  readonly proxyAddress: string
  readonly timeouts?: Timeouts
  /** Milliseconds since the epoch. */
  readonly now?: () => number
}

export interface Examination {
  readonly verdict: Verdict
  readonly publicUrl: string
  /** To be registered at the identity provider. */
  readonly addresses: readonly Address[]
  readonly findings: readonly Finding[]
}

/** Of a balancer, where nothing says from which address it connects. */
export const usualProxyAddress = '10.0.0.1'
const exampleUrl = 'https://gate.example.com'

/** Starts nothing and changes nothing that lasts; a gateway may run on the same configuration meanwhile. */
export async function examine(options: DoctorOptions): Promise<Examination> {
  const { config, notices, timeouts = usualTimeouts } = options
  const { contextPath } = config.http.origin
  const place = findPublicAddress(config, options.publicUrl)
  const said = notices.map((notice) => findingsOn('Configuration').warning('read it', notice, 'keep it if it is meant'))
  const findings = [...said, ...judgePublicAddress(options, place), ...(await runChecks(checksOf(options, place), timeouts))]
  return {
    verdict: worstOf(findings),
    publicUrl: place.url,
    addresses: listAddresses(config.login, { baseUrl: place.url, contextPath }),
    findings,
  }
}

function checksOf({ config, timeouts = usualTimeouts, now = Date.now }: DoctorOptions, { url, source }: PublicAddress): Check[] {
  const { login, redis, http, rateLimit, backends } = config
  return [
    ...(login.oauth2 === undefined ? [] : checkOAuth2(login.oauth2, { baseUrl: url, names: login }, timeouts)),
    ...(login.saml === undefined ? [] : checkSaml(login.saml, { timeouts, names: login, now: now() })),
    ...(login.iap === undefined ? [] : [checkKeys('Identity-Aware Proxy', login.iap.keysUrl, timeouts)]),
    ...checkNames(login),
    ...(login.ldap === undefined ? [] : checkLdap(login.ldap, timeouts, now())),
    ...checkRoleSource(config, timeouts, now()),
    ...checkTls(http, source === 'guessed' ? undefined : url, now()),
    ...(redis === undefined
      ? []
      : checkRedis(
          {
            settings: redis,
            saml: login.saml !== undefined,
            tokens: login.tokens,
            audit: config.audit?.sink.kind === 'redis',
            limits: rateLimit.enabled && rateLimit.shared,
          },
          timeouts,
          now,
        )),
    ...checkServices(config, timeouts),
    ...checkPeerCertificates(config, timeouts, now()),
    checkDataDir(backends.dataDir),
    ...checkClock(config, timeouts, now),
  ]
}

/** An external permission service has its own sources of roles. */
function checkRoleSource({ backends }: Config, timeouts: Timeouts, now: number): Check[] {
  const source = backends.permissions?.roleSource
  return source?.kind === 'ldap' ? checkRoleDirectory(source.directory, timeouts, now) : []
}

/** With a login that goes to another site and back, the address decides; with a form alone, only the cookie does. */
function judgePublicAddress({ config, proxyAddress }: DoctorOptions, { url, source }: PublicAddress): Finding[] {
  if (source !== 'guessed') return simulateBalancer({ config, publicUrl: url, isExample: false, proxyAddress })
  const report = findingsOn('Public address')
  const tried = 'look for the address under which browsers reach the gateway'
  if (config.login.oauth2 === undefined && config.login.saml === undefined) {
    return [report.ok(tried, `nothing names it; without a balancer it is ${url}. Name one with --public-url to try a balancer`)]
  }
  return [
    report.warning(
      tried,
      `nothing names it; the addresses above are those without a balancer, ${url}`,
      'name it with --public-url, or set http.publicUrl',
    ),
    ...simulateBalancer({ config, publicUrl: exampleUrl + config.http.origin.contextPath, isExample: true, proxyAddress }),
  ]
}
