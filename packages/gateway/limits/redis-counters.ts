/** Rate limit counters in Redis, shared by replicas: one hash per window. */

import { within } from '@fairlead/base/concurrency/within.ts'
import { createRedisScript, type Redis } from '@fairlead/base/redis/redis.ts'
import type { FastifyBaseLogger } from 'fastify'
import { type Charge, type ChargeResult, type Counters, costIn } from './counters.ts'

/** While Redis fails, one request in this time tries it again, and none waits for it. */
const pauseMs = 1000

export const limitKeyPrefix = 'fairlead:limit:'

/** Length of the period, then name, cost and capacity of each count. Answers as `Charged`, milliseconds second. */
const script = createRedisScript(`
local remaining = redis.call('pttl', KEYS[1])
local answer = {1, remaining}
for i = 2, #ARGV, 3 do
  local used = tonumber(redis.call('hget', KEYS[1], ARGV[i]) or 0)
  if used + ARGV[i + 1] > tonumber(ARGV[i + 2]) then answer[1] = 0 end
  answer[#answer + 1] = used
end
if answer[1] == 1 then
  for i = 2, #ARGV, 3 do
    local at = 3 + (i - 2) / 3
    answer[at] = answer[at] + ARGV[i + 1]
    redis.call('hset', KEYS[1], ARGV[i], answer[at])
  end
end
if remaining < 0 then
  redis.call('pexpire', KEYS[1], ARGV[1])
  answer[2] = tonumber(ARGV[1])
end
return answer
`)

interface RedisCountersOptions {
  redis: Redis
  log: FastifyBaseLogger
  /** Counts while Redis is unavailable; without it, no request is limited then. */
  fallback?: Counters
  onUncounted: () => void
}

export class RedisCounters implements Counters {
  readonly #options: RedisCountersOptions
  #failing = false
  #pausedUntilMs = 0

  constructor(options: RedisCountersOptions) {
    this.#options = options
  }

  charge(charge: Charge): Promise<ChargeResult | undefined> {
    const { redis } = this.#options
    const isGone = redis.wasReached() && !redis.isReachable()
    if (isGone) this.#fail(new Error('Redis is not reachable'))
    if (!isGone && !this.#failing) return this.#try(charge)
    if (!isGone && performance.now() >= this.#pausedUntilMs) {
      this.#pausedUntilMs = performance.now() + pauseMs
      void this.#try({ ...charge, cost: 0 })
    }
    return this.#chargeWithout(charge)
  }

  async #try(charge: Charge): Promise<ChargeResult | undefined> {
    const { redis, log } = this.#options
    try {
      const result = await withTimeout(chargeIn(redis, limitKeyPrefix + charge.key, charge))
      if (this.#failing) log.info('requests are counted again')
      this.#failing = false
      return result
    } catch (error) {
      this.#fail(error as Error)
      return charge.cost === 0 ? undefined : this.#chargeWithout(charge)
    }
  }

  async #chargeWithout(charge: Charge): Promise<ChargeResult | undefined> {
    this.#options.onUncounted()
    return this.#options.fallback?.charge(charge)
  }

  #fail(error: Error): void {
    if (!this.#failing) {
      const meanwhile =
        this.#options.fallback === undefined
          ? 'they are not limited'
          : 'each replica counts for itself'
      this.#options.log.error(
        { err: error },
        `Redis cannot count requests; ${meanwhile} until it can`,
      )
      this.#pausedUntilMs = performance.now() + pauseMs
    }
    this.#failing = true
  }
}

export async function chargeIn(
  redis: Redis,
  key: string,
  { periodMs, cost, counts }: Charge,
): Promise<ChargeResult> {
  const charged = counts.flatMap((count) => [count.field, costIn(count, cost), count.capacity])
  const answer: unknown = await redis.run(script, key, periodMs, ...charged)
  if (!isNumbers(answer)) throw new Error('Redis answered with something else than numbers')
  const [fits, remainingMs, ...used] = answer
  return { fits: fits === 1, remainingMs: remainingMs ?? 0, used }
}

function isNumbers(answer: unknown): answer is number[] {
  return (
    Array.isArray(answer) && answer.length > 2 && answer.every((value) => typeof value === 'number')
  )
}

const timeoutMs = 250

export function withTimeout<T>(answer: Promise<T>): Promise<T> {
  return within(timeoutMs, answer, () => {
    throw new Error(`no answer within ${timeoutMs} ms`)
  })
}
