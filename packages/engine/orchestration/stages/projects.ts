/** `upsertProject` and `deleteProject` (docs/contracts/orchestration.md#jobs). */
import { maybeObject, shape } from '@fairlead/base/json/shape.ts'
import { textOf } from '@fairlead/base/json/values.ts'
import { StageError } from '../machine/failure.ts'
import { job, type StageType, type TaskContext, type TaskResult } from './stage-type.ts'

export const projectStages: readonly StageType[] = [
  job('upsertProject', upsertProject),
  job('deleteProject', deleteProject),
]

async function upsertProject(context: TaskContext): Promise<TaskResult> {
  const { project, id } = projectOf(context)
  if (id === undefined) await context.definitions.createProject(project)
  else await context.definitions.replaceProject({ ...project, id })
  return { status: 'SUCCEEDED', context: { 'notification.type': 'upsertproject' } }
}

async function deleteProject(context: TaskContext): Promise<TaskResult> {
  const { id } = projectOf(context)
  if (id === undefined) throw new StageError(['The job does not say the id of the project.'])
  await context.definitions.removeProject(id)
  return { status: 'SUCCEEDED', context: { 'notification.type': 'deleteproject' } }
}

const toJob = shape({ project: maybeObject, identity: [shape({ id: textOf }), 'project'] })

function projectOf({ stage }: TaskContext) {
  const { project, identity } = toJob(stage.context)
  if (project === undefined) throw new StageError(['The job has no "project".'])
  return { project, id: identity.id }
}
