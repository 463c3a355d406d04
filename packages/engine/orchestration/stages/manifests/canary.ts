/** The strategy `canary` of a replica set that a manifest describes, by the steps that all cloud providers have. */
import { fieldAt, type JsonObject, listOf, objectOf } from '@fairlead/base/json/values.ts'
import { StageError } from '../../machine/failure.ts'
import type { Execution, Stage, StagePlace } from '../../model.ts'
import {
  abortStages,
  canaryStages,
  cancelDeployment,
  describeStop,
  hasHandedOver,
  rivalOf,
  takeShareAway,
} from '../infrastructure/canary.ts'
import { kubernetes, requireAccount } from '../infrastructure/cloud-context.ts'
import { inPlace, newestFirst } from '../infrastructure/server-groups.ts'
import { newGroupOf, serverGroupStage, strategyPlaceOf } from '../infrastructure/strategy-parts.ts'
import type { NewStage, TaskContext } from '../stage-type.ts'

const noteKey = 'deploy.canary'

export function trafficOptionsOf(context: JsonObject): JsonObject {
  return objectOf(objectOf(context['trafficManagement'])['options'])
}

/** Before anything is deployed. @throws {StageError} that says what to deploy instead */
export function checkCanaryManifests(manifests: readonly JsonObject[], context: JsonObject): void {
  const groups = manifests.filter(({ kind }) => kind === 'ReplicaSet')
  const [group] = groups
  if (groups.length !== 1 || group === undefined) {
    throw new StageError([
      `The strategy canary deploys one ReplicaSet, and the manifests have ${groups.length}. For a Deployment, deploy the new version as ` +
        'another Deployment behind a service of its own, and give it its part with the stage shareTraffic.',
    ])
  }
  const annotated = fieldAt(group, 'metadata', 'annotations', 'traffic.spinnaker.io/load-balancers')
  if (listOf(trafficOptionsOf(context)['services']).length > 0 || annotated !== undefined) return
  throw new StageError(['No service could give the canary its share: name one in "trafficManagement.options.services".'])
}

/** Notes about the deployed replica set and the one that serves beside it. */
export async function canaryNotes(context: TaskContext, deployed: JsonObject): Promise<JsonObject> {
  const account = requireAccount(context.stage.context)
  const { name, namespace: region, annotations } = objectOf(deployed['metadata'])
  const [app, cluster] = ['application', 'cluster'].map((part) => String(fieldAt(annotations, `moniker.spinnaker.io/${part}`)))
  const created = `replicaSet ${String(name)}`
  const groups = await context.infrastructure.cluster({
    application: app ?? '',
    provider: kubernetes,
    account,
    cluster: cluster ?? '',
  })
  const serving = inPlace(groups ?? [], String(region)).filter((group) => !group.isDisabled && group.name !== created)
  const [source] = newestFirst(serving)
  return {
    [noteKey]: {
      cloudProvider: kubernetes,
      account,
      credentials: account,
      region,
      application: app,
      moniker: { app, cluster },
      'deploy.server.groups': { [String(region)]: [created] },
      ...(source !== undefined && { source: { serverGroupName: source.name, capacity: source.capacity, isDisabled: false } }),
    },
  }
}

/** The stage as one that creates a server group. */
function asCreation(stage: Stage): Stage {
  const { context } = stage
  const { canary } = trafficOptionsOf(context)
  return { ...stage, context: { ...objectOf(context[noteKey]), strategy: 'canary', canary, rollback: context['rollback'] } }
}

/** @param retire What becomes of older versions once all of the traffic is the new one's. Undefined: no other version serves */
export function manifestCanaryStages(stage: Stage, execution: Execution, retire: readonly NewStage[]): NewStage[] | undefined {
  const creation = asCreation(stage)
  const [place, deployed] = [strategyPlaceOf(creation, execution), newGroupOf(creation)]
  if (deployed === undefined || rivalOf(creation) === undefined) return undefined
  const first = serverGroupStage('shareTraffic', 'Send 0 % to', place, deployed, { percent: 0, isNew: true })
  return [first, ...canaryStages(creation, place), ...retire, ...takeShareAway(creation, place)]
}

export function abortManifestCanary(stage: Stage, execution: Execution): NewStage[] {
  const creation = asCreation(stage)
  const end = hasHandedOver({ stage, execution }) ? takeShareAway : abortStages
  return end(creation, strategyPlaceOf(creation, execution))
}

export function cancelManifestCanary(context: TaskContext): Promise<void> {
  return cancelDeployment({ ...context, stage: asCreation(context.stage) })
}

export function describeManifestStop({ stage, execution }: StagePlace): string | undefined {
  return describeStop({ stage: asCreation(stage), execution })
}
