/** `runCanary`: has kayenta judge one interval of a canary analysis, and fails unless the score is above the marginal threshold. */
import { type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { definedOf, type JsonObject, numberOf, textOf } from '@fairlead/base/json/values.ts'
import { runCanary } from '@fairlead/model/stage-types/canaries.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
import type { CanaryAnalysis, ReportedMetric } from '@fairlead/ports/canaries.ts'
import { errorTexts, failureRecord, StageError } from '../../machine/failure.ts'
import type { Stage } from '../../model.ts'
import type { StageType, Step, TaskContext, TaskResult } from '../stage-type.ts'
import { thresholdsOf } from './canary-settings.ts'

const minuteMs = 60_000
/** Metrics that a message names. */
const mostNamed = 3
/** Fewer points of a metric make its comparison unreliable. */
const enoughPoints = 50

const resolveStep: Step = {
  name: 'resolveKayentaConfigId',
  execute: resolveConfig,
  readsOnly: true,
  timeoutMs: 5 * minuteMs,
}

/** Ahead of everything else: what is missing is found before anything is deployed and hours have passed. */
export const resolveCanaryConfigStage: StageType = {
  type: 'resolveCanaryConfig',
  steps: [resolveStep],
}

export const runCanaryStage: StageType = {
  type: 'runCanary',
  steps: [
    resolveStep,
    { name: 'runCanary', execute: startAnalysis, timeoutMs: 10 * minuteMs },
    { name: 'monitorCanary', execute: followAnalysis, timeoutMs: 12 * 60 * minuteMs },
  ],
  chooseSteps: ({ context }) =>
    settingsOf(context).canaryConfigId === undefined
      ? runCanaryStage.steps
      : runCanaryStage.steps.slice(1),
  async onCancel(context) {
    const { canaryPipelineExecutionId: id } = toNotes(context.stage.context)
    if (id !== undefined) await context.canaries.cancel(id)
  },
}

function settingsOf(context: JsonObject) {
  return readFields(runCanary.fields, context)
}

/** What the steps note in the context; clients read it. */
const toNotes = shape({
  canaryPipelineExecutionId: textOf,
  canaryScore: numberOf,
  canaryScoreReason: textOf,
  canaryOutlook: textOf,
})

type JudgmentNotes = Omit<ShapeOf<typeof toNotes>, 'canaryPipelineExecutionId'>

/** Its score is undefined where the interval was not judged. */
export function judgmentOf({ context }: Stage): JudgmentNotes {
  return toNotes(context)
}

/** @throws {StageError} when kayenta does not have the configuration */
async function resolveConfig({ execution, stage, canaries }: TaskContext): Promise<TaskResult> {
  const { application } = execution
  const {
    canaryConfigName,
    canaryConfigId: id,
    configurationAccountName: account,
  } = settingsOf(stage.context)
  if (id !== undefined) {
    if (await canaries.hasConfiguration({ id, account }))
      return { status: 'SUCCEEDED', outputs: { canaryConfigId: id } }
    throw new StageError([
      `There is no canary configuration "${id}": choose another one in "canaryConfig.canaryConfigId".`,
    ])
  }
  const found = (await canaries.configurations({ application, account })).filter(
    ({ name, applications }) => name === canaryConfigName && applications.includes(application),
  )
  const canaryConfigId = found[0]?.id
  if (found.length === 1 && canaryConfigId !== undefined) {
    return { status: 'SUCCEEDED', context: { canaryConfigId }, outputs: { canaryConfigId } }
  }
  const number = found.length === 0 ? 'no' : `more than one`
  throw new StageError([
    `The application ${application} has ${number} canary configuration "${String(canaryConfigName)}": set "canaryConfig.canaryConfigId".`,
  ])
}

async function startAnalysis(context: TaskContext): Promise<TaskResult> {
  const { execution, stage } = context
  const {
    canaryConfigId,
    metricsAccountName,
    configurationAccountName,
    storageAccountName,
    ...settings
  } = settingsOf(stage.context)
  const { scopes, siteLocal, interval = 1, intervals = 1, lookbackIntervals: lookback } = settings
  const { pass, marginal } = thresholdsOf(stage.context)
  const either = pass ?? marginal
  const id = await context.canaries.start({
    configId: String(canaryConfigId),
    application: execution.application,
    execution: execution.id,
    metricsAccount: metricsAccountName,
    configurationAccount: configurationAccountName,
    storageAccount: storageAccountName,
    scopes,
    thresholds: either === undefined ? undefined : { pass: either, marginal: marginal ?? either },
    siteLocal,
    progress: { done: interval, left: intervals - interval, lookback },
  })
  return {
    status: 'SUCCEEDED',
    context: { canaryPipelineExecutionId: id },
    outputs: { canaryPipelineExecutionId: id, canaryConfigId },
  }
}

async function followAnalysis(context: TaskContext): Promise<TaskResult> {
  const { stage } = context
  const { storageAccountName } = settingsOf(stage.context)
  const { canaryPipelineExecutionId: id } = toNotes(stage.context)
  const analysis = await context.canaries.analysis({
    id: String(id),
    storageAccount: storageAccountName,
  })
  const canaryPipelineStatus = analysis.status.toUpperCase()
  if (canaryPipelineStatus === 'SUCCEEDED') return scored(stage, analysis)
  if (!analysis.complete)
    return {
      status: 'RUNNING',
      context: { canaryPipelineStatus },
      pollMs: context.canaries.pauseMs,
    }
  const [reason = `the analysis ended as ${canaryPipelineStatus}`] = errorTexts(analysis.exception)
  const exception = failureRecord('CanaryAnalysisFailed', [
    `${intervalOf(stage)} was not judged: ${reason}`,
  ])
  return { status: 'TERMINAL', context: { canaryPipelineStatus, exception } }
}

function scored(stage: Stage, { endTimeIso: ended, result }: CanaryAnalysis): TaskResult {
  const { judgeResult, outlook, canaryDuration: durationString } = result
  const { score, results: metrics } = judgeResult
  if (score === undefined)
    throw new StageError([
      `${intervalOf(stage)} was judged without a score: look at the analysis of kayenta.`,
    ])
  const times = {
    canaryPipelineStatus: 'SUCCEEDED',
    ...(ended !== undefined && { lastUpdated: Date.parse(ended), lastUpdatedIso: ended }),
    ...definedOf({ durationString }),
  }
  if (provesNothing(metrics)) {
    const canaryScoreMessage = `${intervalOf(stage)} is not judged: neither the baseline nor the canary has data.`
    return { status: 'SUCCEEDED', context: { ...times, canaryScoreMessage } }
  }
  const context = {
    ...times,
    canaryScore: score,
    canaryScoreReason: describeMetrics(metrics),
    canaryOutlook: outlook.reason,
    warnings: warningsOf(metrics),
  }
  const { pass, marginal } = thresholdsOf(stage.context)
  const failed = (canaryScoreMessage: string): TaskResult => {
    const exception = failureRecord('CanaryFailed', [canaryScoreMessage])
    return { status: 'TERMINAL', context: { ...context, canaryScoreMessage, exception } }
  }
  if (marginal !== undefined && score <= marginal) {
    return failed(
      describeScore(stage, context, `which is not above the marginal threshold ${marginal}`),
    )
  }
  const { verdict } = outlook
  if (pass !== undefined && verdict === 'Fail')
    return failed(describeEarly(stage, context, comparedWithPass(score, pass)))
  return { status: 'SUCCEEDED', context, skipsRest: verdict === 'Pass' }
}

/**
 * Whether so many metrics have no data that the score is 0, and none on either side: before the first request, or after figures were
 * lost. Metrics that must have data fail by themselves, and a side that alone has none is a difference.
 */
function provesNothing(metrics: readonly ReportedMetric[]): boolean {
  const counted = metrics.filter(({ muted }) => !muted)
  const passed = counted.filter((metric) => classOf(metric) === 'pass')
  const missing = counted.filter((metric) => classOf(metric) === 'nodata')
  return (
    missing.length > 0 &&
    missing.length >= counted.length / 2 &&
    missing.length + passed.length === counted.length &&
    missing.every(
      ({ critical, controlMetadata, experimentMetadata }) =>
        !critical && controlMetadata.stats.count === 0 && experimentMetadata.stats.count === 0,
    )
  )
}

function classOf({ classification }: ReportedMetric): string {
  return classification.toLowerCase()
}

export function comparedWithPass(score: number, pass: number): string {
  return score >= pass
    ? `which reaches the pass threshold ${pass}`
    : `below the pass threshold ${pass}`
}

/** A sentence: which interval has which score, beside which threshold, and which metrics are why. */
function describeScore(
  stage: Stage,
  { canaryScore, canaryScoreReason }: JudgmentNotes,
  comparison: string,
): string {
  const reason = canaryScoreReason === undefined ? '' : `: ${canaryScoreReason}`
  return `${intervalOf(stage)} has the score ${String(canaryScore)}, ${comparison}${reason}.`
}

/** Adds why the intervals that are left, if any, cannot change it. */
export function describeEarly(stage: Stage, judgment: JudgmentNotes, comparison: string): string {
  const { interval, intervals } = settingsOf(stage.context)
  const outlook = interval === intervals ? undefined : judgment.canaryOutlook
  return describeScore(stage, judgment, comparison) + (outlook === undefined ? '' : ` ${outlook}`)
}

function intervalOf({ context }: Stage): string {
  const { interval, intervals } = settingsOf(context)
  return interval === undefined ? 'The canary' : `Interval ${interval} of ${intervals}`
}

/** Metrics that lower the score; those without data only where nothing else does. */
function describeMetrics(metrics: readonly ReportedMetric[]): string | undefined {
  const failed = metrics.filter((metric) => !['pass', 'nodata'].includes(classOf(metric)))
  const named =
    failed.length > 0 ? failed : metrics.filter((metric) => classOf(metric) === 'nodata')
  if (named.length === 0) return undefined
  const texts = named
    .slice(0, mostNamed)
    .map(({ name, classification }) => `${name} is ${classification}`)
  const more = named.length - texts.length
  return texts.join(', ') + (more > 0 ? `, and ${more} more are not good` : '')
}

function warningsOf(metrics: readonly ReportedMetric[]): string[] {
  const few = metrics.filter(
    ({ controlMetadata: { stats } }) => stats.count !== undefined && stats.count < enoughPoints,
  )
  if (few.length === 0) return []
  const names = few.slice(0, mostNamed).map(({ name }) => name)
  const more = few.length > mostNamed ? ` and ${few.length - mostNamed} more` : ''
  return [
    `Fewer than ${enoughPoints} points of ${names.join(', ')}${more}: the score may be accidental.`,
  ]
}
