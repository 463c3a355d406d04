/** `pipeline`: runs another stored pipeline and, unless told otherwise, waits for it. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { readPipeline } from '@fairlead/model/pipelines/definition.ts'
import { runPipeline } from '@fairlead/model/stage-types/control.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
import { artifactsSeenBy } from '../artifacts-at-hand.ts'
import { errorTexts, StageError } from '../machine/failure.ts'
import { type Execution, isStartedBy, isTopLevel, type Stage } from '../model.ts'
import { executionSecretsOf } from '../secrets.ts'
import { isComplete, isHalt } from '../statuses.ts'
import { triggerOfChild } from '../submission/trigger.ts'
import type { StageType, TaskContext, TaskResult } from './stage-type.ts'

const twelveHoursMs = 12 * 3600 * 1000
/** The end of the child wakes the stage; this is for a child that was deleted meanwhile. */
const fallbackPollMs = 5 * 60_000

export const pipelineStage: StageType = {
  type: 'pipeline',
  steps: [
    { name: 'startPipeline', execute: startPipeline },
    {
      name: 'monitorPipeline',
      decide: monitorPipeline,
      pollMs: fallbackPollMs,
      timeoutMs: twelveHoursMs,
      timeoutFollowsStage: true,
    },
  ],
  chooseSteps: (stage) =>
    settingsOf(stage).waitForCompletion ? pipelineStage.steps : pipelineStage.steps.slice(0, 1),
  isSkippable: (stage) => settingsOf(stage).skippable,
  forgets: ['status', 'executionId', 'executionName'],
  async onCancel(context) {
    const child = childOf(context)
    if (child !== undefined) await context.cancelExecution(child.id, 'parent pipeline')
  },
}

function settingsOf({ context }: Pick<Stage, 'context'>) {
  return readFields(runPipeline.fields, context)
}

async function startPipeline(context: TaskContext): Promise<TaskResult> {
  // Set when a restarted child has restarted this stage: it watches that child instead of starting another.
  if (childOf(context) !== undefined) return { status: 'SUCCEEDED' }
  const { pipeline, pipelineParameters } = settingsOf(context.stage)
  if (pipeline === undefined) throw new StageError(['The stage does not name a pipeline.'])
  const definition = await storedPipeline(context, pipeline)
  if (readPipeline(definition).isDisabled)
    throw new StageError([`The pipeline "${definition['name'] ?? pipeline}" is disabled.`])
  await context.require('EXECUTE', String(definition['application'] ?? ''))
  const trigger = childTrigger(context, pipelineParameters)
  const start = await context.prepareExecution({ ...definition, trigger })
  if (!isComplete(start.status)) return { status: 'SUCCEEDED', start }
  return { status: 'TERMINAL', start, context: { exception: childFailure(start) } }
}

/** The run that this stage has started, and no other: its author could name any in the context. */
function childOf({ execution, stage, findExecution }: TaskContext): Execution | undefined {
  const { executionId } = stage.context
  const child = typeof executionId === 'string' ? findExecution(executionId) : undefined
  return child !== undefined && isStartedBy(child, { execution, stage }) ? child : undefined
}

/** @throws {StageError} naming the pipeline when there is none. */
async function storedPipeline(context: TaskContext, id: string): Promise<JsonObject> {
  const { isStrategy, application } = settingsOf(context.stage)
  if (isStrategy) {
    const strategies = await context.definitions.strategies(application)
    const strategy = strategies.find((each) => each['id'] === id)
    if (strategy !== undefined) return strategy
    throw new StageError([`There is no strategy with the id "${id}".`])
  }
  const pipeline = await context.definitions.pipeline(id)
  if (pipeline !== undefined) return pipeline
  throw new StageError([`There is no pipeline with the id "${id}".`])
}

function childTrigger({ execution, stage }: TaskContext, parameters: JsonObject): JsonObject {
  return triggerOfChild(execution, {
    parentPipelineStageId: stage.id,
    parameters,
    strategy: settingsOf(stage).isStrategy,
    artifacts: artifactsSeenBy({ execution, stage }),
  })
}

function monitorPipeline(context: TaskContext): TaskResult {
  const child = childOf(context)
  if (child === undefined)
    throw new StageError([
      `The execution ${context.stage.context['executionId']} of the child pipeline is gone.`,
    ])
  const seen = { status: child.status }
  if (!isComplete(child.status)) return { status: 'RUNNING', context: seen }
  const parts = { from: child, secrets: executionSecretsOf(child) }
  const outputs = settingsOf(context.stage).skipDownstreamOutput ? {} : mergedOutputs(child)
  if (child.status === 'SUCCEEDED') return { ...parts, status: 'SUCCEEDED', context: seen, outputs }
  const status = child.status === 'CANCELED' ? 'CANCELED' : 'TERMINAL'
  return { ...parts, status, context: { ...seen, exception: childFailure(child) }, outputs }
}

/** Outputs of all stages; later stages win, lists are joined without duplicates. */
function mergedOutputs(child: Execution): JsonObject {
  const merged = new Map<string, unknown>()
  /** Elements of joined lists by their JSON. */
  const lists = new Map<string, Map<string, unknown>>()
  for (const { outputs } of child.stages) {
    for (const [key, value] of Object.entries(outputs)) {
      const joins = Array.isArray(value) && Array.isArray(merged.get(key))
      if (!joins) lists.delete(key)
      if (Array.isArray(value)) {
        const items = lists.get(key) ?? new Map<string, unknown>()
        lists.set(key, items)
        for (const item of value) items.set(JSON.stringify(item), item)
      }
      merged.set(key, value)
    }
  }
  for (const [key, items] of lists) merged.set(key, [...items.values()])
  return Object.fromEntries(merged)
}

/** Says in the parent which stage of the child failed and why, and where to look. */
function childFailure(child: Execution): JsonObject {
  const failed = child.stages.filter((stage) => isHalt(stage.status))
  const texts = failed.flatMap((stage) => {
    const own = errorTexts(stage.context['exception'])
    return (own.length > 0 ? own : [`ended ${stage.status}`]).map(
      (text) => `Exception in child pipeline stage (${child.name}: ${stage.name}): ${text}`,
    )
  })
  const errors =
    texts.length > 0
      ? texts
      : [child.cancellationReason ?? `Pipeline '${child.name}' ended ${child.status}`]
  const first = failed[0]
  const stageIndex = first && child.stages.filter(isTopLevel).indexOf(first)
  return {
    details: { errors },
    source: { executionId: child.id, stageId: first?.id, stageName: first?.name, stageIndex },
  }
}
