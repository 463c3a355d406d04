/** `runCanary`: has kayenta judge one interval of a canary analysis, and fails unless the score is above the marginal threshold. */
import {
  definedOf,
  fieldAt,
  isTrue,
  type JsonObject,
  numberOf,
  objectOf,
  objectsOf,
  textOf,
  textsOf,
} from '../../../../json/values.ts'
import { formatQuery, pathTo } from '../../../../net/encode-path.ts'
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
export const resolveCanaryConfigStage: StageType = { type: 'resolveCanaryConfig', steps: [resolveStep] }

export const runCanaryStage: StageType = {
  type: 'runCanary',
  steps: [
    resolveStep,
    { name: 'runCanary', execute: startAnalysis, timeoutMs: 10 * minuteMs },
    { name: 'monitorCanary', execute: followAnalysis, timeoutMs: 12 * 60 * minuteMs },
  ],
  chooseSteps: ({ context }) =>
    textOf(context['canaryConfigId']) === undefined ? runCanaryStage.steps : runCanaryStage.steps.slice(1),
  async onCancel(context) {
    const id = textOf(context.stage.context['canaryPipelineExecutionId'])
    if (id === undefined) return
    // It may have ended, and not every kayenta can end an analysis.
    await context.call('kayenta', { method: 'PUT', path: pathTo`/pipelines/${id}/cancel`, body: {} }, [400, 404, 405])
  },
}

/** @throws {StageError} when kayenta does not have the configuration */
async function resolveConfig(context: TaskContext): Promise<TaskResult> {
  const { execution, stage } = context
  const { canaryConfigName, ...given } = stage.context
  const configurationAccountName = textOf(given['configurationAccountName'])
  const id = textOf(given['canaryConfigId'])
  if (id !== undefined) {
    const path = pathTo`/canaryConfig/${id}` + formatQuery({ configurationAccountName })
    const { status } = await context.call('kayenta', { method: 'GET', path }, [404])
    if (status !== 404) return { status: 'SUCCEEDED', outputs: { canaryConfigId: id } }
    throw new StageError([`There is no canary configuration "${id}": choose another one in "canaryConfig.canaryConfigId".`])
  }
  const { application } = execution
  const path = `/canaryConfig${formatQuery({ application, configurationAccountName })}`
  const { body } = await context.call('kayenta', { method: 'GET', path })
  const named = objectsOf(body).filter((each) => each['name'] === canaryConfigName)
  const found = named.filter(({ applications }) => textsOf(applications).includes(application))
  const foundId = textOf(found[0]?.['id'])
  if (found.length === 1 && foundId !== undefined) {
    return { status: 'SUCCEEDED', context: { canaryConfigId: foundId }, outputs: { canaryConfigId: foundId } }
  }
  const number = found.length === 0 ? 'no' : `more than one`
  throw new StageError([
    `The application ${application} has ${number} canary configuration "${String(canaryConfigName)}": set "canaryConfig.canaryConfigId".`,
  ])
}

async function startAnalysis(context: TaskContext): Promise<TaskResult> {
  const { execution, stage } = context
  const { canaryConfigId, metricsAccountName, configurationAccountName, storageAccountName, scopes, siteLocal } = stage.context
  const { pass, marginal } = thresholdsOf(stage.context)
  const query = formatQuery({
    application: execution.application,
    parentPipelineExecutionId: execution.id,
    metricsAccountName: textOf(metricsAccountName),
    configurationAccountName: textOf(configurationAccountName),
    storageAccountName: textOf(storageAccountName),
  })
  const hasThreshold = pass !== undefined || marginal !== undefined
  const body = {
    scopes,
    // Without any, those of the configuration count.
    ...(hasThreshold && { thresholds: { pass: pass ?? marginal, marginal: marginal ?? pass } }),
    siteLocal: objectOf(siteLocal),
    // The embedded service says from it whether the verdict can still change.
    ...(context.isEmbedded('kayenta') && { progress: progressOf(stage.context) }),
  }
  // A second analysis of the same times changes nothing.
  const request = { method: 'POST', path: pathTo`/canary/${String(canaryConfigId)}` + query, body, isRecognized: true }
  const answer = await context.call('kayenta', request)
  const id = textOf(fieldAt(answer.body, 'canaryExecutionId'))
  if (id === undefined) throw new StageError(['kayenta has accepted the analysis and names no canaryExecutionId.'])
  return {
    status: 'SUCCEEDED',
    context: { canaryPipelineExecutionId: id },
    outputs: { canaryPipelineExecutionId: id, canaryConfigId },
  }
}

/** Intervals that are done with this one, those that are left, and how many a judgment looks back on. */
function progressOf({ interval, intervals, lookbackIntervals }: JsonObject): JsonObject {
  const [done, all] = [numberOf(interval) ?? 1, numberOf(intervals) ?? 1]
  return { done, left: all - done, ...definedOf({ lookback: numberOf(lookbackIntervals) }) }
}

async function followAnalysis(context: TaskContext): Promise<TaskResult> {
  const { stage } = context
  const { canaryPipelineExecutionId, storageAccountName } = stage.context
  const query = formatQuery({ storageAccountName: textOf(storageAccountName) })
  const path = pathTo`/canary/${String(canaryPipelineExecutionId)}` + query
  const analysis = objectOf((await context.call('kayenta', { method: 'GET', path })).body)
  const canaryPipelineStatus = (textOf(analysis['status']) ?? 'running').toUpperCase()
  if (canaryPipelineStatus === 'SUCCEEDED') return judged(stage, analysis)
  if (!isTrue(analysis['complete'])) {
    return { status: 'RUNNING', context: { canaryPipelineStatus }, pollMs: context.isEmbedded('kayenta') ? 250 : 1000 }
  }
  const [reason = `the analysis ended as ${canaryPipelineStatus}`] = errorTexts(analysis['exception'])
  const exception = failureRecord('CanaryAnalysisFailed', [`${intervalOf(stage)} was not judged: ${reason}`])
  return { status: 'TERMINAL', context: { canaryPipelineStatus, exception } }
}

