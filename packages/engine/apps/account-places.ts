/** Places of accounts that an app file names. */
import { PortError } from '@fairlead/base/port-error.ts'
import { manifestProvider, standalone } from '@fairlead/base/settings/standalone.ts'
import type { Account, ClusterRules } from '@fairlead/model/environments/accounts.ts'

/** Where an environment is. */
export interface AppPlace {
  readonly provider: string
  readonly account: string
  /** A namespace where the provider is Kubernetes. */
  readonly region: string
  /** Undefined: the account is one of this machine. */
  readonly cluster?: ClusterRules | undefined
}

/**
 * The first region of the account, or its namespace of apps.
 *
 * @param accounts As the infrastructure lists them for the caller
 * @throws {PortError} 400 when the caller sees no such account, or apps cannot run there
 */
export function readAccountPlace(accounts: readonly Account[], name: string): AppPlace {
  const found = accounts.find((account) => account.name === name)
  if (found === undefined) {
    const names = accounts.map((account) => account.name).join(', ')
    throw new PortError(
      400,
      `There is no account "${name}"${names === '' ? '' : `, only ${names}`}. Correct "account" in the app file, or ask an administrator for access.`,
    )
  }
  const { provider, regions, apps } = found
  if (provider === standalone.provider)
    return { provider, account: name, region: regions[0]?.name ?? standalone.region }
  if (provider === manifestProvider && apps !== undefined)
    return { provider, account: name, region: apps.namespace, cluster: apps }
  throw new PortError(
    400,
    `The account ${name} is one of ${provider}. Apps are deployed to accounts of this machine and of embedded Kubernetes.`,
  )
}
