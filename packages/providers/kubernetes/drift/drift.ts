/** Drift: what deployed objects no longer have of their manifests (docs/contracts/kubernetes.md#plans-and-drift). */
import { createHash, randomBytes } from 'node:crypto'
import {
  fieldAt,
  isObject,
  type JsonObject,
  parseObject,
  textOf,
} from '@fairlead/base/json/values.ts'
import { noMoniker } from '@fairlead/base/names/moniker.ts'
import { callInTurns } from '@fairlead/base/stores/in-turns.ts'
import type { OwnResource } from '../../infrastructure/model.ts'
import type { DriftLookup } from '../../infrastructure/provider.ts'
import { isApiError } from '../api/api-error.ts'
import type { ApiResource, ObjectPlace } from '../api/cluster-api.ts'
import type { DeployedName } from '../deployed-objects.ts'
import { builtInKinds, formatFullName, kindOfManifest, parseKind, printKind } from '../kinds.ts'
import {
  annotationOf,
  artifactAnnotations,
  contentAnnotation,
  fieldManager,
  lastAppliedAnnotation,
  partsAnnotation,
  trafficAnnotation,
} from '../manifests/annotations.ts'
import { templateMetadata, withField, withoutField } from '../manifests/edit.ts'
import { type FieldSet, managedFieldsOf } from '../manifests/managed-fields.ts'
import { monikerOf } from '../manifests/moniker.ts'
import { isSecret } from '../manifests/secrets.ts'
import { contentDigest, lastAppliedOf } from '../manifests/versions.ts'
import { toAutoscaler, toWorkload } from '../objects/workload.ts'
import { controllerOf, type KubeObject, managerLabel, ownerOf } from '../objects.ts'
import { withDataOfTexts } from '../operations/prepared.ts'
import { groupAndVersion } from '../operations/targets.ts'
import type { KubernetesAccount } from '../parts.ts'
import { driftedFields, type FieldDrift } from './compare.ts'
import { type IgnoreRule, ownRulesOf, usualRules, withoutIgnored } from './ignore.ts'
import { driftedParts } from './parts.ts'

/** Kinds that lists are asked for; what was deployed of others is known by name. */
const unlisted: ReadonlySet<string> = new Set(
  'event controllerRevision podPreset podSecurityPolicy job'.split(' '),
)
const listedKinds = builtInKinds.filter(
  ({ name, isNamespaced }) => isNamespaced && !unlisted.has(name),
)

interface DriftScope extends Pick<DriftLookup, 'application' | 'location'> {
  /** Where the application has objects, as lists know it. */
  readonly namespaces: readonly string[]
  /** Rules of the application. */
  readonly ignored: readonly IgnoreRule[]
}

export async function loadDrift(
  account: KubernetesAccount,
  { namespaces, application, location, ignored }: DriftScope,
): Promise<OwnResource[]> {
  const isWanted = (namespace: string) => location === undefined || namespace === location
  const deployed = account.deployed.of(application).filter(({ namespace }) => isWanted(namespace))
  const places = new Set([
    ...namespaces.filter(isWanted),
    ...deployed.map((each) => each.namespace),
  ])
  const listed = await listDeployed(account, [...places].filter(Boolean), application)
  const keys = new Set(listed.map(keyOf))
  const unseen = deployed.filter((each) => !keys.has(`${each.namespace} ${each.kind} ${each.name}`))
  const named = await callInTurns(unseen, (each) => findDeployed(account, each, application))
  const gone = await withAdvice(
    account,
    named.flatMap((each) => each.gone ?? []),
  )
  const rules = [...usualRules, ...account.settings.ignoreDifferences, ...ignored]
  const found = await callInTurns([...listed, ...named.flatMap(({ live = [] }) => live)], (live) =>
    driftOf(account, live, { rules, application }),
  )
  return [...found.flat(), ...gone]
}

function keyOf({ kind, apiVersion, metadata }: KubeObject): string {
  return `${metadata.namespace ?? ''} ${printKind(kindOfManifest({ kind, apiVersion }))} ${metadata.name}`
}

/** Above it, one list of all namespaces is cheaper. */
const fewNamespaces = 5

