/** Rights of a user: the rule behind the checks of the gateway, of the embedded services, and of the embedded permission service. */
import { foldName } from '@fairlead/base/names/fold-name.ts'
import type { Authorization, PermissionView, ResourceView } from './permissions.ts'

type ResourceKind = 'application' | 'account' | 'build-service'

/** @see docs/contracts/permissions.md#decision, steps 3 to 6 */
export function isGranted(
  view: PermissionView,
  kind: ResourceKind,
  name: string,
  authorization: Authorization,
): boolean {
  if (view.admin || (view.legacyFallback === true && kind !== 'account')) return true
  const granted = authorizationsOn(view, kind, name)
  if (granted !== undefined) return granted.has(authorization)
  if (kind !== 'application' || view.allowAccessToUnknownApplications !== true) return false
  return view.readsOnly !== true || authorization === 'READ'
}

/** Whether there may be an application whose pipelines the user runs or changes. */
export function mayRunSomething(view: PermissionView): boolean {
  const { admin, legacyFallback, allowAccessToUnknownApplications, readsOnly, applications } = view
  if (
    admin ||
    legacyFallback === true ||
    (allowAccessToUnknownApplications === true && readsOnly !== true)
  )
    return true
  return applications.some(
    ({ authorizations }) => authorizations.includes('EXECUTE') || authorizations.includes('WRITE'),
  )
}

/** Whether the view says anything about the resource; an application that it does not list is unknown. */
export function isListed(view: PermissionView, kind: ResourceKind, name: string): boolean {
  return authorizationsOn(view, kind, name) !== undefined
}

/** Whether the user may let something run as the service account. */
export function mayUseServiceAccount(view: PermissionView, name: string): boolean {
  return view.admin || isNamed(view.serviceAccounts, name)
}

export function hasRole(view: PermissionView, role: string): boolean {
  return view.admin || isNamed(view.roles, role)
}

function isNamed(named: readonly { readonly name: string }[], wanted: string): boolean {
  const folded = foldName(wanted)
  return named.some(({ name }) => foldName(name) === folded)
}

/** By folded name: lists are filtered entry by entry, and both sides may have thousands. */
type Index = ReadonlyMap<string, ReadonlySet<Authorization>>

const indexes = {
  application: new WeakMap<PermissionView, Index>(),
  account: new WeakMap<PermissionView, Index>(),
  'build-service': new WeakMap<PermissionView, Index>(),
}

function authorizationsOn(
  view: PermissionView,
  kind: ResourceKind,
  name: string,
): ReadonlySet<Authorization> | undefined {
  return indexes[kind]
    .getOrInsertComputed(view, () => toIndex(resourcesOf(view, kind)))
    .get(foldName(name))
}

function resourcesOf(view: PermissionView, kind: ResourceKind): readonly ResourceView[] {
  if (kind === 'application') return view.applications
  return kind === 'account' ? view.accounts : (view.buildServices ?? [])
}

/** Any entry may grant, where a resource is listed twice. */
function toIndex(listed: readonly ResourceView[]): Index {
  const index = new Map<string, Set<Authorization>>()
  for (const { name, authorizations } of listed) {
    const granted = index.getOrInsertComputed(foldName(name), () => new Set())
    for (const authorization of authorizations) granted.add(authorization)
  }
  return index
}
