/** Uses of secrets: who, where, which version, how often. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { inTransaction } from '@fairlead/base/storage/database.ts'
import type { SecretRun, SecretUse, SecretVersion } from '@fairlead/ports/secrets.ts'

export interface RecordedUse {
  readonly version: number
  readonly place: string
  readonly user: string
  /** Milliseconds since the epoch. */
  readonly firstMs: number
  readonly lastMs: number
  readonly count: number
  readonly runs: readonly SecretRun[]
}

const keptUses = 300
const maxPlaceLength = 300

export class SecretUses {
  readonly #db: DatabaseSync
  readonly #now: () => number
  readonly #statements: Record<'put' | 'prune' | 'list' | 'totals', StatementSync>

  constructor(db: DatabaseSync, now: () => number) {
    this.#db = db
    this.#now = now
    this.#statements = {
      put: db.prepare(
        `INSERT INTO secrets_uses VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)
         ON CONFLICT (scope, name, version, place, user, run) DO UPDATE SET last_ms = excluded.last_ms, count = count + 1`,
      ),
      prune: db.prepare(
        `DELETE FROM secrets_uses WHERE scope = ? AND name = ? AND last_ms <
           (SELECT last_ms FROM secrets_uses WHERE scope = ? AND name = ? ORDER BY last_ms DESC LIMIT 1 OFFSET ${keptUses - 1})`,
      ),
      list: db.prepare(
        'SELECT * FROM secrets_uses WHERE scope = ? AND name = ? ORDER BY last_ms DESC',
      ),
      totals: db.prepare(
        'SELECT name, max(last_ms) AS last_ms FROM secrets_uses WHERE scope = ? GROUP BY name',
      ),
    }
  }

  note(versions: readonly SecretVersion[], { user, place, run }: SecretUse): void {
    if (versions.length === 0) return
    const now = this.#now()
    const shown = place.slice(0, maxPlaceLength)
    const runs = run === undefined ? '' : `${run.service} ${run.id}`
    inTransaction(this.#db, () => {
      for (const { scope, name, version } of versions) {
        this.#statements.put.run(scope, name, version, shown, user, runs, now, now)
        this.#statements.prune.run(scope, name, scope, name)
      }
    })
  }

  /** When each secret of a scope was used last, in milliseconds since the epoch. */
  lastUses(scope: string): ReadonlyMap<string, number> {
    return new Map(
      this.#statements.totals
        .all(scope)
        .map((row) => [String(row['name']), Number(row['last_ms'])]),
    )
  }

  list(scope: string, name: string): RecordedUse[] {
    const rows = this.#statements.list.all(scope, name)
    const groups = Map.groupBy(rows, (row) =>
      JSON.stringify([row['version'], row['place'], row['user']]),
    )
    return [...groups.values()].map((uses) => ({
      version: Number(uses[0]?.['version']),
      place: String(uses[0]?.['place']),
      user: String(uses[0]?.['user']),
      firstMs: Math.min(...uses.map((row) => Number(row['first_ms']))),
      lastMs: Math.max(...uses.map((row) => Number(row['last_ms']))),
      count: uses.reduce((sum, row) => sum + Number(row['count']), 0),
      runs: uses.flatMap((row) => toRun(String(row['run']))),
    }))
  }
}

function toRun(text: string): SecretRun[] {
  const [service, id] = text.split(' ')
  return (service === 'orca' || service === 'igor') && id !== undefined ? [{ service, id }] : []
}
