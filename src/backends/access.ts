/** Rights of a user from the permission service; without that service everything is allowed. */
import { pathTo } from '../http/encode-path.ts'
import { fieldOf, isTrue, type JsonObject, objectsOf, textOf, textsOf } from '../json/values.ts'
import { isRunning } from '../time-span.ts'
import { type BackendContext, BackendError } from './backend.ts'
import { foldName } from './document-store.ts'

export type ApplicationRight = 'READ' | 'WRITE' | 'EXECUTE'

export interface Access {
  readonly user: string
  /** Accounts that the user may change, for the identity headers. */
  readonly accounts: string[]
  readonly isAdmin: boolean
  /** Whether the user has one of the roles, or is an administrator. */
  hasRole(roles: readonly string[]): boolean
  mayOnApplication(application: string, authorization: ApplicationRight): boolean
  /** An account that the permission service does not list may not be used. */
  mayOnAccount(account: string, authorization: 'READ' | 'WRITE'): boolean
  /** Whether the user may let something run as a service account. */
  mayUse(serviceAccount: string): boolean
}

/** For how long an answer counts, unless permissions are known to have changed: as long as in the gateway. */
const cacheMs = 20_000
const maxCached = 1000

interface CacheEntry {
  asked: Promise<Access>
  version: number
  untilMs: number
}

const caches = new WeakMap<BackendContext, Map<string, CacheEntry>>()

/** A user unknown to the permission service, or looked up while it is unavailable, may do nothing. */
export async function loadAccess(context: BackendContext, user: string): Promise<Access> {
  try {
    return await requireAccess(context, user)
  } catch (error) {
    context.log.warn({ err: error, user }, 'the permission service does not answer')
    return nothing(user)
  }
}

/**
 * As `loadAccess`, for callers who can try again later.
 *
 * @throws {BackendError} 503 while the permission service cannot be asked
 */
export async function requireAccess(context: BackendContext, user: string): Promise<Access> {
  if (context.settings.authorization !== true) return everything(user)
  const { permissionVersion } = context
  // Without the number, outdated answers could not be detected.
  if (permissionVersion === undefined) return askFor(context, user)
  const known = caches.get(context) ?? new Map<string, CacheEntry>()
  caches.set(context, known)
  const version = permissionVersion()
  const before = known.get(user)
  if (before !== undefined && before.version === version && isRunning(context.now(), before.untilMs, cacheMs)) return before.asked
  if (known.size >= maxCached) known.clear()
  const asked = askFor(context, user)
  known.set(user, { asked, version, untilMs: context.now() + cacheMs })
  asked.catch(() => known.delete(user))
  return asked
}

/** Whether a user may create an application that does not exist. @throws {BackendError} 503 */
export async function mayCreateApplication(context: BackendContext, access: Access, name: string): Promise<boolean> {
  if (context.settings.authorization !== true || access.isAdmin) return true
  const path = pathTo`/authorize/${access.user}/applications/create`
  const { status } = await ask(context, { method: 'POST', path, body: { name } })
  return status < 300
}

/** What is missing and how to grant it. */
export function describeMissing(access: Access, authorization: ApplicationRight, application: string): string {
  return (
    `This needs ${authorization} on the application ${application}; ${access.user} has not got it. ` +
    `An owner of ${application} can grant it.`
  )
}

/** @throws {BackendError} 403 */
export function checkOnApplication(access: Access, application: string, authorization: ApplicationRight): void {
  if (access.mayOnApplication(application, authorization)) return
  throw new BackendError(403, describeMissing(access, authorization, application), { exception: 'AccessDenied' })
}

function everything(user: string): Access {
  return {
    user,
    accounts: [],
    isAdmin: true,
    hasRole: () => true,
    mayOnApplication: () => true,
    mayOnAccount: () => true,
    mayUse: () => true,
  }
}

function nothing(user: string): Access {
  return {
    user,
    accounts: [],
    isAdmin: false,
    hasRole: () => false,
    mayOnApplication: () => false,
    mayOnAccount: () => false,
    mayUse: () => false,
  }
}

async function askFor(context: BackendContext, user: string): Promise<Access> {
  const { status, body } = await ask(context, { method: 'GET', path: pathTo`/authorize/${user}` })
  if (status === 200) return toAccess(user, body)
  if (status === 404) return nothing(user)
  throw unavailable(`it answered ${status}`)
}

/** @throws {BackendError} 503 when it cannot be reached, or has trouble of its own */
async function ask(context: BackendContext, call: { method: string; path: string; body?: unknown }) {
  const answer = await context.call('fiat', call).catch((error: unknown) => {
    throw unavailable((error as Error).message)
  })
  if (answer.status >= 500) throw unavailable(`it answered ${answer.status}`)
  return answer
}

function unavailable(reason: string): BackendError {
  return new BackendError(503, `The permission service cannot be asked: ${reason}. Nothing is allowed meanwhile; try again.`)
}

/** @see docs/contracts/permissions.md#decision */
function toAccess(user: string, view: unknown): Access {
  const isAdmin = isTrue(fieldOf(view, 'admin'))
  const isOpen = isAdmin || isTrue(fieldOf(view, 'legacyFallback'))
  const accounts = objectsOf(fieldOf(view, 'accounts'))
  const byAccount = byFoldedName(accounts)
  const byApplication = byFoldedName(objectsOf(fieldOf(view, 'applications')))
  const serviceAccounts = byFoldedName(objectsOf(fieldOf(view, 'serviceAccounts')))
  const has = (listed: readonly JsonObject[], authorization: string) =>
    listed.some((one) => textsOf(one['authorizations']).includes(authorization))
  return {
    user,
    isAdmin,
    accounts: accounts
      .filter((account) => textsOf(account['authorizations']).includes('WRITE'))
      .flatMap((account) => textOf(account['name']) ?? []),
    hasRole(roles) {
      const own = objectsOf(fieldOf(view, 'roles')).map(({ name }) => String(name).toLowerCase())
      return isAdmin || roles.some((role) => own.includes(role.toLowerCase()))
    },
    mayOnApplication(application, authorization) {
      if (isOpen) return true
      const listed = byApplication.get(foldName(application))
      if (listed === undefined) return isTrue(fieldOf(view, 'allowAccessToUnknownApplications'))
      return has(listed, authorization)
    },
    mayOnAccount: (account, authorization) => isOpen || has(byAccount.get(foldName(account)) ?? [], authorization),
    mayUse: (name) => isAdmin || serviceAccounts.has(foldName(name)),
  }
}

/** The same name may be listed several times. */
function byFoldedName(listed: readonly JsonObject[]): ReadonlyMap<string, readonly JsonObject[]> {
  return Map.groupBy(listed, ({ name }) => foldName(String(name)))
}
