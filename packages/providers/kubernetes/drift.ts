/** Drift: what other managers have changed in deployed objects since Fairlead applied them. */

import { isObject, type JsonObject, parseObject } from '@fairlead/base/json/values.ts'
import type { OwnResource } from '../infrastructure/model.ts'
import type { DriftLookup } from '../infrastructure/provider.ts'
import { isApiError } from './api/api-error.ts'
import type { ApiResource } from './api/cluster-api.ts'
import { formatFullName, kindOfManifest, parseKind } from './kinds.ts'
import { annotationOf, fieldManager, trafficAnnotation } from './manifests/annotations.ts'
import { diffObjects } from './manifests/diff.ts'
import { type FieldSet, managedFieldsOf } from './manifests/managed-fields.ts'
import { monikerOf } from './manifests/moniker.ts'
import { lastAppliedOf } from './manifests/versions.ts'
import { toWorkload } from './objects/workload.ts'
import { type KubeObject, managerLabel, ownerOf } from './objects.ts'
import type { KubernetesAccount } from './parts.ts'

/** What users deploy; the objects that controllers create from it follow it. */
const kinds = (
  'deployment statefulSet daemonSet replicaSet cronJob service ingress networkPolicy configMap ' +
  'horizontalpodautoscaler podDisruptionBudget serviceAccount role roleBinding persistentVolumeClaim'
).split(' ')

/** @param namespaces Where the application has objects, as lists know it */
export async function loadDrift(
  account: KubernetesAccount,
  namespaces: readonly string[],
  { application, location }: Pick<DriftLookup, 'application' | 'location'>,
): Promise<OwnResource[]> {
  const wanted =
    location === undefined ? namespaces : namespaces.filter((namespace) => namespace === location)
  if (wanted.length === 0) return []
  const found = [...kinds, ...account.kinds.custom.map(({ name }) => name)].map((name) =>
    account.api.find(parseKind(name)),
  )
  const resources = (await Promise.all(found)).filter(
    (resource) => resource?.isNamespaced === true && mayList(resource),
  )
  const lists = await Promise.all(
    resources.flatMap((resource) =>
      resource === undefined
        ? []
        : wanted.map((namespace) => driftIn(account, resource, { application, namespace })),
    ),
  )
  return lists.flat()
}

function mayList({ verbs }: ApiResource): boolean {
  return verbs.includes('list')
}

async function driftIn(
  account: KubernetesAccount,
  resource: ApiResource,
  { application, namespace }: { readonly application: string; readonly namespace: string },
): Promise<OwnResource[]> {
  // Deployed objects carry the label, unless `kubernetes.v2.apply-app-labels` is off.
  const objects = await account.api
    .list(resource, { namespace, labelSelector: managerLabel })
    .catch((error: unknown) => {
      // A kind that may not be listed has nothing to show.
      if (isApiError(error, 403, 404, 405)) return []
      throw error
    })
  return objects.flatMap((object) => {
    // Replica sets and pods of a deployment follow it.
    if (!isDeployedFor(application, object) || (object.metadata.ownerReferences ?? []).length > 0)
      return []
    const name = formatFullName(account.kinds.kindOf(kindOfManifest(object)), object.metadata.name)
    const place = { account: account.settings.name, namespace, name }
    return driftOf(object).map((drift) => ({
      account: account.settings.name,
      moniker: monikerOf(object),
      view: { ...place, ...drift },
    }))
  })
}

function isDeployedFor(application: string, object: KubeObject): boolean {
  return ownerOf(object)?.toLowerCase() === application.toLowerCase()
}

interface Drift {
  /** Name of the field manager, such as `kubectl-edit`; null: the API server does not say who removed the fields. */
  readonly manager: string | null
  /** RFC 3339; null: it is not known. */
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

function driftOf(object: KubeObject): Drift[] {
  const entries = managedFieldsOf(object)
  const own = entries.filter(
    ({ manager, subresource }) => manager === fieldManager && subresource === undefined,
  )
  // After a client-side apply there are updates only.
  const applied = own.find(({ operation }) => operation === 'Apply') ?? own[0]
  if (applied === undefined) return []
  const { time: appliedAt = '' } = applied
  const manifest = lastAppliedOf(object)
  const setsReplicas = toWorkload(manifest).spec.replicas !== undefined
  const foreign = entries.flatMap((entry): Drift[] => {
    const { manager, time: since = null, subresource } = entry
    // The API server notes no time for the scale subresource. A deployment that sets the number takes it over.
    const isLater = since === null ? setsReplicas : since >= appliedAt
    if (controllers.test(manager) || subresource === 'status' || !isLater) return []
    const fields = ownedPaths(entry.fieldsV1).filter((path) => !ignoredFields.test(path))
    return fields.length === 0 ? [] : [{ manager, since, fields }]
  })
  const removed = manifest === undefined ? [] : removedFields(manifest, object)
  return removed.length === 0
    ? foreign
    : [...foreign, { manager: null, since: null, fields: removed }]
}

function removedFields(manifest: JsonObject, object: KubeObject): string[] {
  const fields = diffObjects(manifest, object).filter(
    ({ change, before }) => change === 'removed' && !isEmpty(before),
  )
  // Disabling a group takes away the labels that its services select.
  const hasTraffic = annotationOf(object, trafficAnnotation) !== undefined
  const isExpected = (path: string) =>
    hasTraffic && path.startsWith('spec.template.metadata.labels.')
  return fields
    .map(({ path }) => path)
    .filter((path) => !ignoredFields.test(path) && !path.startsWith('status') && !isExpected(path))
}

/** The API server drops empty values. */
function isEmpty(value: unknown): boolean {
  if (value === null || value === '') return true
  return Array.isArray(value)
    ? value.length === 0
    : isObject(value) && Object.keys(value).length === 0
}

/**
 * The leaves of a set of fields: `f:` names a field, `k:` an entry of a list by its keys, `v:` one by its value.
 *
 * @see the structured-merge-diff format of `FieldsV1`
 */
function ownedPaths(fields: FieldSet, prefix = ''): string[] {
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
  return `[${Object.entries(parseObject(value) ?? {})
    .map(([name, each]) => `${name}=${String(each)}`)
    .join(',')}]`
}