async function listDeployed(
  account: KubernetesAccount,
  namespaces: readonly string[],
  application: string,
): Promise<KubeObject[]> {
  const names = [...listedKinds, ...account.kinds.custom].map(({ name }) => name)
  const resources = await Promise.all(names.map((name) => account.api.find(parseKind(name))))
  const served = resources
    .filter((resource) => resource !== undefined)
    .filter(({ isNamespaced, verbs }) => isNamespaced && verbs.includes('list'))
  const isEverywhere = namespaces.length > fewNamespaces && account.settings.namespaces.length === 0
  const list = (resource: ApiResource, namespace?: string) =>
    // Deployed objects carry the label, unless `kubernetes.v2.apply-app-labels` is off.
    allowed(account.api.list(resource, { namespace, labelSelector: managerLabel }))
  const everywhere = isEverywhere
    ? await callInTurns(served, async (resource) => ({ resource, all: await list(resource) }))
    : served.map((resource) => ({ resource, all: undefined }))
  const parts = everywhere
    .filter(({ all }) => all === undefined)
    .flatMap(({ resource }) => namespaces.map((namespace) => [resource, namespace] as const))
  const listed = await callInTurns(parts, async (part) => (await list(...part)) ?? [])
  return [...everywhere.flatMap(({ all }) => all ?? []), ...listed.flat()].filter(
    (object) =>
      isDeployedFor(application, object) && namespaces.includes(object.metadata.namespace ?? ''),
  )
}

/** What may not be read has nothing to show. */
async function allowed<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked
  } catch (error) {
    if (isApiError(error, 403, 404, 405)) return undefined
    throw error
  }
}

/** Replica sets and pods of a deployment follow it. */
function isDeployedFor(application: string, object: KubeObject): boolean {
  return (
    ownerOf(object)?.toLowerCase() === application.toLowerCase() &&
    controllerOf(object) === undefined
  )
}

interface Found {
  readonly live?: KubeObject
  readonly gone?: OwnResource
}

async function findDeployed(
  account: KubernetesAccount,
  { namespace, kind, name, apiVersion }: DeployedName,
  application: string,
): Promise<Found> {
  const parsed = parseKind(kind)
  const resource = await account.api.find({ ...parsed, ...groupAndVersion(apiVersion) })
  try {
    const live = resource && (await account.api.get({ resource, namespace, name }))
    // Another client may have removed the name of the application.
    const isOurs = live && (isDeployedFor(application, live) || ownerOf(live) === undefined)
    if (live !== undefined) return isOurs ? { live } : {}
  } catch (error) {
    if (isApiError(error, 403, 405)) return {}
    throw error
  }
  const view = {
    account: account.settings.name,
    namespace,
    name: formatFullName(account.kinds.kindOf(parsed), name),
    manager: null,
    since: null,
    deleted: true,
    fields: [],
    changes: [],
  }
  const moniker = { ...noMoniker, app: application }
  return { gone: { account: account.settings.name, moniker, view } }
}

/** What to do about objects that are gone, perhaps with their namespaces. */
async function withAdvice(
  { api }: KubernetesAccount,
  gone: readonly OwnResource[],
): Promise<OwnResource[]> {
  const placeOf = ({ view }: OwnResource) => String(view['namespace'])
  const resource = gone.length === 0 ? undefined : await api.find({ kind: 'namespace' })
  const places = [...new Set(gone.map(placeOf))].filter(Boolean)
  const missing = new Set<string>()
  for (const name of resource === undefined ? [] : places) {
    const asked = api.get({ resource: resource as ApiResource, namespace: '', name })
    const isThere = await asked.then(
      (found) => found !== undefined && found.metadata.deletionTimestamp === undefined,
      (error: unknown) => {
        if (isApiError(error, 403)) return true
        throw error
      },
    )
    if (!isThere) missing.add(name)
  }
  return gone.map((resource) => {
    const { view } = resource
    const place = placeOf(resource)
    const note = missing.has(place)
      ? `The namespace ${place} is gone. Create it and deploy again, or forget all that was in it: delete "namespace ${place}".`
      : `Deploy it again, or forget it: delete "${String(view['name'])}".`
    return { ...resource, view: { ...view, namespaceGone: missing.has(place), note } }
  })
}

interface DriftChoice extends Pick<DriftScope, 'application'> {
  readonly rules: readonly IgnoreRule[]
}

async function driftOf(
  account: KubernetesAccount,
  listed: KubeObject,
  { rules, application }: DriftChoice,
): Promise<OwnResource[]> {
  const toResource = (view: JsonObject): OwnResource => ({
    account: account.settings.name,
    moniker: { ...monikerOf(listed), app: ownerOf(listed) ?? application },
    view: {
      account: account.settings.name,
      namespace: listed.metadata.namespace ?? '',
      name: formatFullName(account.kinds.kindOf(kindOfManifest(listed)), listed.metadata.name),
      ...view,
    },
  })
  const applied = lastAppliedOf(listed)
  const elsewhere = foreignApplyOf(listed, applied)
  if (elsewhere !== undefined) return [toResource(elsewhere)]
  if (applied === undefined) {
    const drifted = await contentDrift(account, listed, [...rules, ...ownRulesOf(listed)])
    return viewsOf(listed, isSecret(listed) ? drifted.map(hashed) : drifted).map(toResource)
  }
  const manifest = withDataOfTexts(applied)
  // Lists have the preferred version, in which fields may have other names.
  const version = textOf(manifest['apiVersion']) ?? listed.apiVersion
  const resource = await account.api.find({ kind: listed.kind, ...groupAndVersion(version) })
  const { name, namespace = '' } = listed.metadata
  const place = resource && { resource, namespace, name }
  const isOther = version !== listed.apiVersion
  const live = place !== undefined && isOther ? await account.api.get(place) : listed
  if (place === undefined || live === undefined) return []
  const own = await withoutControlled(account, live, manifest)
  const named = withoutIgnored(own, live, [...rules, ...ownRulesOf(manifest)])
  if (driftedFields(named, live, named).length === 0) return []
  const { wanted, note } = await dryRun(account, place, { manifest, live })
  const drifted = driftedFields(named, live, wanted)
  return viewsOf(live, isSecret(live) ? drifted.map(hashed) : drifted).map((view) =>
    toResource({ ...view, ...(note !== undefined && { note }) }),
  )
}

