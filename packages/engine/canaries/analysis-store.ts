/** Tables of canary analyses and their measurements. */
import { promisify } from 'node:util'
import { inflate } from 'node:zlib'
import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import { type JsonObject, objectOf } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { inTransaction } from '@fairlead/base/storage/database.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { AnalysisOrder } from './analysis-order.ts'

export const analysisMigrations = [
  `
  CREATE TABLE canaries_analyses (
    position    INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT NOT NULL UNIQUE,
    -- Folded, to be found by.
    application TEXT NOT NULL,
    status      TEXT NOT NULL,
    created_ms  INTEGER NOT NULL,
    started_ms  INTEGER NOT NULL,
    ended_ms    INTEGER,
    -- How often it has begun: a process that ends makes it begin anew.
    attempts    INTEGER NOT NULL,
    ordered     TEXT NOT NULL,
    -- What came of it: a result, or an exception.
    outcome     TEXT
  ) STRICT;
  CREATE INDEX canaries_analyses_by_application ON canaries_analyses (application, position);
  CREATE INDEX canaries_analyses_by_time ON canaries_analyses (created_ms);
  CREATE TABLE canaries_measurements (
    id       TEXT PRIMARY KEY,
    analysis INTEGER NOT NULL REFERENCES canaries_analyses ON DELETE CASCADE,
    -- JSON, compressed by zlib.
    content  BLOB NOT NULL
  ) STRICT;
  CREATE INDEX canaries_measurements_by_analysis ON canaries_measurements (analysis);
  `,
]

type AnalysisStatus = 'RUNNING' | 'SUCCEEDED' | 'TERMINAL' | 'CANCELED'

export interface Analysis {
  readonly id: string
  readonly status: AnalysisStatus
  readonly createdMs: number
  readonly startedMs: number
  readonly endedMs: number | undefined
  readonly attempts: number
  readonly order: AnalysisOrder
  readonly outcome: AnalysisOutcome
  /** Undefined until it is judged. */
  readonly measurementsId: string | undefined
}

export interface AnalysisOutcome {
  readonly result?: JsonObject
  readonly exception?: JsonObject
}

interface StoredMeasurements {
  readonly id: string
  readonly content: Uint8Array
}

interface AnalysisFilter {
  readonly applications: readonly string[]
  /** Empty: all. */
  readonly statuses: readonly string[]
  readonly limit: number
  readonly offset: number
}

const inflateText = promisify<Uint8Array, Buffer>(inflate)
const columns = `a.*, (SELECT id FROM canaries_measurements m WHERE m.analysis = a.position) AS measurements`

export class AnalysisStore {
  readonly #db: BackendContext['db']
  readonly #statements: ReturnType<typeof prepareStatements>

  constructor(db: BackendContext['db']) {
    this.#db = db
    this.#statements = prepareStatements(db)
  }

  insert(id: string, order: AnalysisOrder, createdMs: number): void {
    this.#statements.insert.run(
      id,
      foldName(order.application),
      createdMs,
      createdMs,
      formatJson(order),
    )
  }

  beginAgain(id: string, startedMs: number): void {
    this.#statements.beginAgain.run(startedMs, id)
  }

  /** @returns whether it was running until now */
  end(id: string, { status, endedMs, outcome, measurements }: EndedAnalysis): boolean {
    return inTransaction(this.#db, () => {
      const { changes } = this.#statements.end.run(status, endedMs, formatJson(outcome), id)
      if (changes > 0 && measurements !== undefined)
        this.#statements.keep.run(measurements.id, id, measurements.content)
      return changes > 0
    })
  }

  find(id: string): Analysis | undefined {
    const row = this.#statements.get.get(id)
    return row && toAnalysis(row)
  }

  running(): Analysis[] {
    return this.#statements.running.all().map(toAnalysis)
  }

  /** Newest first. */
  list({ applications, statuses, limit, offset }: AnalysisFilter): Analysis[] {
    const wanted = [applications.map(foldName), statuses].map((names) => JSON.stringify(names)) as [
      string,
      string,
    ]
    return this.#statements.list.all(...wanted, limit, offset).map(toAnalysis)
  }

  /** The analysis whose measurements have this id. */
  findMeasured(measurementsId: string): Analysis | undefined {
    const row = this.#statements.measured.get(measurementsId)
    return row && toAnalysis(row)
  }

  /** JSON; undefined for an unknown id. */
  async measurements(id: string): Promise<Buffer | undefined> {
    const content = this.#statements.content.get(id)?.['content']
    return content instanceof Uint8Array ? inflateText(content) : undefined
  }

  removeOlder(beforeMs: number): void {
    this.#statements.removeOlder.run(beforeMs)
  }
}

interface EndedAnalysis {
  readonly status: Exclude<AnalysisStatus, 'RUNNING'>
  readonly endedMs: number
  readonly outcome: AnalysisOutcome
  readonly measurements?: StoredMeasurements
}

function prepareStatements(db: BackendContext['db']) {
  return {
    insert: db.prepare(
      `INSERT INTO canaries_analyses (id, application, status, created_ms, started_ms, attempts, ordered) VALUES (?, ?, 'RUNNING', ?, ?, 1, ?)`,
    ),
    beginAgain: db.prepare(
      'UPDATE canaries_analyses SET started_ms = ?, attempts = attempts + 1 WHERE id = ?',
    ),
    end: db.prepare(
      `UPDATE canaries_analyses SET status = ?, ended_ms = ?, outcome = ? WHERE id = ? AND status = 'RUNNING'`,
    ),
    keep: db.prepare(
      'INSERT INTO canaries_measurements (id, analysis, content) VALUES (?, (SELECT position FROM canaries_analyses WHERE id = ?), ?)',
    ),
    get: db.prepare(`SELECT ${columns} FROM canaries_analyses a WHERE a.id = ?`),
    running: db.prepare(
      `SELECT ${columns} FROM canaries_analyses a WHERE a.status = 'RUNNING' ORDER BY a.position`,
    ),
    list: db.prepare(`SELECT ${columns} FROM canaries_analyses a
      WHERE a.application IN (SELECT value FROM json_each(?1)) AND (?2 = '[]' OR a.status IN (SELECT value FROM json_each(?2)))
      ORDER BY a.position DESC LIMIT ?3 OFFSET ?4`),
    measured: db.prepare(
      `SELECT ${columns} FROM canaries_analyses a JOIN canaries_measurements found ON found.analysis = a.position WHERE found.id = ?`,
    ),
    content: db.prepare('SELECT content FROM canaries_measurements WHERE id = ?'),
    removeOlder: db.prepare(
      `DELETE FROM canaries_analyses WHERE created_ms < ? AND status <> 'RUNNING'`,
    ),
  }
}

function toAnalysis(row: Record<string, unknown>): Analysis {
  return {
    id: String(row['id']),
    status: row['status'] as AnalysisStatus,
    createdMs: Number(row['created_ms']),
    startedMs: Number(row['started_ms']),
    endedMs: row['ended_ms'] === null ? undefined : Number(row['ended_ms']),
    attempts: Number(row['attempts']),
    order: parseJson(String(row['ordered'])) as AnalysisOrder,
    outcome: row['outcome'] === null ? {} : objectOf(parseJson(String(row['outcome']))),
    measurementsId: typeof row['measurements'] === 'string' ? row['measurements'] : undefined,
  }
}
