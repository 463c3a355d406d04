/** Custom resources whose definition is deployed together with them. */
import { list, or, shape } from '@fairlead/base/json/shape.ts'
import { isTrue, type JsonObject, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { isApiError } from '../api/api-error.ts'
import type { ApiResource } from '../api/cluster-api.ts'
import { conditionOf } from '../objects.ts'
import type { ManifestRun } from './parts.ts'
import type { PreparedManifest } from './prepared.ts'
import { pollUntil } from './retry.ts'
import { groupAndVersion } from './targets.ts'

/** A definition is served within moments. */
const establishedMs = 30_000

const toDefinition = shape({
  kind: or(textOf, ''),
  spec: shape({
    group: textOf,
    scope: textOf,
    names: shape({ kind: textOf, plural: textOf, shortNames: textsOf }),
    versions: list(shape({ name: textOf, served: isTrue })),
  }),
})

/** Resource by a definition among the manifests; undefined: there is none. */
export function resourceDefinedBy(
  manifests: readonly JsonObject[],
  { kind, apiVersion }: { readonly kind: string; readonly apiVersion: string },
): ApiResource | undefined {
  const { group, version } = groupAndVersion(apiVersion)
  const found = manifests
    .map(toDefinition)
    .find(
      ({ kind: own, spec }) =>
        own.toLowerCase() === 'customresourcedefinition' &&
        spec.group === group &&
        spec.names.kind === kind,
    )
  const { names, scope, versions } = (found ?? toDefinition({})).spec
  const isServed = versions.some(({ name, served }) => served && name === version)
  if (names.plural === undefined || !isServed) return undefined
  return {
    group,
    version,
    kind,
    plural: names.plural,
    shortNames: names.shortNames,
    isNamespaced: scope === 'Namespaced',
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
