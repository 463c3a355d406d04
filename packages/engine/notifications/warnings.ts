/** Warnings about notifications that nothing delivers. */
import { isTrue, type JsonObject, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { describeUndelivered } from './notifier.ts'
import { notificationTypeOf } from './types/all.ts'

/** Kinds that are switched on. */
export type OfferedTypes = Readonly<Record<string, unknown>>

/** A sentence for each kind. */
export function describeUndeliveredTypes(types: Iterable<string>, offered: OfferedTypes): string[] {
  const missing = [...new Set(types)].filter((type) => !((notificationTypeOf(type)?.id ?? '') in offered))
  return missing.map(describeUndelivered)
}

/** Kinds of the notifications of a pipeline and of its stages. */
export function typesOfDefinition(definition: JsonObject): string[] {
  const ofStages = objectsOf(definition['stages']).flatMap((stage) =>
    isTrue(stage['sendNotifications']) ? objectsOf(stage['notifications']) : [],
  )
  return [...objectsOf(definition['notifications']), ...ofStages].flatMap(({ type }) => textOf(type) ?? [])
}

/** Kinds of the record of an application: its lists that have entries. */
export function typesOfRecord(record: JsonObject): string[] {
  return Object.entries(record).flatMap(([kind, list]) => objectsOf(list).map(({ type }) => textOf(type) ?? kind))
}
