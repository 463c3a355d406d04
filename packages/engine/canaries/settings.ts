/** Settings of canary analysis, as plain data for the worker thread. */
import type { OutsideAccount } from '@fairlead/base/outside/outside-account.ts'

export interface CanarySettings {
  readonly keptDays: number
  readonly accounts: Readonly<Record<string, readonly MetricAccountSettings[]>>
}

export type MetricAccountSettings = OutsideAccount

export const defaultCanarySettings: CanarySettings = { keptDays: 30, accounts: {} }
