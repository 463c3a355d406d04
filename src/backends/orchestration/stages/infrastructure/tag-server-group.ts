/** Tags a new server group with its author and predecessor, for rollbacks. */
import { formatQuery } from '../../../../http/encode-path.ts'
import { isTrue, type JsonObject, objectOf, objectsOf, textOf } from '../../../../json/values.ts'
import type { Step } from '../stage-type.ts'
import { loadServerGroup } from './server-groups.ts'
import type { TargetsOf } from './waits.ts'

export function tagStep(targets: TargetsOf): Step {
  return {
    name: 'tagServerGroup',
    timeoutMs: 5 * 60_000,
    execute: async (context) => {
      const features = await context.call('clouddriver', { method: 'GET', path: '/features/stages' }, [404])
      const isKnown = objectsOf(features.body).some(({ name, enabled }) => name === 'upsertEntityTags' && isTrue(enabled))
      if (!isKnown) return { status: 'SKIPPED' }
      const { stage, execution } = context
      const previous = objectOf(stage.context['source'])
      const previousName = textOf(previous['serverGroupName'])
      for (const target of targets(context)) {
        const before =
          previousName === undefined
            ? undefined
            : await loadServerGroup(context, {
                ...target,
                region: textOf(previous['region']) ?? target.region,
                name: previousName,
              })
        const value: JsonObject = {
          stageId: stage.id,
          executionId: execution.id,
          executionType: execution.type.toLowerCase(),
          application: execution.application,
          user: execution.authentication.user,
          description: execution.description ?? execution.name,
          pipelineConfigId: execution.pipelineConfigId,
          comments: stage.context['comments'],
          ...(before !== undefined && {
            previousServerGroup: {
              name: before.name,
              imageName: textOf(before.image['name']) ?? textOf(before.image['imageName']),
              imageId: textOf(before.image['imageId']),
              cloudProvider: target.provider,
              buildInfo: before.buildInfo,
            },
          }),
        }
        const entityRef = {
          cloudProvider: target.provider,
          entityType: 'servergroup',
          entityId: target.name,
          account: target.account,
          region: target.region,
          application: execution.application,
        }
        const tags = [{ name: 'spinnaker:metadata', namespace: 'spinnaker', value, valueType: 'object' }]
        const requestId = `${stage.id}-${stage.startTime ?? 0}-tag-${target.region}-${target.name}`
        await context.call('clouddriver', {
          method: 'POST',
          path: `/ops${formatQuery({ clientRequestId: requestId })}`,
          body: [{ upsertEntityTags: { entityRef, tags, isPartial: true } }],
          isRecognized: true,
        })
      }
      return { status: 'SUCCEEDED' }
    },
  }
}
