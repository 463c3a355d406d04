/** Drift: what other managers have changed in deployed objects since Fairlead applied them. */
import { fieldAt, isObject, type JsonObject, objectsOf, textOf } from '../../../../json/values.ts'
import { fieldManager, lastAppliedAnnotation } from './manifests/annotations.ts'
import { diffObjects } from './manifests/diff.ts'
import type { KubeObject } from './objects.ts'

export interface Drift {
  /** Name of the field manager, such as `kubectl-edit`; null: the API server does not say who removed the fields. */
  readonly manager: string | null
  /** RFC 3339. */
  readonly since: string | null
  /** Such as `spec.template.spec.containers[name=main].image`. */
  readonly fields: readonly string[]
}

/** Fairlead itself, and what writes consequences of a deployment, such as the revision of a rollout. */
const controllers =
  /^(?:fairlead(?:-.*)?|kube-controller-manager|kube-scheduler|kubelet|kube-apiserver|cloud-controller-manager|kwok)$/

/** Notes of tools about an object, which change nothing. */
const ignoredFields =
  /^metadata\.annotations\.(?:kubectl\.kubernetes\.io\/last-applied-configuration|deployment\.kubernetes\.io\/.*)$/

/** One for each manager; none for an object that Fairlead has not applied. */
export function driftOf(object: KubeObject): Drift[] {
  const entries = objectsOf(object.metadata['managedFields'])
  const applied = entries.find(({ manager, operation }) => manager === fieldManager && operation === 'Apply')
  if (applied === undefined) return []
  const appliedAt = textOf(applied['time']) ?? ''
  const foreign = entries.flatMap((entry): Drift[] => {
    const manager = textOf(entry['manager']) ?? ''
    const since = textOf(entry['time']) ?? ''
    if (controllers.test(manager) || entry['subresource'] === 'status' || since < appliedAt) return []
    const fields = ownedPaths(entry['fieldsV1']).filter((path) => !ignoredFields.test(path))
    return fields.length === 0 ? [] : [{ manager, since, fields }]
  })
  const removed = removedFields(object)
  return removed.length === 0 ? foreign : [...foreign, { manager: null, since: null, fields: removed }]
}

/** Fields of the applied manifest that the object no longer has. */
function removedFields(object: KubeObject): string[] {
  const manifest = parsed(object.metadata.annotations?.[lastAppliedAnnotation])
  if (manifest === undefined) return []
  const fields = diffObjects(manifest, object).filter(({ change, before }) => change === 'removed' && !isEmpty(before))
  return fields.map(({ path }) => path).filter((path) => !ignoredFields.test(path) && !path.startsWith('status'))
}

/** The API server drops empty values. */
function isEmpty(value: unknown): boolean {
  if (value === null || value === '') return true
  return Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0
}

function parsed(text: string | undefined): JsonObject | undefined {
  if (text === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * The leaves of a set of fields: `f:` names a field, `k:` an entry of a list by its keys, `v:` one by its value.
 *
 * @see the structured-merge-diff format of `FieldsV1`
 */
function ownedPaths(fields: unknown, prefix = ''): string[] {
  if (!isObject(fields)) return []
  return Object.entries(fields).flatMap(([key, inner]) => {
    if (key === '.') return []
    const path = prefix + segmentOf(key, prefix)
    const below = ownedPaths(inner, path)
    return below.length > 0 ? below : [path]
  })
}

function segmentOf(key: string, prefix: string): string {
  const value = key.slice(2)
  if (key.startsWith('f:')) return prefix === '' ? value : `.${value}`
  if (!key.startsWith('k:')) return `[${value}]`
  const keys = parsed(value) ?? {}
  return `[${Object.entries(keys)
    .map(([name, each]) => `${name}=${String(each)}`)
    .join(',')}]`
}

/** Whether an object says that it was deployed for the application. */
export function isDeployedFor(application: string, object: KubeObject): boolean {
  const owner = fieldAt(object, 'metadata', 'annotations', 'moniker.spinnaker.io/application')
  return typeof owner === 'string' && owner.toLowerCase() === application.toLowerCase()
}
