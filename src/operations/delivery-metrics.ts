/** Figures of delivery for the metrics: refreshed behind scrapes, never by them. */
import type { FastifyBaseLogger } from 'fastify'
import { changesIn, type DeliveryFigures, figuresOf, mayDeploy, productionOf } from '../environments/delivery.ts'
import { anonymousIdentity } from '../upstreams/identity.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'
import type { AccountCache } from './account-cache.ts'
import { type CallService, type DeliveryReader, listRuns } from './delivery.ts'

const refreshMs = 10 * 60_000
export const deliveryWindowMs = 30 * 86_400_000
/** Applications that have figures: those with the most runs. */
const maxApplications = 100

interface DeliveryMetricsParts {
  readonly upstreams: Upstreams
  readonly accounts: AccountCache
  readonly reader: DeliveryReader
  readonly log: FastifyBaseLogger
  readonly now: () => number
}

/** Of the embedded engine only: an external orchestrator is not asked without a client. */
export class DeliveryMetrics {
  readonly #parts: DeliveryMetricsParts
  #figures: ReadonlyMap<string, DeliveryFigures> = new Map()
  #refreshedAtMs = Number.NEGATIVE_INFINITY

  constructor(parts: DeliveryMetricsParts) {
    this.#parts = parts
  }

  /** By application, as of the last refresh; one that is due begins. */
  readonly read = (): ReadonlyMap<string, DeliveryFigures> => {
    const { upstreams, log, now } = this.#parts
    if (upstreams.isEmbedded('orca') && now() - this.#refreshedAtMs >= refreshMs) {
      this.#refreshedAtMs = now()
      this.#refresh().catch((error: unknown) => log.debug({ err: error }, 'the figures of delivery cannot be refreshed'))
    }
    return this.#figures
  }

  async #refresh(): Promise<void> {
    const { upstreams, accounts, reader, now } = this.#parts
    const call: CallService = (service, asked) => upstreams.call(service, asked, anonymousIdentity)
    const untilMs = now()
    const sinceMs = untilMs - deliveryWindowMs
    const { runs } = await listRuns(call, '*', sinceMs)
    const counts = Map.groupBy(runs.filter(mayDeploy), ({ application }) => String(application))
    const most = [...counts].toSorted(([, one], [, other]) => other.length - one.length).slice(0, maxApplications)
    const figures = new Map<string, DeliveryFigures>()
    for (const [application] of most) {
      const { environments, runs: known } = await reader.read(call, application, { sinceMs, accounts: accounts.list() })
      const production = productionOf(environments?.list ?? [], environments?.isDeclared ?? false)
      figures.set(application, figuresOf(changesIn(production, known), { sinceMs, untilMs }))
    }
    this.#figures = figures
  }
}
