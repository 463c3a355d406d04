/** Evaluation of a definition at its submission. @see docs/contracts/orchestration.md#evaluation */

import { maybeObject, shape } from '@fairlead/base/json/shape.ts'
import {
  definedOf,
  isObject,
  isTrue,
  type JsonObject,
  objectOf,
} from '@fairlead/base/json/values.ts'
import { readPipeline } from '@fairlead/model/pipelines/definition.ts'
import { documentKeys } from '../model.ts'
import { createExpressionMeter, type Scope } from './evaluator.ts'
import { objectScope, submissionScope } from './scopes.ts'
import { evaluateTree } from './template.ts'

/** What a start brings, as values. */
interface SettledTrigger {
  readonly trigger: JsonObject
  /** Why parameters stay the texts that they are, as sentences. */
  readonly problems: readonly string[]
}

/**
 * Evaluates the trigger before anything reads it: first its parameters, which may name the trigger and one another in any order, then
 * the rest. Names are the trigger's own members, `trigger`, `parameters` and `templateVariables`. Its parent is a value already.
 *
 * @param definition With a trigger that has all its parameters.
 */
export function evaluateTrigger(definition: JsonObject, now: number): SettledTrigger {
  const { trigger: given, templateVariables } = toSettle(definition)
  const { parentExecution, parameters, ...rest } = given
  const meter = createExpressionMeter()
  const problems = new Set<string>()
  const settled: JsonObject = {}
  const trigger = { ...given, parameters: settled }
  const names = { ...trigger, trigger, ...(templateVariables && { templateVariables }) }
  const options = { scope: objectScope(names), now, meter }
  const define = (name: string, get: () => unknown) =>
    Object.defineProperty(settled, name, { get, enumerable: true, configurable: true })
  const evaluate = (name: string, text: unknown) => {
    define(name, () => {
      problems.add(`The parameter "${name}" refers to itself, and reads the text that it was.`)
      return text
    })
    const { value, summary } = evaluateTree(text, options)
    define(name, () => value)
    const [failure] = Object.values(summary).flat()
    if (failure !== undefined)
      problems.add(`The parameter "${name}" stays the text that it is. ${failure.description}`)
    return value
  }
  const entries = Object.entries(objectOf(parameters))
  for (const [name, text] of entries) define(name, () => evaluate(name, text))
  const values = Object.fromEntries(entries.map(([name]) => [name, settled[name]]))
  return {
    trigger: {
      ...evaluateTree(rest, options).value,
      parameters: values,
      ...(parentExecution !== undefined && { parentExecution }),
    },
    problems: [...problems].slice(0, mostProblems),
  }
}

const mostProblems = 20

const toSettle = shape({ trigger: objectOf, templateVariables: maybeObject })

/**
 * Everything but the trigger, with the trigger, its parameters and the template variables in scope. Names that are not known yet
 * leave their text as it is: the stage evaluates it when its turn comes. With evaluator `v4` the stages are left to then altogether, and
 * so are the conditions of stages with any evaluator: their record shows the text of the author. Manifests whose stage skips
 * expressions are left alone as well.
 *
 * @param definition With the trigger as `evaluateTrigger` returns it.
 */
export function evaluateDefinition(definition: JsonObject, now: number): JsonObject {
  const skip = definition['spelEvaluator'] === 'v4' ? ['trigger', 'stages'] : ['trigger']
  const { value } = evaluateTree(definition, { scope: scopeOf(definition), now, skip })
  return { ...value, stages: withLeftAlone(value['stages'], definition['stages']) }
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
 * @param definition With the trigger as `evaluateTrigger` returns it.
 * @see docs/contracts/events.md#from-event-to-start, step 8
 */
export function evaluateExpectedArtifacts(definition: JsonObject, now: number): JsonObject[] {
  const { expectedArtifacts } = definition
  const scope = scopeOf(definition)
  return readPipeline(evaluateTree({ expectedArtifacts }, { scope, now }).value).expectedArtifacts
}

function scopeOf(definition: JsonObject): Scope {
  const { trigger, templateVariables } = toSettle(definition)
  return submissionScope(trigger, templateVariables)
}
