/** Figures of delivery for the metrics: refreshed behind scrapes, never by them. */

import {
  changesIn,
  type DeliveryFigures,
  figuresOf,
  mayDeploy,
  productionOf,
} from '@fairlead/model/environments/delivery.ts'
import type { FastifyBaseLogger } from 'fastify'
import { anonymousIdentity } from '../upstreams/identity.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'
import type { AccountCache } from './account-cache.ts'
import {
  type CallUpstream,
  type Delivery,
  type DeliveryReader,
  listRuns,
  listTasks,
} from './delivery.ts'

const refreshMs = 10 * 60_000
export const deliveryWindowMs = 30 * 86_400_000
const maxApplications = 100

interface DeliveryMetricsParts {
  readonly upstreams: Upstreams
  readonly accounts: AccountCache
  readonly reader: DeliveryReader
  readonly log: FastifyBaseLogger
  readonly now: () => number
}

interface KnownDelivery {
  readonly state: string
  readonly delivery: Delivery
}

/** Figures of delivery, where the engine may be asked without a client. */
export class DeliveryMetrics {
  readonly #parts: DeliveryMetricsParts
  #figures: ReadonlyMap<string, DeliveryFigures> = new Map()
  /** An application is read again when it has another run: each read asks several services. */
  #known: ReadonlyMap<string, KnownDelivery> = new Map()
  #refreshedAtMs = Number.NEGATIVE_INFINITY

  constructor(parts: DeliveryMetricsParts) {
    this.#parts = parts
  }

  readonly read = (): ReadonlyMap<string, DeliveryFigures> => {
    const { upstreams, log, now } = this.#parts
    if (upstreams.traitsOf('orca').isAtHand && now() - this.#refreshedAtMs >= refreshMs) {
      this.#refreshedAtMs = now()
      this.#refresh().catch((error: unknown) =>
        log.debug({ err: error }, 'the figures of delivery cannot be refreshed'),
      )
    }
    return this.#figures
  }

  async #refresh(): Promise<void> {
    const { upstreams, accounts, reader, now } = this.#parts
    const call: CallUpstream = (service, asked) => upstreams.call(service, asked, anonymousIdentity)
    const untilMs = now()
    const sinceMs = untilMs - deliveryWindowMs
    const known = new Map<string, KnownDelivery>()
    const figures = new Map<string, DeliveryFigures>()
    for (const [application, ids] of await listDeploying(call, sinceMs)) {
      const state = ids.join()
      const before = this.#known.get(application)
      const { delivery } =
        before?.state === state
          ? before
          : {
              delivery: await reader.read(call, application, {
                sinceMs,
                accounts: accounts.list(),
              }),
            }
      const production = productionOf(
        delivery.environments?.list ?? [],
        delivery.environments?.isDeclared ?? false,
      )
      known.set(application, { state, delivery })
      figures.set(
        application,
        figuresOf(changesIn(production, delivery.runs), {
          sinceMs: Math.max(sinceMs, delivery.sinceMs),
          untilMs,
        }),
      )
    }
    this.#known = known
    this.#figures = figures
  }
}

async function listDeploying(
  call: CallUpstream,
  sinceMs: number,
): Promise<[application: string, ids: string[]][]> {
  const [{ runs }, tasks] = await Promise.all([
    listRuns(call, '*', sinceMs),
    listTasks(call, '*', sinceMs),
  ])
  const byApplication = Map.groupBy([...runs, ...tasks].filter(mayDeploy), ({ application }) =>
    String(application),
  )
  return [...byApplication]
    .toSorted(([, one], [, other]) => other.length - one.length)
    .slice(0, maxApplications)
    .map(([application, found]) => [application, found.map(({ id }) => String(id))])
}
