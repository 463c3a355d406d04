import { type JsonObject, objectOf, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { StageError } from '../../machine/failure.ts'
import type { StageType, Step } from '../stage-type.ts'
import { locationOf, placesOf, stageAccountOf } from './cloud-context.ts'
import { minuteMs, monitorStep, refreshStep, submitOperations, submitStep } from './cloud-task.ts'
import { withoutNotes } from './server-group-operations.ts'
import { waitStep } from './waits.ts'

const refreshLoadBalancers = refreshNamed('LoadBalancer', 'loadBalancerName')
const refreshSecurityGroups = refreshNamed('SecurityGroup', 'securityGroupName')
const monitorUpsert = monitorStep('monitorUpsert', { expectsResult: true, read: readLoadBalancers })

/** Those without steps of their own. */
const plainOperations = [
  ...['mapLoadBalancers', 'unmapLoadBalancers', 'updateSecurityGroupsForServerGroup', 'upsertImageTags', 'deleteImage'],
  ...['saveSnapshot', 'restoreSnapshot', 'deleteSnapshot', 'upsertScalingPolicy', 'deleteScalingPolicy', 'upsertServerGroupTags'],
]

export const simpleOperationStages: readonly StageType[] = [
  {
    type: 'upsertLoadBalancer',
    steps: [submit('upsertLoadBalancer'), monitorUpsert, refreshLoadBalancers],
  },
  {
    type: 'upsertLoadBalancers',
    steps: [
      submitStep('upsertLoadBalancers', 'upsertloadbalancer', ({ stage }) => ({
        operations: objectsOf(stage.context['loadBalancers']).map((each) => ({
          upsertLoadBalancer: { ...withoutNotes(stage.context), ...each, loadBalancers: undefined },
        })),
      })),
      monitorUpsert,
      refreshLoadBalancers,
    ],
  },
  { type: 'deleteLoadBalancer', steps: [submit('deleteLoadBalancer'), refreshLoadBalancers, monitorStep()] },
  {
    type: 'upsertSecurityGroup',
    steps: [submit('upsertSecurityGroup', perRegion), monitorStep(), refreshSecurityGroups, waitSecurityGroup()],
  },
  { type: 'deleteSecurityGroup', steps: [submit('deleteSecurityGroup'), monitorStep(), refreshSecurityGroups] },
  ...plainOperations.map((type) => ({ type, steps: [submit(type), monitorStep()] })),
  ...['upsertEntityTags', 'deleteEntityTags', 'bulkUpsertEntityTags'].map(entityTagsStage),
]

/** The stage's whole context is the description: services take what they know. */
function submit(type: string, describe: (context: JsonObject) => JsonObject[] = (context) => [context]): Step {
  return submitStep(type, type.toLowerCase(), ({ stage }) => ({
    operations: describe(withoutNotes(stage.context)).map((description) => ({ [type]: description })),
  }))
}

/** Security groups are written region by region. */
function perRegion(context: JsonObject): JsonObject[] {
  const places = placesOf(context)
  return places.length === 0 ? [context] : places.map((region) => ({ ...context, region, regions: [region] }))
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
          const id = await submitOperations(context, type, [{ [type]: withoutNotes(context.stage.context) }])
          return { status: 'SUCCEEDED', context: { 'notification.type': type.toLowerCase(), 'kato.last.task.id': { id } } }
        },
      },
      monitorStep(),
    ],
  }
}

function readLoadBalancers(results: readonly JsonObject[]): JsonObject {
  const byRegion = Object.assign({}, ...results.map((result) => objectOf(result['loadBalancers'])))
  const [first] = objectsOf(Object.values(byRegion))
  return { loadBalancers: byRegion, ...(first?.['dnsName'] !== undefined && { dnsName: first['dnsName'] }) }
}

/** @param nameKey Field of the name, for which "name" stands in */
function refreshNamed(type: string, nameKey: string): Step {
  return refreshStep('forceCacheRefresh', type, ({ stage: { context } }) => {
    const name = textOf(context[nameKey]) ?? textOf(context['name'])
    return placesOf(context).map((region) => ({ [nameKey]: name, region, account: stageAccountOf(context) }))
  })
}

/** Waits until the rules can be read back. */
function waitSecurityGroup(): Step {
  return waitStep('waitForUpsertedSecurityGroup', 10 * minuteMs, async ({ stage, infrastructure }) => {
    const settings = stage.context
    const name = textOf(settings['securityGroupName']) ?? textOf(settings['name'])
    if (name === undefined) throw new StageError(['The stage names no security group: set "name".'])
    const found = await infrastructure.securityGroup({ ...locationOf(settings), name })
    const wanted = objectsOf(settings['ipIngress']).length + objectsOf(settings['securityGroupIngress']).length
    const isThere = found !== undefined && (wanted === 0 || objectsOf(found['inboundRules']).length > 0)
    return isThere ? undefined : `the rules of ${name} cannot be read yet`
  })
}
