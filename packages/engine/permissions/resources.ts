/** Resources with permissions: applications, accounts, build services and service accounts. */
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { flatMapInTurns } from '@fairlead/base/stores/in-turns.ts'
import { ownAccounts, readers } from '@fairlead/model/rights/built-in-roles.ts'
import type { PermissionRecord } from '@fairlead/model/rights/permissions.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { itself } from '@fairlead/ports/caller.ts'
import type { StoredDefinitions } from '@fairlead/ports/definitions.ts'

import type { Ports } from '@fairlead/ports/ports.ts'
import { permissionsByRule } from './application-rules.ts'
import { addPermissions, type RolesByAuthorization, toPermissions } from './authorizations.ts'
import { toRoleNames } from './roles.ts'
import { areRolesBuiltIn, type PermissionServiceSettings } from './settings.ts'

export interface Resource {
  name: string
  permissions: RolesByAuthorization
  /** What runs there runs as Fairlead's own user. */
  isOwn?: boolean
}

export interface ServiceAccount {
  name: string
  memberOf: string[]
}

export interface Resources {
  applications: Resource[]
  accounts: Resource[]
  buildServices: Resource[]
  serviceAccounts: ServiceAccount[]
  /** Whether all users may do everything with an application that is not among them. */
  unknownApplications: boolean
}

/**
 * Reads everything that a view is made of.
 *
 * @throws {PortError} 503 when the definition store cannot be asked: a view without its restrictions would open
 * every application.
 */
export async function loadResources(
  context: BackendContext,
  settings: PermissionServiceSettings,
): Promise<Resources> {
  const [applications, serviceAccounts, accounts, buildServices] = await Promise.all([
    loadApplications(context, settings),
    loadListedServiceAccounts(context),
    loadOptional(context, ({ infrastructure }) => infrastructure.accounts(itself)),
    loadOptional(context, ({ builds }) => builds.services(itself)),
  ])
  const own = ownAccounts(context.settings.infrastructure)
  return {
    ...applications,
    accounts: (accounts ?? [])
      .flatMap(toResource)
      .map((account) => ({ ...account, isOwn: own.some(({ name }) => name === account.name) })),
    buildServices: (buildServices ?? []).flatMap(toResource),
    serviceAccounts,
  }
}

/** @throws {PortError} 503 when the definition store cannot be asked. */
export async function loadListedServiceAccounts(
  context: BackendContext,
): Promise<ServiceAccount[]> {
  return (
    await loadNeeded(context, 'serviceAccounts', (stored) => stored.serviceAccounts(itself))
  ).flatMap(({ name, memberOf }) =>
    name === '' ? [] : [{ name, memberOf: toRoleNames(memberOf) }],
  )
}

/**
 * An unknown application is open to all users or closed to all, and no rule applies to it. Where that matters, those that are
 * defined without permissions and those that only run somewhere are loaded, too. A deleted application
 * keeps its last permissions, because what ran in it is kept.
 */
async function loadApplications(
  context: BackendContext,
  settings: PermissionServiceSettings,
): Promise<Pick<Resources, 'applications' | 'unknownApplications'>> {
  const allowsUnknown = settings.allowAccessToUnknownApplications
  const areBuiltIn = areRolesBuiltIn(settings, context.isNewData)
  const matters = !allowsUnknown || areBuiltIn || settings.applicationRules.rules.length > 0
  const [removed, restricted, defined, running] = await Promise.all([
    loadNeeded(context, 'removedPermissions', (stored) => stored.removedPermissions(itself)),
    loadNeeded(context, 'permissions', (stored) => stored.permissions(itself)),
    matters ? loadNeeded(context, 'applications', (stored) => stored.applications(itself)) : [],
    matters
      ? loadOptional(context, ({ infrastructure }) => infrastructure.applicationNames(itself))
      : [],
  ])
  const byName = new Map<string, Resource>()
  for (const { name, permissions } of await flatMapInTurns(
    [...removed, ...restricted],
    toResource,
  )) {
    byName.set(foldName(name), { name, permissions: settings.applicationsOwn ? permissions : {} })
  }
  const others = [...defined.map(({ name }) => name), ...(running ?? [])]
  for (const name of await flatMapInTurns(others, (other) => [other])) {
    if (name !== '' && !byName.has(foldName(name)))
      byName.set(foldName(name), { name, permissions: {} })
  }
  return {
    applications: await flatMapInTurns([...byName.values()], (application) => {
      const { name, permissions } = withRules(application, settings)
      const { EXECUTE, ...named } = permissions
      if (!areBuiltIn || application.permissions.EXECUTE !== undefined || EXECUTE === undefined)
        return [{ name, permissions }]
      // To look on is no right to run.
      return [
        { name, permissions: { ...named, EXECUTE: EXECUTE.filter((role) => role !== readers) } },
      ]
    }),
    // One that runs may be the subject of a rule; while it is unknown which ones run, no unknown application is open.
    unknownApplications: allowsUnknown && running !== undefined,
  }
}

/** What the rules say comes on top; a restricted application that does not say who may execute has that filled in. */
function withRules(
  { name, permissions }: Resource,
  { applicationRules, executeFallback }: PermissionServiceSettings,
): Resource {
  const sum = addPermissions([permissions, permissionsByRule(applicationRules, name)])
  const fallback = sum[executeFallback]
  return {
    name,
    permissions:
      sum.EXECUTE === undefined && fallback !== undefined ? { ...sum, EXECUTE: fallback } : sum,
  }
}

/** @throws {PortError} 503 */
async function loadNeeded<T>(
  { ports, log }: BackendContext,
  what: string,
  read: (definitions: StoredDefinitions) => Promise<T[]>,
): Promise<T[]> {
  try {
    return await read(ports.definitions)
  } catch (error) {
    log.warn(
      { err: error, what },
      'the definition store does not answer a question about permissions',
    )
    throw new PortError(503, `Permissions are not known: ${(error as Error).message}`)
  }
}

/** What is not listed is not allowed, so a service that does not answer (undefined) costs rights and never gives any. */
async function loadOptional<T>(
  { ports, log }: BackendContext,
  read: (ports: Ports) => Promise<T[]>,
): Promise<T[] | undefined> {
  return read(ports).catch((error: unknown) => {
    log.warn({ err: error }, 'a service does not answer a question about permissions')
    return undefined
  })
}

function toResource({
  name,
  permissions,
  requiredGroupMembership: legacy,
}: PermissionRecord): Resource[] {
  return name === ''
    ? []
    : [{ name, permissions: toPermissions(permissions ?? { READ: legacy, WRITE: legacy }) }]
}
