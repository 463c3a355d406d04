/** Parses the permissions of a user. */
import { hash } from 'node:crypto'
import { z } from 'zod'
import type { Authorization, PermissionView } from './permissions.ts'

const flag = z
  .boolean()
  .nullish()
  .transform((value) => value === true)
const words = z
  .array(z.string())
  .nullish()
  .transform((listed) => listed ?? [])
const name = z.string()

const Resource = z.object({
  name,
  authorizations: words.transform((listed) =>
    listed.map((word) => word.toUpperCase() as Authorization),
  ),
})

/** Words and fields that this version does not know are tolerated; entries without a name are left out. */
const View = z.object({
  name: name.nullish(),
  admin: flag,
  accountManager: flag,
  accounts: entries(Resource),
  applications: entries(Resource),
  buildServices: entries(Resource),
  serviceAccounts: entries(z.object({ name, memberOf: words })),
  roles: entries(
    z.object({
      name,
      source: z
        .string()
        .nullish()
        .transform((source) => source ?? undefined),
    }),
  ),
  legacyFallback: flag,
  allowAccessToUnknownApplications: flag,
  readsOnly: flag,
})

function entries<T extends z.ZodType>(entry: T) {
  return z
    .array(z.unknown())
    .nullish()
    .transform((listed) =>
      (listed ?? []).flatMap<z.output<T>>((one) => entry.safeParse(one).data ?? []),
    )
}

/** @throws {z.ZodError} when the body is not a permission view at all */
export function parsePermissionView(body: unknown, username: string): PermissionView {
  const view = View.parse(body)
  return { ...view, name: view.name ?? username }
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

const rights = new WeakMap<PermissionView, string>()

/** The same for users with the same rights, whatever their names: letters, digits, `-` and `_`. */
export function rightsOf(view: PermissionView): string {
  return rights.getOrInsertComputed(view, () =>
    hash('sha1', JSON.stringify({ ...view, name: '' }), 'base64url'),
  )
}
