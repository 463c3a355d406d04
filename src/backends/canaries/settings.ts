/** Settings of canary analysis, as plain data for the worker thread. */
import type { OutsideAccount } from '../rights/outside-account.ts'

export interface CanarySettings {
  readonly keptDays: number
  /** By the id of their source. */
  readonly accounts: Readonly<Record<string, readonly MetricAccountSettings[]>>
}

/** With fields of its source. */
export type MetricAccountSettings = OutsideAccount

export const defaultCanarySettings: CanarySettings = { keptDays: 30, accounts: {} }
