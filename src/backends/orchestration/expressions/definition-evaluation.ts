/** Evaluation of a definition at its submission. @see docs/contracts/orchestration.md#evaluation */
import { fieldOf, isObject, type JsonObject } from '../../../json/values.ts'
import { objectScope, submissionScope } from './scopes.ts'
import { evaluateTree } from './template.ts'

/**
 * The trigger's texts are evaluated with the trigger itself in scope, the rest with the trigger, its parameters and the
 * template variables. Names that are not known yet leave their text as it is: the stage evaluates it when its turn comes.
 * With evaluator `v4` the stages are left to then altogether, and so are the conditions of stages with any evaluator: their record
 * shows the text of the author.
 *
 * @param definition With a normalised trigger.
 */
export function evaluateDefinition(definition: JsonObject, now: number): JsonObject {
  const given = definition['trigger'] as JsonObject
  const { parentExecution, ...ownParts } = given
  const evaluated = evaluateTree(ownParts, { scope: objectScope(given), now }).value
  const trigger: JsonObject = parentExecution === undefined ? evaluated : { ...evaluated, parentExecution }
  const skip = definition['spelEvaluator'] === 'v4' ? ['trigger', 'stages'] : ['trigger']
  const { value } = evaluateTree(definition, { scope: submissionScope(trigger, variablesOf(definition)), now, skip })
  return { ...value, stages: withConditions(value['stages'], definition['stages']), trigger }
}

function withConditions(evaluated: unknown, given: unknown): unknown {
  if (!Array.isArray(evaluated) || !Array.isArray(given)) return evaluated
  return evaluated.map((stage: unknown, index) => {
    const stageEnabled = fieldOf(given[index], 'stageEnabled')
    return isObject(stage) && stageEnabled !== undefined ? { ...stage, stageEnabled } : stage
  })
}

/**
 * The artifacts that a definition expects: they are bound before the rest is evaluated.
 *
 * @param definition With a trigger that has all its parameters.
 * @see docs/contracts/events.md#from-event-to-start, step 8
 */
export function evaluateExpectedArtifacts(definition: JsonObject, now: number): unknown {
  const { expectedArtifacts } = definition
  const scope = submissionScope(definition['trigger'] as JsonObject, variablesOf(definition))
  return evaluateTree({ expectedArtifacts }, { scope, now }).value['expectedArtifacts']
}

function variablesOf({ templateVariables }: JsonObject): JsonObject | undefined {
  return isObject(templateVariables) ? templateVariables : undefined
}