/** Drift of an object whose manifest is too large for an annotation. */
async function contentDrift(
  account: KubernetesAccount,
  live: KubeObject,
  rules: readonly IgnoreRule[],
): Promise<FieldDrift[]> {
  const drifted = driftedParts(live, rules)
  if (drifted !== undefined) {
    const isScaled =
      drifted.some(({ path }) => path === replicasPath) && (await hasAutoscaler(account, live))
    return drifted.filter(
      ({ path }) =>
        !(isScaled && path === replicasPath) &&
        !(path === 'rules' && live['aggregationRule'] !== undefined),
    )
  }
  // From before parts had digests.
  const wanted = annotationOf(live, contentAnnotation)
  if (live.kind !== 'ConfigMap' || wanted === undefined) return []
  const digest = contentDigest(live)
  return digest === wanted
    ? []
    : [{ path: 'data', live: `sha256:${digest}`, wanted: `sha256:${wanted}` }]
}

const replicasPath = 'spec.replicas'

const lastAppliedField = `f:${lastAppliedAnnotation}`

/** Another client has applied a manifest of its own, in place of the one that was deployed. */
function foreignApplyOf(live: KubeObject, applied: JsonObject | undefined): DriftView | undefined {
  // The API server keeps the annotation as its owner wrote it only until another client applies.
  const isForeign =
    ownerOf(live) === undefined ||
    (applied !== undefined && annotationOf(applied, artifactAnnotations.name) === undefined)
  const others = managedFieldsOf(live)
    .filter(({ manager, subresource }) => !controllers.test(manager) && subresource === undefined)
    .toSorted((one, other) => (other.time ?? '').localeCompare(one.time ?? ''))
  const entry =
    others.find(
      ({ fieldsV1 }) =>
        fieldAt(fieldsV1, 'f:metadata', 'f:annotations', lastAppliedField) !== undefined,
    ) ??
    (isForeign ? (others.find(({ operation }) => operation === 'Apply') ?? others[0]) : undefined)
  if (entry === undefined) return undefined
  const { manager, time = null, fieldsV1 } = entry
  return {
    manager,
    since: time,
    fields: ownedPaths(fieldsV1).filter((path) => !path.endsWith(lastAppliedAnnotation)),
    changes: [],
    note: 'Another client has applied a manifest of its own.',
  }
}

/** The object as another deployment of the manifest would make it; the manifest, where the API server refuses to say. */
async function dryRun(
  { api }: KubernetesAccount,
  place: ObjectPlace,
  { manifest, live }: { readonly manifest: JsonObject; readonly live: KubeObject },
): Promise<{ readonly wanted: JsonObject; readonly note?: string }> {
  // With its id, nothing is tried on another object of the same name.
  const body = withField(manifest, ['metadata', 'uid'], live.metadata.uid)
  try {
    const options = { type: 'apply', fieldManager, force: true, dryRun: true } as const
    return { wanted: await api.patch(place, body, options) }
  } catch (error) {
    if (!isApiError(error, 400, 403, 405, 409, 415, 422, 500)) throw error
    const note = `The API server refuses a dry run (${error.message}); the fields of the manifest are compared as they are written.`
    return { wanted: completed(manifest, live) as JsonObject, note }
  }
}

/** Adds what the live object has besides, such as defaults in entries of lists. */
function completed(manifest: unknown, live: unknown): unknown {
  if (Array.isArray(manifest) && Array.isArray(live) && manifest.length === live.length)
    return manifest.map((entry, index) => completed(entry, live[index]))
  if (!isObject(manifest) || !isObject(live)) return manifest
  const named = Object.entries(manifest).map(([key, value]) => [key, completed(value, live[key])])
  return { ...live, ...Object.fromEntries(named) }
}

