/** Objects that operations name: where they are, and what may be wrong with their names. */

import { or } from '@fairlead/base/json/shape.ts'
import { definedOf, textOf } from '@fairlead/base/json/values.ts'
import { isApiError } from '../api/api-error.ts'
import type { ApiResource, KindName, ObjectPlace, PatchOptions } from '../api/cluster-api.ts'
import {
  builtInKind,
  formatFullName,
  isBuiltInGroup,
  type Kind,
  kindOfManifest,
  parseFullName,
  printKind,
} from '../kinds.ts'
import { fieldManager } from '../manifests/annotations.ts'
import type { KubeObject } from '../objects.ts'
import type { KubernetesAccount } from '../parts.ts'
import type { ChangedName, ManifestProblems, ManifestRun } from './parts.ts'
import { isPassingOrConflict, pollUntil, retrying } from './retry.ts'

export interface TargetObject {
  /** `deployment web` */
  readonly name: string
  readonly kind: Kind
  readonly place: ObjectPlace
}

export interface LiveTarget extends TargetObject {
  readonly live: KubeObject
}

/** Fields by which a description names a manifest. */
export const manifestFields = {
  name: [or(textOf, ''), 'manifestName'],
  namespace: [toNamespace, 'location'],
} as const

/** Fields by which a description names a server group. */
export const serverGroupFields = {
  name: [or(textOf, ''), 'serverGroupName', 'asgName'],
  namespace: [toNamespace, 'region', 'location', 'namespace'],
} as const

function describeFullNameProblem(field: string, name: string): string | undefined {
  if (name === '')
    return `${field}: it is missing (${field}.empty). Write kind and name, such as "deployment web".`
  if (parseFullName(name) !== undefined) return undefined
  return `${field}: "${name}" is not a full name. Write kind and name, such as "deployment web".`
}

/** Why the account may not change the namespace: a sentence, or undefined. Cluster-wide objects have none. */
export function describeNamespaceProblem(
  { settings }: KubernetesAccount,
  namespace: string,
): string | undefined {
  const { name, namespaces, omitNamespaces } = settings
  if (namespace === '') return undefined
  if (namespaces.length > 0 && !namespaces.includes(namespace)) {
    return `The account ${name} is limited to ${namespaces.join(', ')}, and not to ${namespace} (${namespace}.wrongNamespace).`
  }
  if (!omitNamespaces.includes(namespace)) return undefined
  return `The account ${name} omits the namespace ${namespace} (${namespace}.omittedNamespace).`
}

export function describeTargetProblems(
  account: KubernetesAccount,
  { name, namespace = '' }: ChangedName,
  field = 'manifestName',
): ManifestProblems {
  const full = parseFullName(name)
  if (full === undefined) return [describeFullNameProblem(field, name)]
  const kind = builtInKind(full)
  if (kind?.name === 'namespace') return [describeNamespaceProblem(account, full.name)]
  if (kind?.isNamespaced === false) return []
  const isMissing = kind?.isNamespaced === true && namespace === ''
  return [
    isMissing && `location: the namespace of ${full.kind} ${full.name} is missing.`,
    describeNamespaceProblem(account, namespace),
  ]
}

/** Paths and clients write `_` for cluster-wide objects. */
export function toNamespace(value: unknown): string {
  const text = textOf(value) ?? ''
  return text === '_' ? '' : text
}

/** The API server has no such kind. */
export class NoKindError extends Error {}

/** @throws {NoKindError} @throws {Error} where the account may not use the namespace */
export async function findManifestTarget(
  running: ManifestRun,
  { name, namespace = '' }: ChangedName,
): Promise<TargetObject> {
  const full = parseFullName(name)
  if (full === undefined) throw new Error(describeFullNameProblem('manifestName', name))
  const { account } = running
  const { kind, resource } = await findKind(running, full)
  const own = resource.isNamespaced ? namespace : ''
  if (resource.isNamespaced && own === '')
    throw new Error(`location: the namespace of ${name} is missing.`)
  const place = { resource, namespace: own, name: full.name }
  checkNamespace(account, kind, place)
  return { name: formatFullName(kind, full.name), kind, place }
}

/** None where it does not exist. */
export async function findManifestByName(
  running: ManifestRun,
  changed: ChangedName,
): Promise<LiveTarget[]> {
  const target = await findManifestTarget(running, changed)
  const live = await aboutObject(describeTarget(running.account, target), () =>
    retrying(running, () => running.account.api.get(target.place)),
  )
  return live === undefined ? [] : [{ ...target, live }]
}

