/**
 * Storage of large parts of triggers, once for all records that hold them. One webhook may start many pipelines, and every
 * child execution holds its parent with the trigger of that.
 */
import { createHash } from 'node:crypto'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { LRUCache } from 'lru-cache'
import { isObject, type JsonObject } from '../json/values.ts'

interface SplitDocument {
  readonly rest: JsonObject
  readonly parts: readonly SharedPart[]
}

interface SharedPart {
  /** Keys from the document to the place of the part. */
  readonly path: readonly string[]
  readonly text: string
}

interface SharedPartsOptions {
  /** The names of the tables begin so. */
  prefix: string
  parse: (text: string) => unknown
  format: (value: unknown) => string
}

/** Shorter texts cost less where they are than a row of their own. */
const minPartLength = 2000
/** Members that are looked into rather than stored as one part. */
const containers: ReadonlySet<string> = new Set(['trigger', 'parentExecution'])
/** Characters of the parts that are kept parsed, so that not every step of an execution reads its payload again. */
const maxKeptLength = 2_000_000

/** @param owner Table and key of the records that hold parts; a part goes with the last of them. */
export function sharedPartsMigration(prefix: string, owner: string): string {
  return `
  CREATE TABLE ${prefix}_parts (digest TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT;
  CREATE TABLE ${prefix}_part_uses (
    owner  TEXT NOT NULL REFERENCES ${owner} ON DELETE CASCADE,
    path   TEXT NOT NULL,
    digest TEXT NOT NULL REFERENCES ${prefix}_parts (digest),
    PRIMARY KEY (owner, path)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX ${prefix}_part_uses_by_digest ON ${prefix}_part_uses (digest);
  CREATE TRIGGER ${prefix}_parts_end AFTER DELETE ON ${prefix}_part_uses
    WHEN NOT EXISTS (SELECT 1 FROM ${prefix}_part_uses WHERE digest = OLD.digest)
    BEGIN DELETE FROM ${prefix}_parts WHERE digest = OLD.digest; END;
  `
}

export class SharedPartStore {
  readonly #parse: SharedPartsOptions['parse']
  readonly #format: SharedPartsOptions['format']
  readonly #insert: StatementSync
  readonly #use: StatementSync
  readonly #list: StatementSync
  readonly #text: StatementSync
  readonly #kept = new LRUCache<string, { value: unknown }>({ maxSize: maxKeptLength })

  constructor(db: DatabaseSync, { prefix, parse, format }: SharedPartsOptions) {
    this.#parse = parse
    this.#format = format
    this.#insert = db.prepare(`INSERT OR IGNORE INTO ${prefix}_parts VALUES (?, ?)`)
    this.#use = db.prepare(`INSERT OR IGNORE INTO ${prefix}_part_uses VALUES (?, ?, ?)`)
    this.#list = db.prepare(`SELECT path, digest FROM ${prefix}_part_uses WHERE owner = ?`)
    this.#text = db.prepare(`SELECT text FROM ${prefix}_parts WHERE digest = ?`)
  }

  /** Takes the large parts out of a copy of a document; nothing is stored yet. */
  split(document: JsonObject): SplitDocument {
    const parts: SharedPart[] = []
    return { rest: this.#withoutParts(document, [], parts), parts }
  }

  /** Stores the parts of a record that exists already. @returns how many characters are new */
  keep(owner: string, parts: readonly SharedPart[]): number {
    let added = 0
    for (const { path, text } of parts) {
      const digest = createHash('sha256').update(text).digest('base64url')
      if (this.#insert.run(digest, text).changes > 0) added += text.length
      this.#use.run(owner, JSON.stringify(path), digest)
    }
    return added
  }

  /** Puts the parts of a record back into what was stored of it. Records may share them: code must not change them. */
  restore(owner: string, rest: JsonObject): JsonObject {
    for (const row of this.#list.all(owner)) {
      const path = JSON.parse(String(row['path'])) as string[]
      const place = path
        .slice(0, -1)
        .reduce<unknown>((value, key) => (isObject(value) ? value[key] : undefined), rest)
      const last = path.at(-1)
      if (isObject(place) && last !== undefined) place[last] = this.#load(String(row['digest']))
    }
    return rest
  }

  #withoutParts(document: JsonObject, path: readonly string[], parts: SharedPart[]): JsonObject {
    const rest: JsonObject = {}
    for (const [key, value] of Object.entries(document)) {
      const at = [...path, key]
      if (containers.has(key) && isObject(value)) rest[key] = this.#withoutParts(value, at, parts)
      else {
        const text = isLarge(value) ? this.#format(value) : ''
        if (text.length >= minPartLength) parts.push({ path: at, text })
        else rest[key] = value
      }
    }
    return rest
  }

  #load(digest: string): unknown {
    const kept = this.#kept.get(digest)
    if (kept !== undefined) return kept.value
    const text = String(this.#text.get(digest)?.['text'])
    const value = this.#parse(text)
    this.#kept.set(digest, { value }, { size: Math.max(1, text.length) })
    return value
  }
}

/** Whether it is worth to write it out in order to see how long it is. */
function isLarge(value: unknown): boolean {
  return typeof value === 'object'
    ? value !== null
    : typeof value === 'string' && value.length >= minPartLength
}
