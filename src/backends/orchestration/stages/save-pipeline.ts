/** `savePipeline`: stores one pipeline, or several at once (docs/contracts/orchestration.md#jobs). */

import { createHash } from 'node:crypto'
import { pathTo } from '../../../http/encode-path.ts'
import { isObject, isTrue, type JsonObject } from '../../../json/values.ts'
import { StageError } from '../machine/failure.ts'
import type { Stage } from '../model.ts'
import { decodeObject, decodePayload } from './encoded-payload.ts'
import type { StageType, TaskContext, TaskResult } from './stage-type.ts'

const halfMinuteMs = 30_000

export const savePipelineStage: StageType = {
  type: 'savePipeline',
  steps: [
    { name: 'savePipeline', execute: savePipeline, timeoutMs: halfMinuteMs },
    { name: 'waitForPipelineSave', decide: waitForPipelineSave, timeoutMs: halfMinuteMs },
  ],
  // Definitions hold expressions of their own, which are for their runs.
  unevaluatedKeys: () => ['pipeline', 'pipelines'],
}

async function savePipeline(context: TaskContext): Promise<TaskResult> {
  return isTrue(context.stage.context['isBulkSavingPipelines']) ? saveMany(context) : saveOne(context)
}

async function saveOne(context: TaskContext): Promise<TaskResult> {
  const settings = context.stage.context
  const given = decodeObject(settings['pipeline'], 'pipeline')
  if (typeof given['name'] !== 'string' || typeof given['application'] !== 'string') {
    throw new StageError(['The pipeline needs a name and an application.'])
  }
  const pipeline: JsonObject = { ...withIdentity(given, context.stage), ...(await storedPlace(context, given)) }
  const told = {
    'notification.type': 'savepipeline',
    application: given['application'],
    'pipeline.name': given['name'],
    'pipeline.id': pipeline['id'],
  }
  const staleCheck = isTrue(settings['staleCheck'])
  const saved = await context.call('front50', { method: 'POST', path: `/pipelines?staleCheck=${staleCheck}`, body: pipeline })
  const id = isObject(saved.body) ? (saved.body['id'] ?? pipeline['id']) : pipeline['id']
  return { status: 'SUCCEEDED', context: { ...told, 'pipeline.id': id } }
}

/**
 * A new pipeline gets an id that follows from the stage, so that a step repeated after a crash saves the same pipeline again
 * instead of a second one.
 */
function withIdentity(given: JsonObject, stage: Stage): JsonObject {
  const asked = given['id'] ?? stage.context['pipeline.id']
  // What is no text is refused by the store, by name.
  if (asked !== undefined && asked !== null && asked !== '') return { ...given, id: asked }
  return { ...given, id: derivedId(stage), regenerateCronTriggerIds: true }
}

function derivedId(stage: Stage): string {
  const hash = createHash('sha256').update(`savePipeline ${stage.id}`).digest('hex')
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-4${hash.slice(13, 16)}-a${hash.slice(17, 20)}-${hash.slice(20, 32)}`
}

/** A pipeline that says nothing about its place in the list keeps it. */
async function storedPlace(context: TaskContext, given: JsonObject): Promise<{ index?: unknown }> {
  const { id, index } = given
  if (typeof id !== 'string' || id === '' || (index !== undefined && index !== null)) return {}
  const { status, body } = await context.call('front50', { method: 'GET', path: pathTo`/pipelines/${id}/get` }, [404])
  return status === 200 && isObject(body) && body['index'] !== undefined ? { index: body['index'] } : {}
}

async function saveMany(context: TaskContext): Promise<TaskResult> {
  const settings = context.stage.context
  const pipelines = decodePayload(settings['pipelines'], 'pipelines')
  if (!Array.isArray(pipelines)) throw new StageError(['"pipelines" must be a JSON array in base64.'])
  const path = `/pipelines/batchUpdate?staleCheck=${isTrue(settings['staleCheck'])}`
  const { body } = await context.call('front50', { method: 'POST', path, body: pipelines })
  return { status: 'SUCCEEDED', context: { 'notification.type': 'savepipeline', bulksave: body } }
}

/** The store has answered with what it saved, so there is nothing left to wait for. */
function waitForPipelineSave(): TaskResult {
  return { status: 'SUCCEEDED' }
}
