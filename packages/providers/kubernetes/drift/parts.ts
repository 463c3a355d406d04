/** Digests of the parts of an object whose manifest is too large to be kept with it. */
import { hash } from 'node:crypto'
import { formatJson, parseIfJson } from '@fairlead/base/json/json.ts'
import { fieldAt, isObject, type JsonObject, objectOf } from '@fairlead/base/json/values.ts'
import {
  annotationOf,
  contentAnnotation,
  fieldManager,
  ownAnnotations,
  partsAnnotation,
} from '../manifests/annotations.ts'
import { type FieldSet, fieldsOf, managedFieldsOf, unionOf } from '../manifests/managed-fields.ts'
import { sorted } from '../manifests/versions.ts'
import type { KubeObject } from '../objects.ts'
import type { FieldDrift } from './compare.ts'
import { type IgnoreRule, usualRules, withoutIgnored } from './ignore.ts'

/** Beyond it only the outermost fields have digests: annotations are short. */
const mostParts = 100

type Parts = Readonly<Record<string, unknown>>

/** For the annotation; undefined where the manifest is kept, or nothing can be told of it. */
export function partDigestsOf(written: KubeObject): string | undefined {
  if (annotationOf(written, contentAnnotation) === undefined) return undefined
  const all = Object.entries(partsOf(written, usualRules))
  const outer = Object.entries(outerPartsOf(written, usualRules))
  const parts = all.length > mostParts ? outer : all
  return parts.length === 0
    ? undefined
    : formatJson(Object.fromEntries(parts.map(([path, part]) => [path, digestOf(part)])))
}

/** Parts that are other than after the deployment; those in which something is ignored do not count. */
export function driftedParts(
  live: KubeObject,
  rules: readonly IgnoreRule[],
): FieldDrift[] | undefined {
  const wanted = objectOf(parseIfJson(annotationOf(live, partsAnnotation) ?? ''))
  if (Object.keys(wanted).length === 0) return undefined
  const find = (kept: readonly IgnoreRule[]): Parts => ({
    ...outerPartsOf(live, kept),
    ...partsOf(live, kept),
  })
  const [found, left] = [find(usualRules), find([...usualRules, ...rules])]
  return Object.entries(wanted).flatMap(([path, digest]) => {
    const now = found[path] === undefined ? undefined : digestOf(found[path])
    if (now === digest) return []
    const isIgnored = now !== undefined && digestOf(left[path]) !== now
    // Another manager has taken over a field, which a rule may be about.
    const isForeign = rules.some(({ managedFieldsManagers }) => managedFieldsManagers.length > 0)
    if (isIgnored || (isForeign && now === undefined)) return []
    return [{ path, live: now && `sha256:${now}`, wanted: `sha256:${String(digest)}` }]
  })
}

/** What deployments have written, without what rules ignore. */
function ownPartsOf(object: KubeObject, rules: readonly IgnoreRule[]): JsonObject {
  const owned = managedFieldsOf(object)
    .filter(({ manager, subresource }) => manager === fieldManager && subresource === undefined)
    .reduce<FieldSet>((all, { fieldsV1 }) => unionOf(all, fieldsV1), {})
  const { apiVersion: _version, kind: _kind, ...own } = objectOf(fieldsOf(object, owned))
  const annotations = Object.entries(objectOf(fieldAt(own, 'metadata', 'annotations')))
  const { labels } = objectOf(own['metadata'])
  const metadata = {
    ...(labels !== undefined && { labels }),
    annotations: Object.fromEntries(annotations.filter(([key]) => !ownAnnotations.has(key))),
  }
  return withoutIgnored({ ...own, metadata }, object, rules)
}

function outerPartsOf(object: KubeObject, rules: readonly IgnoreRule[]): Parts {
  const { metadata: _metadata, ...parts } = ownPartsOf(object, rules)
  return parts
}

/** Fields within the outermost ones, such as `spec.versions` and `data.key`. */
function partsOf(object: KubeObject, rules: readonly IgnoreRule[]): Parts {
  const parts = Object.entries(ownPartsOf(object, rules)).flatMap(([name, value]) =>
    isObject(value)
      ? Object.entries(value).map(([inner, part]) => [`${name}.${inner}`, part] as const)
      : [[name, value] as const],
  )
  return Object.fromEntries(parts)
}

function digestOf(part: unknown): string {
  return hash('sha256', formatJson(sorted(part)), 'hex').slice(0, 16)
}
