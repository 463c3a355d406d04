/** A kind of trigger: its events, its conditions, and the fields that a run receives. */
import { definedOf, fieldOf, type JsonObject } from '@fairlead/base/json/values.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import type { Ports } from '@fairlead/ports/ports.ts'
import type { Event } from '../event.ts'
import type { Patterns } from '../event-patterns.ts'

/** What a trigger is compared with, besides the event. */
export interface MatchContext {
  patterns: Patterns
  ports: Pick<Ports, 'builds'>
  /** For whom the run will act, if permissions decide anything. */
  as: Caller
}

export interface TriggerKind {
  /** Type of the events, lower case. */
  eventType: string
  /** Types of the triggers, as definitions write them. */
  triggerTypes: readonly string[]
  /** Such events have no secret or constraint that a sender could fail: services report what they have seen themselves. */
  reportedByServices?: boolean
  /** Its triggers may have a secret, and refuse what is signed with another one or although they have none. */
  checksSignature?: boolean
  /** Why such an event fires nothing at all, as a sentence; undefined: it may. */
  declines?(event: Event): string | undefined
  /** Names of what the trigger waits for. Pipelines are stored with them, by the rule of `definitions/marks.ts`. */
  awaits(trigger: JsonObject): readonly (string | undefined)[]
  /** Names of what the event is about. It may concern triggers that wait for one of them. */
  about(event: Event): readonly (string | undefined)[]
  /** Whether it concerns this one of those triggers. Default: it does. */
  concerns?(trigger: JsonObject, event: Event): boolean
  /** Why the sender or the occasion is not what such a trigger waits for, as a sentence for the event log; undefined: it is. */
  refuses?(trigger: JsonObject, event: Event): string | undefined
  /** Why its patterns do not match, as a sentence; asked once its user is known to be allowed to start something. */
  mismatch(
    trigger: JsonObject,
    event: Event,
    means: MatchContext,
  ): string | undefined | Promise<string | undefined>
  /** Fields that the run's trigger gets besides those of the definition and `eventId`. */
  fields(trigger: JsonObject, event: Event): JsonObject
  artifacts(event: Event): JsonObject[]
}

/**
 * Whether the trigger waits for what the event is about, as far as comparing names tells.
 *
 * @param about What `kind` says of the event
 */
export function isConcerned(
  kind: TriggerKind,
  trigger: JsonObject,
  event: Event,
  about: readonly string[],
): boolean {
  return (
    kind.triggerTypes.includes(String(trigger['type'])) &&
    kind.awaits(trigger).some((name) => name !== undefined && about.includes(name)) &&
    (kind.concerns?.(trigger, event) ?? true)
  )
}

/** The fields that there are of those names. */
export function pick(from: object, names: readonly string[]): JsonObject {
  return definedOf(Object.fromEntries(names.map((name) => [name, fieldOf(from, name)])))
}

/** One name of several parts; undefined where one is missing. */
export function joinNames(...names: readonly unknown[]): string | undefined {
  return names.every((name) => typeof name === 'string' && name !== '')
    ? JSON.stringify(names)
    : undefined
}
