/** Stages of one operation without further waiting: load balancers, security groups, images, snapshots, tags. */
import { formatQuery, pathTo } from '../../../../http/encode-path.ts'
import { fieldOf, type JsonObject, objectOf, objectsOf, textOf } from '../../../../json/values.ts'
import { StageError } from '../../machine/failure.ts'
import type { StageType, Step, TaskContext } from '../stage-type.ts'
import { locationOf, placesOf, stageAccountOf } from './cloud-context.ts'
import { monitorStep, refreshStep, submitStep } from './cloud-task.ts'
import { withoutNotes } from './server-group-operations.ts'

export const simpleOperationStages: readonly StageType[] = [
  {
    type: 'upsertLoadBalancer',
    steps: [
      submit('upsertLoadBalancer'),
      monitorStep('monitorUpsert', { expectsResult: true, read: readLoadBalancers }),
      refreshLoadBalancers(),
    ],
  },
  {
    type: 'upsertLoadBalancers',
    steps: [
      submitStep('upsertLoadBalancers', 'upsertloadbalancer', ({ stage }) => ({
        operations: objectsOf(stage.context['loadBalancers']).map((each) => ({
          upsertLoadBalancer: { ...withoutNotes(stage.context), ...each, loadBalancers: undefined },
        })),
      })),
      monitorStep('monitorUpsert', { expectsResult: true, read: readLoadBalancers }),
      refreshLoadBalancers(),
    ],
  },
  { type: 'deleteLoadBalancer', steps: [submit('deleteLoadBalancer'), refreshLoadBalancers(), monitorStep()] },
  operationStage('mapLoadBalancers'),
  operationStage('unmapLoadBalancers'),
  {
    type: 'upsertSecurityGroup',
    steps: [submit('upsertSecurityGroup', perRegion), monitorStep(), refreshSecurityGroups(), waitSecurityGroup()],
  },
  { type: 'deleteSecurityGroup', steps: [submit('deleteSecurityGroup'), monitorStep(), refreshSecurityGroups()] },
  operationStage('updateSecurityGroupsForServerGroup'),
  operationStage('upsertImageTags'),
  operationStage('deleteImage'),
  operationStage('saveSnapshot'),
  operationStage('restoreSnapshot'),
  operationStage('deleteSnapshot'),
  operationStage('upsertScalingPolicy'),
  operationStage('deleteScalingPolicy'),
  operationStage('upsertServerGroupTags'),
  ...['upsertEntityTags', 'deleteEntityTags', 'bulkUpsertEntityTags'].map(entityTagsStage),
]

function operationStage(type: string): StageType {
  return { type, steps: [submit(type), monitorStep()] }
}

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
          const { stage } = context
          const answer = await context.call('clouddriver', {
            method: 'POST',
            path: `/ops${formatQuery({ clientRequestId: `${stage.id}-${stage.startTime ?? 0}-${type}` })}`,
            body: [{ [type]: withoutNotes(stage.context) }],
            isRecognized: true,
          })
          const id = textOf(fieldOf(answer.body, 'id'))
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

function refreshLoadBalancers(): Step {
  return refreshStep('forceCacheRefresh', 'LoadBalancer', ({ stage }) => {
    const name = textOf(stage.context['loadBalancerName']) ?? textOf(stage.context['name'])
    return placesOf(stage.context).map((region) => ({ loadBalancerName: name, region, account: stageAccountOf(stage.context) }))
  })
}

function refreshSecurityGroups(): Step {
  return refreshStep('forceCacheRefresh', 'SecurityGroup', ({ stage }) =>
    placesOf(stage.context).map((region) => ({
      securityGroupName: securityGroupName(stage.context),
      region,
      account: stageAccountOf(stage.context),
    })),
  )
}

function securityGroupName(context: JsonObject): string | undefined {
  return textOf(context['securityGroupName']) ?? textOf(context['name'])
}

/** Waits until the rules can be read back. */
function waitSecurityGroup(): Step {
  return {
    name: 'waitForUpsertedSecurityGroup',
    timeoutMs: 10 * 60_000,
    execute: async (context: TaskContext) => {
      const settings = context.stage.context
      const name = securityGroupName(settings)
      if (name === undefined) throw new StageError(['The stage names no security group: set "name".'])
      const { account, provider, region } = locationOf(settings)
      const path = pathTo`/securityGroups/${account}/${provider}/${region}/${name}`
      const { status, body } = await context.call('clouddriver', { method: 'GET', path }, [404])
      if (status === 404) return { status: 'RUNNING', pollMs: 1000 }
      const rules = objectsOf(objectOf(body)['inboundRules'])
      const wanted = objectsOf(settings['ipIngress']).length + objectsOf(settings['securityGroupIngress']).length
      return rules.length > 0 || wanted === 0 ? { status: 'SUCCEEDED' } : { status: 'RUNNING', pollMs: 1000 }
    },
  }
}
