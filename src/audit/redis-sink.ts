/** The audit log in a stream of Redis: replicas write one chain together. */
import { createRedisScript, type Redis } from '../redis/redis.ts'
import type { AuditSink } from './audit-sink.ts'
import { type ChainHead, chainStart, formatCanonical, parseRecord, sealEvents } from './chain.ts'
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
/** Memory of an entry beside its record. */
const overheadBytes = 180
/** What is left when the log was too large, so that it does not become so again at once. */
const spared = 0.9
/** When several replicas write at once, one succeeds each time. */
const maxAttempts = 50

export class RedisSink implements AuditSink {
  readonly isShared = true
  readonly #redis: Redis
  readonly #stream: string
  #head: ChainHead = chainStart

  /** @param stream Another one, for checking the rights of the Redis user */
  constructor(redis: Redis, stream = auditStream) {
    this.#redis = redis
    this.#stream = stream
  }

  async append(events: readonly AuditEvent[]): Promise<void> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const sealed = sealEvents(this.#head, events)
      const expected = this.#head.sequence === 0 ? '' : this.#head.hash
      const entries = sealed.flatMap(({ record, line }) => [`${record.sequence}-1`, record.hash, line])
      const answer = String(await this.#redis.run(append, this.#stream, expected, ...entries))
      const end = sealed.at(-1)?.record ?? this.#head
      const last = answer === '' ? chainStart : answer === 'written' ? end : parseRecord(answer)
      if (last === undefined) throw new Error(`the last entry of ${this.#stream} is not a record`)
      this.#head = { sequence: last.sequence, hash: last.hash }
      // A command that was sent again after its connection broke finds what it has written the first time.
      if (last.hash === end.hash) return
    }
    throw new Error('other replicas were faster each time')
  }

  async find(query: AuditQuery): Promise<AuditPage> {
    const found: AuditRecord[] = []
    for await (const records of this.#portions(query.before)) {
      found.push(...records.filter((record) => matchesQuery(record, query)))
      if (found.length > query.limit || isBefore(records.at(-1), query.fromMs)) break
    }
    return toPage(found.slice(0, query.limit + 1), query.limit)
  }

  async *since(fromMs: number): AsyncIterable<AuditRecord> {
    for await (const records of this.#portions(undefined)) {
      yield* records.filter((record) => !isBefore(record, fromMs))
      if (isBefore(records.at(-1), fromMs)) return
    }
  }

  lines(): AsyncIterable<string> {
    return readAuditStream(this.#redis, this.#stream)
  }

  /** From the newest to the oldest. */
  async *#portions(before: number | undefined): AsyncIterable<AuditRecord[]> {
    let end = before === undefined ? '+' : `(${before}-1`
    for (;;) {
      const records = toRecords(await this.#redis.send('xrevrange', this.#stream, end, '-', 'COUNT', portion))
      yield records
      const oldest = records.at(-1)
      if (oldest === undefined || records.length < portion) return
      end = `(${oldest.sequence}-1`
    }
  }

  async removeBefore(untilMs: number): Promise<void> {
    for (;;) {
      const records = toRecords(await this.#redis.send('xrange', this.#stream, '-', '+', 'COUNT', portion))
      const kept = records.find(({ at }) => Date.parse(at) >= untilMs) ?? records.at(-1)
      if (kept === undefined || kept === records[0]) return
      await this.#trim(kept.sequence)
    }
  }

  /** As large as the newest records let expect. */
  async removeBeyond(maxBytes: number): Promise<boolean> {
    const [oldest] = toRecords(await this.#redis.send('xrange', this.#stream, '-', '+', 'COUNT', 1))
    const newest = toRecords(await this.#redis.send('xrevrange', this.#stream, '+', '-', 'COUNT', portion))
    const [last] = newest
    if (oldest === undefined || last === undefined) return false
    const meanBytes = overheadBytes + newest.reduce((sum, record) => sum + formatCanonical(record).length, 0) / newest.length
    if ((last.sequence + 1 - oldest.sequence) * meanBytes <= maxBytes) return false
    const first = last.sequence + 1 - Math.max(1, Math.floor((maxBytes * spared) / meanBytes))
    await this.#trim(first)
    return true
  }

  async #trim(first: number): Promise<void> {
    await this.#redis.send('xtrim', this.#stream, 'MINID', `${first}-1`)
  }

  async close(): Promise<void> {}
}

/** The lines of the stream, the oldest first, also while gateways write it. An entry whose name or hash says something else counts as altered. */
export async function* readAuditStream(redis: Redis, stream = auditStream): AsyncGenerator<string> {
  let start = '-'
  for (;;) {
    const entries = (await redis.send('xrange', stream, start, '+', 'COUNT', portion)) as [string, string[]][]
    for (const [id, fields] of entries) {
      const line = String(fields[3])
      const record = parseRecord(line)
      const agrees = record === undefined || (id === `${record.sequence}-1` && fields[1] === record.hash)
      yield agrees ? line : formatCanonical({ ...record, entry: [id, fields[1]] })
    }
    const last = entries.at(-1)
    if (last === undefined || entries.length < portion) return
    start = `(${last[0]}`
  }
}

function isBefore(record: AuditRecord | undefined, fromMs = -Infinity): boolean {
  return record !== undefined && Date.parse(record.at) < fromMs
}

/** Reads entries as `xrange` answers them: a name, and fields with their values in turn. */
function toRecords(entries: unknown): AuditRecord[] {
  if (!Array.isArray(entries)) return []
  return (entries as [unknown, unknown[]][])
    .map(([, fields]) => parseRecord(String(fields[3])))
    .filter((record) => record !== undefined)
}
