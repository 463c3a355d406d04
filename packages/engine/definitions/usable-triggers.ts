/** Validation of triggers that could never fire: unknown types, cron expressions and statuses. */

import { isTrue, type JsonObject, objectsOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { describeChoice } from '@fairlead/base/names/edit-distance.ts'
import { repositoryPattern, withoutUserinfo } from '@fairlead/base/outside/git-repository.ts'
import { optionalFlagField } from '@fairlead/ports/requests/check-body.ts'
import { validRange } from 'semver'
import { validateCron } from '../events/cron/validation.ts'
import { triggerTypes } from '../events/kinds/all.ts'
import { completionWords } from '../orchestration/statuses.ts'
import type { Definitions } from './collections.ts'
import { isExpression } from './effective-triggers.ts'
import { refusal, refusalOf } from './requests.ts'

/** A type of Spinnaker's UI that no embedded service fires. */
const firedElsewhere = 'wercker'

/**
 * Refuses enabled triggers that cannot fire. One that is disabled, or is not filled in yet, is left alone, as is what is an
 * expression: it is known once the template is expanded.
 *
 * @throws {PortError} 400 with each trigger and what is wrong with it
 */
export function checkTriggers({ context }: Definitions, definition: JsonObject): void {
  if (context.ports.events.triggerTypes === undefined) return
  const problems = objectsOf(definition['triggers']).flatMap((trigger, index) => {
    const { enabled } = trigger
    if (!optionalFlagField.safeParse(enabled).success)
      return [
        `Trigger ${index + 1}: ${describeChoice(String(enabled), 'a value of "enabled"', ['true', 'false'])}`,
      ]
    const problem = isTrue(enabled) ? describeProblem(trigger) : undefined
    return problem === undefined
      ? []
      : [`Trigger ${index + 1}${problem} Correct it, or disable the trigger.`]
  })
  if (problems.length > 0) throw refusal(problems.join(' '), problems)
}

function describeProblem(trigger: JsonObject): string | undefined {
  const { type } = trigger
  if (type === undefined || type === null || type === '') return ' has no "type".'
  if (type === 'cron') return describeCronProblem(String(trigger['cronExpression'] ?? ''))
  if (type === 'pipeline') return describeStatusProblem(textsOf(trigger['status']))
  if (type === 'git') return describePollProblem(trigger)
  if (type === 'helm') return describeRangeProblem(String(trigger['version'] ?? ''))
  if (isExpression(String(type)) || triggerTypes.includes(String(type)) || type === firedElsewhere)
    return undefined
  return ` has an unknown type. ${describeChoice(String(type), 'a type of trigger', triggerTypes)}`
}

/** By the judge of `GET /cron/validate`. */
function describeCronProblem(expression: string): string | undefined {
  if (expression.trim() === '' || isExpression(expression)) return undefined
  const problem = refusalOf(() => validateCron(expression))
  return problem === undefined ? undefined : ` (cron): ${problem}`
}

/** As events of charts are compared. */
function describeRangeProblem(version: string): string | undefined {
  if (isExpression(version) || validRange(version.trim()) !== null) return undefined
  return ` (helm): the version "${version}" is no range of versions such as ^1.2 or >=2.0.0 <3.`
}

/** A repository without a poll may be reported by webhooks alone. */
function describePollProblem({ poll, repository }: JsonObject): string | undefined {
  const address = textOf(repository) ?? ''
  if (
    !isTrue(poll) ||
    isExpression(address) ||
    (isPollable(address) && repositoryPattern.test(address))
  )
    return undefined
  return ` (git): it polls, and "${withoutUserinfo(address)}" is no address of a repository. Use https://, ssh:// or git@host:path.`
}

function isPollable(address: string): boolean {
  return /^(?:https?|ssh):\/\//.test(address) || !/^(?:\/|[a-z]+:\/\/)/.test(address)
}

function describeStatusProblem(statuses: readonly string[]): string | undefined {
  const unknown = statuses.find(
    (status) => !isExpression(status) && !completionWords.some((word) => word === status),
  )
  return unknown === undefined
    ? undefined
    : ` (pipeline): ${describeChoice(unknown, 'a status to wait for', completionWords)}`
}
