/** Positions of the polled jobs across restarts. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Position } from './position.ts'

export const pollMigrations = [
  `CREATE TABLE builds_positions (
     server TEXT NOT NULL,
     job TEXT NOT NULL,
     up_to INTEGER NOT NULL,
     -- Lists of numbers, JSON.
     sent TEXT NOT NULL,
     open TEXT NOT NULL,
     changed_ms INTEGER NOT NULL,
     PRIMARY KEY (server, job)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX builds_positions_by_change ON builds_positions (changed_ms)`,
  `-- Pairs of number and mark, JSON.
   ALTER TABLE builds_positions ADD COLUMN marks TEXT NOT NULL DEFAULT '[]'`,
]

/** JSON that `save` has written. */
interface PositionRow {
  readonly job: string
  readonly up_to: number
  readonly sent: string
  readonly open: string
  readonly marks: string
}

/** A job without new builds for so long is forgotten; only what ends after that is reported of it. */
const keptMs = 400 * 24 * 60 * 60_000

export class PollMemory {
  readonly #now: () => number
  readonly #load: StatementSync
  readonly #save: StatementSync
  readonly #prune: StatementSync

  constructor(db: DatabaseSync, now: () => number) {
    this.#now = now
    this.#load = db.prepare(
      'SELECT job, up_to, sent, open, marks FROM builds_positions WHERE server = ?',
    )
    this.#save = db.prepare('INSERT OR REPLACE INTO builds_positions VALUES (?, ?, ?, ?, ?, ?, ?)')
    this.#prune = db.prepare('DELETE FROM builds_positions WHERE changed_ms < ?')
  }

  /** Positions of the jobs of a server. */
  load(server: string): Map<string, Position> {
    const rows = this.#load.all(server) as unknown as readonly PositionRow[]
    return new Map(
      rows.map(({ job, up_to: upTo, sent, open, marks }) => [
        job,
        { upTo, sent: JSON.parse(sent), open: JSON.parse(open), marks: JSON.parse(marks) },
      ]),
    )
  }

  save(server: string, job: string, { upTo, sent, open, marks }: Position): void {
    this.#save.run(
      server,
      job,
      upTo,
      JSON.stringify(sent),
      JSON.stringify(open),
      this.#now(),
      JSON.stringify(marks),
    )
  }

  prune(): void {
    this.#prune.run(this.#now() - keptMs)
  }
}
