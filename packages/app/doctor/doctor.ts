/** Examines an installation: the effect of its configuration, and every service that it names. */

import { isIP } from 'node:net'
import { checkDirectory } from '@fairlead/base/directory/check-directory.ts'
import {
  type Check,
  createCheck,
  type Finding,
  findingsOn,
  runChecks,
  type Timeouts,
  usualTimeouts,
  type Verdict,
  worstOf,
} from '@fairlead/base/findings/finding.ts'
import { openSandbox } from '@fairlead/base/sandbox/sandbox.ts'
import type { OriginSettings } from '@fairlead/gateway/http/origin.ts'
import type { RegisteredAddress } from '@fairlead/gateway/login/method-type.ts'
import { listAddresses } from '@fairlead/gateway/login/settings.ts'
import type { Config } from '../config/config.ts'
import { simulateBalancer } from './balancer.ts'
import { checkCertificates } from './check-certificates.ts'
import { checkClock } from './check-clock.ts'
import { checkDataDir } from './check-data-dir.ts'
import { checkDefinitions } from './check-definitions.ts'
import { checkMetricsAccounts } from './check-metrics-accounts.ts'
import { checkOutsideAccounts } from './check-outside-accounts.ts'
import { checkPeerCertificates } from './check-peer-certificates.ts'
import { checkProviders } from './check-providers.ts'
import { checkRedis } from './check-redis.ts'
import { checkRetention } from './check-retention.ts'
import { checkSecrets } from './check-secrets.ts'
import { checkServices } from './check-services.ts'
import { checkTls } from './check-tls.ts'
import { checkUsers } from './check-users.ts'
import { findPublicAddress, type PublicAddress } from './public-address.ts'
import { findStartObstacles } from './start-obstacles.ts'

export interface DoctorOptions {
  readonly config: Config
  readonly notices: readonly string[]
  /** Address of the gateway as browsers see it, where the configuration does not say it. */
  readonly publicUrl: string | undefined
  /** Address of a proxy in front. Default: one that the configuration trusts. */
  readonly proxyAddress?: string
  readonly timeouts?: Timeouts
  readonly now?: () => number
}

export interface Examination {
  readonly verdict: Verdict
  readonly publicUrl: string
  readonly addresses: readonly RegisteredAddress[]
  readonly findings: readonly Finding[]
}

const exampleUrl = 'https://gate.example.com'

/** Starts nothing and changes nothing that lasts; a gateway may run on the same configuration meanwhile. */
export async function examine(options: DoctorOptions): Promise<Examination> {
  const { config, notices, timeouts = usualTimeouts } = options
  const { contextPath } = config.http.origin
  const place = findPublicAddress(config, options.publicUrl)
  const said = notices.map((notice) =>
    findingsOn('Configuration').warning('read it', notice, 'keep it if it is meant'),
  )
  const addresses = listAddresses(config.login, { baseUrl: place.url, contextPath })
  const onAddress = checkPublicAddress(options, place, addresses.length > 0)
  const findings = [
    ...said,
    ...onAddress,
    ...(await runChecks(await checksOf(options, place), timeouts)),
  ]
  return {
    verdict: worstOf(findings),
    publicUrl: place.url,
    addresses,
    findings: findings.map(withGuide),
  }
}

async function checksOf(
  { config, timeouts = usualTimeouts, now = Date.now }: DoctorOptions,
  { url, source }: PublicAddress,
): Promise<Check[]> {
  const { login, http, backends } = config
  const context = { timeouts, baseUrl: url, names: login, now: now() }
  const methods = await Promise.all(
    login.methods.map(({ type, settings }) => type.checks?.(settings, context) ?? []),
  )
  return [
    ...methods.flat(),
    ...checkRoleSource(config, timeouts, now()),
    ...checkTls(http, source === 'guessed' ? undefined : url, now()),
    ...(await checkRedis(config, timeouts, now)),
    ...checkServices(config, timeouts),
    ...checkProviders(config, timeouts),
    ...checkMetricsAccounts(config, timeouts),
    ...checkPeerCertificates(config, timeouts, now()),
    checkDataDir(backends.dataDir),
    ...checkSandbox(config),
    checkNextStart(config),
    ...checkSecrets(config),
    ...checkCertificates(config, now()),
    ...checkUsers(config),
    ...checkOutsideAccounts(config),
    ...checkRetention(config),
    ...checkDefinitions(config),
    ...checkClock(config, timeouts, now),
  ]
}

/** What would keep the gateway from starting with this configuration; what runs already is no obstacle. */
function checkNextStart(config: Config): Check {
  return createCheck('Next start', async (report) => {
    const obstacles = await findStartObstacles(config, { ignoresLocks: true })
    const lasting = obstacles.filter(({ passing }) => !passing)
    if (lasting.length === 0) return [report.ok('look for what would prevent it', 'nothing would')]
    return lasting.map(({ text }) =>
      report.problem(
        'look for what would prevent it',
        text,
        'correct it before the next restart; fairlead check finds the same',
      ),
    )
  })
}

