/** Payloads of jobs that are JSON in base64, or plain JSON. */
import { parseJson } from '@fairlead/base/json/json.ts'
import { isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import { StageError } from '../machine/failure.ts'

/** A body that carries the document has seen it as one text. */
const maxValues = 200_000

/** @throws {StageError} when a text is not JSON in base64. */
export function decodePayload(value: unknown, key: string): unknown {
  if (typeof value !== 'string') return value
  try {
    return parseJson(Buffer.from(value, 'base64').toString(), { maxValues })
  } catch {
    throw new StageError([`"${key}" must be JSON in base64.`])
  }
}

/** @throws {StageError} when it is not an object. */
export function decodeObject(value: unknown, key: string): JsonObject {
  const decoded = decodePayload(value, key)
  if (!isObject(decoded)) throw new StageError([`"${key}" must be a JSON object in base64.`])
  return decoded
}
