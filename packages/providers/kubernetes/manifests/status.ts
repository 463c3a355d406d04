/** What clients of Spinnaker see of a verdict: whether an object is stable, paused, available or failed. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { HealthState, Verdict } from '../health/verdict.ts'

const stableStates: ReadonlySet<HealthState> = new Set([
  'done',
  'healthy',
  'suspended',
  'unattended',
])

export function isStable({ state }: Verdict): boolean {
  return stableStates.has(state)
}

export function flagsOf(verdict: Verdict): JsonObject {
  const { state, sentence } = verdict
  const flag = (isOn: boolean | null, isTold: boolean) => ({
    state: isOn,
    message: isTold ? sentence : null,
  })
  const stable = isStable(verdict)
  const paused = state === 'suspended'
  const failed = state === 'failed' || state === 'missing'
  // No controller says whether it serves.
  const available = state === 'unattended' ? null : stable || verdict.isAvailable === true
  return {
    stable: flag(stable, !stable),
    paused: flag(paused, paused),
    available: flag(available, available !== true),
    failed: flag(failed, failed),
  }
}

export function healthViewOf({
  isTrouble: _,
  isAvailable: _available,
  ...verdict
}: Verdict): JsonObject {
  const { reason = null, since = null, observedGeneration = null } = verdict
  return { ...verdict, reason, since, observedGeneration }
}
