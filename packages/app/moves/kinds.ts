/** Kinds of definitions that move, and the keys under which they are stored. */
import { type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { isObject, type JsonObject, numberOf, textOf } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'

/** What pipelines refer to comes before them. */
export const kinds = {
  serviceAccounts: 'service accounts',
  templates: 'templates',
  applications: 'applications',
  permissions: 'permissions',
  projects: 'projects',
  notifications: 'notifications',
  snapshots: 'snapshots',
  pipelines: 'pipelines',
  strategies: 'strategies',
} as const

export type DefinitionKind = keyof typeof kinds

/** One object with its versions, oldest first; the last one is live. */
export interface MovedObject {
  readonly kind: DefinitionKind
  readonly versions: readonly JsonObject[]
  /** The source has one, and does not show it. */
  readonly lacksHistory?: boolean
}

export function isKind(text: unknown): text is DefinitionKind {
  return typeof text === 'string' && Object.hasOwn(kinds, text)
}

const toDocument = shape({
  application: textOf,
  name: textOf,
  id: textOf,
  tag: textOf,
  digest: textOf,
  writtenMs: [numberOf, 'updateTs', 'lastModified', 'timestamp'],
})

export function keyOf(kind: DefinitionKind, document: JsonObject): string | undefined {
  const { application, name, id, ...version } = toDocument(document)
  if (kind === 'notifications')
    return application === undefined ? 'global' : `application/${foldName(application)}`
  if (kind === 'applications' || kind === 'permissions' || kind === 'serviceAccounts')
    return name && foldName(name)
  return id && foldName(kind === 'templates' ? templateVersion(id, version) : id)
}

/** Same digest as in Front50, whose copy under a digest has a tag, too. */
function templateVersion(
  id: string,
  { tag, digest }: Pick<ShapeOf<typeof toDocument>, 'tag' | 'digest'>,
): string {
  if (/[:@]/.test(id)) return id
  if (digest) return `${id}@sha256:${digest}`
  return tag ? `${id}:${tag}` : id
}

/** When a version was written, in milliseconds since the epoch. */
export function writtenMs(version: JsonObject): number | undefined {
  return toDocument(version).writtenMs
}

const stamps = new Set([
  'createTs',
  'updateTs',
  'lastModified',
  'lastModifiedBy',
  'timestamp',
  'index',
])

/** The content as text, equal for equal content: without the fields of the store, and in one order. */
export function contentOf(document: JsonObject): string {
  return JSON.stringify(
    ordered(Object.fromEntries(Object.entries(document).filter(([field]) => !stamps.has(field)))),
  )
}

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered)
  if (!isObject(value)) return value
  const fields = Object.entries(value).filter(([, field]) => field !== null)
  return Object.fromEntries(
    fields
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, field]) => [name, ordered(field)]),
  )
}
