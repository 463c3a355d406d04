/** Owner of a host: the first application that claims it on a front, as far as the operator lets it. */
import { hostname } from 'node:os'
import { wildcardOf } from '@fairlead/base/names/host-name.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { Access } from '@fairlead/ports/access.ts'
import { type Desired, hostKey, type LocalBalancer, type LocalHost, placeKey } from '../desired.ts'
import type { HostPattern } from './settings.ts'
import { hostsOf } from './site-fields.ts'

interface HostClaim {
  readonly front: string
  readonly host: string
  readonly application: string
}

interface ClaimRules {
  readonly desired: Desired
  readonly patterns: readonly HostPattern[]
  /** Rights of the claiming user: an owner is named only to who may read it. */
  readonly access: Access
}

/** Names of this machine, by which browsers may reach Fairlead itself. */
const ownHosts: ReadonlySet<string> = new Set(['localhost', hostname().toLowerCase()])

/** Within the transaction that stores the claim: of two at a time, one finds the other. @returns why it is rejected, for people */
function claimProblem(claim: HostClaim, rules: ClaimRules): string | undefined {
  const { front, host, application } = claim
  const { desired, patterns, access } = rules
  const owner = desired.get('hosts', hostKey(front, host))
  if (owner !== undefined && !isSame(owner.application, application))
    return describeTaken(host, owner, access)
  const pattern = patternOf(host, patterns)
  if (pattern !== undefined) return checkPattern(claim, pattern, access)
  if (owner === undefined && ownHosts.has(host) && !access.isAdmin)
    return `Browsers reach Fairlead itself as ${host}, and would send its cookies to the application ${application} on another port. Choose a host such as ${application}.localhost, or let an administrator claim it.`
  if (host.startsWith('*.'))
    return `The host ${host} is a wildcard, which the operator has to allow: local.front.hosts.`
  const above = desired.get('hosts', hostKey(front, wildcardOf(host)))
  if (above === undefined || isSame(above.application, application)) return undefined
  return describeTaken(host, above, access)
}

function describeTaken(host: string, owner: LocalHost, access: Access): string {
  const name = access.mayOnApplication(owner.application, 'READ')
    ? `the application ${owner.application}`
    : 'another application'
  const through = owner.host === host ? '' : `, which has ${owner.host}`
  return `The host ${host} belongs to ${name}${through}. Choose another host, or let its owner remove it: fairlead domains remove ${owner.host}.`
}

function checkPattern(
  { host, application }: HostClaim,
  { pattern, applications = [], roles = [] }: HostPattern,
  access: Access,
): string | undefined {
  if (applications.some((name) => isSame(name, application))) return undefined
  if (roles.length > 0 && access.hasRole(roles)) return undefined
  return `The host ${host} is reserved by the operator (${pattern} in local.front.hosts), not for the application ${application}.`
}

function patternOf(host: string, patterns: readonly HostPattern[]): HostPattern | undefined {
  return patterns
    .filter(
      ({ pattern }) =>
        pattern === host || (pattern.startsWith('*.') && host.endsWith(pattern.slice(1))),
    )
    .toSorted((one, other) => other.pattern.length - one.pattern.length)[0]
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

/** Gives hosts to an application, within a transaction. @throws {PortError} 409, when one is not free for it */
export function claimHosts(
  hosts: readonly string[],
  claim: Omit<HostClaim, 'host'>,
  rules: ClaimRules & { readonly nowMs: number },
): void {
  const { desired, nowMs } = rules
  const problems = hosts.flatMap((host) => claimProblem({ ...claim, host }, rules) ?? [])
  if (problems.length > 0) throw new PortError(409, problems.join(' '))
  for (const host of hosts) {
    if (desired.get('hosts', hostKey(claim.front, host)) === undefined)
      desired.put('hosts', { ...claim, host, claimedMs: nowMs })
  }
}

/** Releases hosts that no load balancer has any more, unless a user has added them. @param parts.balancer As it will be */
export function releaseHosts(
  hosts: readonly string[],
  parts: {
    readonly front: string
    readonly desired: Desired
    readonly balancer?: LocalBalancer
  },
): void {
  const { front, desired, balancer } = parts
  const others = [...desired.all('balancers')].filter(
    (one) => balancer === undefined || placeKey(one) !== placeKey(balancer),
  )
  const used = new Set(
    [...others, ...(balancer ? [balancer] : [])].flatMap(({ site }) => hostsOf(site)),
  )
  for (const host of hosts) {
    const owned = desired.get('hosts', hostKey(front, host))
    if (owned !== undefined && owned.loadBalancer === undefined && !used.has(host))
      desired.remove('hosts', owned)
  }
}
