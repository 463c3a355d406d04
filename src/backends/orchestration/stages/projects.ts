/** `upsertProject` and `deleteProject` (docs/contracts/orchestration.md#jobs). */
import { pathTo } from '../../../http/encode-path.ts'
import { isObject, type JsonObject } from '../../../json/values.ts'
import { StageError } from '../machine/failure.ts'
import type { StageType, TaskContext, TaskResult } from './stage-type.ts'

export const upsertProjectStage: StageType = {
  type: 'upsertProject',
  steps: [{ name: 'upsertProject', execute: upsertProject }],
}

export const deleteProjectStage: StageType = {
  type: 'deleteProject',
  steps: [{ name: 'deleteProject', execute: deleteProject }],
}

async function upsertProject(context: TaskContext): Promise<TaskResult> {
  const project = projectOf(context)
  const id = project['id']
  const request =
    typeof id === 'string' && id !== ''
      ? { method: 'PUT', path: pathTo`/v2/projects/${id}`, body: project }
      : { method: 'POST', path: '/v2/projects', body: project }
  await context.call('front50', request)
  return { status: 'SUCCEEDED', context: { 'notification.type': 'upsertproject' } }
}

async function deleteProject(context: TaskContext): Promise<TaskResult> {
  const id = projectOf(context)['id']
  if (typeof id !== 'string' || id === '') throw new StageError(['The job does not say the id of the project.'])
  await context.call('front50', { method: 'DELETE', path: pathTo`/v2/projects/${id}` }, [404])
  return { status: 'SUCCEEDED', context: { 'notification.type': 'deleteproject' } }
}

function projectOf(context: TaskContext): JsonObject {
  const { project } = context.stage.context
  if (!isObject(project)) throw new StageError(['The job has no "project".'])
  return project
}
