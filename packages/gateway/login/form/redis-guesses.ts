/** Wrong passwords in Redis, counted by all replicas together: one key per counter, whose time to live is how full it is. */
import { hash } from 'node:crypto'
import { createRedisScript, type Redis } from '@fairlead/base/redis/redis.ts'
import type { FastifyBaseLogger } from 'fastify'
import { withTimeout } from '../../limits/redis-counters.ts'
import {
  type CounterName,
  countersOf,
  type Guess,
  type GuessDecision,
  type Guesses,
  guessWindowMs,
  knownForMs,
  limits,
  toPairKey,
} from './guess-limit.ts'

interface RedisGuessesOptions {
  redis: Redis
  /** Counts while Redis is unavailable. */
  fallback: Guesses
  log: FastifyBaseLogger
  now: () => number
}

const prefix = 'fairlead:guess:'

/** Share, room, now, time of an unlock or 0. Answers with the wait; 0: the failure is counted. The value is when counting began. */
const addScript = createRedisScript(`
local filled = math.max(redis.call('pttl', KEYS[1]), 0)
local since = filled > 0 and redis.call('get', KEYS[1]) or ARGV[3]
if tonumber(since) <= tonumber(ARGV[4]) then
  filled = 0
  since = ARGV[3]
end
if filled > tonumber(ARGV[2]) then return filled - ARGV[2] end
redis.call('set', KEYS[1], since, 'px', filled + ARGV[1])
return 0
`)
/** Share. */
const takeBackScript = createRedisScript(`
local filled = redis.call('pttl', KEYS[1]) - ARGV[1]
if filled > 0 then redis.call('pexpire', KEYS[1], filled) else redis.call('unlink', KEYS[1]) end
return 0
`)

export class RedisGuesses implements Guesses {
  readonly #options: RedisGuessesOptions
  #isFailing = false

  constructor(options: RedisGuessesOptions) {
    this.#options = options
  }

  async begin(guess: Guess, unlockedAtMs?: number): Promise<GuessDecision> {
    const { redis, fallback } = this.#options
    if (redis.wasReached() && !redis.isReachable())
      this.#noteFailure(new Error('Redis is not reachable'))
    else {
      try {
        const decision = await withTimeout(this.#begin(guess, unlockedAtMs))
        this.#isFailing = false
        return decision
      } catch (error) {
        this.#noteFailure(error)
      }
    }
    return fallback.begin(guess, unlockedAtMs)
  }

  async #begin(guess: Guess, unlockedAtMs: number | undefined): Promise<GuessDecision> {
    const { redis, now } = this.#options
    const pairKey = keyOf({ kind: 'known', key: toPairKey(guess) })
    const isKnown = guess.browser !== undefined || (await redis.send('exists', pairKey)) === 1
    const counters = countersOf(guess, { isKnown, isUnlocked: unlockedAtMs !== undefined })
    const waits = await Promise.all(
      counters.map(async (counter) => {
        const shareMs = shareOf(counter)
        const forgottenMs = counter.kind === 'network' ? 0 : (unlockedAtMs ?? 0)
        return Number(
          await redis.run(
            addScript,
            keyOf(counter),
            shareMs,
            guessWindowMs - shareMs,
            Math.round(now()),
            Math.round(forgottenMs),
          ),
        )
      }),
    )
    const waitMs = Math.max(...waits)
    if (waitMs > 0) {
      await this.#takeBack(counters.filter((_, index) => waits[index] === 0))
      return { kind: 'wait', waitMs }
    }
    const [own, ...others] = counters
    return {
      kind: 'counted',
      withdraw: () => this.#inBackground(this.#takeBack(counters)),
      succeed: () => {
        const known = redis.send('set', pairKey, '1', 'PX', knownForMs)
        this.#inBackground(
          Promise.all([redis.send('unlink', keyOf(own)), known, this.#takeBack(others)]),
        )
      },
    }
  }

  async #takeBack(counters: readonly CounterName[]): Promise<void> {
    await Promise.all(
      counters.map((counter) =>
        this.#options.redis.run(takeBackScript, keyOf(counter), shareOf(counter)),
      ),
    )
  }

  /** The failure that stays counted ends by itself. */
  #inBackground(work: Promise<unknown>): void {
    work.catch((error: unknown) => this.#noteFailure(error))
  }

  #noteFailure(error: unknown): void {
    if (!this.#isFailing) {
      this.#options.log.error(
        { err: error },
        'Redis cannot count wrong passwords; each replica counts for itself until it can',
      )
    }
    this.#isFailing = true
  }
}

function shareOf({ kind }: CounterName): number {
  return guessWindowMs / limits[kind]
}

/** Users type passwords in the wrong field, so names themselves are not stored. */
function keyOf({ kind, key }: { readonly kind: string; readonly key: string }): string {
  return `${prefix}${kind}:${hash('sha256', key, 'base64url')}`
}
