/** Canary analyses, as other capabilities use them. */
import { list, or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import {
  fieldOf,
  isTrue,
  type JsonObject,
  numberOf,
  objectOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import type { Caller } from './caller.ts'
import type { PortRules } from './rules.ts'

interface AnalysisRequest {
  readonly configId: string
  readonly application: string
  readonly execution: string
  readonly metricsAccount: string | undefined
  readonly configurationAccount: string | undefined
  readonly storageAccount: string | undefined
  readonly scopes: unknown
  /** Undefined: those of the configuration. */
  readonly thresholds: { readonly pass: number; readonly marginal: number } | undefined
  readonly siteLocal: JsonObject
  readonly progress: AnalysisProgress
}

export interface AnalysisProgress {
  /** Intervals whose measurements are known, or have been, with a window that moves on. */
  readonly done: number
  readonly left: number
  /** Intervals that a judgment looks back on; all unless given. */
  readonly lookback?: number
}

const toSide = shape({ stats: shape({ count: numberOf }) })

const toMetric = shape({
  name: or(textOf, ''),
  classification: or(textOf, ''),
  muted: isTrue,
  critical: isTrue,
  controlMetadata: toSide,
  experimentMetadata: toSide,
})
export type ReportedMetric = ShapeOf<typeof toMetric>

/** An analysis as clients have it. */
export const toCanaryAnalysis = shape({
  status: or(textOf, 'running'),
  complete: isTrue,
  endTimeIso: textOf,
  exception: objectOf,
  result: shape({
    canaryDuration: textOf,
    judgeResult: shape({
      score: (value) => numberOf(fieldOf(value, 'score')),
      results: list(toMetric),
    }),
    outlook: shape({ verdict: textOf, reason: textOf }),
  }),
})
export type CanaryAnalysis = ShapeOf<typeof toCanaryAnalysis>

export const toCanaryConfiguration = shape({ id: textOf, name: textOf, applications: textsOf })
type CanaryConfiguration = ShapeOf<typeof toCanaryConfiguration>

/** All throw a `PortError` for a refusal. */
export interface Canaries {
  /** In messages. */
  readonly name: string
  /** Pause in milliseconds before an analysis that runs is asked for again. */
  readonly pauseMs: number
  hasConfiguration(
    wanted: { readonly id: string; readonly account: string | undefined },
    as: Caller,
  ): Promise<boolean>
  configurations(
    of: { readonly application: string; readonly account: string | undefined },
    as: Caller,
  ): Promise<CanaryConfiguration[]>
  /** @returns the id of the analysis */
  start(request: AnalysisRequest, as: Caller): Promise<string>
  analysis(
    wanted: { readonly id: string; readonly storageAccount: string | undefined },
    as: Caller,
  ): Promise<CanaryAnalysis>
  /** One that has ended is fine, and a service that cannot end any. */
  cancel(id: string, as: Caller): Promise<void>
}

export const canaryRules: PortRules<Canaries> = {
  service: 'kayenta',
  changes: ['start', 'cancel'],
  holdsSecrets: [],
  // A second analysis of the same times changes nothing.
  once: [],
}
