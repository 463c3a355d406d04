/** New stages, with everything that is known without asking. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { standalone } from '@fairlead/base/settings/standalone.ts'
import type { Schemas } from '../../api/client.ts'
import {
  hasManifests,
  providerOf,
  regionsOf,
  useAccounts,
  useCloudProviders,
} from '../../api/cloud-providers.ts'

export type Account = Schemas['Account']

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
  return { application, account: chosenOf(groups), manifestAccount: chosenOf(clusters) }
}

/** The one of that name, or the only one, or one with a usual name. */
export function chosenOf(
  accounts: readonly Account[],
  name?: string,
  usual = /^$/,
): Account | undefined {
  const only = accounts.length === 1 ? accounts[0] : undefined
  return (
    accounts.find((account) => account.name === name) ??
    only ??
    accounts.find((account) => usual.test(account.name))
  )
}

/** Accounts for server groups, and for objects of clusters. */
export function useAccountsByUse() {
  const providers = useCloudProviders()
  const accounts = useAccounts().body ?? []
  const isCluster = (account: Account) => hasManifests(providers, providerOf(account))
  return {
    groups: accounts.filter((account) => !isCluster(account)),
    clusters: accounts.filter(isCluster),
  }
}

export function freshGroup({ application, account }: Place): JsonObject {
  return {
    ...(account && {
      cloudProvider: providerOf(account),
      account: account.name,
      region: regionsOf(account)[0],
    }),
    application,
    strategy: 'redblack',
    capacity: { min: 1, desired: 1, max: 1 },
    rollback: { onFailure: true },
  }
}

/** @param source The path of a folder, unless it ends with ".git"; otherwise the address of a repository. */
export function freshBake({ application, account }: Place, source = ''): JsonObject {
  return {
    ...(account && { cloudProviderType: providerOf(account), region: regionsOf(account)[0] }),
    package: application,
    baseOs: 'directory',
    extendedAttributes: /^\/.*(?<!\.git)$/.test(source) ? { directory: source } : { git: source },
  }
}

export function freshManifests(
  { manifestAccount: account }: Place,
  more: JsonObject = {},
): JsonObject {
  return {
    ...(account && { cloudProvider: providerOf(account), account: account.name }),
    source: 'text',
    ...more,
  }
}

/** Fields of new stages by their type, without name and place in the graph. */
export const freshStages: Readonly<Record<string, (place: Place) => JsonObject>> = {
  deploy: (place) => ({ clusters: [freshGroup(place)] }),
  createServerGroup: freshGroup,
  cloneServerGroup: freshGroup,
  bake: (place) =>
    place.account && providerOf(place.account) === standalone.provider ? freshBake(place) : {},
  runJob: inOnlyPlace,
  findImageFromCluster: inOnlyPlace,
  rollbackCluster: inOnlyPlace,
  kayentaCanary: () => ({
    analysisType: 'realTime',
    canaryConfig: {
      scopes: [{ scopeName: 'default' }],
      scoreThresholds: { pass: '95', marginal: '75' },
    },
  }),
  deployManifest: (place) => freshManifests(place),
}

function inOnlyPlace({ account }: Place): JsonObject {
  return account
    ? {
        cloudProvider: providerOf(account),
        credentials: account.name,
        regions: regionsOf(account).slice(0, 1),
      }
    : {}
}
