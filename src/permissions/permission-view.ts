/** Parses the permissions of a user, and answers questions about them without a call. */
import { hash } from 'node:crypto'
import { z } from 'zod'
import { foldName } from '../fold-name.ts'
import { RecentTexts } from '../recent-texts.ts'
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

/** @see docs/contracts/permissions.md#decision, steps 3 and 5 */
export function grantsOnApplication(view: PermissionView, application: string, authorization: Authorization): boolean {
  if (view.admin || view.legacyFallback === true) return true
  const granted = authorizationsOn(view, application)
  if (granted === undefined) return view.allowAccessToUnknownApplications === true
  return granted.has(authorization)
}

/** Whether the view says anything about the application; one that it does not list is unknown. */
export function isListed(view: PermissionView, application: string): boolean {
  return authorizationsOn(view, application) !== undefined
}

/** @see docs/contracts/permissions.md#decision, steps 3 and 4 */
export function grantsOnAccount(view: PermissionView, account: string, authorization: Authorization): boolean {
  if (view.admin) return true
  const name = foldName(account)
  return view.accounts.some((entry) => foldName(entry.name) === name && entry.authorizations.includes(authorization))
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

/** A list of applications is filtered entry by entry, and both sides may have thousands. */
interface ApplicationIndex {
  readonly byFoldedName: ReadonlyMap<string, ReadonlySet<string>>
  /** The names that were asked for last, as they were written: folding takes three copies of each. */
  readonly byWrittenName: RecentTexts<ReadonlySet<string>>
}

const writtenNames = 256
const indexes = new WeakMap<PermissionView, ApplicationIndex>()

/** Undefined for an application that the view does not list. */
function authorizationsOn(view: PermissionView, application: string): ReadonlySet<string> | undefined {
  const { byFoldedName, byWrittenName } = indexOf(view)
  const known = byWrittenName.get(application)
  if (known !== undefined) return known
  const found = byFoldedName.get(foldName(application))
  if (found !== undefined) byWrittenName.set(application, found)
  return found
}

function indexOf(view: PermissionView): ApplicationIndex {
  let index = indexes.get(view)
  if (index === undefined) {
    index = {
      byFoldedName: new Map(
        view.applications.map(({ name, authorizations }) => [foldName(name), new Set<string>(authorizations)]),
      ),
      byWrittenName: new RecentTexts(writtenNames),
    }
    indexes.set(view, index)
  }
  return index
}
