/** Results of operations, as stages read them (docs/contracts/kubernetes.md#deployments). */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { toResult } from '../manifests/secrets.ts'
import type { KubeObject } from '../objects.ts'

interface NamedObject {
  /** Full name. */
  readonly name: string
  /** Empty for cluster-wide objects. */
  readonly namespace: string
}

/** Full names by namespace. */
export function namesByNamespace(objects: readonly NamedObject[]): Record<string, string[]> {
  const names: Record<string, string[]> = {}
  for (const { name, namespace } of objects) {
    const there = Object.hasOwn(names, namespace) ? (names[namespace] as string[]) : []
    if (!there.includes(name)) names[namespace] = [...there, name]
  }
  return names
}

interface WrittenObject extends NamedObject {
  readonly object: KubeObject
  readonly artifact?: JsonObject
}

export function toManifestResult(written: readonly WrittenObject[], bound: readonly JsonObject[]): JsonObject {
  return {
    manifests: written.map(({ object }) => toResult(object)),
    manifestNamesByNamespace: namesByNamespace(written),
    createdArtifacts: written.flatMap(({ artifact }) => artifact ?? []),
    boundArtifacts: bound,
  }
}
