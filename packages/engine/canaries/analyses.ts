/** Canary analyses: each fetches metrics of baseline and canary, has them judged, and keeps the result. */
import { randomUUID } from 'node:crypto'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { backOffMs } from '@fairlead/base/concurrency/back-off.ts'
import { formatJson } from '@fairlead/base/json/json.ts'
import { type JsonObject, objectOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { ConcurrencyLimit } from '@fairlead/base/stores/in-turns.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { checkBody } from '@fairlead/ports/requests/check-body.ts'
import { type AccountAccess, openAccountAccess } from '@fairlead/ports/rights/account-use.ts'
import type { MetricAccounts } from './accounts.ts'
import {
  type AnalysisOrder,
  durationOf,
  progressOf,
  type ScopeSide,
  thresholdsOfOrder,
  type WantedMetric,
  wantedMetrics,
} from './analysis-order.ts'
import { type Analysis, type AnalysisOutcome, AnalysisStore } from './analysis-store.ts'
import { JudgedConfiguration } from './configuration-schema.ts'
import { judgeAside } from './judge-thread.ts'
import { pairSeries, type SeriesPair } from './metric-sets.ts'
import { type MetricAccount, MetricError, type MetricSeries } from './metric-source.ts'
import { defaultCanarySettings } from './settings.ts'

const dayMs = 24 * 3_600_000
/** The rest waits: their measurements are in memory. */
const analysesAtATime = 16
/** An answer is worked on for some milliseconds, in which others wait. */
const callsAtATime = 3
const tries = 4
const pauses = { firstMs: 500, longestMs: 4000 }
/** Calls that each take as long as they may would add up. */
const longestMs = 15 * 60_000
/** A process that ends during one would otherwise perhaps end with each. */
const mostAttempts = 3

export class Analyses {
  readonly store: AnalysisStore
  readonly #context: BackendContext
  readonly #accounts: MetricAccounts
  readonly #line = new ConcurrencyLimit(analysesAtATime)
  /** Each writes to the disk. Many may come together, and others should not wait for all of them. */
  readonly #starts = new ConcurrencyLimit(1)
  readonly #calls = new WeakMap<MetricAccount, ConcurrencyLimit>()
  /** Analyses that go on in this process. */
  readonly #running = new Map<string, AbortController>()

  constructor(context: BackendContext, accounts: MetricAccounts) {
    this.#context = context
    this.#accounts = accounts
    this.store = new AnalysisStore(context.db)
  }

  /** @returns its id @throws {PortError} 400 for an order that cannot be carried out, 403 for accounts that its user may not use */
  async start(order: AnalysisOrder): Promise<string> {
    const access = await openAccountAccess(this.#context, order.user)
    return this.#starts.run(async () => {
      // Requests that have arrived together would all find the line free.
      await setImmediate()
      return this.#start(order, access)
    })
  }

  #start(order: AnalysisOrder, access: AccountAccess): string {
    thresholdsOfOrder(order)
    progressOf(order.request)
    checkBody(JudgedConfiguration, order.config)
    for (const metric of wantedMetrics(order))
      this.#accounts.forMetric(metric, order.metricsAccountName, access)
    const id = randomUUID()
    const nowMs = this.#context.now()
    this.store.removeOlder(
      nowMs - (this.#context.settings.canaries ?? defaultCanarySettings).keptDays * dayMs,
    )
    this.store.insert(id, order, nowMs)
    this.#begin(id, order)
    return id
  }

  /** What the last process has left begins anew: the same time is compared. */
  resume(): void {
    for (const { id, order, attempts } of this.store.running()) {
      if (attempts < mostAttempts) {
        this.store.beginAgain(id, this.#context.now())
        this.#begin(id, order)
      } else
        this.#fail(
          id,
          new Error(
            `The analysis was interrupted ${attempts} times: the process ended. Start it again.`,
          ),
        )
    }
  }

  /** @returns whether it was running */
  cancel(id: string): boolean {
    this.#running.get(id)?.abort()
    return this.store.end(id, { status: 'CANCELED', endedMs: this.#context.now(), outcome: {} })
  }

  close(): void {
    for (const stop of this.#running.values()) stop.abort()
  }

  #begin(id: string, order: AnalysisOrder): void {
    const stop = new AbortController()
    this.#running.set(id, stop)
    void this.#line
      .run(() => this.#analyse(id, order, stop.signal))
      .catch((error: unknown) => this.#fail(id, error, stop.signal))
      .finally(() => this.#running.delete(id))
  }

  async #analyse(id: string, order: AnalysisOrder, stop: AbortSignal): Promise<void> {
    if (stop.aborted) return
    const metrics = wantedMetrics(order)
    const access = await openAccountAccess(this.#context, order.user)
    const signal = AbortSignal.any([stop, AbortSignal.timeout(longestMs)])
    const pairs = await this.#fetchAll(metrics, { order, access, signal })
    if (stop.aborted) return
    const { result, outlook, measurements } = await judgeAside({
      config: formatJson(order.config),
      thresholds: thresholdsOfOrder(order),
      pairs,
      progress: progressOf(order.request),
    })
    if (stop.aborted) return
    const judged: JsonObject = {
      judgeResult: result,
      canaryDuration: durationOf(metrics),
      ...(outlook && { outlook }),
    }
    const kept = { id: randomUUID(), content: measurements }
    this.store.end(id, {
      status: 'SUCCEEDED',
      endedMs: this.#context.now(),
      outcome: { result: judged },
      measurements: kept,
    })
  }

  /** A process that stops leaves it to the next. */
  #fail(id: string, error: unknown, stop?: AbortSignal): void {
    if (stop?.aborted === true) return
    const isKnown = error instanceof MetricError || error instanceof PortError
    if (!isKnown) this.#context.log.warn({ err: error, analysis: id }, 'a canary analysis failed')
    const endedMs = this.#context.now()
    try {
      this.store.end(id, {
        status: 'TERMINAL',
        endedMs,
        outcome: toFailure(error as Error, endedMs),
      })
    } catch (cause) {
      // It begins anew with the next process.
      this.#context.log.error(
        { err: cause, analysis: id },
        'the end of a canary analysis cannot be stored',
      )
    }
  }

  async #fetchAll(metrics: readonly WantedMetric[], parts: FetchParts): Promise<SeriesPair[]> {
    const failed = new AbortController()
    const fetched = metrics.map(async (metric) => {
      const signal = AbortSignal.any([parts.signal, failed.signal])
      const fetch = (side: ScopeSide) => this.#fetch(metric, side, { ...parts, signal })
      const [control, experiment] = await Promise.all([fetch('control'), fetch('experiment')])
      return pairSeries(metric, { control, experiment })
    })
    try {
      return (await Promise.all(fetched)).flat()
    } catch (error) {
      failed.abort()
      throw error
    }
  }

  async #fetch(
    metric: WantedMetric,
    side: ScopeSide,
    { order, access, signal }: FetchParts,
  ): Promise<readonly MetricSeries[]> {
    const { name, query, scopes } = metric
    const account = this.#accounts.forMetric(metric, order.metricsAccountName, access)
    const line = this.#calls.getOrInsertComputed(account, () => new ConcurrencyLimit(callsAtATime))
    const question = {
      query,
      scope: scopes[side],
      templates: objectOf(order.config['templates']),
      application: order.application,
      identity: order.identity,
    }
    for (let failures = 0; ; failures++) {
      try {
        return await line.run(async () => {
          signal.throwIfAborted()
          return account.fetch(question)
        })
      } catch (error) {
        if (!(error instanceof MetricError)) throw error
        if (!error.isPassing || failures + 1 >= tries)
          throw new MetricError(
            `The metric "${name}" of the ${sides[side]} cannot be read. ${error.message}`,
          )
      }
      await setTimeout(backOffMs(pauses, failures), undefined, { signal, ref: false })
    }
  }
}

interface FetchParts {
  readonly order: AnalysisOrder
  readonly access: AccountAccess
  readonly signal: AbortSignal
}

const sides: Readonly<Record<ScopeSide, string>> = { control: 'baseline', experiment: 'canary' }

/** Same form as kayenta's engine writes. */
function toFailure({ name, message }: Error, timestamp: number): AnalysisOutcome {
  const text =
    name === 'TimeoutError'
      ? `The metrics were not read within ${longestMs / 60_000} minutes. Compare fewer.`
      : message
  const details = { error: 'Canary analysis failed', errors: [text] }
  return {
    exception: {
      exceptionType: 'CanaryAnalysisFailed',
      operation: 'canary',
      shouldRetry: false,
      timestamp,
      details,
    },
  }
}

/** Same form as kayenta answers. */
export function toAnalysisView(analysis: Analysis): JsonObject {
  const { id, status, createdMs, startedMs, endedMs, order, outcome, measurementsId } = analysis
  const { application, parentPipelineExecutionId, configId, config, request, metricsAccountName } =
    order
  const complete = status !== 'RUNNING'
  return {
    application,
    parentPipelineExecutionId,
    pipelineId: id,
    complete,
    status: status.toLowerCase(),
    stageStatus: stageStatusOf(analysis),
    ...(configId !== undefined && { configId, canaryConfigId: configId }),
    config,
    canaryExecutionRequest: request,
    ...(metricsAccountName !== undefined && { metricsAccountName }),
    ...timesOf('build', createdMs),
    ...timesOf('start', startedMs),
    ...timesOf('end', endedMs),
    ...(measurementsId !== undefined && { metricSetPairListId: measurementsId }),
    ...(outcome.exception !== undefined && { exception: outcome.exception }),
    ...(outcome.result !== undefined && {
      result: {
        ...outcome.result,
        application,
        parentPipelineExecutionId,
        config,
        canaryExecutionRequest: request,
      },
    }),
  }
}

function timesOf(what: 'build' | 'start' | 'end', ms: number | undefined): JsonObject {
  return ms === undefined
    ? {}
    : { [`${what}TimeMillis`]: ms, [`${what}TimeIso`]: new Date(ms).toISOString() }
}

/** Kayenta has a stage for each step. */
function stageStatusOf({ status }: Analysis): Record<string, string> {
  const now = status.toLowerCase()
  return { setupContext: 'succeeded', fetchMetrics: now, mixMetrics: now, judge: now }
}
