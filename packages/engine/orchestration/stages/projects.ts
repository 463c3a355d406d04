/** `upsertProject` and `deleteProject` (docs/contracts/orchestration.md#jobs). */
import { isObject, type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { StageError } from '../machine/failure.ts'
import { job, type StageType, type TaskContext, type TaskResult } from './stage-type.ts'

export const projectStages: readonly StageType[] = [
  job('upsertProject', upsertProject),
  job('deleteProject', deleteProject),
]

async function upsertProject(context: TaskContext): Promise<TaskResult> {
  const project = projectOf(context)
  const id = textOf(project['id'])
  if (id === undefined) await context.definitions.createProject(project)
  else await context.definitions.replaceProject({ ...project, id })
  return { status: 'SUCCEEDED', context: { 'notification.type': 'upsertproject' } }
}

async function deleteProject(context: TaskContext): Promise<TaskResult> {
  const id = textOf(projectOf(context)['id'])
  if (id === undefined) throw new StageError(['The job does not say the id of the project.'])
  await context.definitions.removeProject(id)
  return { status: 'SUCCEEDED', context: { 'notification.type': 'deleteproject' } }
}

function projectOf(context: TaskContext): JsonObject {
  const { project } = context.stage.context
  if (!isObject(project)) throw new StageError(['The job has no "project".'])
  return project
}
