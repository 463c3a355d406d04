/** The strategy `canary` of a replica set that a manifest describes, by the steps that all cloud providers have. */
import { maybe, shape } from '@fairlead/base/json/shape.ts'
import {
  isTrue,
  type JsonObject,
  listOf,
  numberOf,
  objectOf,
  textOf,
} from '@fairlead/base/json/values.ts'
import { StageError } from '../../machine/failure.ts'
import type { Execution, Stage, StagePlace } from '../../model.ts'
import {
  abortStages,
  canaryStepStages,
  cancelDeployment,
  describeStop,
  hasHandedOver,
  rivalOf,
  takeShareAway,
} from '../infrastructure/canary.ts'
import { kubernetes } from '../infrastructure/cloud-context.ts'
import { createdNote, note } from '../infrastructure/notes.ts'
import { groupsIn, newestFirst } from '../infrastructure/server-groups.ts'
import { newGroupOf, serverGroupStage, strategyPlaceOf } from '../infrastructure/strategy-parts.ts'
import type { NewStage, TaskContext } from '../stage-type.ts'
import { accountContextOf, readManifestHead, readOwner } from './manifest-context.ts'

/** The deployed replica set, as a stage that creates a server group has it in its context. */
const canaryNote = note('deploy.canary', objectOf)

const readTraffic = shape({
  trafficManagement: shape({
    enabled: isTrue,
    options: shape({
      services: listOf,
      enableTraffic: maybe(isTrue),
      strategy: textOf,
      maxRemainingAsgs: numberOf,
      scaleDown: isTrue,
      canary: (value: unknown) => value,
    }),
  }),
})

export function trafficOf(context: JsonObject) {
  const { enabled, options } = readTraffic(context).trafficManagement
  return { ...options, enabled }
}

/** Runs before anything is deployed. @throws {StageError} that says what to deploy instead */
export function checkCanaryManifests(manifests: readonly JsonObject[], context: JsonObject): void {
  const groups = manifests.filter(({ kind }) => kind === 'ReplicaSet')
  const [group] = groups
  if (groups.length !== 1 || group === undefined) {
    throw new StageError([
      `The strategy canary deploys one ReplicaSet, and the manifests have ${groups.length}. For a Deployment, deploy the new version as ` +
        'another Deployment behind a service of its own, and give it its part with the stage shareTraffic.',
    ])
  }
  const annotated =
    readManifestHead(group).metadata.annotations['traffic.spinnaker.io/load-balancers']
  if (trafficOf(context).services.length > 0 || annotated !== undefined) return
  throw new StageError([
    'No service could give the canary its share: name one in "trafficManagement.options.services".',
  ])
}

/** Notes about the deployed replica set and the one that serves beside it; those of Deployments keep their number of replicas. */
export async function canaryNotes(context: TaskContext, deployed: JsonObject): Promise<JsonObject> {
  const fields = accountContextOf(context.stage)
  const { name, namespace: region } = readManifestHead(deployed).metadata
  const { app = '', cluster = '' } = readOwner(deployed).metadata.annotations
  const created = `replicaSet ${name}`
  const place = {
    application: app,
    provider: kubernetes,
    account: String(fields['account']),
    cluster,
  }
  const groups = await groupsIn(context, place, region)
  const [source] = newestFirst(
    groups.filter(
      ({ isDisabled, name: other, serverGroupManagers }) =>
        !isDisabled && other !== created && serverGroupManagers.length === 0,
    ),
  )
  return canaryNote.as({
    ...fields,
    region,
    application: app,
    moniker: { app, cluster },
    ...createdNote.as([{ location: region, name: created }]),
    ...(source && {
      source: { serverGroupName: source.name, capacity: source.capacity, isDisabled: false },
    }),
  })
}

/** The stage as one that creates a server group. */
function asCreation(stage: Stage): Stage {
  const { context } = stage
  const { canary } = trafficOf(context)
  return {
    ...stage,
    context: {
      ...canaryNote.in(context),
      strategy: 'canary',
      canary,
      rollback: context['rollback'],
    },
  }
}

/** @param retire What becomes of older versions once all of the traffic is the new one's. Undefined: no other version serves */
export function manifestCanaryStages(
  stage: Stage,
  execution: Execution,
  retire: readonly NewStage[],
): NewStage[] | undefined {
  const creation = asCreation(stage)
  const [place, deployed] = [strategyPlaceOf(creation, execution), newGroupOf(creation)]
  if (deployed === undefined || rivalOf(creation) === undefined) return undefined
  const first = serverGroupStage('shareTraffic', 'Send 0 % to', place, deployed, {
    percent: 0,
    isNew: true,
  })
  return [first, ...canaryStepStages(creation, place), ...retire, ...takeShareAway(creation, place)]
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
