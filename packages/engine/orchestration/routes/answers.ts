/** Responses with records, and list parameters, for all routes. */

import { isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import { describeChoice } from '@fairlead/base/names/edit-distance.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { trustedCallerOf, userOf } from '@fairlead/ports/requests/request-caller.ts'
import { type Slice, sendSlices } from '@fairlead/ports/requests/slices.ts'
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import type { Identity } from '../model.ts'
import { type Status, statuses } from '../statuses.ts'
import { formatStored } from '../store.ts'

/** The user who operates on a run. */
export function modifierOf(request: FastifyRequest): Identity {
  return { user: userOf(request), allowedAccounts: trustedCallerOf(request).accounts }
}

/** Sends JSON in which members that are null are left out. */
export function sendRecord(reply: FastifyReply, value: unknown): FastifyReply {
  return sendText(reply, formatStored(value))
}

/** @param json As `formatStored` writes it */
export function sendText(reply: FastifyReply, json: string | undefined): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(json)
}

/** @throws {PortError} 400 for any other body */
export function objectAnswer(body: unknown): JsonObject {
  if (!isObject(body)) throw new PortError(400, 'The body must be a JSON object.')
  return body
}

/** How far back lists reach. */
export const historyMs = 14 * 24 * 3600 * 1000

/** Time for which records are read before others have their turn. */
const sliceMs = 10
const chunkCharacters = 64 * 1024

/**
 * Sends a list record by record.
 *
 * @param write JSON of a record; `undefined` leaves it out, as one that has gone meanwhile
 */
export function sendRecords(
  reply: FastifyReply,
  ids: Iterable<string>,
  write: (id: string) => string | undefined,
): FastifyReply {
  return sendSlices(reply, listSlices(ids, write, reply.log))
}

function* listSlices(
  ids: Iterable<string>,
  write: (id: string) => string | undefined,
  log: FastifyBaseLogger,
): Generator<Slice, void> {
  let text = '['
  let separator = ''
  let until = performance.now() + sliceMs
  for (const id of ids) {
    try {
      const record = write(id)
      if (record === undefined) continue
      text += separator + record
      separator = ','
    } catch (error) {
      // One record that cannot be shown must not hide the others.
      log.error(
        { err: error, execution: id },
        'an execution is left out of a list, since it cannot be read',
      )
    }
    if (text.length < chunkCharacters && performance.now() < until) continue
    yield { text, isLast: false }
    text = ''
    until = performance.now() + sliceMs
  }
  yield { text: `${text}]`, isLast: true }
}

/** @throws {PortError} 400 for a name that is not a status. */
export function wantedStatuses(text: string | undefined): Status[] | undefined {
  if (text === undefined || text === '') return undefined
  return text.split(',').map((name) => {
    const status = name.trim().toUpperCase()
    if (Object.hasOwn(statuses, status)) return status as Status
    throw new PortError(400, describeChoice(name, 'a status', Object.keys(statuses)))
  })
}

/** @throws {PortError} 400 when it is not a whole number. */
export function wholeNumber(text: string | undefined, name: string, otherwise: number): number {
  if (text === undefined || text === '') return otherwise
  const number = Number(text)
  if (!Number.isSafeInteger(number)) throw new PortError(400, `"${name}" must be a whole number.`)
  return number
}

export function textList(text: string | undefined): string[] {
  return (text ?? '').split(',').filter((each) => each !== '')
}
