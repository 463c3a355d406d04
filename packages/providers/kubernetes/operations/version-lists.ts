/** Versions that artifacts have, each kind and namespace read once. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { ApiResource } from '../api/cluster-api.ts'
import { type ChosenVersion, chooseVersion, formatVersion, type PriorVersion, toPriorVersion } from '../manifests/versions.ts'
import type { KubeObject } from '../objects.ts'
import type { KubernetesAccount } from '../parts.ts'

interface Place {
  readonly resource: ApiResource
  readonly namespace: string
  /** Name before versioning. */
  readonly artifactName: string
}

export class VersionLists {
  readonly #account: KubernetesAccount
  readonly #lists = new Map<string, Promise<readonly Pick<KubeObject, 'metadata'>[]>>()
  /** Versions of manifests of the same request. */
  readonly #chosen = new Map<string, PriorVersion[]>()

  constructor(account: KubernetesAccount) {
    this.#account = account
  }

  async choose(place: Place & { readonly manifest: JsonObject; readonly writer: string }): Promise<ChosenVersion> {
    const { artifactName, manifest, writer } = place
    const objects = await this.#list(place)
    const earlier = this.#chosen.get(keyOf(place, artifactName)) ?? []
    const prior = [...priorVersions(objects, artifactName), ...earlier]
    const taken = new Set([...objects.map(({ metadata }) => metadata.name), ...earlier.map(({ name }) => name)])
    const chosen = chooseVersion({ manifest, artifact: artifactName, prior, taken, writer })
    const { number } = chosen
    const own = { number, name: `${artifactName}-${formatVersion(number)}`, applied: manifest, writtenBy: writer }
    this.#chosen.set(keyOf(place, artifactName), [...earlier, own])
    return chosen
  }

  /** The name of the highest version; undefined: there is none. */
  async newestName(place: Place): Promise<string | undefined> {
    const prior = priorVersions(await this.#list(place), place.artifactName)
    return prior.sort((one, other) => other.number - one.number)[0]?.name
  }

  #list(place: Place): Promise<readonly Pick<KubeObject, 'metadata'>[]> {
    const { resource, namespace } = place
    return this.#lists.getOrInsertComputed(keyOf(place, ''), () =>
      // What was applied stands in an annotation, so that the rest need not be read.
      this.#account.api.list(resource, { namespace, metadataOnly: true }),
    )
  }
}

function priorVersions(objects: readonly Pick<KubeObject, 'metadata'>[], artifact: string): PriorVersion[] {
  return objects.flatMap((object) => toPriorVersion(object, artifact) ?? [])
}

function keyOf({ resource: { group, plural }, namespace }: Place, artifact: string): string {
  return [group, plural, namespace, artifact].join(' ')
}
