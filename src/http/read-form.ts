/** Reads a posted form, within limits of size and fields. */
import type { ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { GatewayError } from '../errors.ts'
import { readBytes } from './read-body.ts'

/** No form of a login has half as many; reading a hundred thousand would take minutes. */
const maxFields = 20

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
  const body = await readBytes(raw, { maxBytes, hold: answer && server.boundsOf('open', answer).hold })
  let fields = 1
  for (let at = body.indexOf('&'); at !== -1; at = body.indexOf('&', at + 1)) {
    if (++fields > maxFields) throw new GatewayError('BAD_ARGUMENT', `The form has more than ${maxFields} fields.`)
  }
  const form = new URLSearchParams()
  for (const field of body.toString('utf8').split('&')) appendField(form, field)
  return form
}

/** The parser of the platform takes 20 ms for a megabyte of base64, which has one escape at its end. */
function appendField(form: URLSearchParams, field: string): void {
  if (field === '') return
  const equals = field.indexOf('=')
  const parts = equals === -1 ? [field, ''] : [field.slice(0, equals), field.slice(equals + 1)]
  try {
    const [name = '', value = ''] = parts.map((part) => decodeURIComponent(part.replaceAll('+', ' ')))
    form.append(name, value)
  } catch {
    // Of a malformed escape, the platform's own reading counts.
    for (const [name, value] of new URLSearchParams(field)) form.append(name, value)
  }
}
