/** Events that start triggers, and notifications of executions. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { Caller } from './caller.ts'
import type { EventRecord } from './event-record.ts'

export interface ReportedEvent {
  readonly details: {
    readonly type: string
    readonly source: string
    readonly application?: string
  }
  /** The same each time that the event is reported. */
  readonly eventId?: string
  readonly content: JsonObject
}

/** A change of an execution of which its notifications tell, or a request for one notification. */
export type Announcement =
  | { readonly kind: 'event'; readonly event: ReportedEvent }
  | { readonly kind: 'request'; readonly request: JsonObject }

export interface Events {
  /** Whether all changes of executions are reported, also those of which no notification tells. */
  readonly takesLifeCycle: boolean
  /** Types of triggers that can fire; undefined: it does not say. */
  readonly triggerTypes: readonly string[] | undefined
  /** Takes in an event, and starts what it triggers. @throws {PortError} */
  report(event: ReportedEvent, as: Caller): Promise<void>
  /** Accepts notifications for delivery. A repetition is delivered once. @throws {PortError} */
  announce(announcement: Announcement, as: Caller): Promise<void>
  /** Logs an event on which the caller has acted itself, where events are logged. */
  record(event: EventRecord): void
  /** Outcomes of the notifications of an execution; undefined: another process delivers them. */
  deliveriesOf(executionId: string): JsonObject[] | undefined
  /** Why some kinds of notifications are not delivered, a sentence for each. */
  describeUndelivered(types: readonly string[]): string[]
}
