/** New stages, with everything that is known without asking. */
import { standalone } from '../../../../src/settings/standalone.ts'
import { hasManifests, useCloudProviders } from '../../api/cloud-providers.ts'
import type { Json } from '../../model/read.ts'
import { type Account, useAccounts } from '../choices.ts'

/** Where a stage works, if there is only one place for it. */
export interface Place {
  readonly application: string
  /** For server groups and images. */
  readonly account: Account | undefined
  /** For objects of clusters. */
  readonly manifestAccount: Account | undefined
}

export function usePlace(application: string): Place {
  const { groups, clusters } = useAccountsByUse()
  const only = (found: readonly Account[]) => (found.length === 1 ? found[0] : undefined)
  return { application, account: only(groups), manifestAccount: only(clusters) }
}

/** Accounts for server groups, and for objects of clusters. */
export function useAccountsByUse() {
  const providers = useCloudProviders()
  const isCluster = ({ type }: Account) => hasManifests(providers, type)
  const accounts = useAccounts()
  return { groups: accounts.filter((account) => !isCluster(account)), clusters: accounts.filter(isCluster) }
}

export function freshGroup({ application, account }: Place): Json {
  return {
    ...(account !== undefined && { cloudProvider: account.type, account: account.name, region: account.regions[0] }),
    application,
    strategy: 'redblack',
    capacity: { min: 1, desired: 1, max: 1 },
    rollback: { onFailure: true },
  }
}

/** @param source The path of a folder, unless it ends with ".git"; otherwise the address of a repository. */
export function freshBake({ application, account }: Place, source = ''): Json {
  return {
    cloudProviderType: account?.type,
    region: account?.regions[0],
    package: application,
    baseOs: 'directory',
    extendedAttributes: /^\/.*(?<!\.git)$/.test(source) ? { directory: source } : { git: source },
  }
}

export function freshManifests({ manifestAccount: account }: Place, manifests?: readonly unknown[]): Json {
  return {
    ...(account !== undefined && { cloudProvider: account.type, account: account.name }),
    source: 'text',
    ...(manifests && { manifests }),
  }
}

const fresh: Readonly<Record<string, (place: Place) => Json>> = {
  deploy: (place) => ({ clusters: [freshGroup(place)] }),
  createServerGroup: freshGroup,
  cloneServerGroup: freshGroup,
  bake: (place) => (place.account?.type === standalone.provider ? freshBake(place) : {}),
  runJob: inOnlyPlace,
  findImageFromCluster: inOnlyPlace,
  rollbackCluster: inOnlyPlace,
  deployManifest: (place) => freshManifests(place),
}

function inOnlyPlace({ account }: Place): Json {
  return account === undefined
    ? {}
    : { cloudProvider: account.type, credentials: account.name, regions: account.regions.slice(0, 1) }
}

/** Fields of the type, without name and place in the graph. */
export function freshStage(type: string, place: Place): Json {
  return fresh[type]?.(place) ?? {}
}