function judged(stage: Stage, analysis: JsonObject): TaskResult {
  const result = objectOf(analysis['result'])
  const score = numberOf(fieldAt(result, 'judgeResult', 'score', 'score'))
  if (score === undefined)
    throw new StageError([`${intervalOf(stage)} was judged without a score: look at the analysis of kayenta.`])
  const ended = textOf(analysis['endTimeIso'])
  const metrics = objectsOf(fieldAt(result, 'judgeResult', 'results'))
  const times = {
    canaryPipelineStatus: 'SUCCEEDED',
    ...(ended !== undefined && { lastUpdated: Date.parse(ended), lastUpdatedIso: ended }),
    ...definedOf({ durationString: textOf(result['canaryDuration']) }),
  }
  if (provesNothing(metrics)) {
    const canaryScoreMessage = `${intervalOf(stage)} is not judged: neither the baseline nor the canary has data.`
    return { status: 'SUCCEEDED', context: { ...times, canaryScoreMessage } }
  }
  const context = {
    ...times,
    canaryScore: score,
    canaryScoreReason: describeMetrics(metrics),
    canaryOutlook: textOf(fieldAt(result, 'outlook', 'reason')),
    warnings: warningsOf(metrics),
  }
  const { pass, marginal } = thresholdsOf(stage.context)
  const failed = (canaryScoreMessage: string): TaskResult => {
    const exception = failureRecord('CanaryFailed', [canaryScoreMessage])
    return { status: 'TERMINAL', context: { ...context, canaryScoreMessage, exception } }
  }
  if (marginal !== undefined && score <= marginal) {
    return failed(describeScore(stage, context, `which is not above the marginal threshold ${marginal}`))
  }
  const verdict = fieldAt(result, 'outlook', 'verdict')
  if (pass !== undefined && verdict === 'Fail') return failed(describeEarly(stage, context, comparedWithPass(score, pass)))
  return { status: 'SUCCEEDED', context, skipsRest: verdict === 'Pass' }
}

/**
 * Whether so many metrics have no data that the score is 0, and none on either side: before the first request, or after figures were
 * lost. Metrics that must have data fail by themselves, and a side that alone has none is a difference.
 */
function provesNothing(metrics: readonly JsonObject[]): boolean {
  const counted = metrics.filter(({ muted }) => !isTrue(muted))
  const classOf = ({ classification }: JsonObject) => String(classification).toLowerCase()
  const [passed, missing] = ['pass', 'nodata'].map((wanted) => counted.filter((metric) => classOf(metric) === wanted))
  return (
    missing !== undefined &&
    missing.length > 0 &&
    missing.length >= counted.length / 2 &&
    missing.length + (passed?.length ?? 0) === counted.length &&
    missing.every((metric) => !isTrue(metric['critical']) && hasNoData(metric))
  )
}

function hasNoData(metric: JsonObject): boolean {
  return ['controlMetadata', 'experimentMetadata'].every((side) => numberOf(fieldAt(metric, side, 'stats', 'count')) === 0)
}

export function comparedWithPass(score: number, pass: number): string {
  return score >= pass ? `which reaches the pass threshold ${pass}` : `below the pass threshold ${pass}`
}

/** A sentence: which interval has which score, beside which threshold, and which metrics are why. */
export function describeScore(stage: Stage, { canaryScore, canaryScoreReason }: JsonObject, comparison: string): string {
  const reason = canaryScoreReason === undefined ? '' : `: ${String(canaryScoreReason)}`
  return `${intervalOf(stage)} has the score ${String(canaryScore)}, ${comparison}${reason}.`
}

/** With the reason why the intervals that are left cannot change it, where there are any. */
export function describeEarly(stage: Stage, judgment: JsonObject, comparison: string): string {
  const { interval, intervals } = stage.context
  const outlook = interval === intervals ? undefined : textOf(judgment['canaryOutlook'])
  return describeScore(stage, judgment, comparison) + (outlook === undefined ? '' : ` ${outlook}`)
}

function intervalOf({ context }: Stage): string {
  const { interval, intervals } = context
  return interval === undefined ? 'The canary' : `Interval ${String(interval)} of ${String(intervals)}`
}

/** Metrics that lower the score; those without data only where nothing else does. */
function describeMetrics(metrics: readonly JsonObject[]): string | undefined {
  const of = (isWanted: (classification: string) => boolean) =>
    metrics.filter(({ classification }) => isWanted(String(classification).toLowerCase()))
  const failed = of((classification) => classification !== 'pass' && classification !== 'nodata')
  const named = failed.length > 0 ? failed : of((classification) => classification === 'nodata')
  if (named.length === 0) return undefined
  const texts = named.slice(0, mostNamed).map(({ name, classification }) => `${String(name)} is ${String(classification)}`)
  const more = named.length - texts.length
  return texts.join(', ') + (more > 0 ? `, and ${more} more are not good` : '')
}

function warningsOf(metrics: readonly JsonObject[]): string[] {
  const few = metrics.filter((metric) => {
    const count = numberOf(fieldAt(metric, 'controlMetadata', 'stats', 'count'))
    return count !== undefined && count < enoughPoints
  })
  if (few.length === 0) return []
  const names = few.slice(0, mostNamed).map(({ name }) => String(name))
  const more = few.length > mostNamed ? ` and ${few.length - mostNamed} more` : ''
  return [`Fewer than ${enoughPoints} points of ${names.join(', ')}${more}: the score may be accidental.`]
}
