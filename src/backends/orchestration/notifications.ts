/** Joins the notifications of an application to those of one of its pipelines (docs/contracts/events.md#notifications). */
import { isObject, type JsonObject, objectsOf } from '../../json/values.ts'

/** @param ofApplication One list of entries per kind; other members are ignored. */
export function mergedNotifications(ofPipeline: readonly unknown[], ofApplication: unknown): unknown[] {
  if (!isObject(ofApplication)) return [...ofPipeline]
  const entries = Object.values(ofApplication).flatMap((list) => objectsOf(list))
  return [...ofPipeline, ...entries.flatMap((entry) => uncovered(entry, ofPipeline))]
}

/** The entry with those moments for which the pipeline does not already notify the same address. */
function uncovered(entry: JsonObject, ofPipeline: readonly unknown[]): JsonObject[] {
  const same = ofPipeline.filter((other): other is JsonObject => isObject(other) && hasSameTarget(entry, other))
  if (same.length === 0) return [entry]
  const covered = same.flatMap((other) => listOf(other['when']))
  const when = listOf(entry['when']).filter((moment) => !covered.includes(moment))
  return when.length === 0 ? [] : [{ ...entry, when }]
}

function hasSameTarget(one: JsonObject, other: JsonObject): boolean {
  return one['type'] === other['type'] && one['address'] === other['address'] && one['publisherName'] === other['publisherName']
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
