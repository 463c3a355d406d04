/** A canary analysis as kayenta reports it, for readers: the verdict in a sentence, groups, and what each metric says. */

import {
  fieldAt,
  type JsonObject,
  listOf,
  numberOf,
  objectOf,
  objectsOf,
  scalarOf,
} from '@fairlead/base/json/values.ts'
import { type Execution, executionStatus, reasonIn, type Stage, type Status } from './execution.ts'

export type Metric = ReturnType<typeof toMetric>

/** What a classification says, by its name in small letters. */
const classifications: Readonly<Record<string, Status>> = {
  pass: { kind: 'succeeded', word: 'like the baseline' },
  high: { kind: 'failed', word: 'higher than the baseline' },
  low: { kind: 'failed', word: 'lower than the baseline' },
  nodata: { kind: 'unknown', word: 'no data, not compared' },
  nodatafailmetric: { kind: 'failed', word: 'no data, which counts as bad' },
  error: { kind: 'warning', word: 'could not be compared' },
}

function toMetric({
  id,
  name,
  classification,
  classificationReason,
  critical,
  muted,
  resultMetadata,
  ...sides
}: JsonObject) {
  const statsOf = (side: string) => objectOf(fieldAt(sides, `${side}Metadata`, 'stats'))
  return {
    id: scalarOf(id) ?? '',
    name: scalarOf(name) ?? '?',
    status: classifications[String(classification).toLowerCase()] ?? {
      kind: 'unknown' as const,
      word: String(classification),
    },
    // Of the others, it says the same once more.
    reason: scalarOf(classificationReason)?.replace(/^.* was classified as (?:High|Low)$/, ''),
    isCritical: critical === true,
    isMuted: muted === true,
    /** Mean of the canary by that of the baseline. */
    ratio: numberOf(objectOf(resultMetadata)['ratio']),
    stats: { baseline: statsOf('control'), canary: statsOf('experiment') },
  }
}

/** Metrics against the canary first, then those without data. */
const gravity = ['failed', 'warning', 'unknown', 'succeeded']

/** @param answer Of `/v2/canaries/canary/{id}` */
export function toReport(answer: JsonObject) {
  const { status, complete, result, exception, canaryExecutionRequest, config } = answer
  const judged = objectOf(objectOf(result)['judgeResult'])
  const given = objectOf(objectOf(canaryExecutionRequest)['thresholds'])
  const usual = objectOf(fieldAt(config, 'classifier', 'scoreThresholds'))
  const [pass, marginal] = ['pass', 'marginal'].map(
    (name) => numberOf(given[name]) ?? numberOf(usual[name]),
  )
  const { score, classificationReason } = objectOf(judged['score'])
  const all = objectsOf(judged['results']).map(toMetric)
  const metrics = all.toSorted(
    (a, b) => gravity.indexOf(a.status.kind) - gravity.indexOf(b.status.kind),
  )
  const report = {
    metrics,
    pass,
    marginal,
    score: numberOf(score),
    groups: objectsOf(judged['groupScores']),
    /** Why more measurements would change nothing, or could. */
    outlook: scalarOf(fieldAt(result, 'outlook', 'reason')),
    failure:
      complete === true && numberOf(score) === undefined
        ? (reasonIn(exception) ?? scalarOf(status))
        : undefined,
    name: scalarOf(objectOf(config)['name']),
    measurements: scalarOf(answer['metricSetPairListId']),
  }
  return { ...report, ...verdictOf(report, scalarOf(classificationReason)) }
}

type Scored = Readonly<Record<'score' | 'pass' | 'marginal', number | undefined>>
type Judged = Scored & { readonly metrics: readonly Metric[]; readonly failure: string | undefined }

function verdictOf({ metrics, failure, ...scored }: Judged, reason: string | undefined) {
  const { score, pass = 0 } = scored
  if (failure !== undefined)
    return { status: notJudged, sentence: `The canary could not be judged: ${failure}` }
  const status = scoreStatus(scored)
  if (score === undefined) return { status, sentence: 'The measurements are fetched and judged.' }
  const against = metrics.filter(({ status: { kind }, isMuted }) => kind === 'failed' && !isMuted)
  const causes = against.slice(0, 3).map(({ name, status: { word } }) => `${name} is ${word}`)
  const more = against.length > causes.length ? `, and ${against.length - causes.length} more` : ''
  const because = reason ?? causes.join(', ') + more
  const end = because === '' ? '.' : `: ${because}.`
  if (status.kind === 'succeeded')
    return { status, sentence: `The canary is good: its score of ${score} reaches ${pass}${end}` }
  const words = status.kind === 'warning' ? 'is not good enough' : 'is bad'
  return { status, sentence: `The canary ${words}: its score of ${score} is below ${pass}${end}` }
}

const notJudged: Status = { kind: 'failed', word: 'could not be judged' }

/** Status of a score beside its thresholds. */
export function scoreStatus({ score, pass = 0, marginal = 0 }: Scored): Status {
  if (score === undefined) return { kind: 'running', word: 'not judged yet' }
  if (score >= pass) return { kind: 'succeeded', word: 'pass' }
  return score > marginal ? { kind: 'warning', word: 'marginal' } : { kind: 'failed', word: 'fail' }
}

/** Judgments that a stage has made, interval by interval, with the id of the analysis of each. */
export function intervalsOf({ stages }: Execution, { id }: Stage) {
  const parents = new Map(stages.map((stage) => [stage.id, stage.parentStageId]))
  const runs = stages.filter(({ type, parentStageId }) => {
    return type === 'runCanary' && [parentStageId, parents.get(parentStageId ?? '')].includes(id)
  })
  return runs.map(({ context, status }, at) => ({
    number: numberOf(context['interval']) ?? at + 1,
    score: numberOf(context['canaryScore']),
    analysis: scalarOf(context['canaryPipelineExecutionId']),
    status: executionStatus(status),
    failure: reasonIn(context['exception']),
  }))
}

/** Measurements of baseline and canary; gaps are NaN. @param pair Of `/v2/canaries/metricSetPairList/{id}` */
export function toSeries(pair: unknown) {
  const ofSide = (side: string) => {
    const { startTimeMillis, stepMillis } = objectOf(fieldAt(pair, 'scopes', side))
    const values = listOf(fieldAt(pair, 'values', side)).map(
      (value) => numberOf(value) ?? Number.NaN,
    )
    return {
      values,
      fromMs: numberOf(startTimeMillis) ?? 0,
      stepMs: numberOf(stepMillis) ?? 60_000,
    }
  }
  return { baseline: ofSide('control'), canary: ofSide('experiment') }
}

/** Least, quartiles and most, as a box plot shows them; undefined without values. */
export function quartilesOf(values: readonly number[]): readonly number[] | undefined {
  const sorted = values.filter((value) => !Number.isNaN(value)).toSorted((a, b) => a - b)
  const at = (part: number) => {
    const place = (sorted.length - 1) * part
    const [below = 0, above = below] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]]
    return below + (place - Math.floor(place)) * (above - below)
  }
  return sorted.length === 0 ? undefined : [0, 0.25, 0.5, 0.75, 1].map(at)
}
