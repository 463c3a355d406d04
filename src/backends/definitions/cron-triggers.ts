/** Cron triggers, whose expressions the embedded event service has to understand when it is the one that fires them. */
import { BackendError } from '../backend.ts'
import { validateCron } from '../events/cron/validation.ts'
import { isTrue, type JsonObject, objectsOf } from '../json-values.ts'
import type { Definitions } from './collections.ts'
import { refusal } from './requests.ts'

/**
 * Refuses cron expressions that `GET /cron/validate` refuses. A trigger that is disabled or has no expression yet never fires, and
 * is left alone, as is one whose expression is only known once the template is expanded.
 *
 * @throws {BackendError} 400 with each trigger and what is wrong with it
 */
export function checkCronTriggers({ context }: Definitions, definition: JsonObject): void {
  if (!context.isEmbedded('echo')) return
  const problems = objectsOf(definition['triggers']).flatMap((trigger, index) => {
    if (trigger['type'] !== 'cron' || !isTrue(trigger['enabled'])) return []
    const problem = describeCronProblem(String(trigger['cronExpression'] ?? ''))
    return problem === undefined ? [] : [`Trigger ${index + 1} (cron): ${problem}`]
  })
  if (problems.length > 0) throw refusal(`${problems.join(' ')} Correct the expression, or disable the trigger.`, problems)
}

function describeCronProblem(expression: string): string | undefined {
  if (expression.trim() === '' || expression.includes('${')) return undefined
  try {
    validateCron(expression)
    return undefined
  } catch (error) {
    if (!(error instanceof BackendError)) throw error
    return error.message
  }
}
