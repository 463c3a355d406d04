/** A canary analysis as kayenta reports it, for readers: the verdict in a sentence, groups, and what each metric says. */

import { asGiven, list, objectList, or, shape } from '@fairlead/base/json/shape.ts'
import {
  isTrue,
  type JsonObject,
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

const toSide = shape({ stats: objectOf })

const readMetric = shape({
  id: or(scalarOf, ''),
  name: or(scalarOf, '?'),
  status: [
    (classification): Status =>
      classifications[String(classification).toLowerCase()] ?? {
        kind: 'unknown',
        word: String(classification),
      },
    'classification',
  ],
  // Of the others, it says the same once more.
  reason: [
    (text) => scalarOf(text)?.replace(/^.* was classified as (?:High|Low)$/, ''),
    'classificationReason',
  ],
  isCritical: [isTrue, 'critical'],
  isMuted: [isTrue, 'muted'],
  resultMetadata: shape({ ratio: numberOf }),
  controlMetadata: toSide,
  experimentMetadata: toSide,
})

function toMetric(given: unknown) {
  const { resultMetadata, controlMetadata, experimentMetadata, ...metric } = readMetric(given)
  return {
    ...metric,
    /** Mean of the canary by that of the baseline. */
    ratio: resultMetadata.ratio,
    stats: { baseline: controlMetadata.stats, canary: experimentMetadata.stats },
  }
}

/** Metrics against the canary first, then those without data. */
const gravity = ['failed', 'warning', 'unknown', 'succeeded']

const toThresholds = shape({ pass: numberOf, marginal: numberOf })

const readReport = shape({
  status: scalarOf,
  complete: isTrue,
  exception: asGiven,
  metricSetPairListId: scalarOf,
  result: shape({
    judgeResult: shape({
      score: shape({ score: numberOf, classificationReason: scalarOf }),
      results: objectList(toMetric),
      groupScores: objectsOf,
    }),
    outlook: shape({ reason: scalarOf }),
  }),
  canaryExecutionRequest: shape({ thresholds: toThresholds }),
  config: shape({ name: scalarOf, classifier: shape({ scoreThresholds: toThresholds }) }),
})

/** @param answer Of `/v2/canaries/canary/{id}` */
export function toReport(answer: JsonObject) {
  const { status, complete, result, exception, canaryExecutionRequest, ...read } =
    readReport(answer)
  const { score, classificationReason } = result.judgeResult.score
  const given = canaryExecutionRequest.thresholds
  const usual = read.config.classifier.scoreThresholds
  const metrics = result.judgeResult.results.toSorted(
    (a, b) => gravity.indexOf(a.status.kind) - gravity.indexOf(b.status.kind),
  )
  const report = {
    metrics,
    pass: given.pass ?? usual.pass,
    marginal: given.marginal ?? usual.marginal,
    score,
    groups: result.judgeResult.groupScores,
    /** Why more measurements would change nothing, or could. */
    outlook: result.outlook.reason,
    failure: complete && score === undefined ? (reasonIn(exception) ?? status) : undefined,
    name: read.config.name,
    measurements: read.metricSetPairListId,
  }
  return { ...report, ...verdictOf(report, classificationReason) }
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

const toInterval = shape({
  interval: numberOf,
  canaryScore: numberOf,
  canaryPipelineExecutionId: scalarOf,
  exception: asGiven,
})

/** Judgments that a stage has made, interval by interval, with the id of the analysis of each. */
export function intervalsOf({ stages }: Execution, { id }: Stage) {
  const parents = new Map(stages.map((stage) => [stage.id, stage.parentStageId]))
  const runs = stages.filter(({ type, parentStageId }) => {
    return type === 'runCanary' && [parentStageId, parents.get(parentStageId ?? '')].includes(id)
  })
  return runs.map(({ context, status }, at) => {
    const { interval, canaryScore, canaryPipelineExecutionId, exception } = toInterval(context)
    return {
      number: interval ?? at + 1,
      score: canaryScore,
      analysis: canaryPipelineExecutionId,
      status: executionStatus(status),
      failure: reasonIn(exception),
    }
  })
}

const toScope = shape({
  fromMs: [or(numberOf, 0), 'startTimeMillis'],
  stepMs: [or(numberOf, 60_000), 'stepMillis'],
})
const toValues = list(or(numberOf, Number.NaN))

const readPair = shape({
  scopes: shape({ control: toScope, experiment: toScope }),
  values: shape({ control: toValues, experiment: toValues }),
})

/** Measurements of baseline and canary; gaps are NaN. @param pair Of `/v2/canaries/metricSetPairList/{id}` */
export function toSeries(pair: unknown) {
  const { scopes, values } = readPair(pair)
  return {
    baseline: { values: values.control, ...scopes.control },
    canary: { values: values.experiment, ...scopes.experiment },
  }
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
