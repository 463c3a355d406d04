/** Validation of triggers that could never fire: unknown types, cron expressions and statuses. */
import { isTrue, type JsonObject, objectsOf, textsOf } from '../../json/values.ts'
import { describeChoice } from '../../names/edit-distance.ts'
import { validateCron } from '../events/cron/validation.ts'
import { triggerTypes } from '../events/kinds/all.ts'
import { completionWords } from '../orchestration/statuses.ts'
import type { Definitions } from './collections.ts'
import { optionalFlagField, refusal, refusalOf } from './requests.ts'

/** A type of Spinnaker's UI that no embedded service fires. */
const firedElsewhere = 'wercker'

/**
 * Refuses enabled triggers that cannot fire. One that is disabled, or is not filled in yet, is left alone, as is what is an
 * expression: it is known once the template is expanded.
 *
 * @throws {BackendError} 400 with each trigger and what is wrong with it
 */
export function checkTriggers({ context }: Definitions, definition: JsonObject): void {
  if (!context.isEmbedded('echo')) return
  const problems = objectsOf(definition['triggers']).flatMap((trigger, index) => {
    const { enabled } = trigger
    if (!optionalFlagField.safeParse(enabled).success)
      return [`Trigger ${index + 1}: ${describeChoice(String(enabled), 'a value of "enabled"', ['true', 'false'])}`]
    const problem = isTrue(enabled) ? describeProblem(trigger) : undefined
    return problem === undefined ? [] : [`Trigger ${index + 1}${problem} Correct it, or disable the trigger.`]
  })
  if (problems.length > 0) throw refusal(problems.join(' '), problems)
}

function describeProblem(trigger: JsonObject): string | undefined {
  const { type } = trigger
  if (type === undefined || type === null || type === '') return ' has no "type".'
  if (type === 'cron') return describeCronProblem(String(trigger['cronExpression'] ?? ''))
  if (type === 'pipeline') return describeStatusProblem(textsOf(trigger['status']))
  if (isExpression(String(type)) || triggerTypes.includes(String(type)) || type === firedElsewhere) return undefined
  return ` has an unknown type. ${describeChoice(String(type), 'a type of trigger', triggerTypes)}`
}

/** By the judge of `GET /cron/validate`. */
function describeCronProblem(expression: string): string | undefined {
  if (expression.trim() === '' || isExpression(expression)) return undefined
  const problem = refusalOf(() => validateCron(expression))
  return problem === undefined ? undefined : ` (cron): ${problem}`
}

function describeStatusProblem(statuses: readonly string[]): string | undefined {
  const unknown = statuses.find((status) => !isExpression(status) && !completionWords.some((word) => word === status))
  return unknown === undefined ? undefined : ` (pipeline): ${describeChoice(unknown, 'a status to wait for', completionWords)}`
}

function isExpression(text: string): boolean {
  return text.includes('${')
}
