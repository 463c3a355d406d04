/** Interface of a source of metrics, such as Prometheus. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { OutsideAccount } from '@fairlead/base/outside/outside-account.ts'
import type { SettingsReport } from '@fairlead/base/settings/setting.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { z } from 'zod'
import type { MetricAccountSettings } from './settings.ts'

/** What is measured: a side of a comparison, over some time. */
export interface MetricScope {
  readonly scope: string
  readonly location: string | undefined
  readonly startMs: number
  readonly endMs: number
  readonly stepMs: number
  /** `extendedScopeParams` of the request. */
  readonly parameters: Readonly<Record<string, string>>
}

export interface MetricQuestion {
  /** Query of the metric in the configuration. */
  readonly query: JsonObject
  /** Named texts of the configuration, which queries refer to. */
  readonly templates: JsonObject
  readonly scope: MetricScope
  /** The application of the analysis; `ad-hoc` for none. */
  readonly application: string
  /** Headers of the user who started the analysis. */
  readonly identity: Readonly<Record<string, string>>
}

/** Values at equal distances; NaN where there is none. */
export interface MetricSeries {
  readonly startMs: number
  readonly stepMs: number
  readonly values: Float64Array
  /** Labels by which a query was grouped. */
  readonly tags: Readonly<Record<string, string>>
  /** Query as sent, for reports. */
  readonly query: string
}

/** An account at a source, opened. */
export interface MetricAccount extends OpenAccount {
  readonly name: string
  readonly type: string
  /** Who may use it; undefined: it acts with the rights of its caller. */
  readonly use?: OutsideAccount
}

export interface OpenAccount {
  /** An empty list where the source knows nothing. @throws {MetricError} */
  fetch(question: MetricQuestion): Promise<readonly MetricSeries[]>
  /** Names of metrics for the editor of configurations. @throws {MetricError} */
  metricNames(): Promise<readonly string[]>
  close?(): void
}

export interface MetricSourceType {
  /** The `serviceType` of queries, and the `type` of its accounts. */
  readonly id: string
  readonly keys: z.ZodObject
  toSettings(keys: object, report: SettingsReport): readonly MetricAccountSettings[]
  open(
    accounts: readonly MetricAccountSettings[],
    context: BackendContext,
  ): readonly MetricAccount[]
}

/** Metrics that cannot be had. */
export class MetricError extends Error {
  override readonly name = 'MetricError'
  /** Whether the same call may succeed in a moment. */
  readonly isPassing: boolean

  constructor(message: string, isPassing = false) {
    super(message)
    this.isPassing = isPassing
  }
}
