/** What happened to a server group, as providers write it in different words. */
import { type Json, numberOf, objectsOf, textOf } from './read.ts'
import { type Instance, instanceId } from './server-groups.ts'

export type EventRow = ReturnType<typeof toRow>

/** Newest first. */
export function toEvents(events: unknown, instances: readonly Instance[] = []): readonly EventRow[] {
  const ofGroup = objectsOf(events).map((event) => toRow(event))
  const ofInstances = instances.flatMap((instance) =>
    objectsOf(instance['events']).map((event) => toRow(event, instanceId(instance))),
  )
  return [...ofGroup, ...ofInstances].toSorted((a, b) => (b.atMs ?? 0) - (a.atMs ?? 0))
}

const timeKeys = ['startTime', 'createdAt', 'lastTimestamp', 'firstTimestamp', 'timestamp', 'at']
const textKeys = ['description', 'message', 'text', 'reason']

/** @param instance That it happened to. */
function toRow(event: Json, instance?: string) {
  return {
    atMs: timeKeys.map((key) => timeOf(event[key])).find((found) => found !== undefined),
    text: textKeys.map((key) => textOf(event[key])).find((found) => found !== undefined) ?? '',
    cause: textOf(event['cause']),
    state: textOf(event['statusCode']) ?? textOf(event['status']) ?? textOf(event['type']),
    instance,
  }
}

/** Milliseconds, or a date as text. */
function timeOf(value: unknown): number | undefined {
  return numberOf(value) ?? numberOf(Date.parse(textOf(value) ?? ''))
}
