/** An event, in the form that the embedded event service works with. */
import { randomUUID } from 'node:crypto'
import { fieldOf, isObject, type JsonObject, objectOf, textOf } from '@fairlead/base/json/values.ts'

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

/** Reads an event that was posted as such. Unknown fields are ignored (docs/contracts/events.md#shape-of-an-event). */
export function toEvent(body: unknown): Event {
  const details = objectOf(fieldOf(body, 'details'))
  const content = objectOf(fieldOf(body, 'content'))
  const payload = fieldOf(body, 'payload')
  const artifact = fieldOf(body, 'artifact')
  const rawContent = textOf(fieldOf(body, 'rawContent'))
  return {
    id: textOf(fieldOf(body, 'eventId')) ?? randomUUID(),
    type: (textOf(details['type']) ?? '').toLowerCase(),
    source: textOf(details['source']) ?? '',
    headers: toHeaders(objectOf(details['requestHeaders'])),
    attributes: objectOf(details['attributes']),
    content,
    payload: isObject(payload) ? payload : content,
    raw: rawContent === undefined ? undefined : Buffer.from(rawContent),
    artifact: isObject(artifact) ? artifact : undefined,
  }
}

function toHeaders(headers: JsonObject): Record<string, string> {
  const first: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    const text = Array.isArray(value) ? value[0] : value
    if (typeof text === 'string') first[name.toLowerCase()] = text
  }
  return first
}
