/** Metrics accounts of canary analysis, and the one that keeps configurations and results. */
import { type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { AccountAccess } from '@fairlead/ports/rights/account-use.ts'
import type { WantedMetric } from './analysis-order.ts'
import { type MetricAccount, MetricError } from './metric-source.ts'
import { defaultCanarySettings } from './settings.ts'
import { metricSources } from './sources/all.ts'

/** Kayenta wants the name of a store; here there is one, which requests need not name. */
export const storeAccount = 'fairlead'

const kind = 'metrics account'

export class MetricAccounts {
  readonly #accounts: readonly MetricAccount[]

  constructor(context: BackendContext) {
    const { accounts } = context.settings.canaries ?? defaultCanarySettings
    this.#accounts = metricSources.flatMap((source) =>
      source.open(accounts[source.id] ?? [], context),
    )
  }

  /** Kayenta's list of the accounts that the user may use. */
  views({ mayUse }: AccountAccess): JsonObject[] {
    const store = {
      name: storeAccount,
      type: storeAccount,
      supportedTypes: ['CONFIGURATION_STORE', 'OBJECT_STORE'],
    }
    const usable = this.#accounts.filter(mayUse)
    return [
      store,
      ...usable.map(({ name, type }) => ({ name, type, supportedTypes: ['METRICS_STORE'] })),
    ]
  }

  /** The named one, else the first. @throws {PortError} 400, 403 */
  require(name: string | undefined, access: AccountAccess): MetricAccount {
    const found =
      name === undefined
        ? this.#accounts[0]
        : this.#accounts.find((account) => account.name === name)
    if (found === undefined)
      throw new PortError(400, `There is no metrics account "${name}". ${this.#describe(access)}`)
    access.check(found, kind)
    return found
  }

  /**
   * The account for a metric: the named one, else the first of its source.
   *
   * @throws {PortError} 400 when there is none, 403
   */
  forMetric(
    { name, query }: WantedMetric,
    accountName: string | undefined,
    access: AccountAccess,
  ): MetricAccount {
    const type = textOf(query['serviceType']) ?? textOf(query['type'])
    const named = accountName === undefined ? undefined : this.require(accountName, access)
    if (type === undefined || named?.type === type) return named ?? this.require(undefined, access)
    const found = this.#accounts.find((account) => account.type === type)
    if (found !== undefined) {
      access.check(found, kind)
      return found
    }
    const known = metricSources.some(({ id }) => id === type)
    throw new PortError(
      400,
      known
        ? `The metric "${name}" is one of ${type}, which has no account: add one to kayenta.${type}.accounts.`
        : `The metric "${name}" has the unknown service type "${type}": use one of ${metricSources.map(({ id }) => id).join(', ')}.`,
    )
  }

  close(): void {
    for (const account of this.#accounts) account.close?.()
  }

  #describe({ mayUse }: AccountAccess): string {
    return `There are ${this.#accounts
      .filter(mayUse)
      .map((account) => `"${account.name}"`)
      .join(', ')}.`
  }
}

/** An answer for callers who want the metrics at once. */
export function toAnswer(error: unknown): unknown {
  return error instanceof MetricError
    ? new PortError(error.isPassing ? 503 : 400, error.message)
    : error
}
