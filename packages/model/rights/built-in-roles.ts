/** Roles of a standalone instance: what a user may do where neither an application nor an account names roles. */
import { list, shape } from '@fairlead/base/json/shape.ts'
import { objectOf, textOf } from '@fairlead/base/json/values.ts'
import { ownUser } from '@fairlead/base/runtime/own-user.ts'
import { standalone } from '@fairlead/base/settings/standalone.ts'
import type { Authorization, PermissionView } from './permissions.ts'

export const deployers = 'deployers'
export const readers = 'readers'
const builtIn: ReadonlySet<string> = new Set([deployers, readers])

const everything = [
  'READ',
  'WRITE',
  'EXECUTE',
  'CREATE',
] as const satisfies readonly Authorization[]

interface Reach {
  readonly applications: readonly Authorization[]
  readonly accounts: readonly Authorization[]
  /** Where programs, commands and builds run as Fairlead's own user. */
  readonly ownAccounts: readonly Authorization[]
}

const open: Reach = { applications: everything, accounts: everything, ownAccounts: everything }

/**
 * A role of the operator's own opens accounts, and only the applications that name it.
 *
 * @param roles In lower case
 */
export function reachOf(
  roles: readonly string[],
  { areBuiltIn, admin }: { areBuiltIn: boolean; admin: boolean },
): Reach {
  if (!areBuiltIn || admin) return open
  const deploys = roles.includes(deployers)
  const hasOwnRole = roles.some((role) => !builtIn.has(role))
  return {
    applications: deploys ? everything : ['READ'],
    accounts: deploys || hasOwnRole ? everything : ['READ'],
    ownAccounts: hasOwnRole ? everything : ['READ'],
  }
}

interface RoleSettings {
  readonly keepsUsers: boolean
  readonly builtInRoles?: boolean
}

/** Whether a run that no user starts acts for the user who has saved its pipeline, also beside rules of the operator. */
export function actsForSaver(
  { keepsUsers, builtInRoles }: RoleSettings,
  isNewData: boolean,
): boolean {
  return keepsUsers && (builtInRoles ?? isNewData)
}

/** Whether the user has no role but this one, where built-in roles decide. */
export function isReader({
  readsOnly,
  roles,
}: Pick<PermissionView, 'readsOnly' | 'roles'>): boolean {
  return readsOnly === true && roles.every(({ name }) => name === readers)
}

interface OwnAccount {
  readonly name: string
  /** It names no roles. */
  readonly isOpen: boolean
}

const toOwn = shape({
  accounts: list(shape({ name: String, user: textOf, permissions: objectOf })),
})

/** Accounts of this machine whose programs run as the user of this process. */
export function ownAccounts(
  infrastructure: { readonly providers: Readonly<Record<string, unknown>> } | undefined,
): OwnAccount[] {
  return toOwn(infrastructure?.providers[standalone.provider])
    .accounts.filter(({ user }) => user === undefined || user === ownUser()?.username)
    .map(({ name, permissions }) => ({ name, isOpen: Object.keys(permissions).length === 0 }))
}

/** Why only administrators change an account of this machine that has no user of its own. */
export const ownAccountAdvice =
  'its programs run as the own user of Fairlead, which is for administrators unless the operator sets `user` of the account in ' +
  `\`${standalone.provider}.accounts\`, or names roles in its \`permissions\``

export const deployersCommand = `\`fairlead user roles NAME --role ${deployers}\``
