/** Accounts of the operator at services outside: which roles may use them. */

import { z } from 'zod'
import { optionalTexts } from '../settings/setting.ts'

/** Roles that may use an account; any role in them restricts it. */
export const usePermissions = z
  .strictObject({
    READ: optionalTexts.describe('Roles that may use the account.'),
    WRITE: optionalTexts.describe('As at accounts of providers; use needs READ.'),
    EXECUTE: optionalTexts.describe('Restricts the account; use needs READ.'),
    CREATE: optionalTexts.describe('As `EXECUTE`.'),
  })
  .optional()
  .describe(
    'Roles that may use the account. Default: all users who may run a pipeline of some application.',
  )

/** Keys of each account. */
export const useKeys = {
  permissions: usePermissions,
  requiredGroupMembership: optionalTexts.describe(
    'Older form of `permissions`: roles that may use the account.',
  ),
}

export interface OutsideAccount {
  readonly name: string
  readonly permissions?: z.infer<typeof usePermissions>
  readonly requiredGroupMembership?: readonly string[]
}

/** Roles that may use the account; undefined: it names none. */
export function rolesOf({
  permissions,
  requiredGroupMembership = [],
}: OutsideAccount): readonly string[] | undefined {
  if (Object.values(permissions ?? {}).some((roles) => roles.length > 0))
    return permissions?.READ ?? []
  return requiredGroupMembership.length > 0 ? requiredGroupMembership : undefined
}

/** A sentence about accounts that name no roles; undefined: there are none. */
export function describeOpenAccounts(accounts: readonly OutsideAccount[]): string | undefined {
  const open = accounts.filter((account) => rolesOf(account) === undefined).map(({ name }) => name)
  if (open.length === 0) return undefined
  return `all users who may run a pipeline of some application can use ${open.join(', ')}, while applications have roles`
}
