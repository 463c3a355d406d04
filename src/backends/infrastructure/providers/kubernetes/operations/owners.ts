/** Owners of objects that operations change. */
import type { OperationRun } from '../../../operation-type.ts'
import type { KubeObject } from '../objects.ts'
import { ownerOf } from '../owner.ts'
import type { KubernetesAccount } from '../parts.ts'
import type { Running } from './parts.ts'
import { type Change, checkMayChange } from './rights.ts'
import { groupAndVersion, type Target } from './targets.ts'

/** Makes sure that the caller may change all of them; nothing has been changed yet. @throws {Error} */
export async function checkChanges(
  { parts, account, run }: Pick<Running, 'parts' | 'account'> & { readonly run: Pick<OperationRun, 'user'> },
  changes: readonly Change[],
): Promise<void> {
  if (parts.context.settings.authorization !== true) return
  const owned: Change[] = []
  for (const change of changes) {
    owned.push({ ...change, live: change.live === undefined ? undefined : await withOwner(account, change.live) })
  }
  await checkMayChange(parts, { account, run }, owned)
}

export function toChange(
  { name, place }: Pick<Target, 'name' | 'place'>,
  live: Pick<KubeObject, 'metadata'> | undefined,
): Change {
  return { name, isNamespaced: place.resource.isNamespaced, live }
}

const maxControllers = 3

/** An object without owner belongs to that of its controller, as the pods of a deployment do. */
async function withOwner(account: KubernetesAccount, live: Pick<KubeObject, 'metadata'>): Promise<Pick<KubeObject, 'metadata'>> {
  let found = live
  for (let step = 0; step < maxControllers && ownerOf(found) === undefined; step++) {
    const controller = found.metadata.ownerReferences?.find((reference) => reference.controller === true)
    const parent = controller === undefined ? undefined : await loadController(account, controller, live.metadata.namespace)
    if (parent === undefined) break
    found = parent
  }
  return ownerOf(found) === undefined ? live : found
}

async function loadController(
  { api }: KubernetesAccount,
  {
    apiVersion,
    kind,
    name,
    uid,
  }: { readonly apiVersion: string; readonly kind: string; readonly name: string; readonly uid: string },
  namespace = '',
): Promise<KubeObject | undefined> {
  const resource = await api.find({ kind, ...groupAndVersion(apiVersion) })
  if (resource === undefined) return undefined
  const parent = await api.get({ resource, namespace: resource.isNamespaced ? namespace : '', name })
  return parent?.metadata.uid === uid ? parent : undefined
}
