/** Resources with permissions: applications, accounts, build services and service accounts. */
import { shape } from '@fairlead/base/json/shape.ts'
import { isObject, type JsonObject, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { flatMapInTurns } from '@fairlead/base/stores/in-turns.ts'
import { ownAccounts, readers } from '@fairlead/model/rights/built-in-roles.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { itself } from '@fairlead/ports/caller.ts'
import type { Ports } from '@fairlead/ports/ports.ts'
import { permissionsByRule } from './application-rules.ts'
import { addPermissions, type RolesByAuthorization, toPermissions } from './authorizations.ts'
import { toRoleNames } from './roles.ts'
import { areRolesBuiltIn, type PermissionServiceSettings } from './settings.ts'

const permissionsOf = (value: unknown) => (isObject(value) ? value : undefined)
const toServiceAccount = shape({ name: textOf, memberOf: textsOf })
const toDeclared = shape({
  name: textOf,
  permissions: permissionsOf,
  requiredGroupMembership: textsOf,
})

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
  return (await loadNeeded(context, 'serviceAccounts')).flatMap((account) => {
    const { name, memberOf } = toServiceAccount(account)
    return name === undefined ? [] : [{ name, memberOf: toRoleNames(memberOf) }]
  })
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
    loadNeeded(context, 'removedPermissions'),
    loadNeeded(context, 'permissions'),
    matters ? loadNeeded(context, 'applications') : [],
    matters
      ? loadOptional(context, ({ infrastructure }) => infrastructure.applications(itself))
      : [],
  ])
  const byName = new Map<string, Resource>()
  for (const { name, permissions } of await flatMapInTurns(
    [...removed, ...restricted],
    toResource,
  )) {
    byName.set(foldName(name), { name, permissions: settings.applicationsOwn ? permissions : {} })
  }
  for (const { name } of await flatMapInTurns([...defined, ...(running ?? [])], toResource)) {
    if (!byName.has(foldName(name))) byName.set(foldName(name), { name, permissions: {} })
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
async function loadNeeded(
  { ports, log }: BackendContext,
  what: 'applications' | 'permissions' | 'removedPermissions' | 'serviceAccounts',
): Promise<JsonObject[]> {
  try {
    return await ports.definitions[what](itself)
  } catch (error) {
    log.warn(
      { err: error, what },
      'the definition store does not answer a question about permissions',
    )
    throw new PortError(503, `Permissions are not known: ${(error as Error).message}`)
  }
}

/** What is not listed is not allowed, so a service that does not answer (undefined) costs rights and never gives any. */
async function loadOptional(
  { ports, log }: BackendContext,
  read: (ports: Ports) => Promise<JsonObject[]>,
): Promise<JsonObject[] | undefined> {
  return read(ports).catch((error: unknown) => {
    log.warn({ err: error }, 'a service does not answer a question about permissions')
    return undefined
  })
}

function toResource(declared: JsonObject): Resource[] {
  const { name, permissions, requiredGroupMembership: legacy } = toDeclared(declared)
  return name === undefined
    ? []
    : [{ name, permissions: toPermissions(permissions ?? { READ: legacy, WRITE: legacy }) }]
}
