/** `evaluateVariables`: turns expressions into outputs that later stages read by name. */
import { isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import { withSummary } from '../expressions/stage-evaluation.ts'
import { evaluateVariables, type Variable } from '../expressions/variables.ts'
import { StageError } from '../machine/failure.ts'
import type { Stage } from '../model.ts'
import type { StageType, TaskContext, TaskResult } from './stage-type.ts'

export const evaluateVariablesStage: StageType = {
  type: 'evaluateVariables',
  steps: [{ name: 'evaluateVariables', decide: evaluate }],
  // Its own step evaluates them one after another, each with those above it in scope.
  unevaluatedKeys: (_stage, execution) => (execution.spelEvaluator === 'v4' ? ['variables'] : []),
  prepareRestart(stage) {
    const { variables } = stage.context
    // What is no variable stays as it is, and fails the stage again.
    if (Array.isArray(variables)) {
      stage.context = {
        ...stage.context,
        variables: variables.map((each) => (isObject(each) ? withSource(each) : each)),
      }
    }
    stage.outputs = {}
  },
}

function evaluate(context: TaskContext): TaskResult {
  const { execution, stage } = context
  const variables = variablesOf(stage)
  if (execution.spelEvaluator !== 'v4')
    return { status: 'SUCCEEDED', outputs: outputsOf(variables) }
  const { result, summary } = evaluateVariables(variables, context)
  return {
    status: 'SUCCEEDED',
    context: { variables: result, ...withSummary(stage, summary) },
    outputs: outputsOf(result),
  }
}

/** @throws {StageError} when `variables` is not a list of objects. */
function variablesOf(stage: Stage): Variable[] {
  const { variables } = stage.context
  if (variables === undefined || variables === null) return []
  if (!Array.isArray(variables) || !variables.every(isObject))
    throw new StageError(['variables must be a list of objects.'])
  return variables
}

function outputsOf(variables: readonly Variable[]): JsonObject {
  const keyed = variables.filter(({ key }) => typeof key === 'string' && key !== '')
  return Object.fromEntries(keyed.map(({ key, value }) => [key, value]))
}

function withSource({ sourceValue, ...variable }: Variable): Variable {
  return sourceValue === undefined ? variable : { ...variable, value: sourceValue }
}
