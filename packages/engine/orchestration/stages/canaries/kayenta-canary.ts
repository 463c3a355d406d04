/** `kayentaCanary`: has kayenta compare a canary with its baseline, interval by interval, and deploys both where it is asked to. */
import { list, shape } from '@fairlead/base/json/shape.ts'
import { objectOf, textOf } from '@fairlead/base/json/values.ts'
import { failureRecord, StageError } from '../../machine/failure.ts'
import { graphOf } from '../../machine/graph.ts'
import type { Execution, Stage, StagePlace } from '../../model.ts'
import {
  inSequence,
  type NewStage,
  type StageType,
  type TaskContext,
  type TaskResult,
} from '../stage-type.ts'
import { canaryGroupsOf } from './canary-groups.ts'
import { canarySettingsOf, thresholdsOf } from './canary-settings.ts'
import { deployCanaryServerGroupsStage, hasDeployed } from './deploy-canaries.ts'
import { intervalStages } from './intervals.ts'
import { cleanupCanaryClustersStage, removeCanaryGroups } from './remove-canaries.ts'
import {
  comparedWithPass,
  describeEarly,
  judgmentOf,
  resolveCanaryConfigStage,
  runCanaryStage,
} from './run-canary.ts'

const kayentaCanaryStage: StageType = {
  type: 'kayentaCanary',
  steps: [{ name: 'aggregateCanaryResults', decide: aggregateResults }],
  beforeStages: plannedStages,
  afterStages: cleanup,
  onFailureStages: cleanup,
  onCancel: removeCanaryGroups,
  undoesSkip: true,
  forgets: ['intervalStageId', 'canaryScores', 'canaryScoreMessage'],
}

/** Its inner stages have the names and contexts that they have in Orca, where clients read them. */
const runCanaryIntervalsStage: StageType = {
  type: 'runCanaryIntervals',
  steps: [],
  beforeStages: plannedIntervals,
}

export const canaryStages: readonly StageType[] = [
  kayentaCanaryStage,
  resolveCanaryConfigStage,
  deployCanaryServerGroupsStage,
  runCanaryIntervalsStage,
  runCanaryStage,
  cleanupCanaryClustersStage,
]

const toSettings = shape({
  analysisType: textOf,
  canaryConfig: objectOf,
  deployments: (value) => value,
})
const toOutputs = shape({ canaryConfigId: textOf, deployedServerGroups: list(objectOf) })

/** @throws {StageError} when something is missing that would show only after the deployment */
function plannedStages(stage: Stage, execution: Execution): NewStage[] {
  const { analysisType, canaryConfig: config, deployments } = toSettings(stage.context)
  const { canaryConfigId, canaryConfigName, configurationAccountName } = config
  const deploys = deployments !== undefined
  if (analysisType === 'realTimeAutomatic' && !deploys) {
    throw new StageError([
      'The analysis is realTimeAutomatic, and says nothing about what to deploy: set "deployments".',
    ])
  }
  if (analysisType === 'retrospective' && canarySettingsOf(config).endMs === undefined) {
    throw new StageError([
      'The analysis is retrospective: set "startTimeIso" and "endTimeIso" of its first scope.',
    ])
  }
  intervalStages(config, startOf(stage, execution), deploys ? {} : undefined)
  if (deploys) canaryGroupsOf(stage, execution.application)
  return inSequence([
    {
      type: resolveCanaryConfigStage.type,
      name: 'Find Canary Configuration',
      context: { canaryConfigId, canaryConfigName, configurationAccountName },
    },
    ...(deploys
      ? [
          {
            type: deployCanaryServerGroupsStage.type,
            name: 'Deploy Canary Server Groups',
            context: {},
          },
        ]
      : []),
    {
      type: runCanaryIntervalsStage.type,
      name: 'Run Canary Intervals',
      context: { canaryConfig: config },
    },
  ])
}

function cleanup(stage: Stage, execution: Execution): NewStage[] {
  if (!hasDeployed(stage, execution)) return []
  return [{ type: cleanupCanaryClustersStage.type, name: 'Cleanup Canary Clusters', context: {} }]
}

function startOf({ startTime }: Stage, { startTime: ofExecution, buildTime }: Execution): number {
  return startTime ?? ofExecution ?? buildTime
}

function plannedIntervals(stage: Stage, execution: Execution): NewStage[] {
  const parent = graphOf(execution).parentOf(stage)
  const { canaryConfig: config } = toSettings(stage.context)
  // Clients find the intervals by it.
  if (parent?.type === kayentaCanaryStage.type)
    parent.context = { ...parent.context, intervalStageId: stage.id }
  const siblings = graphOf(execution).childrenOf(parent ?? stage)
  const ofSibling = (type: string) =>
    toOutputs(siblings.find((each) => each.type === type)?.outputs)
  const { canaryConfigId } = ofSibling(resolveCanaryConfigStage.type)
  const [pair] = ofSibling(deployCanaryServerGroupsStage.type).deployedServerGroups
  return intervalStages(
    { ...config, ...(canaryConfigId && { canaryConfigId }) },
    startOf(stage, execution),
    pair,
  )
}

/** The last score decides; each one before was above the marginal threshold. Intervals without data have none. */
function aggregateResults({ execution, stage }: TaskContext): TaskResult {
  const runs = judgedIntervals({ execution, stage })
  const last = runs.at(-1)
  if (last === undefined)
    throw new StageError([
      'No interval was judged: neither baseline nor canary had data. Send requests to both, or watch longer.',
    ])
  const canaryScores = runs.map(({ context }) => context['canaryScore'])
  const { pass } = thresholdsOf(toSettings(stage.context).canaryConfig)
  const { canaryScore: score = 0, ...judgment } = judgmentOf(last)
  const isGood = pass === undefined || score >= pass
  const comparison =
    pass === undefined ? 'and no pass threshold is set' : comparedWithPass(score, pass)
  const shown = { ...judgment, canaryScore: score, ...(isGood && { canaryScoreReason: undefined }) }
  const canaryScoreMessage = describeEarly(last, shown, comparison)
  const context = { canaryScores, canaryScoreMessage }
  if (isGood) return { status: 'SUCCEEDED', context }
  return {
    status: 'TERMINAL',
    context: { ...context, exception: failureRecord('CanaryFailed', [canaryScoreMessage]) },
  }
}

/** In their order. */
function judgedIntervals({ execution, stage }: StagePlace): Stage[] {
  const graph = graphOf(execution)
  return graph
    .childrenOf(stage)
    .filter(({ type }) => type === runCanaryIntervalsStage.type)
    .flatMap((each) => graph.childrenOf(each))
    .filter(
      (each) => each.type === runCanaryStage.type && judgmentOf(each).canaryScore !== undefined,
    )
}
