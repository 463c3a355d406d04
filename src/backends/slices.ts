/** Lists that are sent in slices, so that other requests have their turn in between. */
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'

export interface Slice {
  /** Of the JSON of the whole list. */
  readonly text: string
  readonly isLast: boolean
}

/** Sends a list with little memory, however long it is. One of a single slice is sent as a whole, since a stream costs more. */
export function sendSlices(reply: FastifyReply, slices: Iterator<Slice, void>): FastifyReply {
  const { text, isLast } = slices.next().value ?? { text: '[]', isLast: true }
  reply.type('application/json; charset=utf-8')
  return reply.send(isLast ? text : Readable.from(inTurns(text, slices)))
}

async function* inTurns(first: string, others: Iterator<Slice, void>): AsyncGenerator<string> {
  for (let text: string | undefined = first; text !== undefined; text = others.next().value?.text) {
    yield text
    await setImmediate()
  }
}
