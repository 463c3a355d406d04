/** Store of one kind of JSON documents, each with the history of its versions. */
import { randomUUID } from 'node:crypto'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { formatJson, parseJson } from '../json/json.ts'
import { type JsonObject, textOf } from '../json/values.ts'
import { foldName } from '../names/fold-name.ts'
import { inTransaction } from '../storage/database.ts'
import { portionSize } from './in-turns.ts'

/** Names, ids and applications are kept as they are checked. */
export const documentMigrations = [
  `CREATE TABLE definitions_documents (
     kind TEXT NOT NULL,
     key TEXT NOT NULL,
     application TEXT,
     name TEXT,
     modified_ms INTEGER NOT NULL,
     document TEXT NOT NULL,
     PRIMARY KEY (kind, key)
   ) STRICT;
   CREATE INDEX definitions_documents_by_name ON definitions_documents (kind, application, name, key);
   CREATE TABLE definitions_history (
     kind TEXT NOT NULL,
     key TEXT NOT NULL,
     modified_ms INTEGER NOT NULL,
     document TEXT NOT NULL,
     PRIMARY KEY (kind, key, modified_ms)
   ) STRICT;`,
  `CREATE TABLE definitions_marks (
     kind TEXT NOT NULL,
     mark TEXT NOT NULL,
     key TEXT NOT NULL,
     PRIMARY KEY (kind, mark, key)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX definitions_marks_by_key ON definitions_marks (kind, key);
   CREATE TABLE definitions_marked (kind TEXT PRIMARY KEY, rule INTEGER NOT NULL) STRICT;`,
] as const

/** What a kind of definition adds to a document store. */
export interface Collection {
  readonly kind: string
  /** Under what the document is found besides its key; both folded by `foldName`. */
  place?(document: JsonObject): { application?: string; name?: string }
  /** The fields that tell when the document was written. */
  stamp(modifiedMs: number): JsonObject
  /** `createTs` of a document that is written for the first time; it stays, whatever clients send. */
  createTs?(createdMs: number): unknown
  /** Under what else documents are found; stored with them. */
  readonly marks?: DocumentMarks
  /** So many of the newest versions of each document are kept; undefined: all. */
  readonly keptVersions?: number
}

export interface DocumentMarks {
  /** Another number whenever `of` answers differently: all documents are marked again by the next start. */
  readonly rule: number
  of(document: JsonObject): readonly string[]
}

/** Marks from the first to the last, in the order of their code points. */
export type MarkRange = readonly [first: string, last: string]

/** All marks that begin so. */
export function marksFrom(prefix: string): MarkRange {
  return [prefix, `${prefix}\u{10ffff}`]
}

/** Older versions are not searched. */
const mostSearched = 100

/** Every write belongs into a transaction of the caller. A key is folded by the caller. */
export class DocumentStore {
  readonly #collection: Collection
  readonly #now: () => number
  readonly #statements: ReturnType<typeof prepareStatements>
  readonly #epoch = randomUUID().slice(0, 8)
  readonly #onWrite: () => void
  /** Writes of this store. Each kind of a process has one store. */
  #writes = 0

