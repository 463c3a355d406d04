/** View of one user: every resource with the user's authorizations. @see docs/contracts/permissions.md#model */
import { reachOf } from '@fairlead/model/rights/built-in-roles.ts'
import type {
  Authorization,
  PermissionView,
  ResourceView,
} from '@fairlead/model/rights/permissions.ts'
import { hasRole, isGranted, mayUseServiceAccount } from '@fairlead/model/rights/rights.ts'
import { authorizations, grantedBy } from './authorizations.ts'
import type { Resource, Resources, ServiceAccount } from './resources.ts'
import type { HeldRole } from './roles.ts'

export interface View extends PermissionView {
  readonly buildServices: readonly ResourceView[]
  readonly serviceAccounts: readonly ServiceAccount[]
  readonly extensionResources: Record<string, never>
}

export interface ViewRules {
  adminRoles: readonly string[]
  accountManagerRoles: readonly string[]
  anyRoleOfServiceAccount: boolean
  /** Whether built-in roles decide about what names no roles. */
  areBuiltIn: boolean
}

const resourceTypes = [
  'accounts',
  'applications',
  'buildServices',
  'serviceAccounts',
  'roles',
] as const
export type ResourceType = (typeof resourceTypes)[number]

export function toPermissionView(
  name: string,
  roles: readonly HeldRole[],
  resources: Resources,
  rules: ViewRules,
): View {
  const held = roles.map((role) => role.name)
  const admin = held.some((role) => rules.adminRoles.includes(role))
  const reach = reachOf(held, { ...rules, admin })
  const grantedWith = (
    open: readonly Authorization[],
    { name, permissions }: Resource,
  ): ResourceView => {
    const isOpen = Object.keys(permissions).length === 0
    return {
      name,
      authorizations: admin ? [...authorizations] : isOpen ? open : grantedBy(permissions, held),
    }
  }
  const readable = ({ authorizations }: ResourceView) => authorizations.length > 0
  return {
    name,
    accounts: resources.accounts
      .map((account) => grantedWith(account.isOwn ? reach.ownAccounts : reach.accounts, account))
      .filter(readable),
    // Applications without any right stay listed: one that is not listed at all counts as unknown, and may be open.
    applications: resources.applications.map((application) =>
      grantedWith(reach.applications, application),
    ),
    serviceAccounts: resources.serviceAccounts.filter(
      (account) => admin || mayUse(account, held, rules),
    ),
    roles: [...roles],
    buildServices: resources.buildServices
      .map((service) => grantedWith(reach.accounts, service))
      .filter(readable),
    extensionResources: {},
    admin,
    accountManager: held.some((role) => rules.accountManagerRoles.includes(role)),
    legacyFallback: false,
    allowAccessToUnknownApplications: resources.unknownApplications,
    ...(!reach.applications.includes('WRITE') && { readsOnly: true }),
  }
}

/** An account without roles is usable by administrators only. */
function mayUse(
  { memberOf }: ServiceAccount,
  roles: readonly string[],
  { anyRoleOfServiceAccount }: ViewRules,
): boolean {
  const isHeld = (role: string) => roles.includes(role)
  return anyRoleOfServiceAccount
    ? memberOf.some(isHeld)
    : memberOf.length > 0 && memberOf.every(isHeld)
}

/** The decision for services that ask for one instead of a view. */
export function isAllowed(
  view: View,
  type: ResourceType,
  name: string,
  authorization: string,
): boolean {
  if (type === 'serviceAccounts') return mayUseServiceAccount(view, name)
  if (type === 'roles') return hasRole(view, name)
  return isGranted(view, kinds[type], name, authorization.toUpperCase() as Authorization)
}

const kinds = {
  accounts: 'account',
  applications: 'application',
  buildServices: 'build-service',
} as const

/** Types are written in any case, singular or plural, with or without underscore: `APPLICATION`, `service_accounts`. */
export function parseResourceType(text: string): ResourceType | undefined {
  const wanted = text.toLowerCase().replaceAll('_', '')
  return resourceTypes.find((type) =>
    [type.toLowerCase(), type.toLowerCase().slice(0, -1)].includes(wanted),
  )
}
