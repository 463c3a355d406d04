/** Lists that are sent in slices, so that other requests have their turn in between. */
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { formatJson } from '@fairlead/base/json/json.ts'
import { portionSize } from '@fairlead/base/stores/in-turns.ts'
import type { FastifyReply } from 'fastify'

export interface Slice {
  /** A part of the JSON of the whole list. */
  readonly text: string
  readonly isLast: boolean
}

/** Sends a list with little memory, however long it is. One of a single slice is sent as a whole, since a stream costs more. */
export function sendSlices(reply: FastifyReply, slices: Iterator<Slice, void>): FastifyReply {
  const { text, isLast } = slices.next().value ?? { text: '[]', isLast: true }
  reply.type('application/json; charset=utf-8')
  return reply.send(isLast ? text : Readable.from(inTurns(text, slices)))
}

export function isSlices(body: unknown): body is Iterator<Slice, void> {
  return body instanceof Iterator
}

/** Sends a list that is complete; only its JSON is written in slices. */
export function sendList<T>(
  reply: FastifyReply,
  list: readonly T[],
  write: (one: T) => string = formatJson,
): FastifyReply {
  return sendSlices(reply, listSlices(list, { write }))
}

interface ListForm<T> {
  readonly write: (one: T) => string
  /** What comes before the first entry and after the last one. */
  readonly head?: string
  readonly tail?: string
}

export function* listSlices<T>(
  list: readonly T[],
  { write, head = '[', tail = ']' }: ListForm<T>,
): Generator<Slice, void> {
  for (let at = 0; at === 0 || at < list.length; at += portionSize) {
    const isLast = at + portionSize >= list.length
    const entries = list
      .slice(at, at + portionSize)
      .map(write)
      .join(',')
    yield { text: (at === 0 ? head : ',') + entries + (isLast ? tail : ''), isLast }
  }
}

async function* inTurns(first: string, others: Iterator<Slice, void>): AsyncGenerator<string> {
  for (let text: string | undefined = first; text !== undefined; text = others.next().value?.text) {
    yield text
    await setImmediate()
  }
}
