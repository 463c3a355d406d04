/** Values of metrics of server groups that are compared, which providers keep for some minutes only. */
import type { SQLTagStore } from 'node:sqlite'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { Point } from './series.ts'

export const sampleMigrations = [
  `
  CREATE TABLE canaries_samples (
    -- Provider, account, region and name of a server group, as JSON.
    place  TEXT NOT NULL,
    metric TEXT NOT NULL,
    at_ms  INTEGER NOT NULL,
    value  REAL NOT NULL,
    PRIMARY KEY (place, metric, at_ms)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE canaries_watched (
    place    TEXT NOT NULL,
    metric   TEXT NOT NULL,
    until_ms INTEGER NOT NULL,
    PRIMARY KEY (place, metric)
  ) STRICT, WITHOUT ROWID;
  `,
]

export interface GroupPlace {
  readonly provider: string
  readonly account: string
  readonly region: string
  readonly name: string
}

const hourMs = 3_600_000
/** Time for which samples are taken after an analysis; the next one may be hours later. */
const watchedMs = 6 * hourMs
const keptMs = 48 * hourMs

export class GroupSamples {
  readonly #now: () => number
  readonly #sql: SQLTagStore

  constructor({ db, now }: Pick<BackendContext, 'db' | 'now'>) {
    this.#now = now
    this.#sql = db.createTagStore()
  }

  add(place: GroupPlace, metric: string, points: readonly Point[]): void {
    const key = keyOf(place)
    const last = this.#sql
      .get`SELECT max(at_ms) AS at_ms FROM canaries_samples WHERE place = ${key} AND metric = ${metric}`
    const known = Number(last?.['at_ms'] ?? Number.NEGATIVE_INFINITY)
    for (const { atMs, value } of points)
      if (atMs > known)
        this.#sql
          .run`INSERT OR IGNORE INTO canaries_samples VALUES (${key}, ${metric}, ${atMs}, ${value})`
  }

  between(place: GroupPlace, metric: string, startMs: number, endMs: number): Point[] {
    const key = keyOf(place)
    this.#sql
      .run`INSERT OR REPLACE INTO canaries_watched VALUES (${key}, ${metric}, ${this.#now() + watchedMs})`
    const rows = this.#sql.all`
      SELECT at_ms, value FROM canaries_samples
      WHERE place = ${key} AND metric = ${metric} AND at_ms > ${startMs} AND at_ms <= ${endMs} ORDER BY at_ms`
    return rows.map((row) => ({ atMs: Number(row['at_ms']), value: Number(row['value']) }))
  }

  /** What is to be read again; what is too old is removed. */
  watched(): { readonly place: GroupPlace; readonly metric: string }[] {
    const nowMs = this.#now()
    this.#sql.run`DELETE FROM canaries_watched WHERE until_ms < ${nowMs}`
    this.#sql.run`DELETE FROM canaries_samples WHERE at_ms < ${nowMs - keptMs}`
    const rows = this.#sql.all`SELECT place, metric FROM canaries_watched`
    return rows.map(({ place, metric }) => ({
      place: toPlace(String(place)),
      metric: String(metric),
    }))
  }
}

function keyOf({ provider, account, region, name }: GroupPlace): string {
  return JSON.stringify([provider, account, region, name])
}

function toPlace(key: string): GroupPlace {
  const [provider, account, region, name] = JSON.parse(key) as [string, string, string, string]
  return { provider, account, region, name }
}