/** Without fields that a controller of the object writes: replicas of what is scaled, aggregated rules, labels of what has no traffic. */
async function withoutControlled(
  account: KubernetesAccount,
  live: KubeObject,
  manifest: JsonObject,
): Promise<JsonObject> {
  let left = manifest
  const { replicas } = toWorkload(manifest).spec
  const isScaled =
    replicas !== undefined &&
    replicas !== toWorkload(live).spec.replicas &&
    (await hasAutoscaler(account, live))
  if (isScaled) left = withoutField(left, ['spec', 'replicas'])
  if (live['aggregationRule'] !== undefined) left = withoutField(left, ['rules'])
  return annotationOf(live, trafficAnnotation) === undefined
    ? left
    : withoutField(left, [...templateMetadata, 'labels'])
}

async function hasAutoscaler({ api }: KubernetesAccount, live: KubeObject): Promise<boolean> {
  const { name, namespace = '' } = live.metadata
  for (const kind of ['horizontalpodautoscaler', 'scaledobject']) {
    const resource = await api.find({ kind })
    const scalers = resource && (await allowed(api.list(resource, { namespace })))
    const isTarget = (scaler: KubeObject) => {
      const target = toAutoscaler(scaler).spec.scaleTargetRef
      // ScaledObjects mean a Deployment where they name no kind.
      return target.name === name && (target.kind || 'Deployment') === live.kind
    }
    if (scalers?.some(isTarget) === true) return true
  }
  return false
}

/** Fairlead itself, and what writes consequences of a deployment. */
const controllers =
  /^(?:fairlead(?:-.*)?|kube-controller-manager|kube-scheduler|kubelet|kube-apiserver|cloud-controller-manager|kwok|vpa-updater|vpa-recommender)$/

interface DriftView extends JsonObject {
  /** Name of the field manager, such as `kubectl-edit`; null: the API server does not say who it was. */
  readonly manager: string | null
  /** RFC 3339; null: it is not known. */
  readonly since: string | null
  readonly fields: readonly string[]
}

/** One for each manager that has changed something. */
function viewsOf(live: KubeObject, drifted: readonly FieldDrift[]): DriftView[] {
  const writers = managedFieldsOf(live)
    .filter(
      ({ manager, operation, subresource }) =>
        subresource !== 'status' && (manager !== fieldManager || operation !== 'Apply'),
    )
    .map(({ manager, time, fieldsV1 }) => ({
      manager,
      time,
      paths: ownedPaths(fieldsV1).filter((path) => !path.endsWith(partsAnnotation)),
    }))
    .toSorted((one, other) => (other.time ?? '').localeCompare(one.time ?? ''))
  const byWriter = Map.groupBy(drifted, ({ path }) => {
    const writerOf = (isSame: (owned: string, path: string) => boolean) =>
      writers.find(({ paths }) => paths.some((owned) => isSame(owned, path)))
    return writerOf(isSameField) ?? writerOf(isAlikeField)
  })
  const foreign = [...byWriter].filter(
    ([writer]) => writer === undefined || !controllers.test(writer.manager),
  )
  return foreign.map(([writer, fields]) => ({
    manager: writer?.manager ?? null,
    since: writer?.time ?? null,
    fields: fields.map(({ path }) => path),
    changes: fields.map(({ path, live: value = null, wanted = null }) => ({
      path,
      live: value,
      wanted,
    })),
  }))
}

/** One within the other; entries of lists may be named by more keys. */
function isSameField(owned: string, path: string): boolean {
  const plain = withKeys(owned, (keys) => keys.split(',', 1).join(''))
  return plain === path || plain.startsWith(`${path}.`) || path.startsWith(`${plain}.`)
}

/** Compares without list keys: the API server may tell entries apart by others. */
function isAlikeField(owned: string, path: string): boolean {
  const bare = (text: string) => withKeys(text, () => '')
  return path.includes('[') && bare(owned) === bare(path)
}

/** The path with other keys of its list entries; an opening bracket begins one. */
function withKeys(path: string, change: (keys: string) => string): string {
  return path
    .split(']')
    .map((part) => {
      const [before = '', ...keys] = part.split('[')
      return keys.length === 0 ? before : `${before}[${change(keys.join('['))}`
    })
    .join(']')
}

const salt = randomBytes(16)

/** Values of secrets can be told apart, and are not shown. */
function hashed({ path, live, wanted }: FieldDrift): FieldDrift {
  const hash = (value: unknown) =>
    value === undefined
      ? undefined
      : `sha256:${createHash('sha256').update(salt).update(JSON.stringify(value)).digest('hex').slice(0, 16)}`
  return /^(?:data|stringData)(?:$|\.)/.test(path)
    ? { path, live: hash(live), wanted: hash(wanted) }
    : { path, live, wanted }
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
