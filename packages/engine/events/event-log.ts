/** Event log: what each event has started, or why it has started nothing. */
import { randomUUID } from 'node:crypto'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { shorten } from '@fairlead/base/names/edit-distance.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { inTransaction } from '@fairlead/base/storage/database.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { type EventRecord, toOutcome } from '@fairlead/ports/event-record.ts'
import { pathValue, queryCount, queryValue } from '@fairlead/ports/requests/request-values.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import {
  type EventFilter,
  EventLogStore,
  type EventOutcome,
  type StoredEvent,
} from './event-log-store.ts'

/** Something was looked at for triggers, and that has failed. */
interface PollFailure {
  /** Type of the events. */
  readonly type: string
  readonly source: string
  /** Such as `{ repository }`. */
  readonly summary: JsonObject
  /** What failed and what to do, as a sentence. */
  readonly reason: string
  readonly waiting: readonly WaitingTrigger[]
}

export interface WaitingTrigger {
  readonly pipeline: JsonObject
  readonly trigger: JsonObject
}

/** Waiting events are written together, so that hundreds in a second stay cheap. */
const writeEveryMs = 200
const maxWaiting = 500
/** The rest of the pipelines that an event concerns is counted. */
const maxTriggers = 50
const maxText = 300
/** The same failure of a poll is logged again only then. */
const sameFailureMs = 60 * 60_000
const maxFailures = 1000

export class EventLog {
  readonly #context: BackendContext
  readonly #store: EventLogStore
  /** When each failure of a poll was logged last. */
  readonly #failures = new Map<string, number>()
  #waiting: StoredEvent[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(context: BackendContext) {
    this.#context = context
    this.#store = new EventLogStore(context.db, context.settings.eventLog)
  }

  /** Writes it within a moment, together with others. */
  add(record: EventRecord): void {
    this.#waiting.push(this.#toStored(record))
    if (this.#waiting.length >= maxWaiting) this.#flush()
    else this.#timer ??= setTimeout(() => this.#flush(), writeEveryMs)
  }

  /** Writes it in the transaction of the caller, after those that wait. */
  write(record: EventRecord): void {
    this.#writeAll([...this.#waiting, this.#toStored(record)])
    this.#waiting = []
  }

  /** The same failure is logged once an hour. */
  addFailure({ type, source, summary, reason, waiting }: PollFailure): void {
    const now = this.#context.now()
    const key = JSON.stringify([type, source, summary, reason])
    if (now - (this.#failures.get(key) ?? Number.NEGATIVE_INFINITY) < sameFailureMs) return
    if (this.#failures.size >= maxFailures) this.#failures.clear()
    this.#failures.set(key, now)
    const triggers = waiting.map((each) => toOutcome(each.pipeline, each.trigger, { reason }))
    this.add({ type, source, summary, reason, hasFailed: true, share: 'failed polls', triggers })
  }

  /** Newest first. */
  list(filter: EventFilter): JsonObject[] {
    this.#flush()
    return this.#store.list(filter)
  }

  /** @param application Of whose pipelines at least one is concerned */
  find(id: string, application: string | undefined): JsonObject | undefined {
    this.#flush()
    return this.#store.list({ application, limit: 1 }, id)[0]
  }

  close(): void {
    this.#flush()
  }

  #toStored({
    id = randomUUID(),
    type,
    source = '',
    summary,
    payload,
    share,
    triggers,
    ...rest
  }: EventRecord): StoredEvent {
    const kept = triggers
      .slice(0, maxTriggers)
      .map((each) => ({ ...each, ...(each.reason && { reason: shorten(each.reason, maxText) }) }))
    const further = triggers.length - kept.length
    const reason =
      rest.reason ??
      (further > 0 ? `Further triggers that wait for such events: ${further}.` : undefined)
    const hasStarted = triggers.some(({ executionId }) => executionId !== undefined)
    const outcome: EventOutcome =
      rest.hasFailed === true ? 'failed' : hasStarted ? 'started' : 'nothing'
    return {
      id: shorten(id, maxText),
      timeMs: this.#context.now(),
      type: shorten(type, maxText),
      source: shorten(source, maxText),
      outcome,
      summary,
      payload,
      reason: reason === undefined ? undefined : shorten(reason, maxText),
      share,
      triggers: kept,
    }
  }

  /** Events that cannot be written, as on a full disk, are lost; what they started is not. */
  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const events = this.#waiting
    this.#waiting = []
    if (events.length === 0) return
    try {
      inTransaction(this.#context.db, () => this.#writeAll(events))
    } catch (error) {
      this.#context.log.warn({ err: error, events: events.length }, 'events could not be logged')
    }
  }

  #writeAll(events: readonly StoredEvent[]): void {
    for (const event of events) this.#store.add(event)
    this.#store.prune(this.#context.now(), new Set(events.flatMap(({ share }) => share ?? [])))
  }
}

const usualLimit = 50
const maxLimit = 200

const outcomes: readonly EventOutcome[] = ['started', 'nothing', 'failed']

/** The gateway decides who may see which application. */
export function eventLogRoutes(app: FastifyInstance, log: EventLog): void {
  app.get('/events', (request): JsonObject[] => log.list(filterOf(request)))
  app.get('/events/:id', (request): JsonObject => {
    const id = pathValue(request, 'id')
    const found = log.find(id, given(request, 'application'))
    if (found === undefined)
      throw new PortError(404, `No event has the id "${id}", or it was removed since.`)
    return found
  })
}

/** @throws {PortError} 400 */
function filterOf(request: FastifyRequest): EventFilter {
  return {
    application: given(request, 'application'),
    pipeline: given(request, 'pipeline'),
    type: given(request, 'type')?.toLowerCase(),
    outcome: outcomeOf(request),
    fromMs: queryCount(request, 'from'),
    before: given(request, 'cursor'),
    limit: Math.min(queryCount(request, 'limit') ?? usualLimit, maxLimit),
  }
}

function outcomeOf(request: FastifyRequest): EventOutcome | undefined {
  const text = given(request, 'outcome')
  const found = outcomes.find((each) => each === text)
  if (text !== undefined && found === undefined)
    throw new PortError(400, `The parameter "outcome" must be one of ${outcomes.join(', ')}.`)
  return found
}

/** An empty one counts as none. */
function given(request: FastifyRequest, name: string): string | undefined {
  return queryValue(request, name) || undefined
}
