/** Reads a posted form, within limits of size and fields. */
import type { FastifyRequest } from 'fastify'
import { GatewayError } from '../errors.ts'
import { readBytes } from './read-body.ts'

/** No form of a login has half as many; reading a hundred thousand would take minutes. */
const maxFields = 20

/**
 * The fields of the body; undefined when it is something else. Query parameters do not count.
 *
 * @throws {GatewayError} BODY_TOO_LARGE, BAD_ARGUMENT for too many fields
 */
export async function readForm({ raw, headers }: FastifyRequest, maxBytes: number): Promise<URLSearchParams | undefined> {
  const [type = ''] = (headers['content-type'] ?? '').split(';')
  if (type.trim().toLowerCase() !== 'application/x-www-form-urlencoded') return undefined
  const body = await readBytes(raw, { maxBytes })
  let fields = 1
  for (let at = body.indexOf('&'); at !== -1; at = body.indexOf('&', at + 1)) {
    if (++fields > maxFields) throw new GatewayError('BAD_ARGUMENT', `The form has more than ${maxFields} fields.`)
  }
  return new URLSearchParams(body.toString('utf8'))
}
