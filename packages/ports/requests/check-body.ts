/** Bodies of requests, checked against a schema. */

import { isRawNumber } from '@fairlead/base/json/json.ts'
import { isObject, type JsonObject, mapLeaves } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { describeIssue, describeIssues } from '@fairlead/base/settings/describe-issue.ts'
import { z } from 'zod'

const flagText = 'it must be true or false'
/** Older clients send booleans as text. */
export const optionalFlagField = z
  .union([z.boolean(), z.string().regex(/^(true|false)$/i, flagText)], flagText)
  .nullish()

/**
 * Checks a body without copying it, so that unknown fields and large numbers stay as they are.
 *
 * @throws {PortError} 400 that names each field that does not fit.
 */
export function checkBody<T>(schema: z.ZodType<T>, body: unknown): T & JsonObject {
  if (!isObject(body)) throw refused('The body must be a JSON object.')
  const { error } = parse(schema, body)
  if (error === undefined) return body as T & JsonObject
  throw refused(`The body does not fit its declaration. ${describeIssues(error)}.`)
}

/** What `checkBody` would refuse, with the places as `metrics[0].name`. */
export function findBodyProblems(
  schema: z.ZodType,
  body: JsonObject,
): { place: string; message: string }[] {
  return (parse(schema, body).error?.issues ?? []).map((issue) => ({
    place: issue.path
      .map((key, at) =>
        typeof key === 'number' ? `[${key}]` : `${at > 0 ? '.' : ''}${String(key)}`,
      )
      .join(''),
    message: describeIssue(issue),
  }))
}

/** Numbers that JavaScript cannot hold are objects, which a schema would take for objects of JSON. */
function parse<T>(schema: z.ZodType<T>, body: JsonObject): z.ZodSafeParseResult<T> {
  return schema.safeParse(mapLeaves(body, (leaf) => (isRawNumber(leaf) ? Number(leaf) : leaf)))
}

function refused(message: string): PortError {
  return new PortError(400, message, { exception: 'InvalidRequest' })
}
