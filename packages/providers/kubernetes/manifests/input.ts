/** Manifests of a description, as they are deployed: without lists, nulls, and fields that belong to the API server. */

import { asGiven, shape } from '@fairlead/base/json/shape.ts'
import { fieldAt, isObject, type JsonObject, listOf } from '@fairlead/base/json/values.ts'
import { isBuiltInGroup } from '../kinds.ts'
import { applicationAnnotation, toHead, valueText } from '../objects.ts'
import {
  annotationOf,
  artifactAnnotations,
  lastAppliedAnnotation,
  monikerAnnotations,
  writtenByAnnotation,
} from './annotations.ts'
import {
  hasTemplateMetadata,
  templateMetadata,
  withField,
  withObjectAt,
  withoutField,
} from './edit.ts'

const toGiven = shape({ manifests: listOf, manifest: asGiven })

/** `manifests`, else `manifest`; items of lists on their own. */
export function manifestsOf(description: unknown): JsonObject[] {
  const { manifests, manifest } = toGiven(description)
  return (manifests.length > 0 ? manifests : [manifest]).flatMap(expand)
}

/** Also lists of one kind, such as a `RoleList`, whose items may lack kind and version. */
function expand(value: unknown): JsonObject[] {
  if (Array.isArray(value)) return value.flatMap(expand)
  if (!isObject(value)) return []
  const { kind, apiVersion } = toHead(value)
  if (!/list$/i.test(kind) || !(kind.length === 4 || Array.isArray(value['items']))) return [value]
  const inherited = kind.length === 4 ? {} : { apiVersion, kind: kind.slice(0, -4) }
  return listOf(value['items'])
    .map((item) => (isObject(item) ? { ...inherited, ...item } : item))
    .flatMap(expand)
}

/** What a manifest lacks to be one: a sentence, or undefined. */
export function describeManifestProblem(manifest: JsonObject, index: number): string | undefined {
  const { apiVersion, kind, metadata } = toHead(manifest)
  const name = metadata.name ?? metadata.generateName
  const missing = [
    apiVersion === '' && 'apiVersion',
    kind === '' && 'kind',
    name === undefined && 'metadata.name',
  ].filter((field) => field !== false)
  const written = fieldAt(manifest, 'metadata', 'name')
  if (name === undefined && ['number', 'boolean'].includes(typeof written))
    return `manifests: number ${index + 1} has the name ${written}, which is no text in YAML; put it in quotes.`
  if (missing.length === 0) return undefined
  return `manifests: number ${index + 1}${name === undefined ? '' : ` (${name})`} has no ${missing.join(', no ')}.`
}

const serverFields = [
  'managedFields',
  'resourceVersion',
  'uid',
  'selfLink',
  'creationTimestamp',
  'generation',
  'deletionTimestamp',
]

/**
 * Without what users copy from a live object by accident; annotations and labels are texts, as YAML makes numbers of some. An annotation
 * without the name of an application is dropped: the deploying one is written there.
 */
export function normalized(manifest: JsonObject): JsonObject {
  const own = [
    ...serverFields.map((name) => ['metadata', name]),
    ...[lastAppliedAnnotation, writtenByAnnotation].map(annotation),
  ]
  // A controller fills them; published roles have an empty list, which would take the rights away until then.
  if (manifest['aggregationRule'] !== undefined) own.push(['rules'])
  const stripped = own.reduce((left, path) => withoutField(left, path), manifest)
  const maps = ['annotations', 'labels'].flatMap((name) => [
    ['metadata', name],
    ...(hasTemplateMetadata(manifest) ? [[...templateMetadata, name]] : []),
  ])
  return maps.reduce(withTexts, stripped)
}

const textMaps: ReadonlySet<string> = new Set(
  'labels annotations matchLabels nodeSelector data stringData'.split(' '),
)

/** Sentences about texts that YAML 1.1 reads as booleans or numbers, such as `on`, `0777` and `1e3`; of custom kinds, labels and annotations only. */
export function describeUnquoted(manifest: JsonObject): string[] {
  const { apiVersion } = toHead(manifest)
  const isOwn = !apiVersion.includes('/') || isBuiltInGroup(apiVersion.split('/', 1)[0] ?? '')
  return unquotedIn(isOwn ? manifest : { metadata: manifest['metadata'] }, [])
}

function unquotedIn(value: unknown, path: readonly string[]): string[] {
  const [parent = '', field = ''] = path.slice(-2)
  const isText =
    textMaps.has(parent) ||
    ((parent === 'env' || /^(?:args|command)$/.test(parent)) && field !== '')
  if (isText && !isObject(value) && !Array.isArray(value) && value !== null)
    return typeof value === 'string'
      ? []
      : [`${path.join('.')} is ${String(value)} in YAML, and must be a text; put it in quotes.`]
  if (Array.isArray(value)) return value.flatMap((each, at) => unquotedIn(each, [...path, `${at}`]))
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([key, each]) =>
    // A variable has its text one level below its place in the list.
    unquotedIn(
      each,
      path.at(-2) === 'env' && key === 'value' ? [...path.slice(0, -1), key] : [...path, key],
    ),
  )
}

function annotation(key: string): string[] {
  return ['metadata', 'annotations', key]
}

function withTexts(object: JsonObject, path: readonly string[]): JsonObject {
  if (fieldAt(object, ...path) === null) return withoutField(object, path)
  const isDropped = ([key, value]: readonly [string, unknown]) =>
    value === null || (key === applicationAnnotation && valueText(value) === undefined)
  return withObjectAt(object, path, (map) =>
    Object.fromEntries(
      Object.entries(map)
        .filter((entry) => !isDropped(entry))
        .map(([key, value]) => [key, typeof value === 'object' ? value : String(value)]),
    ),
  )
}

/** A manifest whose name is of a version of an artifact, as an editor of live objects sends it; undefined: it is no such. */
export function originalOf(manifest: JsonObject): JsonObject | undefined {
  const { name } = toHead(manifest).metadata
  const artifact = annotationOf(manifest, artifactAnnotations.name)
  const version = annotationOf(manifest, artifactAnnotations.version)
  if (artifact === undefined || version === undefined || name !== `${artifact}-${version}`)
    return undefined
  const outdated = [...Object.values(artifactAnnotations), monikerAnnotations.sequence]
  const places = [['metadata'], [...templateMetadata]].flatMap((place) =>
    ['annotations', 'labels'].flatMap((map) => outdated.map((key) => [...place, map, key])),
  )
  const bare = places.reduce((left, path) => withoutField(left, path), manifest)
  return withField(bare, ['metadata', 'name'], artifact)
}

/** Name, or its beginning where the API server makes it. */
export function nameOf(manifest: JsonObject): string {
  const { name, generateName = '' } = toHead(manifest).metadata
  return name ?? generateName
}

export function namespaceOf(manifest: JsonObject): string | undefined {
  return toHead(manifest).metadata.namespace
}

export function isGenerated(manifest: JsonObject): boolean {
  const { name, generateName } = toHead(manifest).metadata
  return name === undefined && generateName !== undefined
}
