/** Repeat protection of starts: equal requests start one build. docs/contracts/builds.md#starting-builds. */
import { createHash } from 'node:crypto'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { PortError } from '@fairlead/base/port-error.ts'

export const buildStartMigrations = [
  `CREATE TABLE builds_starts (
     -- Digest of what makes requests equal.
     id TEXT PRIMARY KEY,
     -- Number of the queue item or build; null while it is being started.
     number TEXT,
     changed_ms INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX builds_starts_by_change ON builds_starts (changed_ms)`,
]

/** How long the number of a start is kept for an equal request. */
const keptMs = 10 * 60_000
/** The same for a start of unknown outcome: longer than a stage retries its start. */
const keptOpenMs = 20 * 60_000

interface StartIdentity {
  readonly server: string
  readonly job: string
  readonly executionId: string
  /** Start of the stage, as text. */
  readonly startTime: string
  readonly parameters: Readonly<Record<string, string>>
}

export class BuildStarts {
  readonly #now: () => number
  readonly #find: StatementSync
  readonly #begin: StatementSync
  readonly #finish: StatementSync
  readonly #remove: StatementSync
  readonly #prune: StatementSync

  constructor(db: DatabaseSync, now: () => number) {
    this.#now = now
    this.#find = db.prepare('SELECT number FROM builds_starts WHERE id = ?')
    this.#begin = db.prepare('INSERT INTO builds_starts VALUES (?, NULL, ?)')
    this.#finish = db.prepare('UPDATE builds_starts SET number = ?, changed_ms = ? WHERE id = ?')
    this.#remove = db.prepare('DELETE FROM builds_starts WHERE id = ?')
    this.#prune = db.prepare(
      'DELETE FROM builds_starts WHERE changed_ms < iif(number IS NULL, ?, ?) OR changed_ms > ?',
    )
  }

  /**
   * Starts a build, unless an equal request has done so: its number is given once more and then forgotten.
   *
   * @param start Undefined while the server works on it
   * @returns undefined while an equal request is in progress
   * @throws what `start` throws
   */
  async run(
    identity: StartIdentity,
    start: () => Promise<string | undefined>,
  ): Promise<string | undefined> {
    const now = this.#now()
    // What lies ahead is from before the clock was set back.
    this.#prune.run(now - keptOpenMs, now - keptMs, now + keptMs)
    const id = toId(identity)
    const known = this.#find.get(id)
    if (known !== undefined) {
      const { number } = known
      if (number === null) return undefined
      this.#remove.run(id)
      return String(number)
    }
    this.#begin.run(id, now)
    return this.#start(id, start)
  }

  async #start(id: string, start: () => Promise<string | undefined>): Promise<string | undefined> {
    try {
      const number = await start()
      if (number === undefined) this.#remove.run(id)
      else this.#finish.run(number, this.#now(), id)
      return number
    } catch (error) {
      // It may have arrived although there was no answer: an equal request must not start another one at once.
      const mayHaveStarted = error instanceof PortError && error.status === 504
      if (!mayHaveStarted) this.#remove.run(id)
      throw error
    }
  }
}

function toId({ server, job, executionId, startTime, parameters }: StartIdentity): string {
  const sorted = Object.entries(parameters).sort(([one], [other]) => (one < other ? -1 : 1))
  return createHash('sha256')
    .update(JSON.stringify([server, job, executionId, startTime, sorted]))
    .digest('base64url')
}
