/** Rights beyond those on the account: of the applications that own live objects, and on cluster-wide kinds. */
import type { Access } from '@fairlead/ports/access.ts'
import { requireAccess } from '@fairlead/ports/rights/access.ts'
import type { OperationRun } from '../../infrastructure/operation-type.ts'
import { describeUnknown, ownershipOf } from '../controllers.ts'
import type { KubeObject } from '../objects.ts'
import type { KubernetesAccount } from '../parts.ts'
import { isRestricted } from '../settings.ts'
import type { ChangedName, ManifestRun } from './parts.ts'
import {
  type Capability,
  describeTarget,
  findManifestTarget,
  type LiveTarget,
  requireCapability,
  requireLive,
} from './targets.ts'

export interface ObjectChange {
  readonly name: string
  readonly isNamespaced: boolean
  /** Object on the API server; undefined: it is new. */
  readonly live: Pick<KubeObject, 'metadata'> | undefined
}

/**
 * Makes sure that the caller of a task may change all of it; nothing has been changed yet.
 *
 * @throws {Error} naming object, right and what to do
 */
export async function checkChanges(
  {
    parts,
    account,
    run,
  }: Pick<ManifestRun, 'parts' | 'account'> & { readonly run: Pick<OperationRun, 'user'> },
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
    if (live === undefined || !parts.settings.checksOwners) continue
    const { applications, unknownController } = await ownershipOf(account, live)
    const place = `${name} in ${live.metadata.namespace ?? account.settings.name}`
    const owner = applications.find((each) => !access.mayOnApplication(each, 'WRITE'))
    if (owner !== undefined) {
      throw new Error(
        `Access denied to application ${owner}, which owns ${place}: ${run.user} has no WRITE on it. An owner of ${owner} can grant it.`,
      )
    }
    if (unknownController !== undefined && !access.isAdmin) {
      throw new Error(
        `${describeUnknown(place, unknownController)} An administrator can change it.`,
      )
    }
  }
}

/** What is gone belongs to those that have deployed it. @throws {Error} */
export async function checkForgotten(
  { parts, run }: Pick<ManifestRun, 'parts'> & { readonly run: Pick<OperationRun, 'user'> },
  name: string,
  owners: readonly string[],
): Promise<void> {
  if (parts.context.settings.authorization !== true || !parts.settings.checksOwners) return
  const access = await requireAccess(parts.context, run.user)
  const owner = owners.find((each) => !access.mayOnApplication(each, 'WRITE'))
  if (owner !== undefined)
    throw new Error(
      `Access denied to application ${owner}, which has deployed ${name}: ${run.user} has no WRITE on it. An owner of ${owner} can grant it.`,
    )
}

/** Without roles in the settings: all users of an open account, else administrators. */
function mayChangeClusterWide({ settings }: KubernetesAccount, access: Access): boolean {
  const { clusterScoped, permissions, requiredGroupMembership } = settings
  if (clusterScoped !== undefined) return access.hasRole(clusterScoped)
  return access.isAdmin || !(isRestricted(permissions) || requiredGroupMembership.length > 0)
}

export function toChange({
  name,
  place,
  live,
}: Pick<LiveTarget, 'name' | 'place' | 'live'>): ObjectChange {
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
  const found = {
    ...target,
    live: await requireLive(account, target),
    subject: describeTarget(account, target),
  }
  await checkChanges(running, [toChange(found)])
  return found
}
