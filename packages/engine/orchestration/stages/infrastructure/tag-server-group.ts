/** Tags a new server group with its author and predecessor, for rollbacks. */
import { type JsonObject, objectOf, textOf } from '@fairlead/base/json/values.ts'
import type { Step, TaskContext } from '../stage-type.ts'
import { kubernetes, type ServerGroupTarget, stageProviderOf } from './cloud-context.ts'
import { submitOperations } from './cloud-task.ts'
import type { TargetsOf } from './waits.ts'

export function tagStep(targets: TargetsOf): Step {
  return {
    name: 'tagServerGroup',
    timeoutMs: 5 * 60_000,
    execute: async (context) => {
      // Tags belong to an application by the name of what they are about.
      if (stageProviderOf(context.stage.context) === kubernetes) return { status: 'SKIPPED' }
      if (!(await context.infrastructure.operationNames()).includes('upsertEntityTags')) return { status: 'SKIPPED' }
      for (const target of targets(context)) {
        const { provider, name, account, region } = target
        const { application } = context.execution
        const entityRef = { cloudProvider: provider, entityType: 'servergroup', entityId: name, account, region, application }
        const value = await metadataOf(context, target)
        const tags = [{ name: 'spinnaker:metadata', namespace: 'spinnaker', value, valueType: 'object' }]
        const operation = { upsertEntityTags: { entityRef, tags, isPartial: true } }
        await submitOperations(context, `tag-${region}-${name}`, [operation])
      }
      return { status: 'SUCCEEDED' }
    },
  }
}

async function metadataOf(context: TaskContext, target: ServerGroupTarget): Promise<JsonObject> {
  const { stage, execution } = context
  const previousServerGroup = await predecessorOf(context, target)
  return {
    stageId: stage.id,
    executionId: execution.id,
    executionType: execution.type.toLowerCase(),
    application: execution.application,
    user: execution.authentication.user,
    description: execution.description ?? execution.name,
    pipelineConfigId: execution.pipelineConfigId,
    comments: stage.context['comments'],
    ...(previousServerGroup !== undefined && { previousServerGroup }),
  }
}

async function predecessorOf(context: TaskContext, target: ServerGroupTarget): Promise<JsonObject | undefined> {
  const source = objectOf(context.stage.context['source'])
  const name = textOf(source['serverGroupName'])
  const region = textOf(source['region']) ?? target.region
  const found = name === undefined ? undefined : await context.infrastructure.serverGroup({ ...target, region, name })
  return (
    found && {
      name: found.name,
      imageName: textOf(found.image['name']) ?? textOf(found.image['imageName']),
      imageId: textOf(found.image['imageId']),
      cloudProvider: target.provider,
      buildInfo: found.buildInfo,
    }
  )
}
