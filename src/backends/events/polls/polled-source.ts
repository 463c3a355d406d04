/** Something that changes without telling: looked at from time to time, for the triggers that wait for it. */
import type { JsonObject } from '../../../json/values.ts'
import type { BackendContext } from '../../backend.ts'
import type { Event } from '../event.ts'

/** Versions by name: commits of refs, digests of tags. */
export type PolledState = ReadonlyMap<string, string>

export interface PolledChange {
  /** The ref or tag. */
  readonly name: string
  /** Undefined: it is new. */
  readonly before: string | undefined
  readonly after: string
}

export interface PolledSource {
  /** Type of triggers whose source is polled. */
  readonly triggerType: string
  /** Triggers with the same key share one poll; undefined: nothing is polled for it. */
  keyOf(trigger: JsonObject): string | undefined
  /** @throws {Error} saying what failed and what to do, for the event log @param trigger Any of those with the key */
  read(trigger: JsonObject, context: BackendContext, signal: AbortSignal): Promise<PolledState>
  /** Events of one change; none where it is not worth one, such as a ref that vanished. */
  toEvents(trigger: JsonObject, change: PolledChange, context: BackendContext): Promise<readonly Event[]>
}
