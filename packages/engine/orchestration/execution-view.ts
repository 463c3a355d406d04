/** Representations of executions: the whole record, the unexpanded form of lists, the task view. */
import { maybeObject, shape } from '@fairlead/base/json/shape.ts'
import { definedOf, isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import { causeIn } from './machine/failure.ts'
import type { Execution, Stage } from './model.ts'
import { executionSecretsOf, maskExecution, maskIn, secretsIn } from './secrets.ts'

/**
 * The record without the engine's notes, and with secrets masked; stages sorted by reference as text. Null members are left out
 * when it is written.
 */
export function executionView(execution: Execution): JsonObject {
  return viewWithout(execution, executionSecretsOf(execution))
}

function viewWithout(
  { engine: _notes, stages, ...shown }: Execution,
  secrets: readonly string[],
): JsonObject {
  const views = [...stages].sort(byReference).map((stage) => stageView(stage, secrets))
  return { ...maskIn(shown, secrets), stages: views }
}

function byReference(one: Stage, other: Stage): number {
  return one.refId < other.refId ? -1 : one.refId > other.refId ? 1 : 0
}

/** @param secrets Those of its execution */
export function stageView(
  stage: Stage,
  secrets: readonly string[] = secretsIn([stage]),
): JsonObject {
  const { engine: _notes, tasks: _tasks, ...shown } = stage
  const cause = causeIn(stage.context['exception'])
  return maskIn({ ...shown, ...(cause && { cause }), tasks: tasksOf(stage) }, secrets)
}

function tasksOf({ tasks }: Stage): JsonObject[] {
  return tasks.map(({ engine: _notes, ...task }) => task)
}

export function unexpandedView(execution: Execution): JsonObject {
  const stages = execution.stages.map((stage) => ({
    ...stage,
    context: definedOf({ group: stage.context['group'] }),
    outputs: {},
    tasks: [],
  }))
  const view = viewWithout({ ...execution, stages }, executionSecretsOf(execution))
  return { ...view, trigger: withoutParentStages(view['trigger']) }
}

const toParent = shape({ parentExecution: maybeObject })

function withoutParentStages(trigger: unknown): unknown {
  const { parentExecution: parent } = toParent(trigger)
  if (parent === undefined) return trigger
  return {
    ...(trigger as JsonObject),
    parentExecution: { ...parent, stages: [], trigger: withoutParentStages(parent['trigger']) },
  }
}

export function taskView(whole: Execution): JsonObject {
  // From here on there is nothing to mask.
  const execution = maskExecution(whole)
  const { id, application, status, buildTime, startTime, endTime, description } = execution
  return {
    id,
    name: description,
    application,
    status,
    buildTime,
    startTime,
    endTime,
    variables: mergedVariables(execution.stages),
    steps: execution.stages.flatMap(tasksOf),
    execution: viewWithout(execution, []),
  }
}

/** Later stages win, unless they bring nothing where there was something. */
function mergedVariables(stages: readonly Stage[]): { key: string; value: unknown }[] {
  const variables = new Map<string, unknown>()
  for (const { context } of stages) {
    for (const [key, value] of Object.entries(context)) {
      if (value === null || value === undefined) continue
      if (!variables.has(key) || !isEmpty(value) || isEmpty(variables.get(key)))
        variables.set(key, value)
    }
  }
  return [...variables].map(([key, value]) => ({ key, value }))
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true
  if (Array.isArray(value)) return value.length === 0
  return isObject(value) && Object.keys(value).length === 0
}
