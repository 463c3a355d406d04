/** A pipeline definition, as all that store, start or show one read it. */
import { type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import {
  entriesOf,
  isObject,
  isTrue,
  type JsonObject,
  listOf,
  objectOf,
  objectsOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'

/** What it says; the JSON that it was read from is what is stored and started. */
export const readPipeline = shape({
  id: textOf,
  name: textOf,
  application: textOf,
  isDisabled: [isTrue, 'disabled'],
  respectsQuietPeriod: [isTrue, 'respectQuietPeriod'],
  triggers: objectsOf,
  stages: objectsOf,
  expectedArtifacts: objectsOf,
  notifications: objectsOf,
})
export type Pipeline = ShapeOf<typeof readPipeline>

/** A trigger; the fields of its type are for its kind to read. */
export const readTrigger = shape({
  id: textOf,
  type: textOf,
  isEnabled: [isTrue, 'enabled'],
  runAsUser: textOf,
  expectedArtifactIds: textsOf,
  timeZone: textOf,
})

/** Entries that are null are stored, and mean nothing: in lists of a definition, and in those of their entries. */
export function withoutNullEntries<T extends JsonObject>(definition: T): T {
  if (nullEntries(definition).length === 0) return definition
  const kept = Object.entries(definition).map(([name, list]) => [
    name,
    Array.isArray(list) ? entriesOf(list).map(withoutInnerNulls) : list,
  ])
  return Object.fromEntries(kept)
}

/** Fields in which null says something: what a stage sends, and what it waits for. */
const meaningful: ReadonlySet<string> = new Set(['payload', 'requisiteStageRefIds'])

function withoutInnerNulls(entry: unknown): unknown {
  return isObject(entry)
    ? Object.fromEntries(
        Object.entries(entry).map(([name, list]) => [
          name,
          Array.isArray(list) && !meaningful.has(name) ? entriesOf(list) : list,
        ]),
      )
    : entry
}

/** Places of entries that are null, such as `stages[2]` and `stages[0].variables[1]`. */
export function nullEntries(definition: JsonObject): string[] {
  return Object.entries(definition).flatMap(([name, list]) =>
    listOf(list).flatMap((entry, at) => [
      ...(entry === null ? [`${name}[${at}]`] : []),
      ...Object.entries(objectOf(entry)).flatMap(([field, inner]) =>
        listOf(inner).flatMap((each, index) =>
          each === null && !meaningful.has(field) ? [`${name}[${at}].${field}[${index}]`] : [],
        ),
      ),
    ]),
  )
}
