/** Something that changes without telling: looked at from time to time, for the triggers that wait for it. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { Event } from '../event.ts'
import type { TriggerSettings } from '../trigger-settings.ts'

/** Versions by name: commits of refs, digests of tags. */
export type PolledState = ReadonlyMap<string, string>

export interface PolledChange {
  /** The ref or tag. */
  readonly name: string
  /** Undefined: it is new. */
  readonly before: string | undefined
  readonly after: string
}

/** One comparison of what is polled. */
export interface PollTurn {
  /** All triggers with the key. */
  readonly waiting: readonly JsonObject[]
  /** Why the details of a change cannot be read: what has failed for one change of a turn is not tried for the next. */
  problem?: string
}

export interface PolledSource {
  /** Type of triggers whose source is polled. */
  readonly triggerType: string
  /** Whether it is polled with these back ends; absent: always. Another service may report its changes. */
  isPolled?(context: BackendContext): boolean
  /** Triggers with the same key share one poll; undefined: nothing is polled for it. */
  keyOf(trigger: JsonObject): string | undefined
  /** What is polled, for the event log: `{ repository }`. */
  summaryOf?(trigger: JsonObject): JsonObject
  /** Time between two polls; default: that of the settings. */
  intervalMs?(trigger: JsonObject, settings: TriggerSettings): number
  /**
   * @param trigger Any of those with the key
   * @param last What the last poll has found: returned itself where nothing has changed, which saves the comparison
   * @throws {Error} saying what failed and what to do, for the event log
   */
  read(
    trigger: JsonObject,
    context: BackendContext,
    signal: AbortSignal,
    last?: PolledState,
  ): Promise<PolledState>
  /** Events of one change; none where it is not worth one. Their ids are replaced. Their `isObserved` is true. */
  toEvents(
    trigger: JsonObject,
    change: PolledChange,
    context: BackendContext,
    turn: PollTurn,
  ): Promise<readonly Event[]>
}