/** The directory with the roles of users of any login method; an external permission service has its own sources of roles. */
function checkRoleSource({ backends }: Config, timeouts: Timeouts, now: number): Check[] {
  const source = backends.permissions?.roleSource
  if (source?.kind !== 'ldap') return []
  const purpose = { name: 'LDAP for roles', key: 'auth.group-membership.ldap', asUser: false }
  return checkDirectory(source.directory, purpose, timeouts, now)
}

/** A login at another site needs the address; a form needs only the cookie. */
function checkPublicAddress(
  { config, proxyAddress = trustedProxyOf(config.http.origin) }: DoctorOptions,
  { url, source }: PublicAddress,
  leavesSite: boolean,
): Finding[] {
  if (source !== 'guessed')
    return simulateBalancer({ config, publicUrl: url, isExample: false, proxyAddress })
  const report = findingsOn('Public address')
  const tried = 'look for the address under which browsers reach the gateway'
  if (!leavesSite) {
    return [
      report.ok(
        tried,
        `nothing names it; without a balancer it is ${url}. Name one with --public-url to try a balancer`,
      ),
    ]
  }
  return [
    report.warning(
      tried,
      `nothing names it; the addresses above are those without a balancer, ${url}`,
      'name it with --public-url, or set http.publicUrl',
    ),
    ...simulateBalancer({
      config,
      publicUrl: exampleUrl + config.http.origin.contextPath,
      isExample: true,
      proxyAddress,
    }),
  ]
}

const guides: readonly (readonly [subject: RegExp, guide: string])[] = [
  [/^LDAP/, 'login-ldap'],
  [/^OAuth/, 'login-oauth2'],
  [/^SAML/, 'login-saml'],
  [/^(Client certificates|Revocation lists|Trusted authorities)/, 'login-x509'],
  [/^Trusted header/, 'login-header'],
  [/^Redis/, 'replicas'],
  [/^(Certificate|TLS|Balancer|Public address)/, 'tls'],
  [/^Kubernetes/, 'deploy-to-kubernetes'],
  [/^Metrics account/, 'canary-analysis'],
  [/^Outside accounts/, 'permissions'],
  [/^Secrets/, 'secrets'],
  [/^(Data directory|Next start)/, 'first-start'],
  [/^Service/, 'run-in-front-of-spinnaker'],
  [/^Configuration/, 'configure'],
]

function withGuide(finding: Finding): Finding {
  const guide = guides.find(([subject]) => subject.test(finding.subject))?.[1]
  return finding.verdict === 'ok' || guide === undefined
    ? finding
    : { ...finding, guide: `docs/guides/${guide}.md` }
}

const usual = [
  '10.0.0.1',
  '127.0.0.1',
  '192.168.0.1',
  '172.16.0.1',
  '169.254.0.1',
  '100.64.0.1',
  '::1',
  'fd00::1',
  'fe80::1',
]
const group = /\((?:\?:)?([^()|]*)(?:\|[^()]*)?\)[?*+]?/g
const open = /(?:\\d|\[[^[\]]*\])(?:\{[\d,]+\}|[+*?])?|(?<!\\)\.[+*]/g

/** @returns one that the pattern of trusted proxies matches; the first usual one where none is found, as a stranger */
function trustedProxyOf({ trustedProxies }: Pick<OriginSettings, 'trustedProxies'>): string {
  let text = trustedProxies.source.replace(/^\^|\$$/g, '')
  // The first alternative of each group, the inner ones first.
  for (
    let shorter = text.replace(group, '$1');
    shorter !== text;
    shorter = text.replace(group, '$1')
  )
    text = shorter
  const written = text.split('|').flatMap((part) => {
    const address = part.replace(open, '1').replaceAll('\\', '')
    return [address, `${address}.1`, `${address}.1.1`, `${address}.1.1.1`]
  })
  return (
    [...usual, ...written].find((each) => isIP(each) !== 0 && trustedProxies.test(each)) ??
    '10.0.0.1'
  )
}

const tried = 'run a program in it'

function checkSandbox({ backends }: Pick<Config, 'backends'>): Check[] {
  if (backends.bakery === undefined && backends.infrastructure === undefined) return []
  const { sandbox: choice } = backends.outside
  const check = createCheck('Sandbox', async (report) => {
    try {
      const { means, title } = await openSandbox(choice)
      if (means !== 'none') return [report.ok(tried, `works: ${title}`)]
      const found =
        'Helm, Kustomize and Git have all rights of the user of Fairlead, and its network (sandbox: none)'
      return [report.warning(tried, found, 'install bubblewrap, and remove the setting')]
    } catch (error) {
      const advice =
        'install bubblewrap ("apt install bubblewrap"); until then manifests are not baked, and Git is not called'
      return [report.warning(tried, (error as Error).message, advice)]
    }
  })
  return [check]
}
