/** Marks of what has started a trigger: a delivery that is repeated, or a push that webhook and poll report, starts it once. */
import { createHash } from 'node:crypto'
import type { DatabaseSync, SQLTagStore } from 'node:sqlite'
import { formatJson } from '../../json/json.ts'
import { type JsonObject, textOf } from '../../json/values.ts'
import type { Event } from './event.ts'

export const startMarkMigrations = [
  `CREATE TABLE events_start_marks (
     trigger_key TEXT NOT NULL,
     name TEXT NOT NULL,
     origin TEXT NOT NULL,
     marked_ms INTEGER NOT NULL,
     PRIMARY KEY (trigger_key, name)
   ) STRICT, WITHOUT ROWID`,
  'CREATE INDEX events_start_marks_by_time ON events_start_marks (marked_ms)',
]

/** Hosts let users send a delivery again for some days. */
const keptForMs = 3 * 24 * 60 * 60_000
const pruneEveryMs = 60 * 60_000

/** One that both ways have reported: the next report of either is about another push of the same commit. */
const reportedTwice = 'both'

export class StartMarks {
  readonly #sql: SQLTagStore
  readonly #now: () => number
  #prunedMs = Number.NEGATIVE_INFINITY

  constructor(db: DatabaseSync, now: () => number) {
    this.#sql = db.createTagStore()
    this.#now = now
  }

  /**
   * Marks what is about to start a trigger, within the transaction that stores the start.
   *
   * @returns why the event must not start it again, as a sentence
   */
  take(event: Event, pipeline: JsonObject, trigger: JsonObject): string | undefined {
    const [key, now] = [triggerKey(pipeline, trigger), this.#now()]
    const { delivery, push } = marksOf(event)
    if (delivery !== undefined && this.#originOf(key, delivery, now) !== undefined)
      return 'The same delivery has started the trigger before.'
    const known = push === undefined ? undefined : this.#originOf(key, push, now)
    const origin = event.isObserved ? 'poll' : 'webhook'
    const isRepeated = known !== undefined && known !== origin && known !== reportedTwice
    if (delivery !== undefined) this.#put(key, delivery, origin, now)
    if (push !== undefined) this.#put(key, push, isRepeated ? reportedTwice : origin, now)
    this.#prune(now)
    return isRepeated ? `The same push has started the trigger before, by a ${known}.` : undefined
  }

  #originOf(key: string, name: string, now: number): unknown {
    const oldestMs = now - keptForMs
    return this.#sql.get`SELECT origin FROM events_start_marks
      WHERE trigger_key = ${key} AND name = ${name} AND marked_ms >= ${oldestMs}`?.['origin']
  }

  #put(key: string, name: string, origin: string, now: number): void {
    this.#sql.run`INSERT OR REPLACE INTO events_start_marks VALUES (${key}, ${name}, ${origin}, ${now})`
  }

  #prune(now: number): void {
    if (now - this.#prunedMs < pruneEveryMs) return
    this.#prunedMs = now
    this.#sql.run`DELETE FROM events_start_marks WHERE marked_ms < ${now - keptForMs}`
  }
}

/** Names of the delivery, and of the push. */
function marksOf({ id, type, content, headers, isObserved }: Event): { delivery?: string; push?: string } {
  // The build service sends an event again with the same id when it does not know that it has arrived.
  if (type === 'build') return { delivery: `event ${id}` }
  if (type === 'docker' || type === 'helm/oci') return imageMark(content)
  if (type !== 'git') return {}
  const [ref, hash, delivery] = [textOf(content['ref']), textOf(content['hash']), deliveryOf(headers)]
  return {
    ...(delivery !== undefined && isObserved !== true && { delivery: `delivery ${delivery}` }),
    ...(ref !== undefined && hash !== undefined && { push: `push ${ref} ${hash}` }),
  }
}

/** Webhooks of some registries tell no digest. */
function imageMark({ repository, tag }: JsonObject): { push?: string } {
  const [name, version] = [textOf(repository), textOf(tag)]
  return name === undefined || version === undefined ? {} : { push: `image ${name}:${version}` }
}

/** In this order: Gitea and its relatives send names of each other. */
const deliveryHeaders = [
  ...['x-github-delivery', 'x-gitea-delivery', 'x-forgejo-delivery', 'x-gogs-delivery'],
  ...['idempotency-key', 'webhook-id', 'x-request-uuid'],
]

const maxDeliveryLength = 200

function deliveryOf(headers: Event['headers']): string | undefined {
  return deliveryHeaders.map((name) => textOf(headers[name])).find((id) => id !== undefined && id.length <= maxDeliveryLength)
}

function triggerKey({ id: pipeline }: JsonObject, { secret: _secret, ...trigger }: JsonObject): string {
  const text = formatJson([pipeline, textOf(trigger['id']) ?? trigger])
  return createHash('sha256').update(text).digest('base64url')
}
