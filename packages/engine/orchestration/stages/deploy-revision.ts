/** `deployRevision`: deploys the revision of its repository that an event has brought, by its app file, and waits for the deployment. */
import { definedOf, textOf } from '@fairlead/base/json/values.ts'
import { deployRevision } from '@fairlead/model/stage-types/definitions.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
import { StageError } from '../machine/failure.ts'
import { isComplete } from '../statuses.ts'
import type { StageType, TaskContext, TaskResult } from './stage-type.ts'

export const deployRevisionStage: StageType = {
  type: deployRevision.type,
  steps: [
    { name: 'deployRevision', execute: start, isUnrecognized: true },
    {
      name: 'monitorDeployment',
      decide: monitor,
      pollMs: 1000,
      timeoutMs: 12 * 3600 * 1000,
      timeoutFollowsStage: true,
    },
  ],
  forgets: ['executionId'],
  async onCancel(context) {
    const { executionId } = context.stage.context
    if (typeof executionId === 'string')
      await context.cancelExecution(executionId, 'its push was cancelled')
  },
}

async function start(context: TaskContext): Promise<TaskResult> {
  const { application, trigger } = context.execution
  await context.require('WRITE', application)
  const {
    repository,
    branch: mainBranch,
    artifactAccount,
  } = readFields(deployRevision.fields, context.stage.context)
  if (repository === undefined) throw new StageError(['The stage does not name a repository.'])
  const [commit, branch, action, tag] = ['hash', 'branch', 'action', 'tag'].map((key) =>
    textOf(trigger[key]),
  )
  // Tags deploy nothing.
  const started =
    tag === undefined
      ? await context.deployRevision({
          ...{ application, repository, mainBranch },
          account: artifactAccount,
          isDeletion: action === 'branch:delete',
          ...definedOf({ commit: commit || undefined, branch }),
        })
      : undefined
  return { status: 'SUCCEEDED', context: { executionId: started } }
}

function monitor({ stage, execution, findExecution }: TaskContext): TaskResult {
  const { executionId } = stage.context
  if (typeof executionId !== 'string') return { status: 'SUCCEEDED' }
  const run = findExecution(executionId)
  if (run === undefined || run.application !== execution.application)
    throw new StageError([`The deployment ${executionId} is gone.`])
  if (!isComplete(run.status)) return { status: 'RUNNING' }
  if (run.status === 'SUCCEEDED') return { status: 'SUCCEEDED' }
  throw new StageError([`The deployment ended ${run.status}: fairlead watch ${executionId}`])
}
