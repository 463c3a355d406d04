/** Owners of live objects: what they claim, and what their controllers claim. */
import type { Owned } from '../infrastructure/model.ts'
import { isApiError } from './api/api-error.ts'
import { monikerOf } from './manifests/moniker.ts'
import { type KubeObject, type OwnerReference, ownerOf, ownerReferenceOf } from './objects.ts'
import { groupAndVersion } from './operations/targets.ts'
import type { KubernetesAccount } from './parts.ts'
import { answered } from './reads/object-lookup.ts'

interface Ownership {
  /** Its own claim first; each of them owns it. Empty: nothing claims it. */
  readonly applications: readonly string[]
  /** Controller of an object that nothing claims, which cannot be found: whose the object is remains unknown. */
  readonly unknownController?: string
}

export const maxControllers = 5

/** @throws {PortError} 5xx where the API server does not answer */
export async function loadOwned(account: KubernetesAccount, object: KubeObject): Promise<Owned> {
  const { applications, ...unknown } = await answered(account, () => ownershipOf(account, object))
  const [app = null, ...coOwners] = applications
  return {
    account: account.settings.name,
    moniker: { ...monikerOf(object), app },
    coOwners,
    ...unknown,
  }
}

/** Why an object is closed: a sentence. */
export function describeUnknown(object: string, controller: string): string {
  return `Whose ${object} is cannot be known: its controller ${controller} cannot be found.`
}

/** @throws {ApiError} where the API server does not answer */
export async function ownershipOf(
  account: KubernetesAccount,
  object: Pick<KubeObject, 'metadata'>,
): Promise<Ownership> {
  const applications = new Set<string>()
  let found: Pick<KubeObject, 'metadata'> = object
  for (let step = 0; ; step++) {
    const claim = ownerOf(found)
    if (claim !== undefined) applications.add(claim)
    const controller: OwnerReference | undefined = ownerReferenceOf(found)
    if (controller === undefined) return { applications: [...applications] }
    const next =
      step === maxControllers
        ? undefined
        : await loadController(account, controller, object.metadata.namespace)
    if (next === undefined) {
      const isClaimed = applications.size > 0
      return {
        applications: [...applications],
        ...(!isClaimed && { unknownController: `${controller.kind} ${controller.name}` }),
      }
    }
    found = next
  }
}

/** Undefined where it is gone, or where the account may not read it. */
async function loadController(
  { api }: KubernetesAccount,
  { apiVersion, kind, name, uid }: OwnerReference,
  namespace = '',
): Promise<KubeObject | undefined> {
  const resource = await api.find({ kind, ...groupAndVersion(apiVersion) })
  if (resource === undefined) return undefined
  const place = { resource, namespace: resource.isNamespaced ? namespace : '', name }
  const parent = await api.get(place).catch((error: unknown) => {
    if (isApiError(error, 403, 405)) return undefined
    throw error
  })
  return parent?.metadata.uid === uid ? parent : undefined
}
