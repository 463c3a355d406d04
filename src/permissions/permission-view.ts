/** Parses the permissions of a user. */
import { hash } from 'node:crypto'
import { z } from 'zod'
import type { Authorization, PermissionView, ResourceView } from './permissions.ts'

/** Words and fields that this version does not know are tolerated; entries without a name are left out. */
const Resource = z.looseObject({ name: z.string(), authorizations: z.array(z.string()).nullish() })
const Named = z.looseObject({ name: z.string() })

const View = z.looseObject({
  name: z.string().nullish(),
  admin: z.boolean().nullish(),
  accountManager: z.boolean().nullish(),
  accounts: listOf(Resource),
  applications: listOf(Resource),
  buildServices: listOf(Resource),
  serviceAccounts: listOf(Named.extend({ memberOf: z.array(z.string()).nullish() })),
  roles: listOf(Named.extend({ source: z.string().nullish() })),
  legacyFallback: z.boolean().nullish(),
  allowAccessToUnknownApplications: z.boolean().nullish(),
})

function listOf<T extends z.ZodType>(entry: T): z.ZodType<z.infer<T>[]> {
  return z
    .array(z.unknown())
    .nullish()
    .transform((entries) => (entries ?? []).flatMap((one) => entry.safeParse(one).data ?? []) as z.infer<T>[])
}

/** @throws {z.ZodError} when the body is not a permission view at all */
export function parsePermissionView(body: unknown, username: string): PermissionView {
  const view = View.parse(body)
  return {
    name: view.name ?? username,
    admin: view.admin === true,
    accountManager: view.accountManager === true,
    accounts: view.accounts.map(toResource),
    applications: view.applications.map(toResource),
    buildServices: view.buildServices.map(toResource),
    serviceAccounts: view.serviceAccounts.map(({ name, memberOf }) => ({ name, memberOf: memberOf ?? [] })),
    roles: view.roles.map(({ name, source }) => ({ name, source: source ?? undefined })),
    legacyFallback: view.legacyFallback === true,
    allowAccessToUnknownApplications: view.allowAccessToUnknownApplications === true,
  }
}

function toResource({ name, authorizations }: z.infer<typeof Resource>): ResourceView {
  return { name, authorizations: (authorizations ?? []).map((word) => word.toUpperCase() as Authorization) }
}

/**
 * What is assumed about a user while the service is silent and `legacyFallback` is set.
 * @see docs/contracts/permissions.md#failure-of-the-permission-service
 */
export function fallbackView(username: string, accounts: readonly string[]): PermissionView {
  return {
    name: username,
    admin: false,
    accounts: accounts.map((name) => ({ name, authorizations: [] })),
    applications: [],
    serviceAccounts: [],
    roles: [],
    legacyFallback: true,
    allowAccessToUnknownApplications: true,
  }
}

const digests = new WeakMap<PermissionView, string>()

/** Differs for views that differ in anything: letters, digits, `-` and `_`. */
export function digestOf(view: PermissionView): string {
  return digests.getOrInsertComputed(view, () => hash('sha1', JSON.stringify(view), 'base64url'))
}

const rights = new WeakMap<PermissionView, string>()

/** The same for users with the same rights, whatever their names. */
export function rightsOf(view: PermissionView): string {
  return rights.getOrInsertComputed(view, () => hash('sha1', JSON.stringify({ ...view, name: '' }), 'base64url'))
}