/** @throws {Error} where the account may not use the namespace, which may be the object itself */
export function checkNamespace(
  account: KubernetesAccount,
  kind: Kind,
  { namespace, name }: Omit<ObjectPlace, 'resource'>,
): void {
  const problem = describeNamespaceProblem(account, kind.name === 'namespace' ? name : namespace)
  if (problem !== undefined) throw new Error(problem)
}

/** Custom resources are looked up at most every few seconds. */
const lookupMs = 6000

/** Undefined: the API server has no such kind. A custom resource may have been defined a moment ago. */
export function findResource(
  running: ManifestRun,
  kind: KindName,
): Promise<ApiResource | undefined> {
  const { api } = running.account
  const { group } = kind
  const isKnown =
    group === undefined
      ? builtInKind({ kind: kind.kind, group }) !== undefined
      : isBuiltInGroup(group)
  return isKnown
    ? api.find(kind)
    : pollUntil(running, { limitMs: lookupMs, longestPauseMs: 1000 }, () => api.find(kind))
}

export async function findKind(
  running: ManifestRun,
  name: { readonly kind: string; readonly group: string | undefined },
): Promise<{ readonly kind: Kind; readonly resource: ApiResource }> {
  const { account } = running
  const resource = await findResource(running, name)
  if (resource === undefined) {
    throw new NoKindError(
      `The API server of the account ${account.settings.name} has no kind "${printKind(name)}".`,
    )
  }
  const parsed = kindOfManifest({
    kind: resource.kind,
    apiVersion: `${resource.group}/${resource.version}`,
  })
  return { kind: account.kinds.kindOf(parsed, resource.isNamespaced), resource }
}

export function describeObjectPlace(
  account: KubernetesAccount,
  name: string,
  namespace: string,
): string {
  return namespace === ''
    ? `${name} of the account ${account.settings.name}`
    : `${name} in ${namespace}`
}

export function describeTarget(
  account: KubernetesAccount,
  { name, place }: Pick<TargetObject, 'name' | 'place'>,
): string {
  return describeObjectPlace(account, name, place.namespace)
}

/** Adds the name of the object to what the API server says. @throws what `call` throws */
export async function aboutObject<T>(subject: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    if (!isApiError(error)) throw error
    throw new Error(`${subject}: ${error.message}`, { cause: error })
  }
}

/** The object of a target. @throws {Error} where it does not exist */
export async function requireLive(
  account: KubernetesAccount,
  target: TargetObject,
): Promise<KubeObject> {
  const subject = describeTarget(account, target)
  const live = await aboutObject(subject, () => account.api.get(target.place))
  if (live === undefined)
    throw new Error(`${subject} does not exist. Check its kind, name and namespace.`)
  return live
}

export interface ObjectPatch extends Partial<PatchOptions> {
  readonly body: unknown
}

/** Patches an object, however often others write it meanwhile: a merge by Fairlead, unless it says otherwise. @throws {Error} */
export function patchTarget(
  running: ManifestRun,
  target: Pick<TargetObject, 'name' | 'place'>,
  { body, ...options }: ObjectPatch,
): Promise<KubeObject> {
  const { account } = running
  const call = () =>
    account.api.patch(target.place, body, { type: 'merge', fieldManager, ...definedOf(options) })
  return aboutObject(describeTarget(account, target), () =>
    retrying(running, call, isPassingOrConflict),
  )
}

export interface Capability {
  readonly kinds: readonly string[]
  readonly operation: string
}

/** @throws {Error} for a kind that the operation does not fit */
export function requireCapability(
  account: KubernetesAccount,
  target: TargetObject,
  { kinds, operation }: Capability,
): void {
  if (kinds.includes(target.kind.name)) return
  throw new Error(
    `Cannot ${operation} ${describeTarget(account, target)}: this is not supported for the kind ${target.kind.name}, only for ` +
      `${kinds.join(', ')}.`,
  )
}

/** Parts of an `apiVersion`; the core group is empty. */
export function groupAndVersion(apiVersion: string): {
  readonly group: string
  readonly version: string
} {
  const slash = apiVersion.indexOf('/')
  return { group: apiVersion.slice(0, Math.max(0, slash)), version: apiVersion.slice(slash + 1) }
}
