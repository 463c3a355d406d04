/** The fronts of this machine as the agent shall have them, from load balancers, hosts and certificates. */

import { parseMoniker } from '@fairlead/base/names/moniker.ts'
import type {
  DesiredCertificate,
  DesiredFront,
  DesiredFronts,
  FrontLimits,
  FrontSite,
} from '@fairlead/base/net/agent-protocol.ts'
import { type Desired, type LocalBalancer, type LocalSite, placeKey } from '../desired.ts'
import { allowedSources } from '../firewalls.ts'
import type { LocalAccountSettings, LocalSettings } from '../settings.ts'
import { toDesiredCertificates, toDesiredChallenges } from './desired-certificates.ts'
import { instanceSite } from './instance-site.ts'
import { type FrontPlace, hostsOfCertificate, type OwnCertificate } from './settings.ts'

export const defaultLimits: FrontLimits = {
  bodyBytes: 100 * 1024 ** 2,
  headerBytes: 32 * 1024,
  readMs: 60_000,
  idleMs: 60_000,
  websocketMs: 3_600_000,
}

const nothing: LocalSite = { rules: [], redirects: [], limits: {} }

interface Parts {
  readonly desired: Desired
  readonly settings: Pick<LocalSettings, 'accounts' | 'front' | 'ownPorts'>
  readonly dataDir: string
}

/** Undefined while no load balancer has a host: then the ports are closed. */
export function toDesiredFronts(parts: Parts): DesiredFronts | undefined {
  const { desired, settings, dataDir } = parts
  // Of accounts that share an address, the first one counts.
  const places = new Map(settings.accounts.toReversed().map(({ front }) => [front.address, front]))
  const fronts = [...places.values()]
    .map((place) => toFront(place, parts))
    .filter(({ sites }) => sites.length > 0)
  if (fronts.length === 0) return undefined
  return {
    fronts,
    certificates: [
      ...toOwnCertificates(settings.front.certificates),
      ...toDesiredCertificates(desired, dataDir),
    ],
    challenges: toDesiredChallenges(desired),
  }
}

function toFront(place: FrontPlace, { desired, settings }: Parts): DesiredFront {
  const accounts = accountsOf(place.address, settings.accounts)
  const own = place === settings.accounts[0]?.front ? instanceSite(settings) : undefined
  const sites = [...desired.all('balancers')]
    .filter(({ account }) => accounts.has(account))
    .map((balancer) => toSite(balancer, place, desired))
    .filter(({ rules, redirects }) => rules.length + redirects.length > 0)
  return { id: place.address, ...place, sites: own === undefined ? sites : [own, ...sites] }
}

function accountsOf(address: string, accounts: readonly LocalAccountSettings[]): Set<string> {
  const here = accounts.filter(({ front }) => front.address === address)
  return new Set(here.map(({ name }) => name))
}

function toSite(balancer: LocalBalancer, place: FrontPlace, desired: Desired): FrontSite {
  const { rules, redirects, limits, ...site } = balancer.site ?? nothing
  return {
    ...site,
    owner: parseMoniker(balancer.name).app ?? balancer.name,
    loadBalancer: placeKey(balancer),
    rules: [...rules, ...addedHosts(balancer, desired)],
    redirects,
    limits: { ...defaultLimits, ...limits },
    allowedSources: allowedSources(desired, balancer, { port: place.httpsPort }),
  }
}

/** Hosts that were given to it by themselves, as `fairlead domains add` does. */
function addedHosts(balancer: LocalBalancer, desired: Desired): FrontSite['rules'] {
  const key = placeKey(balancer)
  return [...desired.all('hosts')]
    .filter(({ loadBalancer }) => loadBalancer !== undefined && placeKey(loadBalancer) === key)
    .filter(({ host }) => balancer.site?.rules.some((rule) => rule.host === host) !== true)
    .map(({ host }) => ({ host, path: '/', strip: false }))
}

/** Files that cannot be read now are left out; the settings have been checked at the start. */
function toOwnCertificates(own: readonly OwnCertificate[]): DesiredCertificate[] {
  return own.flatMap((files) => {
    try {
      return [{ ...files, hosts: hostsOfCertificate(files), isWatched: true as const }]
    } catch {
      return []
    }
  })
}
