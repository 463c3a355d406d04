/** Places of accounts that an app file names. */
import { list, maybe, or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { manifestProvider, standalone } from '@fairlead/base/settings/standalone.ts'

/** How an account of Kubernetes takes apps: its settings `apps`. */
const toClusterRules = shape({
  namespace: or(textOf, 'default'),
  /** `name` or `namespace/name`; undefined: hosts are those of an Ingress. */
  gateway: textOf,
  ingressClass: textOf,
  tlsSecret: textOf,
  issuer: textOf,
  pullSecret: textOf,
  storageClass: textOf,
  volumeSize: or(textOf, '10Gi'),
})
export type ClusterRules = ShapeOf<typeof toClusterRules>

/** Where an environment is. */
export interface AppPlace {
  readonly provider: string
  readonly account: string
  /** A namespace where the provider is Kubernetes. */
  readonly region: string
  /** Undefined: the account is one of this machine. */
  readonly cluster?: ClusterRules | undefined
}

const toAccount = shape({
  name: or(textOf, ''),
  provider: [or(textOf, ''), 'cloudProvider', 'type'],
  regions: list(shape({ name: or(textOf, '') })),
  apps: maybe(toClusterRules),
})

/**
 * The first region of the account, or its namespace of apps.
 *
 * @param listed As the infrastructure lists them for the caller
 * @throws {PortError} 400 when the caller sees no such account, or apps cannot run there
 */
export function readAccountPlace(listed: readonly JsonObject[], name: string): AppPlace {
  const accounts = listed.map(toAccount)
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
