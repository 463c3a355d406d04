/** The stores that sessions can live in, as the one suite that all of them pass sees them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { openRedis } from '../../packages/base/redis/open-redis.ts'
import type { Redis } from '../../packages/base/redis/redis.ts'
import { openSessions, type Sessions } from '../../packages/gateway/sessions/sessions.ts'
import type { SessionSettings } from '../../packages/gateway/sessions/settings.ts'
import { type RedisServer, startRedis } from '../support/redis.ts'
import {
  type Clock,
  createClock,
  openTestSessions,
  sessionSettings,
  silentLog,
  temporaryDirectory,
} from './support.ts'

/** A place with sessions that any number of replicas share. */
export interface Place {
  readonly clock: Clock
  openReplica(settings?: Partial<SessionSettings>): Promise<Sessions>
  /** Lets time pass, for the gateway and for the store. */
  pass(ms: number): Promise<void>
  /** Writes something under the keys of sessions that no gateway would. */
  plant(contents: ReadonlyMap<string, string>): Promise<void>
  /** Everything in the store. */
  dump(): Promise<string>
  /** Makes the store unable to answer, and able again. */
  breakDown(): Promise<void>
  repair(): Promise<void>
}

export interface StoreUnderTest {
  readonly name: string
  /** Undefined when what it needs is not installed; the test is skipped then. */
  open(t: TestContext): Promise<Place | undefined>
}

export const stores: readonly StoreUnderTest[] = [
  { name: 'SQLite', open: async (t) => createSqlitePlace(t) },
  {
    name: 'Redis',
    async open(t) {
      const redis = await startRedis(t)
      return redis && createRedisPlace(t, redis)
    },
  },
]

function createSqlitePlace(t: TestContext): Place {
  const clock = createClock()
  const dataDir = temporaryDirectory(t)
  const withDatabase = (use: (db: DatabaseSync) => void) => {
    const db = new DatabaseSync(join(dataDir, 'sessions.db'))
    use(db)
    db.close()
  }
  return {
    clock,
    openReplica: async (settings) => openTestSessions(t, dataDir, clock, settings),
    pass: async (ms) => {
      clock.nowMs += ms
    },
    plant: async (contents) =>
      withDatabase((db) => {
        db.exec('BEGIN')
        const insert = db.prepare(
          'INSERT OR REPLACE INTO sessions_2 (key, content, expires_at_ms, owner) VALUES (?, ?, ?, NULL)',
        )
        for (const [key, content] of contents) insert.run(key, content, 9_999_999_999_999)
        db.exec('COMMIT')
      }),
    dump: async () =>
      ['', '-wal']
        .map((suffix) => readFileSync(join(dataDir, `sessions.db${suffix}`)).toString('latin1'))
        .join(''),
    breakDown: async () => withDatabase((db) => db.exec('ALTER TABLE sessions_2 RENAME TO gone')),
    repair: async () => withDatabase((db) => db.exec('ALTER TABLE gone RENAME TO sessions_2')),
  }
}

const prefix = 'spring:session:fairlead:'

/** A connection of its own to a server without user and TLS, as a replica has it. */
export async function connect(t: TestContext, redis: RedisServer): Promise<Redis> {
  const connection = await openRedis(
    {
      place: { kind: 'server', host: '127.0.0.1', port: redis.port },
      username: undefined,
      password: undefined,
      database: 0,
      tls: undefined,
      timeoutMs: 3000,
      relaxedHealth: true,
    },
    silentLog,
  )
  t.after(() => connection.close())
  return connection
}

export function createRedisPlace(t: TestContext, redis: RedisServer): Place {
  const clock = createClock()
  return {
    clock,
    async openReplica(settings) {
      const connection = await connect(t, redis)
      return openSessions({
        settings: { ...sessionSettings, ...settings },
        dataDir: '/nowhere',
        redis: connection,
        contextPath: '',
        log: silentLog,
        now: clock.now,
      })
    },
    async pass(ms) {
      clock.nowMs += ms
      await letTimePass(redis, ms)
    },
    async plant(contents) {
      const entries = [...contents]
      const portion = 1000
      for (let from = 0; from < entries.length; from += portion) {
        const some = entries
          .slice(from, from + portion)
          .flatMap(([key, content]) => [prefix + key, content])
        const script =
          "for i = 1, #ARGV, 2 do redis.call('SET', ARGV[i], ARGV[i + 1], 'EX', 3600) end"
        await redis.ask('eval', script, 0, ...some)
      }
    },
    async dump() {
      const keys = (await redis.ask('keys', '*')) as string[]
      const values = await Promise.all(
        keys.map(
          async (key) =>
            `${key} ${await redis.ask('get', key).catch(() => redis.ask('zrange', key, 0, -1))}`,
        ),
      )
      return values.join('\n')
    },
    breakDown: () => redis.kill(),
    repair: () => redis.start(),
  }
}

/** Makes everything in Redis older. */
export async function letTimePass(redis: RedisServer, ms: number): Promise<void> {
  const script = `
    for _, key in ipairs(redis.call('KEYS', '*')) do
      local rest = redis.call('PTTL', key)
      if rest > 0 then redis.call('PEXPIRE', key, rest - tonumber(ARGV[1])) end
    end`
  await redis.ask('eval', script, 0, ms)
}
