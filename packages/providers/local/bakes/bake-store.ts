/** Bakes in SQLite: their requests, states and logs. */
import type { DatabaseSync } from 'node:sqlite'
import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import { textOf } from '@fairlead/base/json/values.ts'
import type { BakeView } from '../../provider-type.ts'
import type { BakeRequest } from './request.ts'

export const bakeMigrations = [
  `CREATE TABLE bakery_bakes (
     id TEXT PRIMARY KEY,
     key TEXT,
     state TEXT NOT NULL,
     image TEXT,
     execution TEXT,
     created_ms INTEGER NOT NULL,
     document TEXT NOT NULL,
     log TEXT
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX bakery_bakes_by_key ON bakery_bakes (key) WHERE key IS NOT NULL;
   CREATE INDEX bakery_bakes_by_state ON bakery_bakes (state);
   CREATE INDEX bakery_bakes_by_image ON bakery_bakes (image) WHERE image IS NOT NULL;
   CREATE INDEX bakery_bakes_by_execution ON bakery_bakes (execution) WHERE execution IS NOT NULL;
   CREATE INDEX bakery_bakes_by_age ON bakery_bakes (created_ms);`,
] as const

export interface Bake extends BakeView {
  /** Requests with the same key get this bake; undefined once it is forgotten. */
  readonly key: string | undefined
  readonly request: BakeRequest
  readonly region: string
  readonly accounts: readonly string[] | undefined
  readonly user: string
  /** Name and version of the image, as far as they are known before the commit. */
  readonly name: string
  readonly version: string | undefined
  /** Values that its log must not show, while it runs. */
  readonly secrets: readonly string[]
  readonly createdMs: number
}

/** What is kept. Beyond it, bakes of the user who has most go first, and the oldest logs. */
const kept = { bakes: 1000, logLength: 64 * 1024 * 1024 }

export const removedLog = 'The log was removed to make room for those of newer bakes.\n'

export class BakeStore {
  readonly #statements: ReturnType<typeof prepareStatements>
  readonly #bounds: typeof kept

  constructor(db: DatabaseSync, bounds = kept) {
    this.#statements = prepareStatements(db)
    this.#bounds = bounds
  }

  get(id: string): Bake | undefined {
    return this.#statements.get.all(id).map(toBake)[0]
  }

  ofKey(key: string): Bake | undefined {
    return this.#statements.ofKey.all(key).map(toBake)[0]
  }

  running(): Bake[] {
    return this.#statements.running.all().map(toBake)
  }

  logOf(id: string): string | undefined {
    return textOf(this.#statements.log.get(id)?.['log'])
  }

  put(bake: Bake): void {
    const { id, key = null, state, createdMs } = bake
    this.#statements.put.run(id, key, state, createdMs, formatJson(bake))
    this.#statements.trim.run(this.#bounds.bakes)
  }

  setLog(id: string, log: string): void {
    this.#statements.setLog.run(log, id)
    this.#statements.trimLogs.run({ removed: removedLog, kept: this.#bounds.logLength })
  }
}

function toBake(row: Record<string, unknown>): Bake {
  return parseJson(String(row['document'])) as Bake
}

function prepareStatements(db: DatabaseSync) {
  return {
    get: db.prepare('SELECT document FROM bakery_bakes WHERE id = ?'),
    ofKey: db.prepare(
      'SELECT document FROM bakery_bakes WHERE key = ? ORDER BY created_ms DESC LIMIT 1',
    ),
    running: db.prepare("SELECT document FROM bakery_bakes WHERE state = 'RUNNING'"),
    log: db.prepare('SELECT log FROM bakery_bakes WHERE id = ?'),
    put: db.prepare(
      `INSERT INTO bakery_bakes (id, key, state, created_ms, document) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET key = excluded.key, state = excluded.state, document = excluded.document`,
    ),
    setLog: db.prepare('UPDATE bakery_bakes SET log = ? WHERE id = ?'),
    trim: db.prepare(
      `DELETE FROM bakery_bakes WHERE id IN (
         SELECT id FROM bakery_bakes WHERE state <> 'RUNNING' AND document ->> 'user' =
           (SELECT document ->> 'user' FROM bakery_bakes WHERE state <> 'RUNNING' GROUP BY 1 ORDER BY count(*) DESC LIMIT 1)
         ORDER BY created_ms, id
         LIMIT max(0, (SELECT count(*) FROM bakery_bakes WHERE state <> 'RUNNING') - ?))`,
    ),
    trimLogs: db.prepare(
      `UPDATE bakery_bakes SET log = :removed WHERE id IN (
         SELECT id FROM (
           SELECT id, length(log) AS own, sum(length(log)) OVER (ORDER BY created_ms DESC, id DESC) AS total
           FROM bakery_bakes WHERE log IS NOT NULL)
         WHERE total > :kept AND own > length(:removed))`,
    ),
  }
}
