/** Forms of services' answers, by the schema of the operation's own answer. */

import type { ServiceName } from '@fairlead/base/services/services.ts'
import { z } from 'zod'
import { type AnswerForm, misfit, noPage } from '../../upstreams/answer-form.ts'
import type { UpstreamCall } from '../../upstreams/upstream-call.ts'

const anything: AnswerForm = { kind: 'anything' }

/** Objects and lists must arrive as such; an optional one may be empty. Texts and unknown bytes may be anything. */
export function answerFormOf(schema: z.ZodType): AnswerForm {
  if (schema instanceof z.ZodUndefined) return noPage
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    const form = answerFormOf(schema.unwrap() as z.ZodType)
    return form.kind === 'json' ? { ...form, mayBeEmpty: true } : form
  }
  if (schema instanceof z.ZodUnion) {
    return schema.options.map((option) => answerFormOf(option as z.ZodType)).reduce(either)
  }
  const object = schema instanceof z.ZodObject || schema instanceof z.ZodRecord
  const list = schema instanceof z.ZodArray || schema instanceof z.ZodTuple
  return object || list ? { kind: 'json', object, list, mayBeEmpty: false } : anything
}

export function formOfCall(form: AnswerForm, { headers }: UpstreamCall): AnswerForm {
  const wanted = headers?.['accept']
  return form.kind === 'json' && wanted !== undefined && !/\bjson\b/.test(wanted) ? noPage : form
}

/**
 * What a function made of the answers of services has the declared form, or the service that answered last is to blame.
 *
 * @throws {GatewayError} UPSTREAM_UNREADABLE
 */
export function checkValue(
  form: AnswerForm,
  value: unknown,
  lastAsked: ServiceName | undefined,
): void {
  if (form.kind !== 'json' || lastAsked === undefined || value === null) return
  if (value === undefined) {
    if (!form.mayBeEmpty) throw misfit(form, lastAsked, 'nothing')
  } else if (typeof value !== 'object') throw misfit(form, lastAsked, 'a single JSON value')
  else if (Array.isArray(value) ? !form.list : !form.object) {
    throw misfit(form, lastAsked, Array.isArray(value) ? 'a JSON list' : 'a JSON object')
  }
}

function either(one: AnswerForm, other: AnswerForm): AnswerForm {
  if (one.kind !== 'json' || other.kind !== 'json') return anything
  return {
    kind: 'json',
    object: one.object || other.object,
    list: one.list || other.list,
    mayBeEmpty: one.mayBeEmpty || other.mayBeEmpty,
  }
}
