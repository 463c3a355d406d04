/** What clients of Spinnaker see of a health result: whether an object is stable, paused, available or failed. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { HealthResult, ObjectState } from '../health/result.ts'

const stableStates: ReadonlySet<ObjectState> = new Set([
  'done',
  'healthy',
  'suspended',
  'unattended',
])

export function isStable({ state }: HealthResult): boolean {
  return stableStates.has(state)
}

export function flagsOf(health: HealthResult): JsonObject {
  const { state, sentence } = health
  const flag = (isOn: boolean | null, isTold: boolean) => ({
    state: isOn,
    message: isTold ? sentence : null,
  })
  const stable = isStable(health)
  const paused = state === 'suspended'
  const failed = state === 'failed' || state === 'missing'
  // No controller says whether it serves.
  const available = state === 'unattended' ? null : stable || health.isAvailable === true
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
  ...health
}: HealthResult): JsonObject {
  const { reason = null, since = null, observedGeneration = null } = health
  return { ...health, reason, since, observedGeneration }
}
