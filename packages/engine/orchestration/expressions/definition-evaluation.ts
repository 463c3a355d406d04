/** Evaluation of a definition at its submission. @see docs/contracts/orchestration.md#evaluation */

import { definedOf, isObject, isTrue, type JsonObject } from '@fairlead/base/json/values.ts'
import { readPipeline } from '@fairlead/model/pipelines/definition.ts'
import { documentKeys } from '../model.ts'
import { objectScope, submissionScope } from './scopes.ts'
import { evaluateTree } from './template.ts'

/**
 * The trigger's texts are evaluated with the trigger itself in scope, the rest with the trigger, its parameters and the
 * template variables. Names that are not known yet leave their text as it is: the stage evaluates it when its turn comes.
 * With evaluator `v4` the stages are left to then altogether, and so are the conditions of stages with any evaluator: their record
 * shows the text of the author. Manifests whose stage skips expressions are left alone as well.
 *
 * @param definition With a normalised trigger.
 */
export function evaluateDefinition(definition: JsonObject, now: number): JsonObject {
  const given = definition['trigger'] as JsonObject
  const { parentExecution, ...ownParts } = given
  const evaluated = evaluateTree(ownParts, { scope: objectScope(given), now }).value
  const trigger: JsonObject =
    parentExecution === undefined ? evaluated : { ...evaluated, parentExecution }
  const skip = definition['spelEvaluator'] === 'v4' ? ['trigger', 'stages'] : ['trigger']
  const { value } = evaluateTree(definition, {
    scope: submissionScope(trigger, variablesOf(definition)),
    now,
    skip,
  })
  return { ...value, stages: withLeftAlone(value['stages'], definition['stages']), trigger }
}

function withLeftAlone(evaluated: unknown, given: unknown): unknown {
  if (!Array.isArray(evaluated) || !Array.isArray(given)) return evaluated
  return evaluated.map((stage: unknown, index) =>
    isObject(stage) ? { ...stage, ...leftAloneIn(given[index]) } : stage,
  )
}

function leftAloneIn(stage: unknown): JsonObject {
  if (!isObject(stage)) return {}
  const documents = isTrue(stage['skipExpressionEvaluation'])
    ? documentKeys.map((key) => [key, stage[key]])
    : []
  return definedOf({ stageEnabled: stage['stageEnabled'], ...Object.fromEntries(documents) })
}

/**
 * The artifacts that a definition expects: they are bound before the rest is evaluated.
 *
 * @param definition With a trigger that has all its parameters.
 * @see docs/contracts/events.md#from-event-to-start, step 8
 */
export function evaluateExpectedArtifacts(definition: JsonObject, now: number): JsonObject[] {
  const { expectedArtifacts } = definition
  const scope = submissionScope(definition['trigger'] as JsonObject, variablesOf(definition))
  return readPipeline(evaluateTree({ expectedArtifacts }, { scope, now }).value).expectedArtifacts
}

function variablesOf({ templateVariables }: JsonObject): JsonObject | undefined {
  return isObject(templateVariables) ? templateVariables : undefined
}
