/** Marks of what has started a trigger: a delivery that is repeated, or a push that webhook and poll report, starts it once. */

import { createHash } from 'node:crypto'
import type { DatabaseSync, SQLTagStore } from 'node:sqlite'
import { formatJson } from '@fairlead/base/json/json.ts'
import { shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { readTrigger } from '@fairlead/model/pipelines/definition.ts'
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
  'ALTER TABLE events_start_marks ADD COLUMN digest TEXT',
]

/** Hosts let users send a delivery again for some days. */
const keptForMs = 3 * 24 * 60 * 60_000
const pruneEveryMs = 60 * 60_000

/** One that both ways have reported: the next report of either is about another push of the same commit. */
const reportedTwice = 'both'

interface Mark {
  readonly origin: string
  /** Digest of an image, where it is known. */
  readonly digest: string | null | undefined
}

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
    const { delivery, push, digest } = marksOf(event)
    if (delivery !== undefined && this.#find(key, delivery, now) !== undefined)
      return 'The same delivery has started the trigger before.'
    const known = push === undefined ? undefined : this.#find(key, push, now)
    const origin = event.isObserved ? 'poll' : 'webhook'
    const isOther = known?.digest !== undefined && digest !== undefined && known.digest !== digest
    const isRepeated =
      known !== undefined && !isOther && known.origin !== origin && known.origin !== reportedTwice
    if (delivery !== undefined) this.#put(key, delivery, { origin, digest: undefined }, now)
    const mark = isRepeated
      ? { origin: reportedTwice, digest: digest ?? known.digest }
      : { origin, digest }
    if (push !== undefined) this.#put(key, push, mark, now)
    this.#prune(now)
    return isRepeated
      ? `The same push has started the trigger before, by a ${known.origin}.`
      : undefined
  }

  #find(key: string, name: string, now: number): Mark | undefined {
    const oldestMs = now - keptForMs
    const row = this.#sql.get`SELECT origin, digest FROM events_start_marks
      WHERE trigger_key = ${key} AND name = ${name} AND marked_ms >= ${oldestMs}`
    return row && { origin: String(row['origin']), digest: textOf(row['digest']) }
  }

  #put(key: string, name: string, { origin, digest = null }: Mark, now: number): void {
    this.#sql
      .run`INSERT OR REPLACE INTO events_start_marks (trigger_key, name, origin, marked_ms, digest)
      VALUES (${key}, ${name}, ${origin}, ${now}, ${digest})`
  }

  #prune(now: number): void {
    if (now - this.#prunedMs < pruneEveryMs) return
    this.#prunedMs = now
    this.#sql.run`DELETE FROM events_start_marks WHERE marked_ms < ${now - keptForMs}`
  }
}

interface EventMarks {
  readonly delivery?: string
  readonly push?: string
  readonly digest?: string
}

const readContent = shape({
  ref: textOf,
  hash: textOf,
  repository: textOf,
  tag: textOf,
  digest: textOf,
  delivery: textOf,
})

/** Names of the delivery, and of the push. A delivery may bring several refs or images. */
function marksOf(event: Event): EventMarks {
  const { id, type, content } = event
  // The build service sends an event again with the same id when it does not know that it has arrived.
  if (type === 'build') return { delivery: `event ${id}` }
  if (type === 'docker' || type === 'helm/oci') return imageMarks(event)
  if (type !== 'git') return {}
  const { ref, hash } = readContent(content)
  const push = ref === undefined || hash === undefined ? undefined : `push ${ref} ${hash}`
  return { delivery: deliveryMark(event, ref), push }
}

/** Webhooks of some registries tell no digest: without two of them it is the same push. */
function imageMarks(event: Event): EventMarks {
  const { repository: name, tag: version, digest } = readContent(event.content)
  if (name === undefined || version === undefined) return {}
  const image = `${name}:${version}`
  return { delivery: deliveryMark(event, image), push: `image ${image}`, digest }
}

function deliveryMark({ content, headers, isObserved }: Event, part = ''): string | undefined {
  if (isObserved === true) return undefined
  const id = [readContent(content).delivery, deliveryOf(headers)].find(isDelivery)
  return id === undefined ? undefined : `delivery ${id} ${part}`
}

/** In this order: Gitea and its relatives send names of each other. */
const deliveryHeaders = [
  ...['x-github-delivery', 'x-gitea-delivery', 'x-forgejo-delivery', 'x-gogs-delivery'],
  ...['idempotency-key', 'webhook-id', 'x-request-uuid'],
]

const maxDeliveryLength = 200

function isDelivery(id: string | undefined): boolean {
  return id !== undefined && id.length <= maxDeliveryLength
}

function deliveryOf(headers: Event['headers']): string | undefined {
  return deliveryHeaders.map((name) => textOf(headers[name])).find(isDelivery)
}

function triggerKey(
  { id: pipeline }: JsonObject,
  { secret: _secret, ...trigger }: JsonObject,
): string {
  const text = formatJson([pipeline, readTrigger(trigger).id ?? trigger])
  return createHash('sha256').update(text).digest('base64url')
}
