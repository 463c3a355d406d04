/** `checkPreconditions`: one parallel synthetic stage per precondition; a false one fails the stage. */
import { shape } from '@fairlead/base/json/shape.ts'
import { isObject, isTrue, type JsonObject, objectOf, textOf } from '@fairlead/base/json/values.ts'
import { describeChoice } from '@fairlead/base/names/edit-distance.ts'
import { StageError } from '../machine/failure.ts'
import type { Stage } from '../model.ts'
import { requirePlaces } from './infrastructure/cloud-context.ts'
import { comparisonOf } from './infrastructure/comparison.ts'
import { inPlace, requireClusterPlace } from './infrastructure/server-groups.ts'
import {
  inheritedContext,
  type NewStage,
  type StageType,
  type TaskContext,
  type TaskResult,
} from './stage-type.ts'

export const checkPreconditionsStage: StageType = {
  type: 'checkPreconditions',
  steps: [
    { name: 'checkPrecondition', decide: checkPrecondition },
    { name: 'checkClusterSize', execute: checkClusterSize, readsOnly: true, timeoutMs: 5 * 60_000 },
  ],
  chooseSteps: (stage) => stepsFor(toPrecondition(stage.context).preconditionType),
  beforeStages: (stage) =>
    toPrecondition(stage.context).preconditionType === undefined ? preconditionStages(stage) : [],
}

/** What an inner stage has of its precondition; the parent of the preconditions has no type. */
const toPrecondition = shape({
  preconditionType: textOf,
  context: (value) => ({ ...toCheck(value), all: objectOf(value) }),
})

const toCheck = shape({
  expression: (value) => value,
  failureMessage: textOf,
  stageName: textOf,
  stageStatus: textOf,
})

type PreconditionCheck = ReturnType<typeof toPrecondition>['context']

function stepsFor(type: string | undefined): StageType['steps'] {
  if (type === undefined) return []
  const name = type === 'clusterSize' ? 'checkClusterSize' : 'checkPrecondition'
  return checkPreconditionsStage.steps.filter((step) => step.name === name)
}

function preconditionStages(stage: Stage): NewStage[] {
  const { preconditions, ...inherited } = inheritedContext(stage)
  if (preconditions === undefined || preconditions === null) return []
  if (!Array.isArray(preconditions)) throw new StageError(['preconditions must be a list.'])
  return preconditions.map((entry: unknown, index) => {
    if (!isObject(entry) || typeof entry['type'] !== 'string') {
      throw new StageError([`Precondition ${index + 1} needs a "type".`])
    }
    const { type, ...settings } = entry
    const context: JsonObject = { ...inherited, ...settings, preconditionType: type }
    return { type: 'checkPreconditions', name: `Check precondition (${type})`, context }
  })
}

function checkPrecondition(context: TaskContext): TaskResult {
  const { preconditionType: type, context: settings } = toPrecondition(context.stage.context)
  if (type === 'expression') return checkExpression(context, settings)
  if (type === 'stageStatus') return checkStageStatus(context, settings)
  throw new StageError([
    describeChoice(String(type), 'a type of precondition', [
      'expression',
      'stageStatus',
      'clusterSize',
    ]),
  ])
}

function checkExpression(
  context: TaskContext,
  { expression, failureMessage, all }: PreconditionCheck,
): TaskResult {
  const result = typeof expression === 'string' ? context.evaluate(`\${${expression}}`) : expression
  const shown = { context: { ...all, expressionResult: String(result) } }
  if (String(result).toLowerCase() === 'true') return { status: 'SUCCEEDED', context: shown }
  const text =
    failureMessage ??
    (expression === undefined
      ? 'The precondition names no expression. Write one as "expression" in its "context".'
      : `The expression "${expression}" is not true.`)
  return { status: 'TERMINAL', context: { ...shown, exception: { details: { errors: [text] } } } }
}

function checkStageStatus(
  { execution }: TaskContext,
  { stageName, stageStatus }: PreconditionCheck,
): TaskResult {
  const stage = execution.stages.find((each) => each.name === stageName)
  if (stage === undefined) throw new StageError([`There is no stage named "${stageName}".`])
  if (stage.status === stageStatus) return { status: 'SUCCEEDED' }
  throw new StageError([
    `The status of stage "${stageName}" is ${stage.status}, not ${stageStatus}.`,
  ])
}

const toInner = shape({ context: objectOf, onlyEnabledServerGroups: isTrue })

/** The precondition `clusterSize`: how many server groups a cluster has in each region (docs/contracts/infrastructure.md#deployment-stages). */
export async function checkClusterSize(context: TaskContext): Promise<TaskResult> {
  const settings = { ...context.stage.context, ...toInner(context.stage.context).context }
  const place = requireClusterPlace(settings, context)
  const {
    bound: expected,
    comparison,
    holds,
  } = comparisonOf(settings, { bound: 'expected', byDefault: '==' })
  const { onlyEnabledServerGroups: onlyEnabled } = toInner(settings)
  const groups = (await context.infrastructure.cluster(place)) ?? []
  for (const region of requirePlaces(settings)) {
    const found = inPlace(groups, region).filter(({ isDisabled }) => !(onlyEnabled && isDisabled))
    if (holds(found.length, expected)) continue
    const names = found.map(({ name }) => name).join(', ') || 'none'
    throw new StageError([
      `The cluster ${place.cluster} in ${place.account}/${region} has ${found.length} server groups, expected ${comparison} ${expected}: ${names}.`,
    ])
  }
  return { status: 'SUCCEEDED' }
}
