/** `deployCanaryServerGroups`: deploys baseline and canary with equal shares of the traffic. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { ClusterPlace } from '@fairlead/ports/infrastructure.ts'
import { StageError } from '../../machine/failure.ts'
import { graphOf } from '../../machine/graph.ts'
import type { Execution, Stage, StagePlace } from '../../model.ts'
import {
  createdIn,
  kubernetes,
  type ServerGroupTarget,
  stageAccountOf,
  stageProviderOf,
  stageTargetFields,
} from '../infrastructure/cloud-context.ts'
import { monitorStep, submitStep } from '../infrastructure/cloud-task.ts'
import type { NewStage, StageType, Submission, TaskContext, TaskResult } from '../stage-type.ts'
import {
  baselineOf,
  type CanaryGroup,
  canaryStageOf,
  type GroupSide,
  groupsAround,
  sides,
} from './canary-groups.ts'

export const deployCanaryServerGroupsStage: StageType = {
  type: 'deployCanaryServerGroups',
  steps: [
    submitStep('shareTraffic', shares),
    monitorStep('monitorShareTraffic'),
    { name: 'propagateDeployedServerGroupScopes', decide: propagateScopes },
  ],
  chooseSteps: (stage, execution) =>
    groupsAround({ execution, stage }).some(({ percent }) => percent !== undefined)
      ? deployCanaryServerGroupsStage.steps
      : deployCanaryServerGroupsStage.steps.slice(-1),
  beforeStages: (stage, execution) => deployments({ execution, stage }),
}

const deployNames = {
  control: 'Deploy control server groups',
  experiment: 'Deploy experiment server groups',
} as const

function deployments(place: StagePlace): NewStage[] {
  const baseline = baselineOf(canaryStageOf(place), place.execution.application)
  const groups = groupsAround(place)
  const clustersOf = (side: GroupSide) =>
    groups.filter((group) => group.side === side).map((group) => toCluster(group, baseline))
  const { provider, account, application, cluster } = baseline
  const regions = [...new Set(groups.flatMap((group) => group.regions))]
  return [
    {
      type: 'findImageFromCluster',
      name: 'Find baseline image',
      context: {
        cloudProvider: provider,
        credentials: account,
        account,
        application,
        cluster,
        regions,
      },
    },
    {
      type: 'deploy',
      name: deployNames.control,
      context: { clusters: clustersOf('control') },
      requires: [0],
    },
    // Its image is its own, or that of a stage ahead.
    {
      type: 'deploy',
      name: deployNames.experiment,
      context: { clusters: clustersOf('experiment') },
    },
  ]
}

/** Cluster for the stage `deploy`, without what an interrupted analysis has left in it. */
function toCluster(
  { spec, percent, provider }: CanaryGroup,
  { account, application, cluster }: ClusterPlace,
): JsonObject {
  const takesPods =
    provider === kubernetes && spec['manifest'] === undefined && spec['source'] === undefined
  return {
    ...spec,
    strategy: 'highlander',
    ...(percent !== undefined && { trafficPercent: percent }),
    ...(takesPods && { source: { account, application, cluster } }),
  }
}

/** Server groups that the stage has created, in the order of its pairs. */
function createdBy({ execution, stage }: StagePlace, side: GroupSide): ServerGroupTarget[] {
  const graph = graphOf(execution)
  const deployed = graph.childrenOf(stage).filter(({ name }) => name === deployNames[side])
  return deployed
    .flatMap((each) => graph.childrenOf(each))
    .flatMap(({ context, outputs }) => {
      const place = { provider: stageProviderOf(context), account: stageAccountOf(context) ?? '' }
      return createdIn(outputs, place)
    })
}

function shares({ execution, stage }: TaskContext): Submission {
  const place = { execution, stage }
  const groups = groupsAround(place)
  const operations = sides.flatMap((side) =>
    createdBy(place, side).flatMap((target) => {
      const percent = groups.find(
        (group) => group.side === side && group.regions.includes(target.region),
      )?.percent
      return percent === undefined
        ? []
        : [{ shareTraffic: { ...stageTargetFields(target), percent } }]
    }),
  )
  return { operations, context: { cloudProvider: groups[0]?.provider } }
}

/** What the intervals compare, and what clients show as baseline and canary. */
function propagateScopes({ execution, stage }: TaskContext): TaskResult {
  const controls = createdBy({ execution, stage }, 'control')
  const experiments = createdBy({ execution, stage }, 'experiment')
  const deployedServerGroups = controls.flatMap((control, index) => {
    const experiment = experiments[index]
    if (experiment === undefined) return []
    return [
      {
        controlLocation: control.region,
        controlScope: control.name,
        experimentLocation: experiment.region,
        experimentScope: experiment.name,
      },
    ]
  })
  if (deployedServerGroups.length > 0)
    return { status: 'SUCCEEDED', outputs: { deployedServerGroups } }
  throw new StageError([
    'The deployments of baseline and canary name no server groups that could be compared.',
  ])
}

/** Whether the stage has begun to deploy, so that something has to be removed. */
export function hasDeployed(stage: Stage, execution: Execution): boolean {
  const children = graphOf(execution).childrenOf(stage)
  return children.some(
    ({ type, status }) => type === deployCanaryServerGroupsStage.type && status !== 'NOT_STARTED',
  )
}
