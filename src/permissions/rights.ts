/** What a user may do: the rule behind the checks of the gateway, of the embedded services, and of the embedded permission service. */
import { foldName } from '../fold-name.ts'
import { RecentTexts } from '../recent-texts.ts'
import type { Authorization, PermissionView, ResourceView } from './permissions.ts'

export type ResourceKind = 'application' | 'account' | 'build-service'

/** @see docs/contracts/permissions.md#decision, steps 3 to 6 */
export function isGranted(view: PermissionView, kind: ResourceKind, name: string, authorization: Authorization): boolean {
  if (view.admin || (view.legacyFallback === true && kind !== 'account')) return true
  const granted = authorizationsOn(view, kind, name)
  if (granted !== undefined) return granted.has(authorization)
  return kind === 'application' && view.allowAccessToUnknownApplications === true
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

/** Lists are filtered entry by entry, and both sides may have thousands. */
interface Index {
  readonly byFoldedName: ReadonlyMap<string, ReadonlySet<Authorization>>
  /** The names that were asked for last, as they were written: folding takes three copies of each. */
  readonly byWrittenName: RecentTexts<ReadonlySet<Authorization>>
}

const writtenNames = 256
const indexes = {
  application: new WeakMap<PermissionView, Index>(),
  account: new WeakMap<PermissionView, Index>(),
  'build-service': new WeakMap<PermissionView, Index>(),
}

function authorizationsOn(view: PermissionView, kind: ResourceKind, name: string): ReadonlySet<Authorization> | undefined {
  const { byFoldedName, byWrittenName } = indexes[kind].getOrInsertComputed(view, () => toIndex(listOf(view, kind)))
  const known = byWrittenName.get(name)
  if (known !== undefined) return known
  const found = byFoldedName.get(foldName(name))
  if (found !== undefined) byWrittenName.set(name, found)
  return found
}

function listOf(view: PermissionView, kind: ResourceKind): readonly ResourceView[] {
  if (kind === 'application') return view.applications
  return kind === 'account' ? view.accounts : (view.buildServices ?? [])
}

/** Of a resource that is listed twice, any entry may grant. */
function toIndex(listed: readonly ResourceView[]): Index {
  const byFoldedName = new Map<string, Set<Authorization>>()
  for (const { name, authorizations } of listed) {
    const granted = byFoldedName.getOrInsertComputed(foldName(name), () => new Set())
    for (const authorization of authorizations) granted.add(authorization)
  }
  return { byFoldedName, byWrittenName: new RecentTexts(writtenNames) }
}
