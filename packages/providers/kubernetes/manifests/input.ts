/** Manifests of a description, as they are deployed: without lists, nulls, and fields that belong to the API server. */

import { or, shape } from '@fairlead/base/json/shape.ts'
import {
  fieldAt,
  isObject,
  type JsonObject,
  listOf,
  objectOf,
  textOf,
} from '@fairlead/base/json/values.ts'
import { applicationAnnotation, valueText } from '../objects.ts'
import {
  annotationOf,
  artifactAnnotations,
  lastAppliedAnnotation,
  monikerAnnotations,
  writtenByAnnotation,
} from './annotations.ts'
import { hasTemplateMetadata, templateMetadata, withField, withoutField } from './edit.ts'

/** `manifests`, else `manifest`; items of lists on their own. */
export function manifestsOf({ manifests, manifest }: JsonObject): JsonObject[] {
  const listed = listOf(manifests)
  return (listed.length > 0 ? listed : [manifest]).flatMap(expand)
}

function expand(value: unknown): JsonObject[] {
  if (Array.isArray(value)) return value.flatMap(expand)
  if (!isObject(value)) return []
  if (textOf(value['kind'])?.toLowerCase() !== 'list') return [value]
  return listOf(value['items']).flatMap(expand)
}

export const toHead = shape({
  kind: or(textOf, ''),
  apiVersion: or(textOf, ''),
  metadata: shape({
    name: textOf,
    generateName: textOf,
    namespace: textOf,
    labels: objectOf,
  }),
})

/** What a manifest lacks to be one: a sentence, or undefined. */
export function describeManifestProblem(manifest: JsonObject, index: number): string | undefined {
  const { kind, apiVersion } = toHead(manifest)
  const name = nameOf(manifest)
  const missing = [
    apiVersion === '' && 'apiVersion',
    kind === '' && 'kind',
    name === '' && 'metadata.name',
  ].filter((field) => field !== false)
  if (missing.length === 0) return undefined
  return `manifests: number ${index + 1}${name && ` (${name})`} has no ${missing.join(', no ')}.`
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
  const stripped = own.reduce((left, path) => withoutField(left, path), manifest)
  const maps = ['annotations', 'labels'].flatMap((name) => [
    ['metadata', name],
    ...(hasTemplateMetadata(manifest) ? [[...templateMetadata, name]] : []),
  ])
  return maps.reduce(withTexts, stripped)
}

function annotation(key: string): string[] {
  return ['metadata', 'annotations', key]
}

function withTexts(object: JsonObject, path: readonly string[]): JsonObject {
  const map = fieldAt(object, ...path)
  if (map === undefined) return object
  if (map === null) return withoutField(object, path)
  const isText = (value: unknown) =>
    typeof value === 'string' || isObject(value) || Array.isArray(value)
  const isDropped = ([key, value]: readonly [string, unknown]) =>
    value === null || (key === applicationAnnotation && valueText(value) === undefined)
  if (!isObject(map) || Object.entries(map).every((entry) => isText(entry[1]) && !isDropped(entry)))
    return object
  const entries = Object.entries(map)
    .filter((entry) => !isDropped(entry))
    .map(([key, value]) => [key, isText(value) ? value : String(value)] as const)
  return withField(object, path, Object.fromEntries(entries))
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
