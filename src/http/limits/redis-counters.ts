/** Counts requests in Redis, for all replicas together: a hash per window, charged by one script. */
import type { FastifyBaseLogger } from 'fastify'
import { createRedisScript, type Redis } from '../../redis/redis.ts'
import { type Charge, type Charged, type Counters, costIn } from './counters.ts'

/** A request waits no longer than this to be counted, and after a failure none does for a while. */
const patienceMs = 250
const pauseMs = 1000

const keyPrefix = 'fairlead:limit:'

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

export interface RedisCountersOptions {
  redis: Redis
  log: FastifyBaseLogger
  /** Told about every request that could not be counted. */
  onUncounted: () => void
}

export class RedisCounters implements Counters {
  readonly #options: RedisCountersOptions
  /** On the monotonic clock. */
  #pausedUntilMs = 0
  #complained = false

  constructor(options: RedisCountersOptions) {
    this.#options = options
  }

  /** Undefined when Redis does not answer in time, or has something else under the key. */
  async charge(charge: Charge): Promise<Charged | undefined> {
    const { redis, log, onUncounted } = this.#options
    if (performance.now() < this.#pausedUntilMs) {
      onUncounted()
      return undefined
    }
    try {
      const charged = toCharged(await withPatience(redis.run(script, keyPrefix + charge.key, ...toArguments(charge))))
      if (this.#complained) log.info('requests are counted again')
      this.#complained = false
      return charged
    } catch (error) {
      this.#pausedUntilMs = performance.now() + pauseMs
      if (!this.#complained) log.error({ err: error }, 'Redis cannot count requests; they are not limited until it can')
      this.#complained = true
      onUncounted()
      return undefined
    }
  }
}

function toArguments({ periodMs, cost, counts }: Charge): (string | number)[] {
  return [periodMs, ...counts.flatMap((count) => [count.field, costIn(count, cost), count.capacity])]
}

function toCharged(answer: unknown): Charged {
  const [fits, remainingMs, ...used] = answer as number[]
  return { fits: fits === 1, remainingMs: Number(remainingMs), used: used.map(Number) }
}

async function withPatience<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${patienceMs} ms`)), patienceMs)
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}
