/** Answers of the primary to all workers alike: the audit log, limits, wrong passwords, logins, banners. */
import type { AuditSink } from '../audit/audit-sink.ts'
import type { BannerStore } from '../banners/banner-store.ts'
import type { Change } from '../concurrency/changes.ts'
import { MemoryCounters } from '../limits/counters.ts'
import { CompletedLogins } from '../login/completed-logins.ts'
import { type GuessDecision, GuessLimit } from '../login/form/guess-limit.ts'
import type { PrintedMetrics } from '../telemetry/metric-set.ts'
import type { GuessAnswer } from './protocol.ts'
import type { CommonDuties, WorkerProcess } from './worker-process.ts'

interface DutyParts {
  readonly sink: AuditSink | undefined
  readonly bannerStore: BannerStore
  readonly publish: (change: Change, except: WorkerProcess) => Promise<void>
  readonly printMetrics: () => Promise<PrintedMetrics>
}

/** Passwords that are checked at once; beyond that, the oldest check counts as a failure. */
const maxGuesses = 10_000

export function createCommonDuties(
  { sink, bannerStore, publish, printMetrics }: DutyParts,
  guesses: RunningGuesses,
): CommonDuties {
  const now = Date.now
  const counters = new MemoryCounters(now)
  const limit = new GuessLimit(now)
  const logins = new CompletedLogins({ redis: undefined, now })
  const noSink = () => Promise.reject(new Error('nothing is recorded here'))
  let printing: Promise<PrintedMetrics> | undefined
  return {
    append: (events) => sink?.append(events) ?? noSink(),
    findAudit: (query) => sink?.find?.(query) ?? noSink(),
    trimAudit: (maxBytes) => sink?.removeBeyond(maxBytes) ?? noSink(),
    charge: (charge) => counters.charge(charge),
    beginGuess: async (worker, { guess, unlockedAtMs }) => guesses.keep(worker, limit.begin(guess, unlockedAtMs)),
    endGuess: (_worker, { id, outcome }) => guesses.end(id, outcome === 'succeeded'),
    beginLogin: (id) => logins.begin(id),
    completeLogin: (id) => logins.complete(id),
    loadBanners: async () => (await bannerStore.load()) ?? null,
    replaceBanners: ({ before, after }) => bannerStore.replace(before ?? undefined, after),
    publish: (worker, change) => publish(change, worker),
    printMetrics: () => {
      printing ??= printMetrics().finally(() => {
        printing = undefined
      })
      return printing
    },
  }
}

/** Passwords that workers are checking. */
export class RunningGuesses {
  readonly #guesses = new Map<number, { worker: WorkerProcess; decision: Extract<GuessDecision, { kind: 'judged' }> }>()
  #last = 0

  keep(worker: WorkerProcess, decision: GuessDecision): GuessAnswer {
    if (decision.kind === 'wait') return { waitMs: decision.waitMs }
    const id = ++this.#last
    this.#guesses.set(id, { worker, decision })
    if (this.#guesses.size > maxGuesses) this.#guesses.delete(this.#guesses.keys().next().value ?? id)
    return { id }
  }

  end(id: number, hasSucceeded: boolean): void {
    const decision = this.#guesses.get(id)?.decision
    this.#guesses.delete(id)
    if (hasSucceeded) decision?.succeed()
    else decision?.withdraw()
  }

  /** The worker has ended: its guesses count as failures. */
  forget(worker: WorkerProcess): void {
    for (const [id, guess] of this.#guesses) if (guess.worker === worker) this.#guesses.delete(id)
  }
}
