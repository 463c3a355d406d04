/** Bodies of requests, checked against a schema. */
import { z } from 'zod'
import { isRawNumber } from '../../json/json.ts'
import { isObject, type JsonObject } from '../../json/values.ts'
import { describeIssue } from '../../settings/describe-issue.ts'
import { BackendError } from '../backend.ts'

const flagText = 'it must be true or false'
/** Older clients send booleans as text. */
export const optionalFlagField = z.union([z.boolean(), z.string().regex(/^(true|false)$/i, flagText)], flagText).nullish()

/**
 * Checks a body without copying it, so that unknown fields and large numbers stay as they are.
 *
 * @throws {BackendError} 400 that names each field that does not fit.
 */
export function checkBody<T>(schema: z.ZodType<T>, body: unknown): T & JsonObject {
  if (!isObject(body)) throw refused('The body must be a JSON object.')
  const checked = schema.safeParse(plain(body))
  if (checked.success) return body as T & JsonObject
  const faults = checked.error.issues.map((issue) => `${issue.path.join('.')}: ${describeIssue(issue)}`)
  throw refused(`The body does not fit its declaration. ${faults.join('; ')}.`)
}

/** Numbers that JavaScript cannot hold are objects, which a schema would take for objects of JSON. A copy only where there are any. */
function plain(value: unknown): unknown {
  if (isRawNumber(value)) return Number(value)
  if (Array.isArray(value)) {
    const members = value.map(plain)
    return members.some((member, index) => member !== value[index]) ? members : value
  }
  if (!isObject(value)) return value
  const changed = Object.entries(value).flatMap(([key, member]) => {
    const shown = plain(member)
    return shown === member ? [] : [[key, shown] as const]
  })
  return changed.length === 0 ? value : { ...value, ...Object.fromEntries(changed) }
}

function refused(message: string): BackendError {
  return new BackendError(400, message, { exception: 'InvalidRequest' })
}
