/** The audit log in a SQLite file, which can be searched. */
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { toUserKey } from '@fairlead/base/names/user-name.ts'
import { GroupCommit } from '@fairlead/base/storage/group-commit.ts'
import { openPrivateDatabase } from '@fairlead/base/storage/private-files.ts'
import { type ChainHead, chainStart, formatCanonical, parseRecord, sealEvents } from './chain.ts'
import {
  type AuditEvent,
  type AuditPage,
  type AuditQuery,
  type AuditRecord,
  type AuditSink,
  namesApplication,
  toPage,
} from './event.ts'

/** The columns beside the record serve the search; `readAuditFile` compares them with it. */
const schema = `
  CREATE TABLE IF NOT EXISTS events_1 (
    sequence INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    user TEXT,
    operation TEXT,
    application TEXT,
    decision TEXT NOT NULL,
    record TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS events_1_by_time ON events_1 (at_ms);
  DROP INDEX IF EXISTS events_1_by_user;
  CREATE INDEX IF NOT EXISTS events_1_by_user_2 ON events_1 (user COLLATE NOCASE) WHERE user IS NOT NULL;
  CREATE INDEX IF NOT EXISTS events_1_by_operation ON events_1 (operation) WHERE operation IS NOT NULL;
  DROP INDEX IF EXISTS events_1_by_application;
  CREATE INDEX IF NOT EXISTS events_1_refused ON events_1 (decision) WHERE decision <> 'allowed';
`

const columns = ['user', 'operation', 'application', 'decision'] as const
const removedAtOnce = 2000
/** Records that are searched at once: at first, at least, and how long that may take. */
const firstRange = 2000
const minRange = 200
const rangeMs = 5
/** What is left when the log was too large, so that it does not become so again at once. */
const spared = 0.9

export function openSqliteSink(file: string): AuditSink {
  let db: DatabaseSync | undefined
  try {
    db = openPrivateDatabase(file)
    // Small, since the log is written at its end and seldom read.
    db.exec(
      'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 200; PRAGMA cache_size = -256',
    )
    db.exec(schema)
    db.function('user_key', (name) => toUserKey(String(name)))
    db.function('names_application', (name, wanted) =>
      Number(namesApplication(String(name), String(wanted))),
    )
    return new SqliteSink(db, file)
  } catch (error) {
    db?.close()
    throw new Error(
      `the audit log ${file} cannot be used: ${(error as Error).message}. Move it away, or name another audit.sink.`,
      { cause: error },
    )
  }
}

class SqliteSink implements AuditSink {
  readonly #db: DatabaseSync
  readonly #file: string
  readonly #commits: GroupCommit
  readonly #insert: StatementSync
  /** Rejects the batch that waits for the disk. */
  #fail: ((failure: Error) => void) | undefined
  #head: ChainHead

  constructor(db: DatabaseSync, file: string) {
    this.#db = db
    this.#file = file
    this.#commits = new GroupCommit(db, { end: (failure) => this.#fail?.(failure) })
    this.#insert = db.prepare('INSERT INTO events_1 VALUES (?, ?, ?, ?, ?, ?, ?)')
    const row = db.prepare('SELECT record FROM events_1 ORDER BY sequence DESC LIMIT 1').get()
    const last = row === undefined ? chainStart : parseRecord(String(row['record']))
    if (last === undefined) throw new Error('its last record is not readable')
    this.#head = { sequence: last.sequence, hash: last.hash }
  }

