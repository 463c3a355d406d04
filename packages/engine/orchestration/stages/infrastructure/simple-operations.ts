import { shape } from '@fairlead/base/json/shape.ts'
import { definedOf, type JsonObject, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import type { CloudResult } from '@fairlead/ports/cloud-values.ts'
import { StageError } from '../../machine/failure.ts'
import type { StageType, Step } from '../stage-type.ts'
import { firstText, locationOf, placesOf, stageAccountOf } from './cloud-context.ts'
import { minuteMs, monitorStep, refreshStep, submitOperations, submitStep } from './cloud-task.ts'
import { lastTaskNote, withoutNotes } from './notes.ts'
import { waitStep } from './waits.ts'

const refreshLoadBalancers = refreshNamed('LoadBalancer', 'loadBalancerName')
const refreshSecurityGroups = refreshNamed('SecurityGroup', 'securityGroupName')
const monitorUpsert = monitorStep('monitorUpsert', { expectsResult: true, read: readLoadBalancers })

/** Operations without steps of their own. */
const plainOperations = [
  ...[
    'mapLoadBalancers',
    'unmapLoadBalancers',
    'updateSecurityGroupsForServerGroup',
    'upsertImageTags',
    'deleteImage',
    'deleteVolumes',
  ],
  ...[
    'saveSnapshot',
    'restoreSnapshot',
    'deleteSnapshot',
    'upsertScalingPolicy',
    'deleteScalingPolicy',
    'upsertServerGroupTags',
  ],
]

const toParts = shape({
  loadBalancers: objectsOf,
  ipIngress: objectsOf,
  securityGroupIngress: objectsOf,
})

export const simpleOperationStages: readonly StageType[] = [
  {
    type: 'upsertLoadBalancer',
    steps: [submit('upsertLoadBalancer'), monitorUpsert, refreshLoadBalancers],
  },
  {
    type: 'upsertLoadBalancers',
    steps: [
      submitStep(
        'upsertLoadBalancers',
        ({ stage: { context } }) => ({
          operations: toParts(context).loadBalancers.map((each) => ({
            upsertLoadBalancer: { ...withoutNotes(context), ...each, loadBalancers: undefined },
          })),
        }),
        'upsertloadbalancer',
      ),
      monitorUpsert,
      refreshLoadBalancers,
    ],
  },
  {
    type: 'deleteLoadBalancer',
    steps: [submit('deleteLoadBalancer'), refreshLoadBalancers, monitorStep()],
  },
  {
    type: 'upsertSecurityGroup',
    steps: [
      submit('upsertSecurityGroup', perRegion),
      monitorStep(),
      refreshSecurityGroups,
      waitSecurityGroup(),
    ],
  },
  {
    type: 'deleteSecurityGroup',
    steps: [submit('deleteSecurityGroup'), monitorStep(), refreshSecurityGroups],
  },
  ...plainOperations.map((type) => ({ type, steps: [submit(type), monitorStep()] })),
  ...['upsertEntityTags', 'deleteEntityTags', 'bulkUpsertEntityTags'].map(entityTagsStage),
]

/** The stage's whole context is the description: services take what they know. */
function submit(
  type: string,
  describe: (context: JsonObject) => JsonObject[] = (context) => [context],
): Step {
  return submitStep(type, ({ stage }) => ({
    operations: describe(withoutNotes(stage.context)).map((description) => ({
      [type]: description,
    })),
  }))
}

/** Security groups are written region by region. */
function perRegion(context: JsonObject): JsonObject[] {
  const places = placesOf(context)
  return places.length === 0
    ? [context]
    : places.map((region) => ({ ...context, region, regions: [region] }))
}

/** Tags belong to no provider. */
function entityTagsStage(type: string): StageType {
  return {
    type,
    steps: [
      {
        name: type,
        timeoutMs: 90_000,
        execute: async (context) => {
          const id = await submitOperations(context, type, [
            { [type]: withoutNotes(context.stage.context) },
          ])
          return {
            status: 'SUCCEEDED',
            context: { 'notification.type': type.toLowerCase(), ...lastTaskNote.as(id) },
          }
        },
      },
      monitorStep(),
    ],
  }
}

function readLoadBalancers(results: readonly CloudResult[]): JsonObject {
  const loadBalancers: JsonObject = Object.assign(
    {},
    ...results.map((result) => result.loadBalancers),
  )
  const { dnsName } = shape({ dnsName: textOf })(Object.values(loadBalancers)[0])
  return { loadBalancers, ...definedOf({ dnsName }) }
}

/** @param nameKey Field of the name, for which "name" stands in */
function refreshNamed(type: string, nameKey: string): Step {
  return refreshStep('forceCacheRefresh', type, ({ stage: { context } }) =>
    placesOf(context).map((region) => ({
      [nameKey]: firstText(context, nameKey, 'name'),
      region,
      account: stageAccountOf(context),
    })),
  )
}

/** Waits until the rules can be read back. */
function waitSecurityGroup(): Step {
  return waitStep(
    'waitForUpsertedSecurityGroup',
    10 * minuteMs,
    async ({ stage: { context }, infrastructure }) => {
      const name = firstText(context, 'securityGroupName', 'name')
      if (name === undefined)
        throw new StageError(['The stage names no security group: set "name".'])
      const found = await infrastructure.securityGroup({ ...locationOf(context), name })
      const { ipIngress, securityGroupIngress } = toParts(context)
      const wantsRules = ipIngress.length + securityGroupIngress.length > 0
      return found && (!wantsRules || found.hasRules)
        ? undefined
        : `the rules of ${name} cannot be read yet`
    },
  )
}
