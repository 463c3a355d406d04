/** Reads a posted form, within limits of size and fields. */
import type { ServerResponse } from 'node:http'
import { GatewayError } from '@fairlead/base/errors.ts'
import { readBytes } from '@fairlead/base/json/bodies/read-body.ts'
import type { FastifyRequest } from 'fastify'

/** No form of a login has half as many; reading a hundred thousand would take minutes. */
const maxFields = 20
const plus = 0x2b
const blank = 0x20

/**
 * The fields of the body; undefined when it is something else. Query parameters do not count.
 *
 * @param answer Needed where a form may be large: until it is over, the form counts among what strangers have in memory.
 * @throws {GatewayError} BODY_TOO_LARGE, TOO_MANY_BODIES, BAD_ARGUMENT for too many fields
 */
export async function readForm(
  { raw, headers, server }: FastifyRequest,
  maxBytes: number,
  answer?: ServerResponse,
): Promise<URLSearchParams | undefined> {
  const [type = ''] = (headers['content-type'] ?? '').split(';')
  if (type.trim().toLowerCase() !== 'application/x-www-form-urlencoded') return undefined
  const body = await readBytes(raw, {
    maxBytes,
    hold: answer && server.boundsOf('open', answer).hold,
  })
  // The parser of the platform takes its time for each plus sign, none for blanks.
  for (let at = body.indexOf(plus); at !== -1 && at < body.length; at++)
    if (body[at] === plus) body[at] = blank
  const text = body.toString()
  if (text.split('&', maxFields + 1).length > maxFields) {
    throw new GatewayError('BAD_ARGUMENT', `The form has more than ${maxFields} fields.`)
  }
  return new URLSearchParams(text)
}
