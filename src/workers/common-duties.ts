/** Answers of the primary to all workers alike: the audit log, limits, wrong passwords, logins, banners. */
import type { AuditSink } from '../audit/audit-sink.ts'
import type { BannerStore } from '../banners/banner-store.ts'
import { BoundedMap } from '../caches/bounded-map.ts'
import { sharedWork } from '../concurrency/shared-work.ts'
import { MemoryCounters } from '../limits/counters.ts'
import { CompletedLogins } from '../login/completed-logins.ts'
import { type GuessDecision, GuessLimit } from '../login/form/guess-limit.ts'
import type { PrintedMetrics } from '../telemetry/metric-set.ts'
import type { PrimaryDuties } from './protocol.ts'

interface DutyParts {
  readonly sink: AuditSink | undefined
  readonly bannerStore: BannerStore
  readonly printMetrics: () => Promise<PrintedMetrics>
}

type GuessDuties = Pick<PrimaryDuties, 'beginGuess' | 'endGuess'>
type CommonDuties = Omit<PrimaryDuties, 'ready' | 'failed' | 'taken' | 'closed' | 'lastMetrics' | 'publish' | keyof GuessDuties>

/** Passwords that a worker checks at once; beyond that, the oldest check counts as a failure. */
const maxGuesses = 10_000

/** @returns makes the duties toward one worker */
export function createDuties({ sink, bannerStore, printMetrics }: DutyParts): () => CommonDuties & GuessDuties {
  const now = Date.now
  const counters = new MemoryCounters(now)
  const limit = new GuessLimit(now)
  const logins = new CompletedLogins({ redis: undefined, now })
  const noSink = () => Promise.reject(new Error('nothing is recorded here'))
  const common: CommonDuties = {
    append: (events) => sink?.append(events) ?? noSink(),
    findAudit: (query) => sink?.find?.(query) ?? noSink(),
    trimAudit: (maxBytes) => sink?.removeBeyond(maxBytes) ?? noSink(),
    charge: (charge) => counters.charge(charge),
    beginLogin: (id) => logins.begin(id),
    completeLogin: (id) => logins.complete(id),
    loadBanners: async () => (await bannerStore.load()) ?? null,
    replaceBanners: ({ before, after }) => bannerStore.replace(before ?? undefined, after),
    printMetrics: sharedWork(printMetrics),
  }
  return () => ({ ...common, ...createGuessDuties(limit) })
}

/** What a worker still checks when its process ends counts as failures. */
function createGuessDuties(limit: GuessLimit): GuessDuties {
  const guesses = new BoundedMap<number, Extract<GuessDecision, { kind: 'judged' }>>(maxGuesses)
  let last = 0
  return {
    beginGuess: async ({ guess, unlockedAtMs }) => {
      const decision = limit.begin(guess, unlockedAtMs)
      if (decision.kind === 'wait') return { waitMs: decision.waitMs }
      guesses.set(++last, decision)
      return { id: last }
    },
    endGuess: ({ id, outcome }) => {
      const decision = guesses.get(id)
      guesses.delete(id)
      if (outcome === 'succeeded') decision?.succeed()
      else decision?.withdraw()
    },
  }
}
