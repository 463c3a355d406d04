/** Stages of one run: what must hold before, the deployment itself, and what is looked at and stopped afterwards. */
import { shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, objectsOf, textsOf } from '@fairlead/base/json/values.ts'
import type { AppHere } from '@fairlead/model/app-file/merge-environment.ts'
import type { AppPlace } from './account-places.ts'
import { clusterOf } from './app-environment.ts'
import { constraintsOf } from './compile.ts'
import { isClusterPlace, removalOf } from './compile-manifests.ts'

interface StagesOfRun {
  readonly here: AppHere
  readonly place: AppPlace
  /** The environment before, with its place; undefined: there is none. */
  readonly before: { readonly here: AppHere; readonly place: AppPlace } | undefined
  readonly image: string
  readonly version: string
}

/** @param deployment Stages of the stored pipeline */
export function withConstraints(deployment: readonly JsonObject[], run: StagesOfRun): JsonObject[] {
  const constraints = constraintsOf(run.here) ?? []
  const isAfterwards = ({ type }: JsonObject) => type === 'verification'
  const first = inSequence(
    constraints.filter((each) => !isAfterwards(each)).flatMap((each) => stageOf(each, run)),
  )
  const last = first.at(-1)
  const after = last === undefined ? [] : [String(last['refId'])]
  const deployed = behind(after, deployment)
  const ends = deployed.map(({ refId }) => String(refId))
  const checks = constraints.filter(isAfterwards).map(({ checks: list, rollback }, index) => ({
    refId: `verify-${index + 1}`,
    requisiteStageRefIds: ends,
    type: 'verify',
    name: `Verify ${run.here.environment}`,
    checks: objectsOf(list),
    rollback,
  }))
  return [...first, ...deployed, ...checks]
}

const toPlaced = shape({ requisiteStageRefIds: textsOf })

/** Stages of which the first ones require others. */
export function behind(
  requisiteStageRefIds: readonly unknown[],
  stages: readonly JsonObject[],
): JsonObject[] {
  return stages.map((stage) =>
    toPlaced(stage).requisiteStageRefIds.length > 0 ? stage : { ...stage, requisiteStageRefIds },
  )
}

function inSequence(stages: readonly JsonObject[]): JsonObject[] {
  return stages.map((stage, index) => ({
    ...stage,
    refId: `hold-${index + 1}`,
    requisiteStageRefIds: index === 0 ? [] : [`hold-${index}`],
  }))
}

function stageOf(constraint: JsonObject, run: StagesOfRun): JsonObject[] {
  const { here, before, version } = run
  switch (constraint['type']) {
    case 'judgment':
      return [
        {
          type: 'manualJudgment',
          name: `Judge ${version} for ${here.environment}`,
          requiredJudgmentRoles: textsOf(constraint['roles']),
        },
      ]
    case 'window': {
      const { days, whitelist } = constraint
      return [
        {
          type: 'restrictExecutionDuringTimeWindow',
          name: `Window of ${here.environment}`,
          restrictedExecutionWindow: { ...(days !== undefined && { days }), whitelist },
        },
      ]
    }
    case 'soakTime':
      return before === undefined ? [] : [soakStage(Number(constraint['minutes']), before, run)]
    default:
      return []
  }
}

function soakStage(
  minutes: number,
  before: NonNullable<StagesOfRun['before']>,
  { here, image }: StagesOfRun,
): JsonObject {
  const clusters = before.here.services
    .filter(({ schedule }) => schedule === undefined)
    .map(({ name }) => clusterOf(before.here, name))
  const { account, region } = before.place
  const from = {
    name: before.here.environment,
    accounts: [account],
    regions: [region],
    clusters,
    constraints: [],
  }
  return {
    type: 'promote',
    name: `Soak time in ${before.here.environment}`,
    application: here.application,
    soak: { from, minutes, clusters, images: [image] },
  }
}

/** Clusters of the services that an environment runs all the time. */
export function servingClusters(here: AppHere): string[] {
  return here.services
    .filter(({ schedule }) => schedule === undefined)
    .map(({ name }) => clusterOf(here, name))
}

interface StoppedClusters {
  readonly here: AppHere
  readonly place: AppPlace
  readonly clusters: readonly string[]
}

/** Stops clusters and removes their server groups after all deployments; their volumes stay. */
export function appStopStages({ here, place, clusters }: StoppedClusters): JsonObject[] {
  const after = here.services
    .filter(({ schedule }) => schedule === undefined)
    .map(({ name }) => `deploy-${name}`)
  return clusters.map((cluster) => ({
    refId: `stop-${cluster}`,
    requisiteStageRefIds: after,
    ...stopOf(cluster, place),
  }))
}

export function deleteBalancerOf(
  loadBalancerName: string,
  { provider, account, region }: AppPlace,
): JsonObject {
  return {
    type: 'deleteLoadBalancer',
    cloudProvider: provider,
    credentials: account,
    regions: [region],
    loadBalancerName,
  }
}

export function stopOf(cluster: string, { provider, account, region }: AppPlace): JsonObject {
  return {
    type: 'shrinkCluster',
    name: `Stop ${cluster}`,
    cloudProvider: provider,
    credentials: account,
    account,
    regions: [region],
    cluster,
    shrinkToSize: 0,
    allowDeleteActive: true,
    continueIfClusterNotFound: true,
  }
}

/** Ends all that an environment runs. */
export function stopJobs(here: AppHere, place: AppPlace): JsonObject[] {
  if (isClusterPlace(place)) return [removalOf(here, place)]
  const balanced = here.services.filter(({ hosts }) => hosts.length > 0)
  return [
    ...servingClusters(here).map((cluster) => stopOf(cluster, place)),
    ...balanced.map(({ name }) => deleteBalancerOf(clusterOf(here, name), place)),
  ]
}
