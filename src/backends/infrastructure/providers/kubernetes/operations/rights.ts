/** Rights beyond those on the account: of the applications that own live objects, and on cluster-wide kinds. */
import { type Access, requireAccess } from '../../../../rights/access.ts'
import type { OperationRun } from '../../../operation-type.ts'
import { controllerOf, type KubeObject, type OwnerReference } from '../objects.ts'
import { ownerOf } from '../owner.ts'
import type { KubernetesAccount } from '../parts.ts'
import type { ChangedName, ManifestRun } from './parts.ts'
import {
  type Capability,
  describeTarget,
  findManifestTarget,
  groupAndVersion,
  type LiveTarget,
  requireCapability,
  requireLive,
} from './targets.ts'

/** An object that an operation is about to change. */
export interface ObjectChange {
  /** Full name, for messages. */
  readonly name: string
  readonly isNamespaced: boolean
  /** As it is on the API server; undefined: it is new. */
  readonly live: Pick<KubeObject, 'metadata'> | undefined
}

/**
 * Makes sure that the caller of a task may change all of it; nothing has been changed yet.
 *
 * @throws {Error} naming object, right and what to do
 */
export async function checkChanges(
  { parts, account, run }: Pick<ManifestRun, 'parts' | 'account'> & { readonly run: Pick<OperationRun, 'user'> },
  changes: readonly ObjectChange[],
): Promise<void> {
  if (parts.context.settings.authorization !== true) return
  const access = await requireAccess(parts.context, run.user)
  for (const { name, isNamespaced, live } of changes) {
    if (!isNamespaced && !mayChangeClusterWide(account, access)) {
      throw new Error(
        `${run.user} may not change ${name} in the account ${account.settings.name}: it is cluster-wide. Roles that may are listed ` +
          'in "clusterScoped" of the account (kubernetes.accounts).',
      )
    }
    const owner = live === undefined || !parts.settings.checksOwners ? undefined : await ownerOfAny(account, live)
    if (owner !== undefined && !access.mayOnApplication(owner, 'WRITE')) {
      throw new Error(
        `Access denied to application ${owner}, which owns ${name} in ${live?.metadata.namespace ?? account.settings.name}: ` +
          `${run.user} has no WRITE on it. An owner of ${owner} can grant it.`,
      )
    }
  }
}

/** Without roles in the settings: all users of an open account, else administrators. */
function mayChangeClusterWide({ settings }: KubernetesAccount, access: Access): boolean {
  const { clusterScoped, permissions, requiredGroupMembership } = settings
  if (clusterScoped !== undefined) return access.hasRole(clusterScoped)
  return access.isAdmin || [permissions.READ, permissions.WRITE, requiredGroupMembership].every((roles) => roles.length === 0)
}

export function toChange({ name, place, live }: Pick<LiveTarget, 'name' | 'place' | 'live'>): ObjectChange {
  return { name, isNamespaced: place.resource.isNamespaced, live }
}

/** An object that the operation fits and the caller may change. @throws {Error} */
export async function requireChangeable(
  running: ManifestRun,
  changed: ChangedName,
  capability?: Capability,
): Promise<LiveTarget & { readonly subject: string }> {
  const { account } = running
  const target = await findManifestTarget(running, changed)
  if (capability !== undefined) requireCapability(account, target, capability)
  const found = { ...target, live: await requireLive(account, target), subject: describeTarget(account, target) }
  await checkChanges(running, [toChange(found)])
  return found
}

const maxControllers = 3

/** An object without owner belongs to that of its controller, as the pods of a deployment do. */
async function ownerOfAny(account: KubernetesAccount, live: Pick<KubeObject, 'metadata'>): Promise<string | undefined> {
  let found: Pick<KubeObject, 'metadata'> | undefined = live
  for (let step = 0; step < maxControllers && ownerOf(found) === undefined; step++) {
    const controller: OwnerReference | undefined = controllerOf(found)
    found = controller && (await loadController(account, controller, live.metadata.namespace))
    if (found === undefined) return undefined
  }
  return ownerOf(found)
}

async function loadController(
  { api }: KubernetesAccount,
  { apiVersion, kind, name, uid }: OwnerReference,
  namespace = '',
): Promise<KubeObject | undefined> {
  const resource = await api.find({ kind, ...groupAndVersion(apiVersion) })
  if (resource === undefined) return undefined
  const parent = await api.get({ resource, namespace: resource.isNamespaced ? namespace : '', name })
  return parent?.metadata.uid === uid ? parent : undefined
}
