/** What the routes share: answering with records, and reading list parameters. */
import type { FastifyReply } from 'fastify'
import { BackendError } from '../../backend.ts'
import { isStatus, type Status } from '../statuses.ts'
import { formatStored } from '../store.ts'

/** Sends JSON in which members that are null are left out. */
export function sendRecord(reply: FastifyReply, value: unknown): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(formatStored(value))
}

/** @throws {BackendError} 400 for a name that is not a status. */
export function wantedStatuses(text: string | undefined): Status[] | undefined {
  if (text === undefined || text === '') return undefined
  return text.split(',').map((name) => {
    const status = name.trim().toUpperCase()
    if (isStatus(status)) return status
    throw new BackendError(400, `"${name}" is not a status.`)
  })
}

/** @throws {BackendError} 400 when it is not a whole number. */
export function wholeNumber(text: string | undefined, name: string, otherwise: number): number {
  if (text === undefined || text === '') return otherwise
  const number = Number(text)
  if (!Number.isSafeInteger(number)) throw new BackendError(400, `"${name}" must be a whole number.`)
  return number
}

export function textList(text: string | undefined): string[] {
  return (text ?? '').split(',').filter((each) => each !== '')
}
