/** The audit log in a stream of Redis: replicas write one chain together. */
import { createRedisScript, type Redis } from '../../redis/redis.ts'
import type { AuditSink } from './audit-sink.ts'
import { type ChainHead, chainStart, parseRecord, sealEvents } from './chain.ts'
import { type AuditEvent, type AuditPage, type AuditQuery, type AuditRecord, matchesQuery, toPage } from './event.ts'

/** Entries are named by the sequence of their record. */
export const auditStream = 'fairlead:audit'

/** Adds records if the chain still ends where they begin, else tells its last record. */
const append = createRedisScript(`
  local last = redis.call('xrevrange', KEYS[1], '+', '-', 'COUNT', 1)[1]
  if (last and last[2][2] or '') ~= ARGV[1] then return last and last[2][4] or '' end
  for i = 2, #ARGV, 3 do redis.call('xadd', KEYS[1], ARGV[i], 'hash', ARGV[i + 1], 'record', ARGV[i + 2]) end
  return 'written'
`)

const portion = 500
/** Of several replicas that write at once, each time one succeeds. */
const maxAttempts = 50

export function createRedisSink(redis: Redis): AuditSink {
  return new RedisSink(redis)
}

class RedisSink implements AuditSink {
  readonly #redis: Redis
  #head: ChainHead = chainStart

  constructor(redis: Redis) {
    this.#redis = redis
  }

  async append(events: readonly AuditEvent[]): Promise<void> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const sealed = sealEvents(this.#head, events)
      const expected = this.#head.sequence === 0 ? '' : this.#head.hash
      const entries = sealed.flatMap(({ record, line }) => [`${record.sequence}-1`, record.hash, line])
      const answer = String(await this.#redis.run(append, auditStream, expected, ...entries))
      if (answer === 'written') {
        this.#head = sealed.at(-1)?.record ?? this.#head
        return
      }
      const last = answer === '' ? chainStart : parseRecord(answer)
      if (last === undefined) throw new Error(`the last entry of ${auditStream} is not a record`)
      this.#head = { sequence: last.sequence, hash: last.hash }
    }
    throw new Error('other replicas were faster each time')
  }

  readonly find = async (query: AuditQuery): Promise<AuditPage> => {
    const found: AuditRecord[] = []
    let end = query.before === undefined ? '+' : `(${query.before}-1`
    for (;;) {
      const records = toRecords(await this.#redis.send('xrevrange', auditStream, end, '-', 'COUNT', portion))
      found.push(...records.filter((record) => matchesQuery(record, query)))
      const oldest = records.at(-1)
      if (found.length > query.limit || oldest === undefined || records.length < portion) {
        return toPage(found.slice(0, query.limit + 1), query.limit)
      }
      if (Date.parse(oldest.at) < (query.fromMs ?? 0)) return toPage(found, query.limit)
      end = `(${oldest.sequence}-1`
    }
  }

  async removeBefore(untilMs: number): Promise<void> {
    for (;;) {
      const records = toRecords(await this.#redis.send('xrange', auditStream, '-', '+', 'COUNT', portion))
      const kept = records.find(({ at }) => Date.parse(at) >= untilMs) ?? records.at(-1)
      if (kept === undefined || kept === records[0]) return
      await this.#redis.send('xtrim', auditStream, 'MINID', `${kept.sequence}-1`)
    }
  }

  async close(): Promise<void> {}
}

/** Of entries as `xrange` answers them: a name, and fields with their values in turn. */
function toRecords(entries: unknown): AuditRecord[] {
  if (!Array.isArray(entries)) return []
  return (entries as [unknown, unknown[]][])
    .map(([, fields]) => parseRecord(String(fields[3])))
    .filter((record) => record !== undefined)
}
