/** Values of metrics of server groups that are compared, which providers keep for some minutes only. */
import type { BackendContext } from '../backend.ts'
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
/** After an analysis has asked for them; the next one may be hours later. */
const watchedMs = 6 * hourMs
const keptMs = 48 * hourMs

export class GroupSamples {
  readonly #context: Pick<BackendContext, 'db' | 'now'>
  readonly #statements: ReturnType<typeof prepareStatements>

  constructor(context: Pick<BackendContext, 'db' | 'now'>) {
    this.#context = context
    this.#statements = prepareStatements(context.db)
  }

  add(place: GroupPlace, metric: string, points: readonly Point[]): void {
    const key = keyOf(place)
    const { lastAt, insert } = this.#statements
    const known = Number(lastAt.get(key, metric)?.['at_ms'] ?? Number.NEGATIVE_INFINITY)
    for (const { atMs, value } of points) if (atMs > known) insert.run(key, metric, atMs, value)
  }

  between(place: GroupPlace, metric: string, startMs: number, endMs: number): Point[] {
    const key = keyOf(place)
    const nowMs = this.#context.now()
    this.#statements.watch.run(key, metric, nowMs + watchedMs)
    return this.#statements.between
      .all(key, metric, startMs, endMs)
      .map((row) => ({ atMs: Number(row['at_ms']), value: Number(row['value']) }))
  }

  /** What is to be read again; what is too old is removed. */
  watched(): { readonly place: GroupPlace; readonly metric: string }[] {
    const nowMs = this.#context.now()
    this.#statements.unwatch.run(nowMs)
    this.#statements.removeOlder.run(nowMs - keptMs)
    return this.#statements.watched.all().map(({ place, metric }) => ({ place: toPlace(String(place)), metric: String(metric) }))
  }
}

function prepareStatements(db: BackendContext['db']) {
  return {
    lastAt: db.prepare('SELECT max(at_ms) AS at_ms FROM canaries_samples WHERE place = ? AND metric = ?'),
    insert: db.prepare('INSERT OR IGNORE INTO canaries_samples (place, metric, at_ms, value) VALUES (?, ?, ?, ?)'),
    between: db.prepare(
      'SELECT at_ms, value FROM canaries_samples WHERE place = ? AND metric = ? AND at_ms > ? AND at_ms <= ? ORDER BY at_ms',
    ),
    watch: db.prepare('INSERT OR REPLACE INTO canaries_watched (place, metric, until_ms) VALUES (?, ?, ?)'),
    unwatch: db.prepare('DELETE FROM canaries_watched WHERE until_ms < ?'),
    watched: db.prepare('SELECT place, metric FROM canaries_watched'),
    removeOlder: db.prepare('DELETE FROM canaries_samples WHERE at_ms < ?'),
  }
}

function keyOf({ provider, account, region, name }: GroupPlace): string {
  return JSON.stringify([provider, account, region, name])
}

function toPlace(key: string): GroupPlace {
  const [provider, account, region, name] = JSON.parse(key) as [string, string, string, string]
  return { provider, account, region, name }
}
