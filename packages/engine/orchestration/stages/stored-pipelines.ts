/** Jobs that store, replace, remove and reorder pipelines (docs/contracts/orchestration.md#jobs). */
import { createHash } from 'node:crypto'
import { shape } from '@fairlead/base/json/shape.ts'
import { definedOf, isTrue, type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import {
  savePipeline as saving,
  updatePipeline as updating,
} from '@fairlead/model/stage-types/definitions.ts'
import { readFields, type ValuesOf } from '@fairlead/model/stage-types/read-fields.ts'
import { StageError } from '../machine/failure.ts'
import type { Stage } from '../model.ts'
import { decodeObject, decodePayload } from './encoded-payload.ts'
import { job, type StageType, type TaskContext, type TaskResult } from './stage-type.ts'

const halfMinuteMs = 30_000

const savePipelineStage: StageType = {
  type: 'savePipeline',
  steps: [
    { name: 'savePipeline', execute: savePipeline, timeoutMs: halfMinuteMs },
    { name: 'waitForPipelineSave', decide: waitForPipelineSave, timeoutMs: halfMinuteMs },
  ],
  // Definitions hold expressions of their own, which are for their runs.
  unevaluatedKeys: () => ['pipeline', 'pipelines'],
}

async function savePipeline(context: TaskContext): Promise<TaskResult> {
  const settings = readFields(saving.fields, context.stage.context)
  return settings.isBulkSavingPipelines ? saveMany(context, settings) : saveOne(context, settings)
}

type StoredPipelineSettings = ValuesOf<typeof saving.fields>

async function saveOne(
  context: TaskContext,
  settings: StoredPipelineSettings,
): Promise<TaskResult> {
  const given = decodeObject(settings.pipeline, 'pipeline')
  if (typeof given['name'] !== 'string' || typeof given['application'] !== 'string') {
    throw new StageError(['The pipeline needs a name and an application.'])
  }
  const pipeline: JsonObject = {
    ...withIdentity(given, context.stage),
    ...(await storedPlace(context, given)),
  }
  const saved = await context.definitions.savePipeline(pipeline, {
    staleCheck: settings.staleCheck,
  })
  return succeeded('savepipeline', { ...pipeline, id: saved['id'] ?? pipeline['id'] })
}

/** What clients read about the pipeline that was changed. */
function succeeded(notification: string, { application, name, id }: JsonObject): TaskResult {
  const context = {
    'notification.type': notification,
    application,
    'pipeline.name': name,
    'pipeline.id': id,
  }
  return { status: 'SUCCEEDED', context }
}

/**
 * A new pipeline gets an id that follows from the stage, so that a step repeated after a crash saves the same pipeline again
 * instead of a second one.
 */
function withIdentity(given: JsonObject, stage: Stage): JsonObject {
  const asked = given['id'] ?? stage.context['pipeline.id']
  // What is no text is refused by the store, by name.
  if ((asked ?? '') !== '') return { ...given, id: asked }
  return { ...given, id: derivedId(stage), regenerateCronTriggerIds: true }
}

function derivedId(stage: Stage): string {
  const hash = createHash('sha256').update(`savePipeline ${stage.id}`).digest('hex')
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-4${hash.slice(13, 16)}-a${hash.slice(17, 20)}-${hash.slice(20, 32)}`
}

/** A pipeline that says nothing about its place in the list keeps it. */
async function storedPlace(context: TaskContext, given: JsonObject): Promise<{ index?: unknown }> {
  const { id, index } = given
  if (typeof id !== 'string' || id === '' || (index ?? undefined) !== undefined) return {}
  return definedOf({ index: (await context.definitions.pipeline(id))?.['index'] })
}

async function saveMany(
  context: TaskContext,
  settings: StoredPipelineSettings,
): Promise<TaskResult> {
  const pipelines = decodePayload(settings.pipelines, 'pipelines')
  if (!Array.isArray(pipelines))
    throw new StageError(['"pipelines" must be a JSON array in base64.'])
  const bulksave = await context.definitions.savePipelines(pipelines, {
    staleCheck: settings.staleCheck,
  })
  return { status: 'SUCCEEDED', context: { 'notification.type': 'savepipeline', bulksave } }
}

/** The store has answered with what it saved, so there is nothing left to wait for. */
function waitForPipelineSave(): TaskResult {
  return { status: 'SUCCEEDED' }
}

const toPipelineId = shape({ id: textOf })

const updatePipelineStage: StageType = {
  ...job('updatePipeline', updatePipeline, { timeoutMs: halfMinuteMs }),
  unevaluatedKeys: () => ['pipeline'],
}

async function updatePipeline(context: TaskContext): Promise<TaskResult> {
  const { pipeline: payload, staleCheck } = readFields(updating.fields, context.stage.context)
  const pipeline = decodeObject(payload, 'pipeline')
  const { id } = toPipelineId(pipeline)
  if (id === undefined) throw new StageError(['The pipeline has no id; save it first.'])
  await context.definitions.replacePipeline({ ...pipeline, id }, { staleCheck })
  return succeeded('updatepipeline', pipeline)
}

const deletePipelineStage: StageType = {
  ...job('deletePipeline', deletePipeline, { timeoutMs: halfMinuteMs }),
  unevaluatedKeys: () => ['pipeline'],
}

async function deletePipeline(context: TaskContext): Promise<TaskResult> {
  const { application, name, id } = decodeObject(context.stage.context['pipeline'], 'pipeline')
  if (typeof application !== 'string' || typeof name !== 'string') {
    throw new StageError(['The pipeline to delete needs an application and a name.'])
  }
  await context.definitions.removePipeline({ application, name })
  return succeeded('deletepipeline', { application, name, id })
}

/** Gives pipelines or strategies of an application their places in the list. */
const reorderPipelinesStage = job('reorderPipelines', reorderPipelines, { timeoutMs: halfMinuteMs })

async function reorderPipelines(context: TaskContext): Promise<TaskResult> {
  const settings = context.stage.context
  const idsToIndices = decodeObject(settings['idsToIndices'], 'idsToIndices')
  const application = decodePayload(settings['application'], 'application')
  if (typeof application !== 'string' || application === '')
    throw new StageError(['The job does not name an application.'])
  const kind = isTrue(decodePayload(settings['isStrategy'], 'isStrategy'))
    ? 'strategies'
    : 'pipelines'
  await context.definitions.reorder({ kind, application, idsToIndices })
  return { status: 'SUCCEEDED', context: { 'notification.type': 'reorderpipelines', application } }
}

export const storedPipelineStages: readonly StageType[] = [
  deletePipelineStage,
  reorderPipelinesStage,
  savePipelineStage,
  updatePipelineStage,
]
