/** References between definitions: ids at an instance, `{pipeline: deploy, application: shop}` in files. */
import { isObject, type JsonObject, textOf } from '@fairlead/base/json/values.ts'

/** Kinds that others refer to by id. */
export type ReferredKind = 'pipeline' | 'strategy' | 'canary-configuration'

export interface Reference {
  readonly kind: ReferredKind
  readonly application: string
  readonly name: string
}

/** Fields that hold an id, and the field beside them that says whose; without one, it is of the application of the document. */
const idFields: Readonly<Record<string, { kind: ReferredKind; beside?: string }>> = {
  pipeline: { kind: 'pipeline', beside: 'application' },
  pipelineConfigId: { kind: 'pipeline', beside: 'application' },
  strategyPipeline: { kind: 'strategy', beside: 'strategyApplication' },
  canaryConfigId: { kind: 'canary-configuration' },
}

/** What an object in a file names the definition by. */
const nameFields: Readonly<Record<ReferredKind, string>> = {
  pipeline: 'pipeline',
  strategy: 'strategy',
  'canary-configuration': 'canaryConfiguration',
}

/** Ids and names of definitions of some applications. */
export class ReferenceIndex {
  readonly #ids = new Map<string, string>()
  readonly #names = new Map<string, Reference>()

  add(reference: Reference, id: string): void {
    this.#ids.set(keyOfReference(reference), id)
    this.#names.set(`${reference.kind} ${id}`, reference)
  }

  idOf(reference: Reference): string | undefined {
    return this.#ids.get(keyOfReference(reference))
  }

  nameOf(kind: ReferredKind, id: string): Reference | undefined {
    return this.#names.get(`${kind} ${id}`)
  }
}

function keyOfReference({ kind, application, name }: Reference): string {
  return `${kind} ${application.toLowerCase()} ${name.toLowerCase()}`
}

/** Applications whose definitions the ids in a document may be of. */
export function referredApplications(document: unknown): string[] {
  const found = new Set<string>()
  mapFields(document, (value, { key, holder }) => {
    const { beside } = idFields[key] ?? {}
    const owner = beside && textOf(holder[beside])
    if (owner !== undefined && textOf(value) !== undefined && !owner.includes('${'))
      found.add(owner)
    const named = referenceIn(value)
    if (named !== undefined) found.add(named.application)
    return value
  })
  return [...found]
}

/** What a document refers to by name. */
export function referencesIn(document: unknown): Reference[] {
  const found: Reference[] = []
  mapFields(document, (value) => {
    const reference = referenceIn(value)
    if (reference !== undefined) found.push(reference)
    return value
  })
  return found
}

/** Names in place of the ids that the index knows; expressions and unknown ids stay. */
export function toNames(document: JsonObject, index: ReferenceIndex): JsonObject {
  return mapFields(document, (value, { key }) => {
    const field = idFields[key]
    const id = textOf(value)
    const found = field && id !== undefined ? index.nameOf(field.kind, id) : undefined
    if (found === undefined) return value
    return { [nameFields[found.kind]]: found.name, application: found.application }
  }) as JsonObject
}

/**
 * Ids in place of names.
 *
 * @param missing Called with the place of each name that the index does not know
 */
export function toIds(
  document: JsonObject,
  index: ReferenceIndex,
  missing: (place: string, reference: Reference) => void,
): JsonObject {
  return mapFields(document, (value, { key, place }) => {
    const reference = idFields[key] && referenceIn(value)
    if (reference === undefined) return value
    const id = index.idOf(reference)
    if (id === undefined) missing(place, reference)
    return id ?? value
  }) as JsonObject
}

function referenceIn(value: unknown): Reference | undefined {
  if (!isObject(value)) return undefined
  const application = textOf(value['application'])
  if (application === undefined || Object.keys(value).length !== 2) return undefined
  for (const [kind, field] of Object.entries(nameFields)) {
    const name = textOf(value[field])
    if (name !== undefined) return { kind: kind as ReferredKind, application, name }
  }
  return undefined
}

interface Field {
  readonly key: string
  readonly holder: JsonObject
  readonly place: string
}

/** A copy with each field of each object changed; what was changed is not looked into. */
function mapFields(
  value: unknown,
  change: (value: unknown, field: Field) => unknown,
  place = '',
): unknown {
  if (Array.isArray(value))
    return value.map((entry, index) => mapFields(entry, change, `${place}[${index}]`))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => {
      const at = place === '' ? key : `${place}.${key}`
      const changed = change(field, { key, holder: value, place: at })
      return [key, changed === field ? mapFields(field, change, at) : changed]
    }),
  )
}
