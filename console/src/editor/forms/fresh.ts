/** New stages, with everything that is known without asking. */
import { standalone } from '../../../../src/settings/standalone.ts'
import type { CloudProvider } from '../../api/cloud-providers.ts'
import type { Json } from '../../model/read.ts'
import type { Account } from '../choices.ts'

/** Where a stage works, if there is only one place for it. */
export interface Place {
  readonly application: string
  /** For server groups and images. */
  readonly account: Account | undefined
  /** For objects of clusters. */
  readonly manifestAccount: Account | undefined
}

export function placeIn(application: string, accounts: readonly Account[], providers: readonly CloudProvider[]): Place {
  const takesManifests = ({ type }: Account) => providers.some(({ id, hasManifests }) => id === type && hasManifests === true)
  const only = (found: readonly Account[]) => (found.length === 1 ? found[0] : undefined)
  return {
    application,
    account: only(accounts.filter((account) => !takesManifests(account))),
    manifestAccount: only(accounts.filter(takesManifests)),
  }
}

export function freshGroup({ application, account }: Place): Json {
  const [region] = account?.regions ?? []
  return {
    ...(account !== undefined && { cloudProvider: account.type, account: account.name }),
    ...(region !== undefined && { region }),
    application,
    strategy: 'redblack',
    capacity: { min: 1, desired: 1, max: 1 },
    rollback: { onFailure: true },
  }
}

/** Fields of the type, without name and place in the graph. */
export function freshStage(type: string, place: Place): Json {
  const { account, manifestAccount } = place
  const [region] = account?.regions ?? []
  const isLocal = account?.type === standalone.provider
  switch (type) {
    case 'deploy':
      return { clusters: [freshGroup(place)] }
    case 'createServerGroup':
    case 'cloneServerGroup':
      return freshGroup(place)
    case 'bake':
      return isLocal ? { cloudProviderType: standalone.provider, region, package: place.application, baseOs: 'directory' } : {}
    case 'runJob':
    case 'findImageFromCluster':
    case 'rollbackCluster':
      return account === undefined ? {} : { cloudProvider: account.type, credentials: account.name, regions: [region] }
    case 'deployManifest':
      return {
        source: 'text',
        ...(manifestAccount !== undefined && { account: manifestAccount.name, cloudProvider: manifestAccount.type }),
      }
    case 'webhook':
      return { method: 'POST' }
    default:
      return {}
  }
}
