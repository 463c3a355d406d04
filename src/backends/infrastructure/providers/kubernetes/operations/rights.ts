/** Rights beyond those on the account: of the applications that own live objects, and on cluster-wide kinds. */
import { requireAccess } from '../../../../rights/access.ts'
import type { OperationRun } from '../../../operation-type.ts'
import type { KubeObject } from '../objects.ts'
import { ownerOf } from '../owner.ts'
import type { KubernetesAccount, KubernetesParts } from '../parts.ts'

/** An object that an operation is about to change. */
export interface Change {
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
export async function checkMayChange(
  parts: KubernetesParts,
  { account, run }: { readonly account: KubernetesAccount; readonly run: Pick<OperationRun, 'user'> },
  changes: readonly Change[],
): Promise<void> {
  const access = await requireAccess(parts.context, run.user)
  if (parts.context.settings.authorization !== true) return
  const { name: accountName, clusterScoped, permissions, requiredGroupMembership } = account.settings
  const isOpen = [permissions.READ, permissions.WRITE, requiredGroupMembership].every((roles) => roles.length === 0)
  for (const { name, isNamespaced, live } of changes) {
    const mayChangeClusterWide = clusterScoped === undefined ? isOpen || access.isAdmin : access.hasRole(clusterScoped)
    if (!isNamespaced && !mayChangeClusterWide) {
      throw new Error(
        `${run.user} may not change ${name} in the account ${accountName}: it is cluster-wide. Roles that may are listed in ` +
          '"clusterScoped" of the account (kubernetes.accounts).',
      )
    }
    const owner = live === undefined || !parts.settings.checksOwners ? undefined : ownerOf(live)
    if (owner !== undefined && !access.mayOnApplication(owner, 'WRITE')) {
      throw new Error(
        `Access denied to application ${owner}, which owns ${name} in ${live?.metadata.namespace ?? accountName}: ${run.user} has ` +
          `no WRITE on it. An owner of ${owner} can grant it.`,
      )
    }
  }
}
