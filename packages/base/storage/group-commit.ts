/**
 * Transactions that wait for the disk together: each is committed at once, without a sync, and one sync beside the event loop
 * covers all that were committed before it. Until then a power cut may undo them, in order; the end of the process does not.
 */
import { close, fdatasync, openSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { inTransaction } from './database.ts'

/** Writes the log of the database to the disk. */
export interface LogSync {
  sync(): Promise<void>
  close(): Promise<void>
}

interface GroupCommitParts {
  readonly log?: LogSync
  readonly end?: (failure: Error) => void
}

export class GroupCommit {
  readonly #db: DatabaseSync
  readonly #log: LogSync
  /** What waits for the sync that goes on, and for the next one. */
  #syncing: (() => void)[] | undefined
  #next: (() => void)[] | undefined
  readonly #end: (failure: Error) => void
  readonly #path: string | undefined
  #failure: Error | undefined
  #isClosed = false

  /** @param end Called when the log could not be written: unless given, the thread ends */
  constructor(db: DatabaseSync, { log = createLogSync(db), end = fail }: GroupCommitParts = {}) {
    this.#db = db
    this.#path = db.location() ?? undefined
    this.#log = log
    this.#end = end
  }

  /** Nothing that it stores may be told or acted upon before `whenStored`. Else as `inTransaction`. */
  transact<T>(work: () => T): T {
    if (this.#failure !== undefined) throw this.#failure
    // SQLite refuses the change within a transaction, and syncs when others commit in theirs.
    this.#db.exec('PRAGMA synchronous = NORMAL')
    try {
      const result = inTransaction(this.#db, work)
      this.#want()
      return result
    } finally {
      this.#db.exec('PRAGMA synchronous = FULL')
    }
  }

  /** Calls `act` once everything that was committed so far is on disk, in the order of the calls: now, if it is. Never after a failed sync. */
  whenStored(act: () => void): void {
    const last = this.#next ?? this.#syncing
    if (last !== undefined) last.push(act)
    else if (this.#failure === undefined) act()
  }

  /** Resolves when everything that was committed so far is on disk. */
  stored(): Promise<void> {
    return new Promise((resolve) => this.whenStored(resolve))
  }

  /** The database is closed by its owner, afterwards, which writes what is still committed meanwhile: of that, nothing is told any more. */
  async close(): Promise<void> {
    if (this.#failure === undefined) await this.stored()
    this.#isClosed = true
    await this.#log.close()
  }

  #want(): void {
    if (this.#next !== undefined) return
    this.#next = []
    // All that is due in this turn of the event loop comes along.
    if (this.#syncing === undefined) setImmediate(() => this.#begin())
  }

  #begin(): void {
    if (this.#isClosed) return
    this.#syncing = this.#next
    this.#next = undefined
    this.#log.sync().then(
      () => this.#finish(),
      (error: unknown) => this.#fail(error),
    )
  }

  #finish(): void {
    const acts = this.#syncing ?? []
    this.#syncing = undefined
    if (this.#next !== undefined) this.#begin()
    for (const act of acts) act()
  }

  /** What the system could not write it may have dropped: only the file itself, read anew, tells what there is. */
  #fail(cause: unknown): void {
    this.#failure = new Error(
      `The log of ${this.#path ?? 'the database'} could not be written to the disk. See what the system says about the disk.`,
      { cause },
    )
    this.#syncing = this.#next = undefined
    this.#end(this.#failure)
  }
}

const syncData = promisify(fdatasync)

function fail(failure: Error): never {
  throw failure
}

/** The log stays where it is as long as the database is open. */
function createLogSync(db: DatabaseSync): LogSync {
  const path = `${db.location()}-wal`
  let file: number | undefined
  return {
    async sync() {
      file ??= openSync(path, 'r')
      await syncData(file)
    },
    async close() {
      if (file !== undefined) await promisify(close)(file)
      file = undefined
    },
  }
}
