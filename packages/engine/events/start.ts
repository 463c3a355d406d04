/** A run that an event, a schedule or a user has started. */
import type { JsonObject } from '@fairlead/base/json/values.ts'

export interface Start {
  pipeline: JsonObject
  trigger: JsonObject
  artifacts: JsonObject[]
  /** Identity headers with which the orchestrator is asked. */
  identity: Record<string, string>
  /** Why it cannot run: only a failed execution is left, for people to see. */
  problem?: string
}
