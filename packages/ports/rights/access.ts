/** Rights of users from the permission service; without that service everything is allowed. */
import { createCache, type ExpiringCache, loadOnce } from '@fairlead/base/caches/expiring-cache.ts'
import { usersOf } from '@fairlead/base/names/acting-users.ts'
import { callInTurns } from '@fairlead/base/stores/in-turns.ts'
import { allowedAccounts } from '@fairlead/model/rights/allowed-accounts.ts'
import type { PermissionView } from '@fairlead/model/rights/permissions.ts'
import {
  hasRole,
  isGranted,
  mayRunSomething,
  mayUseServiceAccount,
} from '@fairlead/model/rights/rights.ts'
import type { Access } from '../access.ts'
import type { BackendContext } from '../backend.ts'
import type { Ports } from '../ports.ts'

/** For how long an answer counts, unless permissions are known to have changed: as long as in the gateway. */
const cacheMs = 20_000
const maxCached = 1000

/** The keys name the user, and the number of changes of permissions when it was asked. */
const caches = new WeakMap<Ports, ExpiringCache<Promise<Access>>>()

/** What rights are asked with. */
type Asking = Pick<BackendContext, 'ports' | 'settings' | 'now' | 'permissionVersion'>

/** A user unknown to the permission service, or looked up while it is unavailable, may do nothing. */
export async function loadAccess(context: BackendContext, user: string): Promise<Access> {
  try {
    return await requireAccess(context, user)
  } catch (error) {
    context.log.warn({ err: error, user }, 'the permission service does not answer')
    return sameForAll(user, false)
  }
}

/**
 * As `loadAccess`, for callers who can try again later. A name of several users has the rights that all of them have.
 *
 * @throws {PortError} 503 while the permission service cannot be asked
 */
export async function requireAccess(context: Asking, user: string): Promise<Access> {
  if (context.settings.authorization !== true) return sameForAll(user, true)
  const [first = user, ...others] = usersOf(user)
  if (others.length > 0) return commonAccess(context, user, [first, ...others])
  const { permissionVersion, ports, now } = context
  // Without the number, outdated answers could not be detected.
  if (permissionVersion === undefined) return askFor(context, user)
  const cache = caches.getOrInsertComputed(ports, () =>
    createCache({ maxSize: maxCached, ttlMs: cacheMs, now }),
  )
  return loadOnce(cache, `${permissionVersion()} ${user}`, () => askFor(context, user))
}

/** Whether a user may create an application that does not exist. @throws {PortError} 503 */
export async function mayCreateApplication(
  context: Asking,
  access: Access,
  name: string,
): Promise<boolean> {
  if (context.settings.authorization !== true || access.isAdmin) return true
  if (access.each !== undefined) {
    for (const one of access.each)
      if (!(await mayCreateApplication(context, one, name))) return false
    return true
  }
  return context.ports.rights.mayCreateApplication(access.user, name)
}

/**
 * Users who may use the service account that comes first do not count: they could have let it start themselves what they steer.
 * Neither do administrators.
 */
async function commonAccess(
  context: Asking,
  user: string,
  users: readonly [string, ...string[]],
): Promise<Access> {
  const [first, ...others] = await callInTurns(users, (one) => requireAccess(context, one))
  const each = [first as Access, ...others.filter(({ mayUse }) => !mayUse(users[0]))]
  const accounts = (first as Access).accounts.filter((account) =>
    each.every((one) => one.accounts.includes(account)),
  )
  const all = (has: (one: Access) => boolean) => each.every(has)
  return {
    user,
    accounts,
    each,
    isAdmin: all(({ isAdmin }) => isAdmin),
    mayRunSomething: all((one) => one.mayRunSomething),
    hasRole: (roles) => all((one) => one.hasRole(roles)),
    mayOnApplication: (application, authorization) =>
      all((one) => one.mayOnApplication(application, authorization)),
    mayOnAccount: (account, authorization) =>
      all((one) => one.mayOnAccount(account, authorization)),
    mayOnBuildService: (name, authorization) =>
      all((one) => one.mayOnBuildService(name, authorization)),
    mayUse: (name) => all((one) => one.mayUse(name)),
  }
}

/** Rights to everything, or to nothing. */
function sameForAll(user: string, isAllowed: boolean): Access {
  const answer = () => isAllowed
  return {
    user,
    accounts: [],
    isAdmin: isAllowed,
    mayRunSomething: isAllowed,
    hasRole: answer,
    mayOnApplication: answer,
    mayOnAccount: answer,
    mayOnBuildService: answer,
    mayUse: answer,
  }
}

async function askFor({ ports }: Asking, user: string): Promise<Access> {
  const view = await ports.rights.viewOf(user)
  return view === undefined ? sameForAll(user, false) : toAccess(user, view)
}

function toAccess(user: string, view: PermissionView): Access {
  return {
    user,
    isAdmin: view.admin,
    mayRunSomething: mayRunSomething(view),
    accounts: allowedAccounts(view, [], []),
    hasRole: (roles) => view.admin || roles.some((role) => hasRole(view, role)),
    mayOnApplication: (application, authorization) =>
      isGranted(view, 'application', application, authorization),
    mayOnAccount: (account, authorization) => isGranted(view, 'account', account, authorization),
    mayOnBuildService: (name, authorization) =>
      isGranted(view, 'build-service', name, authorization),
    mayUse: (name) => mayUseServiceAccount(view, name),
  }
}
