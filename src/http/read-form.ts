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
  const form = new URLSearchParams()
  let fields = 0
  for (let from = 0; from <= body.length; ) {
    if (++fields > maxFields) throw new GatewayError('BAD_ARGUMENT', `The form has more than ${maxFields} fields.`)
    const end = indexOr(body.length, body.indexOf(ampersand, from))
    appendField(form, body.subarray(from, end))
    from = end + 1
  }
  return form
}

const codeOf = (character: string) => character.charCodeAt(0)
const [ampersand = 0, equals = 0, plus = 0, percent = 0, space = 0] = [...'&=+% '].map(codeOf)
const noDigit = 16
/** Values of hexadecimal digits by their code. */
const digits = Uint8Array.from({ length: 256 }, (_, code) => {
  const value = Number.parseInt(String.fromCharCode(code), 16)
  return Number.isNaN(value) ? noDigit : value
})

function indexOr(otherwise: number, index: number): number {
  return index === -1 ? otherwise : index
}

function appendField(form: URLSearchParams, field: Buffer): void {
  if (field.length === 0) return
  const nameEnd = indexOr(field.length, field.indexOf(equals))
  form.append(decode(field.subarray(0, nameEnd)), decode(field.subarray(nameEnd + 1)))
}

/**
 * Decodes in place; malformed escapes stay as they are. The parser of the platform takes 20 ms for a megabyte of base64.
 *
 * @see https://url.spec.whatwg.org/#urlencoded-parsing
 */
function decode(bytes: Buffer): string {
  const end = bytes.length
  let at = Math.min(indexOr(end, bytes.indexOf(percent)), indexOr(end, bytes.indexOf(plus)))
  let length = at
  while (at < end) {
    let byte = bytes[at++] as number
    if (byte === plus) byte = space
    if (byte === percent && at + 1 < end) {
      const high = digits[bytes[at] as number] as number
      const low = digits[bytes[at + 1] as number] as number
      if (high !== noDigit && low !== noDigit) {
        byte = high * 16 + low
        at += 2
      }
    }
    bytes[length++] = byte
  }
  return bytes.toString('utf8', 0, length)
}
