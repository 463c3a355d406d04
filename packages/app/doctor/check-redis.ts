/** Checks Redis: connection, and every permission that the stores need. */
import { createHash, randomBytes, randomUUID, X509Certificate } from 'node:crypto'
import { blocksOf, checkExpiry } from '@fairlead/base/findings/expiry.ts'
import {
  type Check,
  createCheck,
  type Finding,
  type Timeouts,
} from '@fairlead/base/findings/finding.ts'
import { openRedis } from '@fairlead/base/redis/open-redis.ts'
import { adviceFor, type Redis } from '@fairlead/base/redis/redis.ts'
import { describePlace } from '@fairlead/base/redis/settings.ts'
import { chargeIn, limitKeyPrefix } from '@fairlead/gateway/limits/redis-counters.ts'
import { runTimeLimitKeys } from '@fairlead/gateway/limits/run-time-limits.ts'
import { CompletedLogins } from '@fairlead/gateway/login/completed-logins.ts'
import {
  openTokenStore,
  type StoredToken,
  type TokenStore,
} from '@fairlead/gateway/login/tokens/token-store.ts'
import { createRedisSessions } from '@fairlead/gateway/sessions/sessions.ts'
import pino from 'pino'
import type { Config } from '../config/config.ts'

const lifeMs = 5000

export async function checkRedis(
  config: Config,
  { answerMs }: Timeouts,
  now: () => number,
): Promise<Check[]> {
  const { redis: settings } = config
  if (settings === undefined) return []
  const check = createCheck(`Redis ${describePlace(settings)}`, async (report) => {
    const complaints: string[] = []
    const log = pino(
      { level: 'error' },
      { write: (line: string) => void complaints.push(reasonIn(line)) },
    )
    const redis = await openRedis(
      { ...settings, timeoutMs: Math.min(settings.timeoutMs, answerMs) },
      log,
    )
    try {
      const found: Finding[] = []
      for (const [tried, attempt] of await usesOf(redis, config, now)) {
        const error = await attempt().then(
          () => undefined,
          (thrown: Error) => thrown,
        )
        if (error === undefined) {
          found.push(report.ok(tried, 'done'))
          continue
        }
        const reason = complaints[0] ?? error.message
        const advice = adviceFor(error, settings) ?? adviceFor(new Error(reason), settings)
        found.push(
          report.problem(tried, reason, advice ?? 'check the address and whether Redis runs there'),
        )
        // A server that does not answer a ping answers nothing else.
        if (found.length === 1) break
      }
      return found
    } finally {
      await redis.close()
    }
  })
  const authorities = blocksOf(settings.tls?.ca ?? '')
  const advice = 'add the authority that follows it to redis.tls.caFile'
  return [
    check,
    createCheck('Redis, redis.tls.caFile', (report) =>
      authorities.map((pem) =>
        checkExpiry(
          report,
          { what: 'the authority of the server', certificate: new X509Certificate(pem), advice },
          now(),
        ),
      ),
    ),
  ]
}

type Use = readonly [tried: string, attempt: () => Promise<unknown>]

async function usesOf(
  redis: Redis,
  { login, rateLimit, backends }: Config,
  now: () => number,
): Promise<Use[]> {
  const name = `doctor-${randomBytes(12).toString('hex')}`
  const ofMethods = await Promise.all(
    login.methods.map(({ type }) => type.redisUses?.(redis, name, now) ?? []),
  )
  const { tokens } = login
  const owner = `fairlead ${name}`
  const sessions = createRedisSessions(redis, { idleMs: lifeMs, now })
  const session = () => ({ content: '{}', endsAtMs: now() + lifeMs, owner })
  return [
    ['ping', () => redis.send('ping')],
    ['write a session', () => sessions.put(name, session())],
    ['read it', () => sessions.get(name)],
    ['prolong it', () => sessions.extend(name, session())],
    ['list the sessions of its user', () => sessions.keysOf(owner, 0, 1)],
    ['remove it', () => sessions.remove([name], owner)],
    [
      'look for sessions, as ending all of them does',
      () => firstOf(redis.scan(`spring:session:fairlead:${name}*`)),
    ],
    ['ask for a completed login', () => new CompletedLogins({ redis, now }).begin(name)],
    ...ofMethods.flat(),
    ...(tokens === undefined
      ? []
      : tokenUses(
          openTokenStore({
            ...tokens,
            redis,
            now,
            dataDir: backends.dataDir,
            log: pino({ level: 'silent' }),
          }),
          name,
          now(),
        )),
    ...(rateLimit.enabled && rateLimit.shared ? limitUses(redis, name) : []),
  ]
}

function limitUses(redis: Redis, name: string): Use[] {
  const charge = { key: name, periodMs: lifeMs, cost: 1, counts: [{ field: 'all', capacity: 1 }] }
  return [
    ['count requests, by a script', () => chargeIn(redis, limitKeyPrefix + name, charge)],
    ['forget the count', () => redis.send('unlink', limitKeyPrefix + name)],
    [
      'read the limits that are set in Redis',
      () => redis.send('get', `${runTimeLimitKeys.capacity}${name}`),
    ],
    ['read who is limited in any case', () => redis.send('smembers', runTimeLimitKeys.enforcing)],
  ]
}

/** The secret of this token is not stored anywhere, not even in the doctor. */
function tokenUses(store: TokenStore, name: string, nowMs: number): Use[] {
  const hash = createHash('sha256').update(randomBytes(32)).digest('hex')
  const token: StoredToken = {
    id: randomUUID(),
    name,
    principal: { type: 'SERVICE_ACCOUNT', id: `fairlead ${name}` },
    createdBy: 'fairlead doctor',
    createdAtMs: nowMs,
    expiresAtMs: nowMs + lifeMs,
    limits: { readOnly: true },
    secret: { hash, sinceMs: nowMs },
  }
  return [
    ['write an API token', () => store.insert(token)],
    ['find it', () => store.findByHash(hash)],
    ['note its use', () => store.recordUse(token.id, nowMs)],
    ['list the tokens of its owner', () => store.ofPrincipal(token.principal)],
    ['list all tokens of service accounts', () => store.listAll('SERVICE_ACCOUNT')],
    ['revoke it', () => store.remove(token.id)],
  ]
}

async function firstOf(portions: AsyncIterable<unknown>): Promise<unknown> {
  for await (const portion of portions) return portion
  return undefined
}

function reasonIn(line: string): string {
  const { err, msg } = JSON.parse(line) as {
    err?: { message?: string; code?: string }
    msg?: string
  }
  return err?.message || err?.code || (msg ?? 'no answer')
}