  /** @param onWrite Called within the transaction of each change */
  constructor(
    db: DatabaseSync,
    collection: Collection,
    now: () => number,
    onWrite: () => void = () => {},
  ) {
    this.#onWrite = onWrite
    this.#collection = collection
    this.#now = now
    this.#statements = prepareStatements(db)
    const { kind, marks } = collection
    if (marks !== undefined && this.#statements.markRule.get(kind)?.['rule'] !== marks.rule)
      inTransaction(db, () => this.markAll())
  }

  /** For documents that were written past this store. */
  markAll(): void {
    const { kind, marks } = this.#collection
    if (marks === undefined) return
    this.#statements.unmarkAll.run(kind)
    for (const rows of this.#rows())
      for (const { key, document } of rows) this.#mark(String(key), parseDocument(String(document)))
    this.#statements.noteMarked.run(kind, marks.rule)
  }

  /** Another text after each write, also of another process, and after each start. */
  version(): string {
    return `${this.#epoch}.${this.#statements.dataVersion.get()?.['data_version']}.${this.#writes}`
  }

  /** Another text after each write of a document of the application. */
  versionOfApplication(application: string): string {
    const row = this.#statements.versionOfApplication.get(
      this.#collection.kind,
      foldName(application),
    )
    return `${row?.['documents']}.${row?.['modified']}`
  }

  get(key: string): JsonObject | undefined {
    const text = this.text(key)
    return text === undefined ? undefined : parseDocument(text)
  }

  /** The stored JSON text, for answers that need no look inside. */
  text(key: string): string | undefined {
    const row = this.#statements.get.get(this.#collection.kind, key)
    return row && String(row['document'])
  }

  has(key: string): boolean {
    return this.text(key) !== undefined
  }

  /** A text at the top of a document, of which nothing else is read. */
  field(key: string, name: string): string | undefined {
    return textOf(this.#statements.field.get(name, this.#collection.kind, key)?.['value'])
  }

  /** When the live document was written, in milliseconds since the epoch. */
  modifiedMs(key: string): number | undefined {
    const row = this.#statements.get.get(this.#collection.kind, key)
    return row && Number(row['modified_ms'])
  }

  texts(): string[] {
    return documentsIn(this.#statements.all, this.#collection.kind)
  }

  /** The same in portions, for lists that grow with the installation. What is written meanwhile may be missing. */
  *portions(): Generator<string[], void> {
    for (const rows of this.#rows()) yield rows.map(({ document }) => String(document))
  }

  *#rows(): Generator<Record<string, unknown>[], void> {
    for (let after = ''; ; ) {
      const rows = this.#statements.portion.all(this.#collection.kind, after, portionSize)
      if (rows.length === 0) return
      yield rows
      after = String(rows.at(-1)?.['key'])
    }
  }

  /** The stored JSON texts by key and in its order, read in portions: each is what it was at some moment of the call. */
  async textsByKey(): Promise<Map<string, string>> {
    const texts = new Map<string, string>()
    for (const rows of this.#rows()) {
      for (const { key, document } of rows) texts.set(String(key), String(document))
      await setImmediate()
    }
    return texts
  }

  all(): JsonObject[] {
    return this.texts().map(parseDocument)
  }

  /** The stored JSON texts of an application, by name. */
  textsOfApplication(application: string): string[] {
    return documentsIn(this.#statements.ofApplication, this.#collection.kind, foldName(application))
  }

  /** Keys of the documents with a mark in one of the ranges, in their order. */
  keysMarked(ranges: readonly MarkRange[]): string[] {
    const keys = ranges.flatMap(([first, last]) =>
      this.#statements.marked.all(this.#collection.kind, first, last).map(({ key }) => String(key)),
    )
    return [...new Set(keys)].sort()
  }

  /** The marks in a range that a document has. */
  marksIn([first, last]: MarkRange): string[] {
    const rows = this.#statements.marks.all(this.#collection.kind, first, last)
    return rows.map(({ mark }) => String(mark))
  }

  ofApplication(application: string): JsonObject[] {
    return this.textsOfApplication(application).map(parseDocument)
  }

  /** Documents with this name, ignoring case; the one spelled exactly so comes first. */
  named(name: string, application?: string): JsonObject[] {
    const folded = application === undefined ? null : foldName(application)
    const found = documentsIn(
      this.#statements.named,
      this.#collection.kind,
      folded,
      foldName(name),
    ).map(parseDocument)
    return found.sort((a, b) => Number(b['name'] === name) - Number(a['name'] === name))
  }

  /**
   * Writes the document with its stamp and appends it to the history. A later save has a later time even within one
   * millisecond, or after the clock was set back: the time is what tells versions apart.
   */
  put(key: string, document: JsonObject, user: string): JsonObject {
    const { kind, keptVersions } = this.#collection
    const lastMs = this.#statements.lastMs.get(kind, key)?.['last_ms']
    const modifiedMs = Math.max(this.#now(), Number(lastMs ?? 0) + 1)
    const { createTs: _sent, ...fields } = document
    const createTs = this.get(key)?.['createTs'] ?? this.#collection.createTs?.(modifiedMs)
    const stamped = {
      ...fields,
      ...(createTs === undefined ? {} : { createTs }),
      ...this.#collection.stamp(modifiedMs),
      lastModifiedBy: user,
    }
    const text = formatJson(stamped)
    this.#write(key, stamped, modifiedMs, text)
    this.#statements.addHistory.run(kind, key, modifiedMs, text)
    if (keptVersions !== undefined) this.#statements.forget.run(kind, key, kind, key, keptVersions)
    return stamped
  }

  /** What was written under the key at that time and later, oldest first. */
  versionsSince(key: string, modifiedMs: number, limit: number): JsonObject[] {
    return documentsIn(this.#statements.since, this.#collection.kind, key, modifiedMs, limit).map(
      parseDocument,
    )
  }

  /** Takes the document out of all reads; its history stays. Answers whether it was there. */
  remove(key: string): boolean {
    const isRemoved = this.#statements.remove.run(this.#collection.kind, key).changes > 0
    if (!isRemoved) return false
    this.#statements.unmark.run(this.#collection.kind, key)
    this.#noteWrite()
    return true
  }

  /** JSON texts of the versions saved under the key, newest first. */
  history(key: string, limit: number): string[] {
    return documentsIn(this.#statements.history, this.#collection.kind, key, limit)
  }

  /** The live document, then the versions of the history, newest first. What is not asked for is not read. */
  *versions(key: string): Generator<JsonObject, void> {
    const live = this.get(key)
    if (live !== undefined) yield live
    yield* this.history(key, mostSearched).values().map(parseDocument)
  }

  /** The newest version of every document that was removed. */
  removed(): JsonObject[] {
    return documentsIn(this.#statements.removed, this.#collection.kind).map(parseDocument)
  }

  #write(key: string, document: JsonObject, modifiedMs: number, text: string): void {
    this.#noteWrite()
    const { application, name } = this.#collection.place?.(document) ?? {}
    this.#statements.write.run(
      this.#collection.kind,
      key,
      application ?? null,
      name ?? null,
      modifiedMs,
      text,
    )
    if (this.#collection.marks === undefined) return
    this.#statements.unmark.run(this.#collection.kind, key)
    this.#mark(key, document)
  }

  #mark(key: string, document: JsonObject): void {
    const { kind, marks } = this.#collection
    for (const mark of marks?.of(document) ?? []) this.#statements.mark.run(kind, mark, key)
  }

  #noteWrite(): void {
    this.#writes++
    this.#onWrite()
  }
}

function prepareStatements(db: DatabaseSync) {
  return {
    dataVersion: db.prepare('PRAGMA data_version'),
    get: db.prepare(
      'SELECT document, modified_ms FROM definitions_documents WHERE kind = ? AND key = ?',
    ),
    field: db.prepare(
      'SELECT document ->> ? AS value FROM definitions_documents WHERE kind = ? AND key = ?',
    ),
    all: db.prepare('SELECT key, document FROM definitions_documents WHERE kind = ? ORDER BY key'),
    portion: db.prepare(
      'SELECT key, document FROM definitions_documents WHERE kind = ? AND key > ? ORDER BY key LIMIT ?',
    ),
    marked: db.prepare('SELECT key FROM definitions_marks WHERE kind = ? AND mark BETWEEN ? AND ?'),
    marks: db.prepare(
      'SELECT DISTINCT mark FROM definitions_marks WHERE kind = ? AND mark BETWEEN ? AND ?',
    ),
    mark: db.prepare('INSERT OR IGNORE INTO definitions_marks (kind, mark, key) VALUES (?, ?, ?)'),
    unmark: db.prepare('DELETE FROM definitions_marks WHERE kind = ? AND key = ?'),
    unmarkAll: db.prepare('DELETE FROM definitions_marks WHERE kind = ?'),
    markRule: db.prepare('SELECT rule FROM definitions_marked WHERE kind = ?'),
    noteMarked: db.prepare(
      `INSERT INTO definitions_marked (kind, rule) VALUES (?, ?)
       ON CONFLICT (kind) DO UPDATE SET rule = excluded.rule`,
    ),
    ofApplication: db.prepare(
      'SELECT document FROM definitions_documents WHERE kind = ? AND application = ? ORDER BY name, key',
    ),
    // A later save has a later time: two saves at once still make another sum.
    versionOfApplication: db.prepare(
      `SELECT count(*) AS documents, sum(modified_ms) AS modified FROM definitions_documents
       WHERE kind = ? AND application = ?`,
    ),
    named: db.prepare(
      'SELECT document FROM definitions_documents WHERE kind = ? AND application IS ? AND name = ? ORDER BY key',
    ),
    write: db.prepare(
      `INSERT INTO definitions_documents (kind, key, application, name, modified_ms, document) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (kind, key) DO UPDATE SET application = excluded.application, name = excluded.name,
         modified_ms = excluded.modified_ms, document = excluded.document`,
    ),
    remove: db.prepare('DELETE FROM definitions_documents WHERE kind = ? AND key = ?'),
    lastMs: db.prepare(
      'SELECT max(modified_ms) AS last_ms FROM definitions_history WHERE kind = ? AND key = ?',
    ),
    addHistory: db.prepare(
      'INSERT INTO definitions_history (kind, key, modified_ms, document) VALUES (?, ?, ?, ?)',
    ),
    forget: db.prepare(
      `DELETE FROM definitions_history WHERE kind = ? AND key = ? AND modified_ms <=
         (SELECT modified_ms FROM definitions_history WHERE kind = ? AND key = ? ORDER BY modified_ms DESC LIMIT 1 OFFSET ?)`,
    ),
    since: db.prepare(
      'SELECT document FROM definitions_history WHERE kind = ? AND key = ? AND modified_ms >= ? ORDER BY modified_ms LIMIT ?',
    ),
    removed: db.prepare(
      `SELECT document, max(modified_ms) FROM definitions_history AS past WHERE kind = ? AND NOT EXISTS
         (SELECT 1 FROM definitions_documents AS live WHERE live.kind = past.kind AND live.key = past.key)
       GROUP BY key ORDER BY key`,
    ),
    history: db.prepare(
      'SELECT document, modified_ms FROM definitions_history WHERE kind = ? AND key = ? ORDER BY modified_ms DESC LIMIT ?',
    ),
  }
}

function documentsIn(statement: StatementSync, ...values: (string | number | null)[]): string[] {
  return statement.all(...values).map((row) => String(row['document']))
}

export function parseDocument(text: string): JsonObject {
  return parseJson(text) as JsonObject
}
