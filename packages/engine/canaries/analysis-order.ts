/** Requests for canary analyses, checked as kayenta checks them. */
import { asGiven, list, maybe, maybeObject, or, shape } from '@fairlead/base/json/shape.ts'
import {
  definedOf,
  isObject,
  type JsonObject,
  numberOf,
  objectOf,
  textOf,
} from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { AnalysisProgress } from '@fairlead/ports/canaries.ts'
import type { ScoreThresholds } from './judge/judge.ts'
import type { MetricScope } from './metric-source.ts'

export interface AnalysisOrder {
  readonly application: string
  readonly parentPipelineExecutionId: string
  /** Undefined for a configuration that came with the request. */
  readonly configId?: string
  readonly config: JsonObject
  /** `scopes` and `thresholds`, as they came. */
  readonly request: JsonObject
  readonly metricsAccountName?: string
  readonly user: string
  /** Headers of the user, for calls to other services. */
  readonly identity: Readonly<Record<string, string>>
}

export type ScopeSide = 'control' | 'experiment'

export interface WantedMetric {
  readonly name: string
  readonly query: JsonObject
  readonly scopes: Readonly<Record<ScopeSide, MetricScope>>
}

/** Most that Prometheus answers with. */
const mostPoints = 11_000
const mostMetrics = 1000
const mostIntervals = 1000

const toThresholds = shape({ pass: numberOf, marginal: numberOf })
const toConfig = shape({
  classifier: shape({ scoreThresholds: toThresholds }),
  metrics: list(shape({ name: textOf, query: maybeObject, scopeName: or(textOf, 'default') })),
})
const toScopeOrder = shape({
  scope: textOf,
  start: asGiven,
  end: asGiven,
  step: asGiven,
  location: [asGiven, 'location', 'region'],
  extendedScopeParams: or(asGiven, {}),
})
const toRequest = shape({
  thresholds: maybe(toThresholds),
  scopes: objectOf,
  progress: maybe(shape({ done: numberOf, left: numberOf, lookback: numberOf })),
})

/** Thresholds of the request, else of the configuration. @throws {PortError} 400 */
export function thresholdsOfOrder({
  config,
  request,
}: Pick<AnalysisOrder, 'config' | 'request'>): ScoreThresholds {
  const { pass, marginal } =
    toRequest(request).thresholds ?? toConfig(config).classifier.scoreThresholds
  if (pass === undefined || marginal === undefined)
    throw new PortError(
      400,
      'The scores "pass" and "marginal" are missing: set "thresholds" in the request, or in the configuration.',
    )
  for (const [name, score] of Object.entries({ pass, marginal })) {
    if (score < 0 || score > 100)
      throw new PortError(400, `The score for "${name}" is ${score}: set it from 0 to 100.`)
  }
  if (marginal > pass)
    throw new PortError(
      400,
      `The score for "marginal" (${marginal}) is above that for "pass" (${pass}).`,
    )
  return { pass, marginal }
}

/** Every metric with the scopes in which it is compared. @throws {PortError} 400 */
export function wantedMetrics({
  config,
  request,
}: Pick<AnalysisOrder, 'config' | 'request'>): WantedMetric[] {
  const { metrics } = toConfig(config)
  if (metrics.length === 0) throw new PortError(400, 'The canary configuration has no metrics.')
  if (metrics.length > mostMetrics)
    throw new PortError(400, `The canary configuration has more than ${mostMetrics} metrics.`)
  const { scopes } = toRequest(request)
  return metrics.map(({ name, query, scopeName }) => {
    if (name === undefined)
      throw new PortError(400, 'A metric of the canary configuration has no name.')
    if (query === undefined) throw new PortError(400, `The metric "${name}" has no query.`)
    const pair = Object.hasOwn(scopes, scopeName) ? scopes[scopeName] : undefined
    if (!isObject(pair))
      throw new PortError(
        400,
        `The metric "${name}" needs the scope "${scopeName}", which the request does not have.`,
      )
    const ofSide = (field: string) => toScope(pair[field], `scopes.${scopeName}.${field}`)
    return {
      name,
      query,
      scopes: { control: ofSide('controlScope'), experiment: ofSide('experimentScope') },
    }
  })
}

/** @throws {PortError} 400 */
function toScope(given: unknown, place: string): MetricScope {
  const {
    scope,
    start,
    end,
    step: wantedStep = 60,
    location,
    extendedScopeParams,
  } = toScopeOrder(given)
  if (scope === undefined)
    throw new PortError(400, `"${place}" has no "scope", such as the name of a server group.`)
  const [startMs, endMs] = [toInstant(start, `${place}.start`), toInstant(end, `${place}.end`)]
  if (endMs <= startMs) throw new PortError(400, `"${place}.end" must be after its start.`)
  const step = numberOf(wantedStep)
  if (step === undefined || step < 1)
    throw new PortError(400, `"${place}.step" must be at least 1 second.`)
  if ((endMs - startMs) / 1000 / step > mostPoints)
    throw new PortError(
      400,
      `"${place}" has more than ${mostPoints} points: choose a larger "step".`,
    )
  return {
    scope,
    location: locationOf(location, place),
    startMs,
    endMs,
    stepMs: step * 1000,
    parameters: toParameters(extendedScopeParams, place),
  }
}

/** An empty one is none. */
function locationOf(given: unknown, place: string): string | undefined {
  if (given === undefined || typeof given === 'string') return given || undefined
  throw new PortError(
    400,
    `"${place}.location" must be a text, such as the region of a server group.`,
  )
}

function toParameters(given: unknown, place: string): Record<string, string> {
  const parameters = Object.entries(objectOf(given)).filter(([, value]) => value !== null)
  if (isObject(given) && !parameters.some(([, value]) => isObject(value) || Array.isArray(value)))
    return Object.fromEntries(parameters.map(([name, value]) => [name, String(value)]))
  throw new PortError(400, `"${place}.extendedScopeParams" must be an object of texts.`)
}

function toInstant(given: unknown, place: string): number {
  const ms = typeof given === 'string' ? Date.parse(given) : Number.NaN
  if (Number.isNaN(ms))
    throw new PortError(400, `"${place}" must be a time such as 2026-01-31T08:00:00Z.`)
  return ms
}

/** How long the canary of an analysis was watched, as ISO 8601 has it: `PT1H30M`. */
export function durationOf(metrics: readonly WantedMetric[]): string {
  const scope = metrics[0]?.scopes.experiment
  const seconds = scope === undefined ? 0 : Math.round((scope.endMs - scope.startMs) / 1000)
  const parts = { H: Math.floor(seconds / 3600), M: Math.floor(seconds / 60) % 60, S: seconds % 60 }
  const written = Object.entries(parts).flatMap(([unit, count]) =>
    count === 0 ? [] : [`${count}${unit}`],
  )
  return `PT${written.length === 0 ? '0S' : written.join('')}`
}

/** How far an analysis of several judgments has come; undefined unless the request says it. @throws {PortError} 400 */
export function progressOf(request: JsonObject): AnalysisProgress | undefined {
  const { progress } = toRequest(request)
  if (progress === undefined) return undefined
  const { done, left, lookback } = progress
  const isCount = (number: number | undefined, least: number): number is number =>
    number !== undefined && number >= least && number <= mostIntervals
  if (isCount(done, 1) && isCount(left, 0) && (lookback ?? 1) > 0)
    return { done, left, ...definedOf({ lookback }) }
  throw new PortError(
    400,
    '"progress" needs the numbers of intervals "done", from 1, and "left", from 0.',
  )
}
