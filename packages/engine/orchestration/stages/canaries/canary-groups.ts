/** Baseline and canary that a canary stage deploys, as its `deployments` describe them. */

import { list, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, numberOf, objectOf, textOf } from '@fairlead/base/json/values.ts'
import type { ClusterPlace } from '@fairlead/ports/infrastructure.ts'
import { StageError } from '../../machine/failure.ts'
import { graphOf } from '../../machine/graph.ts'
import type { Stage, StagePlace } from '../../model.ts'
import {
  createdClustersOf,
  placesOf,
  stageAccountOf,
  stageProviderOf,
} from '../infrastructure/cloud-context.ts'

export const sides = ['control', 'experiment'] as const
export type GroupSide = (typeof sides)[number]

export interface CanaryGroup {
  readonly side: GroupSide
  /** Its definition, as `deploy` has it. */
  readonly spec: JsonObject
  readonly provider: string
  readonly account: string
  readonly application: string
  readonly regions: readonly string[]
  /** Names that its cluster may have; nothing else is in them. */
  readonly clusters: readonly string[]
  /** Its share of the traffic. */
  readonly percent: number | undefined
}

const toPair = shape({ control: objectOf, experiment: objectOf, trafficPercent: numberOf })

const toDeployments = shape({
  baseline: objectOf,
  serverGroupPairs: list(toPair),
  delayBeforeCleanup: (value) => value,
})

export function deploymentsOf({ context }: Stage): ShapeOf<typeof toDeployments> {
  return toDeployments(context['deployments'])
}

/**
 * What `deployments` of a canary stage asks for.
 *
 * @throws {StageError} when something is missing, or what runs already would be removed with the canary
 */
export function canaryGroupsOf(stage: Stage, ofExecution: string): CanaryGroup[] {
  const { serverGroupPairs: pairs } = deploymentsOf(stage)
  const baseline = baselineOf(stage, ofExecution)
  if (pairs.length === 0)
    throw new StageError([
      'The stage deploys nothing: add a pair to "deployments.serverGroupPairs".',
    ])
  const groups = pairs.flatMap((pair) =>
    sides.map((side) => toCanaryGroup(pair, side, ofExecution)),
  )
  const others = new Set([baseline.cluster])
  for (const { side, clusters } of groups.filter(
    (each, index) => groups.findIndex((one) => isSame(one, each)) === index,
  )) {
    const taken = clusters.find((cluster) => others.has(cluster))
    if (taken !== undefined) {
      throw new StageError([
        `The ${side} would be in the cluster ${taken}, which is not its own: give it a "freeFormDetails" that no other one has.`,
      ])
    }
    for (const cluster of clusters) others.add(cluster)
  }
  return groups
}

/** The same cluster in another region or account. */
function isSame(one: CanaryGroup, other: CanaryGroup): boolean {
  return one.side === other.side && one.clusters.join() === other.clusters.join()
}

const toBaseline = shape({ cluster: textOf, application: textOf })

export function baselineOf(stage: Stage, ofExecution: string): ClusterPlace {
  const { baseline } = deploymentsOf(stage)
  const { cluster, application = ofExecution } = toBaseline(baseline)
  const account = stageAccountOf(baseline)
  if (account === undefined || cluster === undefined) {
    throw new StageError([
      'The stage does not say what the baseline runs: set "account" and "cluster" in "deployments.baseline".',
    ])
  }
  return { provider: stageProviderOf(baseline), account, cluster, application }
}

function toCanaryGroup(
  pair: ShapeOf<typeof toPair>,
  side: GroupSide,
  ofExecution: string,
): CanaryGroup {
  const { [side]: spec, trafficPercent: percent } = pair
  const [account, regions] = [stageAccountOf(spec), placesOf(spec)]
  const field = `"deployments.serverGroupPairs[].${side}"`
  if (account === undefined || regions.length === 0)
    throw new StageError([`Set "account" and "region" in ${field}.`])
  if (percent !== undefined && (percent < 1 || percent > 50)) {
    throw new StageError([
      `"trafficPercent" is ${percent}, and each of the two gets it: set it to a number from 1 to 50.`,
    ])
  }
  const { application = ofExecution } = toBaseline(spec)
  const clusters = createdClustersOf(spec, application)
  return {
    side,
    spec,
    provider: stageProviderOf(spec),
    account,
    application,
    regions,
    clusters,
    percent,
  }
}

/** The groups of the canary stage that the stage is a part of. */
export function groupsAround(place: StagePlace): CanaryGroup[] {
  return canaryGroupsOf(canaryStageOf(place), place.execution.application)
}

export function canaryStageOf({ execution, stage }: StagePlace): Stage {
  const parent = graphOf(execution).parentOf(stage)
  if (parent !== undefined) return parent
  throw new StageError([
    `A stage of the type ${stage.type} is a part of a stage kayentaCanary, and does nothing alone.`,
  ])
}
