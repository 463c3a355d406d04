/** Builds of this machine in SQLite: the queue, the builds that run, and those that have ended. */

import type { DatabaseSync } from 'node:sqlite'
import type { Cause } from '@fairlead/base/causes/cause.ts'
import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import { inTransaction } from '@fairlead/base/storage/database.ts'
import type { SecretVersion } from '@fairlead/ports/secrets.ts'
import type { BuildReport, TestCounts } from './build-report.ts'
import type { FetchedCommit } from './repository.ts'

export const localBuildMigrations = [
  `CREATE TABLE builds_local_builds (
     item INTEGER PRIMARY KEY AUTOINCREMENT,
     id TEXT NOT NULL UNIQUE,
     job TEXT NOT NULL,
     number INTEGER,
     state TEXT NOT NULL,
     created_ms INTEGER NOT NULL,
     kept_bytes INTEGER NOT NULL DEFAULT 0,
     document TEXT NOT NULL
   ) STRICT;
   CREATE UNIQUE INDEX builds_local_builds_by_job ON builds_local_builds (job, number) WHERE number IS NOT NULL;
   CREATE INDEX builds_local_builds_by_state ON builds_local_builds (state);
   CREATE TABLE builds_local_numbers (job TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT, WITHOUT ROWID;`,
] as const

type BuildState = 'QUEUED' | 'RUNNING' | 'ENDED'
export type BuildResult = 'SUCCESS' | 'UNSTABLE' | 'FAILURE' | 'ABORTED'

export interface LocalBuild {
  /** Id of its runner. */
  readonly id: string
  readonly job: string
  readonly state: BuildState
  /** Undefined while it waits. */
  readonly number: number | undefined
  readonly application: string
  readonly account: string
  /** Accounts that get its image. */
  readonly imageAccounts?: readonly string[]
  /** No other build of the job may run at the same time. */
  readonly isExclusive?: boolean
  /** Values of secret parameters are masked once the build has ended. */
  readonly parameters: Readonly<Record<string, string>>
  readonly user: string
  /** Milliseconds since the epoch. */
  readonly createdMs: number
  readonly startedMs?: number
  readonly endedMs?: number
  readonly result?: BuildResult
  /** Why it has not succeeded, for people. */
  readonly reason?: string
  /** The line of its log that says why. */
  readonly cause?: Cause
  readonly description?: string
  readonly commit?: BuildCommit
  readonly tests?: TestCounts
  readonly files?: readonly ArchivedFile[]
  readonly containerImages?: BuildReport['containerImages']
  /** `NAME:VERSION` of the image that the programs of this machine can have. */
  readonly image?: string
  /** What the image is to be called, once the build runs. */
  readonly imageName?: { readonly name: string; readonly version: string } | undefined
  readonly cacheName?: string
  /** It was asked to end, for `reason`: it is not started any more. */
  readonly isStopped?: boolean
  /** The runner has been started. */
  readonly isLaunched?: boolean
  /** What it was given. */
  readonly secretVersions?: readonly SecretVersion[]
}

export type BuildCommit = Omit<FetchedCommit, 'isUsual' | 'file'>

export interface ArchivedFile {
  /** Below the checkout. */
  readonly path: string
  readonly bytes: number
}

export interface StoredBuild extends LocalBuild {
  /** Number of the queue item. */
  readonly item: number
}

export class BuildStore {
  readonly #db: DatabaseSync
  readonly #statements: ReturnType<typeof prepareStatements>

  constructor(db: DatabaseSync) {
    this.#db = db
    this.#statements = prepareStatements(db)
  }

