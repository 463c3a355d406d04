/** Warnings about notifications that nothing delivers. */
import { type DocumentFinding, warningAt } from '@fairlead/base/findings/document-finding.ts'
import { list, shape } from '@fairlead/base/json/shape.ts'
import { isTrue, type JsonObject, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { nullEntries } from '@fairlead/model/pipelines/definition.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { itself } from '@fairlead/ports/caller.ts'
import { describeUndelivered } from './notifier.ts'
import { notificationTypeOf } from './types/all.ts'

/** Kinds that are switched on. */
type OfferedTypes = Readonly<Record<string, unknown>>

/** A sentence for each kind. */
export function describeUndeliveredTypes(types: Iterable<string>, offered: OfferedTypes): string[] {
  const missing = [...new Set(types)].filter(
    (type) => !((notificationTypeOf(type)?.id ?? '') in offered),
  )
  return missing.map(describeUndelivered)
}

const toEntries = (value: unknown) => objectsOf(value).map(shape({ type: textOf }))
const toDefinition = shape({
  notifications: toEntries,
  stages: list(shape({ sendNotifications: isTrue, notifications: toEntries })),
})

/** Kinds of the notifications of a pipeline and of its stages. */
export function typesOfDefinition(definition: JsonObject): string[] {
  const { notifications, stages } = toDefinition(definition)
  const ofStages = stages.flatMap((stage) => (stage.sendNotifications ? stage.notifications : []))
  return [...notifications, ...ofStages].flatMap(({ type }) => type ?? [])
}

/** Kinds of the record of an application: its lists that have entries. */
export function typesOfRecord(record: JsonObject): string[] {
  return Object.entries(record).flatMap(([kind, entries]) =>
    toEntries(entries).map(({ type }) => type ?? kind),
  )
}

/** Lists of the record of an application that are none, or have entries that say nothing. */
export function recordFindings(record: JsonObject): DocumentFinding[] {
  const wrong = Object.keys(record).filter(
    (kind) =>
      notificationTypeOf(kind) !== undefined &&
      record[kind] != null &&
      !Array.isArray(record[kind]),
  )
  return [
    ...wrong.map((kind) =>
      warningAt(kind, `"${kind}" is no list, so it sends nothing. Write a list.`),
    ),
    ...nullFindings(record),
  ]
}

export function nullFindings(document: JsonObject): DocumentFinding[] {
  return nullEntries(document).map((place) =>
    warningAt(place, 'The entry is null and does nothing: remove it.'),
  )
}

const mostNamed = 5

/** Logs a line for each kind, with some of the places that name it. */
export async function logUndelivered(context: BackendContext): Promise<void> {
  const { types } = context.settings.notifications
  const found = Map.groupBy(await readPlaces(context), ({ type }) => type.toLowerCase())
  for (const [type, places] of found) {
    const [problem] = describeUndeliveredTypes([type], types)
    if (problem === undefined) continue
    const names = [...new Set(places.map(({ place }) => place))]
    context.log.warn(
      { problem, count: names.length, examples: names.slice(0, mostNamed) },
      'notifications are not delivered',
    )
  }
}

interface NotificationPlace {
  readonly type: string
  readonly place: string
}

async function readPlaces({
  ports: { definitions },
  settings,
}: BackendContext): Promise<NotificationPlace[]> {
  const records = await definitions.notifications(itself)
  const pipelines = await definitions.notifyingPipelines(
    (type) => describeUndeliveredTypes([type], settings.notifications.types).length > 0,
    itself,
  )
  return [
    ...records.flatMap((record) =>
      typesOfRecord(record).map((type) => ({
        type,
        place: `application ${record['application'] ?? 'global'}`,
      })),
    ),
    ...pipelines.flatMap((pipeline) =>
      typesOfDefinition(pipeline).map((type) => ({
        type,
        place: `pipeline ${pipeline['name']} of ${pipeline['application']}`,
      })),
    ),
  ]
}
