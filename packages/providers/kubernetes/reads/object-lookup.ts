/** Objects by the names that users give them, live from the API server. */

import { within } from '@fairlead/base/concurrency/within.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { isApiError, isPassing } from '../api/api-error.ts'
import type { ApiResource } from '../api/cluster-api.ts'
import { type Kind, kindOfManifest, type ParsedKind, parseFullName } from '../kinds.ts'
import type { KubeObject } from '../objects.ts'
import type { KubernetesAccount } from '../parts.ts'

/** A path has it in place of the namespace of cluster-wide objects. */
const noNamespace = '_'

export interface FoundObject {
  readonly object: KubeObject
  readonly kind: Kind
  readonly resource: ApiResource
}

/** Undefined where there is no such kind or object, or where the account does not reach. @throws {PortError} 5xx */
export async function findObject(
  account: KubernetesAccount,
  location: string,
  name: string,
): Promise<FoundObject | undefined> {
  const parsed = parseFullName(name)
  if (parsed === undefined) return undefined
  return answered(account, async () => {
    const resource = await account.api.find(parsed)
    if (resource === undefined) return undefined
    const namespace = resource.isNamespaced && location !== noNamespace ? location : ''
    if (resource.isNamespaced && !reaches(account, namespace)) return undefined
    const object = await account.api.get({ resource, namespace, name: parsed.name })
    return object && { object, resource, kind: kindOfObject(account, object, resource) }
  })
}

/** Removes it with what it owns; what is gone already is no error. @throws {PortError} 5xx */
export async function removeObject(
  account: KubernetesAccount,
  location: string,
  name: string,
): Promise<void> {
  const found = await findObject(account, location, name)
  if (found === undefined) return
  const { object, resource } = found
  const { namespace = '', name: bareName, uid } = object.metadata
  await answered(account, () =>
    account.api.remove(
      { resource, namespace, name: bareName },
      { propagation: 'Background', ...(uid !== undefined && { uid }) },
    ),
  )
  account.lists.forget(object)
}

/** Objects of a kind; none where it is unknown. @throws {PortError} 5xx */
export async function listObjects(
  account: KubernetesAccount,
  parsed: ParsedKind,
  { location, metadataOnly }: { readonly location: string; readonly metadataOnly: boolean },
): Promise<FoundObject[]> {
  return answered(account, async () => {
    const resource = await account.api.find(parsed)
    if (resource === undefined) return []
    const namespace = resource.isNamespaced && location !== noNamespace ? location : undefined
    if (resource.isNamespaced && !reaches(account, namespace ?? '')) return []
    const objects = await account.api.list(resource, { namespace, metadataOnly })
    return objects.map((object) => ({
      object,
      resource,
      kind: kindOfObject(account, object, resource),
    }))
  })
}

/** Whether the account is for a namespace. */
function reaches({ settings }: KubernetesAccount, namespace: string): boolean {
  if (namespace === '') return false
  const { namespaces, omitNamespaces } = settings
  return (
    (namespaces.length === 0 || namespaces.includes(namespace)) &&
    !omitNamespaces.includes(namespace)
  )
}

function kindOfObject(
  { kinds }: KubernetesAccount,
  object: KubeObject,
  { isNamespaced }: ApiResource,
): Kind {
  return kinds.kindOf(kindOfManifest(object), isNamespaced)
}

const awayMs = 1000

/** @throws {PortError} with a text that names the account, where the API server refuses or does not answer */
export async function answered<T>(
  { settings, absence }: KubernetesAccount,
  ask: () => Promise<T>,
): Promise<T> {
  const { name } = settings
  const late = () => {
    const since = new Date(absence?.sinceMs ?? 0).toISOString()
    throw new PortError(
      503,
      `The API server of the account ${name} has not answered since ${since}: ${absence?.reason}. Lists show the last state.`,
    )
  }
  try {
    const asked = ask()
    // Nobody waits for what is known to be away; it may be back all the same.
    return await (absence === undefined ? asked : within(awayMs, asked, late))
  } catch (error) {
    if (!isApiError(error)) throw error
    throw new PortError(
      isPassing(error) ? 503 : 502,
      `The API server of the account ${name} fails: ${error.message}`,
    )
  }
}