  add(build: LocalBuild): StoredBuild {
    const { id, job, state, createdMs } = build
    const { lastInsertRowid } = this.#statements.add.run(
      id,
      job,
      state,
      createdMs,
      formatJson(build),
    )
    return { ...build, item: Number(lastInsertRowid) }
  }

  put({ item, ...build }: StoredBuild): void {
    this.#statements.put.run(build.state, build.number ?? null, formatJson(build), item)
  }

  /** Gives a build the next number of its job. */
  begin(build: StoredBuild, change: Partial<LocalBuild>): StoredBuild {
    return inTransaction(this.#db, () => {
      const number = Number(this.#statements.next.get(build.job)?.['number'])
      const begun = { ...build, ...change, number }
      this.put(begun)
      return begun
    })
  }

  item(item: number): StoredBuild | undefined {
    return this.#statements.item.all(item).map(toBuild)[0]
  }

  find(job: string, number: number): StoredBuild | undefined {
    return this.#statements.find.all(job, number).map(toBuild)[0]
  }

  byId(id: string): StoredBuild | undefined {
    return this.#statements.byId.all(id).map(toBuild)[0]
  }

  /** Newest first, without those that wait. */
  ofJob(job: string): StoredBuild[] {
    return this.#statements.ofJob.all(job).map(toBuild)
  }

  /** Oldest first. */
  inState(state: BuildState): StoredBuild[] {
    return this.#statements.inState.all(state).map(toBuild)
  }

  count(state: BuildState): number {
    return Number(this.#statements.count.get(state)?.['builds'])
  }

  countQueued(application: string): number {
    return Number(this.#statements.countQueued.get(application)?.['builds'])
  }

  jobs(): string[] {
    return this.#statements.jobs.all().map((row) => String(row['job']))
  }

  /** When a build of each application last began, in milliseconds since the epoch. */
  lastStarts(): Map<string, number> {
    const rows = this.#statements.lastStarts.all()
    return new Map(rows.map(({ application, started }) => [String(application), Number(started)]))
  }

  setKeptBytes({ item }: StoredBuild, bytes: number): void {
    this.#statements.setKeptBytes.run(bytes, item)
  }

  /** Ended builds of the job beyond the newest ones. */
  beyond(job: string, kept: number): StoredBuild[] {
    return this.#statements.beyond.all(job, kept).map(toBuild)
  }

  /** Ended builds whose files exceed the bound together with those of all newer ones. */
  heavy(maxBytes: number): StoredBuild[] {
    return this.#statements.heavy.all(maxBytes).map(toBuild)
  }

  remove({ item }: StoredBuild): void {
    this.#statements.remove.run(item)
  }
}

function toBuild(row: Record<string, unknown>): StoredBuild {
  return { ...(parseJson(String(row['document'])) as LocalBuild), item: Number(row['item']) }
}

function prepareStatements(db: DatabaseSync) {
  const select = 'SELECT item, document FROM builds_local_builds'
  return {
    add: db.prepare(
      'INSERT INTO builds_local_builds (id, job, state, created_ms, document) VALUES (?, ?, ?, ?, ?)',
    ),
    put: db.prepare(
      'UPDATE builds_local_builds SET state = ?, number = ?, document = ? WHERE item = ?',
    ),
    next: db.prepare(
      `INSERT INTO builds_local_numbers (job, number) VALUES (?, 1)
       ON CONFLICT (job) DO UPDATE SET number = number + 1 RETURNING number`,
    ),
    item: db.prepare(`${select} WHERE item = ?`),
    find: db.prepare(`${select} WHERE job = ? AND number = ?`),
    byId: db.prepare(`${select} WHERE id = ?`),
    ofJob: db.prepare(`${select} WHERE job = ? AND number IS NOT NULL ORDER BY number DESC`),
    inState: db.prepare(`${select} WHERE state = ? ORDER BY item`),
    count: db.prepare('SELECT count(*) AS builds FROM builds_local_builds WHERE state = ?'),
    countQueued: db.prepare(
      `SELECT count(*) AS builds FROM builds_local_builds WHERE state = 'QUEUED' AND document ->> 'application' = ?`,
    ),
    jobs: db.prepare('SELECT DISTINCT job FROM builds_local_builds WHERE number IS NOT NULL'),
    lastStarts: db.prepare(
      `SELECT document ->> 'application' AS application, max(document ->> 'startedMs') AS started
       FROM builds_local_builds WHERE number IS NOT NULL GROUP BY 1`,
    ),
    setKeptBytes: db.prepare('UPDATE builds_local_builds SET kept_bytes = ? WHERE item = ?'),
    beyond: db.prepare(
      `${select} WHERE job = ? AND state = 'ENDED' ORDER BY number DESC LIMIT -1 OFFSET ?`,
    ),
    heavy: db.prepare(
      `SELECT item, document FROM (
         SELECT item, document, kept_bytes, sum(kept_bytes) OVER (ORDER BY item DESC) AS total
         FROM builds_local_builds WHERE state = 'ENDED' AND kept_bytes > 0)
       WHERE total > ?`,
    ),
    remove: db.prepare('DELETE FROM builds_local_builds WHERE item = ?'),
  }
}
