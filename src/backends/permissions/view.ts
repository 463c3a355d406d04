/** The view of one user: every resource with what the user may do there. Authentication contract, sections 4.1, 4.2 and 4.6. */
import { type Authorization, authorizations, type Resource, type Resources, type ServiceAccount } from './resources.ts'
import { toKey } from './user-roles.ts'

export interface View {
  name: string
  accounts: Granted[]
  applications: Granted[]
  serviceAccounts: ServiceAccount[]
  roles: { name: string; source: 'EXTERNAL' }[]
  buildServices: Granted[]
  extensionResources: Record<string, never>
  admin: boolean
  accountManager: boolean
  legacyFallback: boolean
  allowAccessToUnknownApplications: boolean
}

export interface Granted {
  name: string
  authorizations: Authorization[]
}

const resourceTypes = ['accounts', 'applications', 'buildServices', 'serviceAccounts', 'roles'] as const
export type ResourceType = (typeof resourceTypes)[number]

export function toView(name: string, roles: readonly string[], resources: Resources, adminRoles: readonly string[]): View {
  const admin = roles.some((role) => adminRoles.includes(role))
  const granted = (resource: Resource): Granted => ({ name: resource.name, authorizations: grantedTo(resource, roles, admin) })
  const readable = ({ authorizations }: Granted) => authorizations.length > 0
  return {
    name,
    accounts: resources.accounts.map(granted).filter(readable),
    // Applications without any right stay listed: one that is not listed at all counts as unknown, and that is allowed.
    applications: resources.applications.map(granted),
    serviceAccounts: resources.serviceAccounts.filter((account) => admin || mayUse(account, roles)),
    roles: roles.map((role) => ({ name: role, source: 'EXTERNAL' })),
    buildServices: resources.buildServices.map(granted).filter(readable),
    extensionResources: {},
    admin,
    accountManager: false,
    legacyFallback: false,
    allowAccessToUnknownApplications: true,
  }
}

/** Without any role list everybody may do everything; with one, each authorization needs a role of its own list. */
function grantedTo(resource: Resource, roles: readonly string[], admin: boolean): Authorization[] {
  const unrestricted = Object.keys(resource.permissions).length === 0
  if (admin || unrestricted) return [...authorizations]
  return authorizations.filter((authorization) => resource.permissions[authorization]?.some((role) => roles.includes(role)))
}

/** All its roles are needed; an account without roles is usable by administrators only. */
function mayUse(account: ServiceAccount, roles: readonly string[]): boolean {
  return account.memberOf.length > 0 && account.memberOf.every((role) => roles.includes(role))
}

/** The decision of the contract's section 4.2, for services that ask for one instead of a view. */
export function isAllowed(view: View, type: ResourceType, name: string, authorization: string): boolean {
  if (view.admin) return true
  const wanted = toKey(name)
  if (type === 'serviceAccounts' || type === 'roles') return view[type].some((item) => toKey(item.name) === wanted)
  const listed = view[type].find((item) => toKey(item.name) === wanted)
  if (listed === undefined) return type === 'applications' && view.allowAccessToUnknownApplications
  return listed.authorizations.some((granted) => granted === authorization.toUpperCase())
}

/** Types are written in any case, singular or plural, with or without underscore: `APPLICATION`, `service_accounts`. */
export function parseResourceType(text: string): ResourceType | undefined {
  const wanted = text.toLowerCase().replaceAll('_', '')
  return resourceTypes.find((type) => [type.toLowerCase(), type.toLowerCase().slice(0, -1)].includes(wanted))
}