  async append(events: readonly AuditEvent[]): Promise<void> {
    const sealed = sealEvents(this.#head, events)
    this.#commits.transact(() => {
      for (const { record, line } of sealed) {
        this.#insert.run(
          record.sequence,
          Date.parse(record.at),
          ...columns.map((name) => record[name] ?? null),
          line,
        )
      }
    })
    this.#head = sealed.at(-1)?.record ?? this.#head
    await new Promise<void>((resolve, reject) => {
      this.#fail = reject
      this.#commits.whenStored(resolve)
    })
  }

  async find(query: AuditQuery): Promise<AuditPage> {
    const conditions: [string, SQLInputValue | undefined][] = [
      ofUser(query.user),
      ['operation = ?', query.operation],
      ['application IS NOT NULL AND names_application(application, ?)', query.application],
      ['decision = ?', query.decision],
      ["record ->> 'kind' = ?", query.kind],
      ["record ->> 'address' = ?", query.address],
      ['at_ms >= ?', query.fromMs],
      ['at_ms < ?', query.toMs],
    ]
    const given = conditions.filter(([, value]) => value !== undefined)
    const where = ['sequence < ?', 'sequence >= ?', ...given.map(([condition]) => condition)].join(
      ' AND ',
    )
    const select = this.#db.prepare(
      `SELECT record FROM events_1 WHERE ${where} ORDER BY sequence DESC LIMIT ?`,
    )
    const values = given.map(([, value]) => value as SQLInputValue)
    const found: AuditRecord[] = []
    for await (const [from, before] of this.#ranges(query.before)) {
      for (const row of select.all(before, from, ...values, query.limit + 1 - found.length)) {
        const record = parseRecord(String(row['record']))
        if (record !== undefined) found.push(record)
      }
      if (found.length > query.limit) break
    }
    return toPage(found, query.limit)
  }

  /** Ranges of sequences from the newest on. Requests get their turn in between, so slow searches get shorter ranges. */
  async *#ranges(
    before = Number.POSITIVE_INFINITY,
  ): AsyncIterable<readonly [from: number, before: number]> {
    const first = Number(
      this.#db.prepare('SELECT min(sequence) AS first FROM events_1').get()?.['first'] ?? 1,
    )
    let size = firstRange
    for (let end = Math.min(before, this.#head.sequence + 1); end > first; ) {
      const from = Math.max(first, end - size)
      const startedMs = performance.now()
      yield [from, end]
      const tookMs = performance.now() - startedMs
      if (tookMs < rangeMs / 2) size *= 2
      else if (tookMs > rangeMs) size = Math.max(minRange, Math.floor(size / 2))
      end = from
      await setImmediate()
    }
  }

  async *since(fromMs: number): AsyncIterable<AuditRecord> {
    for (const row of this.#db
      .prepare('SELECT record FROM events_1 WHERE at_ms >= ?')
      .iterate(fromMs)) {
      const record = parseRecord(String(row['record']))
      if (record !== undefined) yield record
    }
  }

  lines(): Iterable<string> {
    return readAuditFile(this.#file)
  }

  async removeBefore(untilMs: number): Promise<void> {
    const row = this.#db
      .prepare('SELECT min(sequence) AS kept FROM events_1 WHERE at_ms >= ?')
      .get(untilMs)
    await this.#removeUntil(Number(row?.['kept'] ?? this.#head.sequence))
  }

  /** The file keeps its size: the room is used for what comes. */
  async removeBeyond(maxBytes: number): Promise<boolean> {
    let removed = false
    for (let used = this.#usedBytes(); used > maxBytes; used = this.#usedBytes()) {
      const row = this.#db
        .prepare('SELECT min(sequence) AS first, count(*) AS records FROM events_1')
        .get()
      const [first, records] = [Number(row?.['first']), Number(row?.['records'])]
      if (records <= 1) break
      await this.#removeUntil(
        Math.min(
          first + Math.ceil(records * (1 - (maxBytes / used) * spared)),
          this.#head.sequence,
        ),
      )
      removed = true
    }
    return removed
  }

  #usedBytes(): number {
    const read = (pragma: string) =>
      Number(Object.values(this.#db.prepare(`PRAGMA ${pragma}`).get() ?? {})[0])
    return (read('page_count') - read('freelist_count')) * read('page_size')
  }

  async #removeUntil(kept: number): Promise<void> {
    const remove = this.#db.prepare(
      'DELETE FROM events_1 WHERE sequence IN (SELECT sequence FROM events_1 WHERE sequence < ? ORDER BY sequence LIMIT ?)',
    )
    while (Number(remove.run(kept, removedAtOnce).changes) === removedAtOnce) {
      await setImmediate()
    }
  }

  async close(): Promise<void> {
    await this.#commits.close()
    this.#db.close()
  }
}

/** By the key of the user, and with the index where letters of ASCII are all that differs in case. */
function ofUser(user: string | undefined): [string, SQLInputValue | undefined] {
  const isPlain = user === undefined || /^[\x20-\x7e]*$/.test(user)
  return isPlain ? ['user = ? COLLATE NOCASE', user] : ['user_key(user) = ?', toUserKey(user)]
}

/** The lines of a file, also while a gateway writes it. A row whose columns say something else than its record counts as altered. */
export function* readAuditFile(file: string): Generator<string> {
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    for (const row of db.prepare('SELECT * FROM events_1 ORDER BY sequence').iterate()) {
      const line = String(row['record'])
      const record = parseRecord(line)
      yield record === undefined || agrees(row, record)
        ? line
        : formatCanonical({ ...record, columns: { ...row, record: undefined } })
    }
  } finally {
    db.close()
  }
}

function agrees(row: Readonly<Record<string, unknown>>, record: AuditRecord): boolean {
  return (
    row['sequence'] === record.sequence &&
    row['at_ms'] === Date.parse(record.at) &&
    columns.every((name) => row[name] === (record[name] ?? null))
  )
}
