/** An event, in the form that the embedded event service works with. */
import { randomUUID } from 'node:crypto'
import { maybeObject, or, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, objectOf, textOf } from '@fairlead/base/json/values.ts'

export interface Event {
  /** UUID; travels to the trigger of every pipeline that the event starts. */
  id: string
  /** Lower case: `manual`, `webhook`, `git`, `docker`, `orca:pipeline:complete`, … Empty when the event has none. */
  type: string
  source: string
  /** Names in lower case, first value of each. */
  headers: Record<string, string>
  attributes: JsonObject
  content: JsonObject
  /** The original body of a webhook; of other events, their content. */
  payload: JsonObject
  /** The original bytes of a webhook, which its signature covers. */
  raw: Buffer | undefined
  /** What an event of a registry or build service says that it made. */
  artifact: JsonObject | undefined
  /** Fairlead has looked for itself: no sender has to be proven. */
  isObserved?: true
  /** When a webhook has arrived, in milliseconds since the epoch. */
  receivedMs?: number
  /** The secret of senders for triggers without one. A function: events are stored and logged. */
  commonSecret?: () => string | undefined
}

/** What a poll has found. @param payload For conditions of triggers and expressions */
export function observedEvent(type: string, content: JsonObject, payload: JsonObject): Event {
  const unsent = { headers: {}, attributes: {}, raw: undefined, artifact: undefined }
  return { ...unsent, id: '', type, source: 'poll', content, payload, isObserved: true }
}

const toPosted = shape({
  eventId: textOf,
  details: shape({
    type: or(textOf, ''),
    source: or(textOf, ''),
    requestHeaders: objectOf,
    attributes: objectOf,
  }),
  content: objectOf,
  payload: maybeObject,
  rawContent: textOf,
  artifact: maybeObject,
})

/** Reads an event that was posted as such. Unknown fields are ignored (docs/contracts/events.md#shape-of-an-event). */
export function toEvent(body: unknown): Event {
  const { eventId, details, content, payload, rawContent, artifact } = toPosted(body)
  return {
    id: eventId ?? randomUUID(),
    type: details.type.toLowerCase(),
    source: details.source,
    headers: toHeaders(details.requestHeaders),
    attributes: details.attributes,
    content,
    payload: payload ?? content,
    raw: rawContent === undefined ? undefined : Buffer.from(rawContent),
    artifact,
  }
}

function toHeaders(headers: JsonObject): Record<string, string> {
  const first = Object.entries(headers).map(
    ([name, value]) => [name.toLowerCase(), [value].flat()[0]] as const,
  )
  return Object.fromEntries(
    first.filter((header): header is readonly [string, string] => typeof header[1] === 'string'),
  )
}
