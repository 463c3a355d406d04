/** An event of triggers, with what it has started or why it has started nothing. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { readPipeline, readTrigger } from '@fairlead/model/pipelines/definition.ts'

export interface EventRecord {
  /** Default: a new one. */
  readonly id?: string
  /** Type of the event. */
  readonly type: string
  readonly source?: string
  /** Names, and nothing secret. */
  readonly summary: JsonObject
  /** An excerpt of it, without secrets. */
  readonly payload?: JsonObject
  /** Why it has failed, or why no trigger waits for it. */
  readonly reason?: string
  readonly hasFailed?: boolean
  /** Events with the same share cannot push out all others. Default: none. */
  readonly share?: string
  readonly triggers: readonly TriggerOutcome[]
}

/** What became of an event for one trigger that waits for such events. */
export interface TriggerOutcome {
  readonly application: string
  readonly pipelineId: string
  /** Its name. */
  readonly pipeline: string
  /** The type of the trigger. */
  readonly trigger: string
  /** The run that was started. */
  readonly executionId?: string
  /** Why nothing was started, or why the run could not begin, as a sentence. */
  readonly reason?: string
}

export function toOutcome(
  pipeline: JsonObject,
  trigger: JsonObject,
  what: { readonly executionId: string; readonly reason?: string } | { readonly reason: string },
): TriggerOutcome {
  const { application = '', id = '', name = '' } = readPipeline(pipeline)
  return {
    application,
    pipelineId: id,
    pipeline: name,
    trigger: readTrigger(trigger).type ?? '',
    ...what,
  }
}
