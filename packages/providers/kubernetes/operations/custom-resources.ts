/** Custom resources whose definition is deployed together with them. */
import {
  fieldAt,
  isTrue,
  type JsonObject,
  objectsOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { isApiError } from '../api/api-error.ts'
import type { ApiResource } from '../api/cluster-api.ts'
import { conditionOf } from '../objects.ts'
import type { ManifestRun } from './parts.ts'
import type { PreparedManifest } from './prepared.ts'
import { pollUntil } from './retry.ts'
import { groupAndVersion } from './targets.ts'

/** A definition is served within moments. */
const establishedMs = 30_000

/** As a definition among the manifests describes it; undefined: none does. */
export function resourceDefinedBy(
  manifests: readonly JsonObject[],
  { kind, apiVersion }: { readonly kind: string; readonly apiVersion: string },
): ApiResource | undefined {
  const { group, version } = groupAndVersion(apiVersion)
  const spec = manifests
    .filter((manifest) => textOf(manifest['kind'])?.toLowerCase() === 'customresourcedefinition')
    .map((manifest) => fieldAt(manifest, 'spec'))
    .find((each) => fieldAt(each, 'group') === group && fieldAt(each, 'names', 'kind') === kind)
  const plural = textOf(fieldAt(spec, 'names', 'plural'))
  const isServed = objectsOf(fieldAt(spec, 'versions')).some(
    (each) => each['name'] === version && isTrue(each['served']),
  )
  if (plural === undefined || !isServed) return undefined
  return {
    group,
    version,
    kind,
    plural,
    shortNames: textsOf(fieldAt(spec, 'names', 'shortNames')),
    isNamespaced: fieldAt(spec, 'scope') === 'Namespaced',
    verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
    subresources: [],
  }
}

/** Waits until objects of a definition can be created. @throws {Error} when that takes too long */
export async function waitUntilEstablished(
  running: ManifestRun,
  { name, resource, objectName = '' }: PreparedManifest,
): Promise<void> {
  const found = await pollUntil(
    running,
    { limitMs: establishedMs, longestPauseMs: 500 },
    async () => {
      const definition = await running.account.api.get({
        resource,
        namespace: '',
        name: objectName,
      })
      return definition !== undefined && conditionOf(definition, 'Established')?.status === 'True'
        ? definition
        : undefined
    },
  )
  if (found === undefined) {
    throw new Error(
      `${name} was deployed, and the API server does not serve it after ${establishedMs / 1000} s. Look at the conditions of its status.`,
    )
  }
}

/** The path of a new kind answers 404 for a moment after its definition is established. */
export async function whenServed<T>(
  running: ManifestRun,
  isPlanned: boolean,
  call: () => Promise<T>,
): Promise<T> {
  if (!isPlanned) return call()
  const answer = await pollUntil(
    running,
    { limitMs: establishedMs, longestPauseMs: 500 },
    async () => {
      try {
        return { value: await call() }
      } catch (error) {
        if (isApiError(error, 404)) return undefined
        throw error
      }
    },
  )
  return answer === undefined ? call() : answer.value
}
