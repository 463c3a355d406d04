/** Manifests on their way to the API server, and as they are sent. */

import { formatJson } from '@fairlead/base/json/json.ts'
import {
  fieldAt,
  isObject,
  isTrue,
  type JsonObject,
  objectOf,
  objectsOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import type { ApiResource } from '../api/cluster-api.ts'
import type { Kind } from '../kinds.ts'
import type { DeployedMoniker } from '../manifests/annotate.ts'
import {
  lastAppliedAnnotation,
  type ManifestStrategy,
  writtenByAnnotation,
} from '../manifests/annotations.ts'
import { withEntries } from '../manifests/edit.ts'
import { manifestsOf } from '../manifests/input.ts'
import { isSecret } from '../manifests/secrets.ts'
import {
  type ChosenVersion,
  chooseVersion,
  formatVersion,
  type PriorVersion,
  toPriorVersion,
} from '../manifests/versions.ts'
import type { KubeObject } from '../objects.ts'
import type { KubernetesAccount } from '../parts.ts'

interface Place {
  readonly resource: ApiResource
  readonly namespace: string
  readonly artifactName: string
}

export class VersionLists {
  readonly #account: KubernetesAccount
  readonly #lists = new Map<string, Promise<readonly Pick<KubeObject, 'metadata'>[]>>()
  readonly #chosen = new Map<string, PriorVersion[]>()

  constructor(account: KubernetesAccount) {
    this.#account = account
  }

  async choose(
    place: Place & { readonly manifest: JsonObject; readonly writer: string },
  ): Promise<ChosenVersion> {
    const { artifactName, manifest, writer } = place
    const objects = await this.#list(place)
    const earlier = this.#chosen.get(keyOf(place, artifactName)) ?? []
    const prior = [...priorVersions(objects, artifactName), ...earlier]
    const taken = new Set([
      ...objects.map(({ metadata }) => metadata.name),
      ...earlier.map(({ name }) => name),
    ])
    const chosen = chooseVersion({ manifest, artifact: artifactName, prior, taken, writer })
    const { number } = chosen
    const own = {
      number,
      name: `${artifactName}-${formatVersion(number)}`,
      applied: manifest,
      writtenBy: writer,
    }
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

function priorVersions(
  objects: readonly Pick<KubeObject, 'metadata'>[],
  artifact: string,
): PriorVersion[] {
  return objects.flatMap((object) => toPriorVersion(object, artifact) ?? [])
}

function keyOf({ resource: { group, plural }, namespace }: Place, artifact: string): string {
  return [group, plural, namespace, artifact].join(' ')
}

export interface Draft {
  readonly manifest: JsonObject
  readonly kind: Kind
  readonly resource: ApiResource
  /** Its definition is deployed by the same request. */
  readonly isPlanned: boolean
  /** Empty for cluster-wide objects. */
  readonly namespace: string
  readonly artifactName: string
  readonly isEdit: boolean
  readonly strategy: ManifestStrategy
}

export interface PreparedManifest extends Omit<Draft, 'artifactName' | 'isEdit'> {
  /** Full name, `configMap conf-v000`. */
  readonly name: string
  /** Undefined: the API server makes one. */
  readonly objectName: string | undefined
  readonly artifact: JsonObject
  /** Whether a version of it is created that did not exist. */
  readonly isNewVersion: boolean
  /** The operation and the manifest's place in it. */
  readonly writer: string
}

/** The API server's limit for all annotations of an object together. */
const maxAnnotationBytes = 256 * 1024

/** With the configuration that is applied, and who writes what must not be written twice. */
export function toWire({
  manifest,
  isNewVersion,
  strategy,
  objectName,
  writer,
}: Pick<
  PreparedManifest,
  'manifest' | 'isNewVersion' | 'strategy' | 'objectName' | 'writer'
>): JsonObject {
  const isMarked = isNewVersion || strategy.recreates || objectName === undefined
  const marked = isMarked ? withAnnotations(manifest, { [writtenByAnnotation]: writer }) : manifest
  const applied = formatJson(manifest)
  const fits =
    sizeOf(fieldAt(marked, 'metadata', 'annotations')) + applied.length * 1.1 < maxAnnotationBytes
  const whole = fits && sizeOf({ [lastAppliedAnnotation]: applied }) < maxAnnotationBytes
  return withDataOfTexts(
    whole ? withAnnotations(marked, { [lastAppliedAnnotation]: applied }) : marked,
  )
}

function withAnnotations(
  manifest: JsonObject,
  entries: Readonly<Record<string, string>>,
): JsonObject {
  return withEntries(manifest, ['metadata', 'annotations'], { entries, keepsExisting: false })
}

function sizeOf(annotations: unknown): number {
  const texts = Object.entries(objectOf(annotations)).flat().map(String)
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
}

/** An apply does not remove values that were written as texts, since the API server turns them into data. */
function withDataOfTexts(object: JsonObject): JsonObject {
  const { stringData, ...rest } = object
  if (!isSecret(object) || !isObject(stringData)) return object
  const encoded = Object.entries(stringData).map(([key, value]) => [
    key,
    Buffer.from(String(value)).toString('base64'),
  ])
  return { ...rest, data: { ...objectOf(rest['data']), ...Object.fromEntries(encoded) } }
}

export interface DeployFields {
  readonly manifests: readonly JsonObject[]
  readonly moniker: Omit<DeployedMoniker, 'cluster' | 'sequence'> & {
    readonly cluster?: string | undefined
  }
  readonly requiredArtifacts: readonly JsonObject[]
  readonly optionalArtifacts: readonly JsonObject[]
  readonly bindsArtifacts: boolean
  readonly isVersioned: boolean | undefined
  readonly namespaceOverride: string | undefined
  readonly services: readonly string[]
  readonly enablesTraffic: boolean
  readonly rolloutStrategy: string
  readonly labelSelectors: unknown
  readonly maySelectNothing: boolean
  readonly skipsTemplateLabels: boolean
  /** Replaces what exists, whatever the manifests say. */
  readonly recreates: boolean
}

export function deployFieldsOf(description: JsonObject): DeployFields {
  const moniker = objectOf(description['moniker'])
  const text = (name: string) => textOf(moniker[name])
  const { versioned } = description
  return {
    manifests: manifestsOf(description),
    moniker: {
      app: text('app') ?? '',
      cluster: text('cluster'),
      stack: text('stack'),
      detail: text('detail'),
    },
    requiredArtifacts: objectsOf(description['requiredArtifacts']),
    optionalArtifacts: objectsOf(description['optionalArtifacts']),
    bindsArtifacts: !isFalse(description['enableArtifactBinding']),
    isVersioned:
      versioned === null || versioned === undefined || versioned === ''
        ? undefined
        : isTrue(versioned),
    namespaceOverride: textOf(description['namespaceOverride'])?.trim() || undefined,
    services: textsOf(description['services']),
    enablesTraffic: !isFalse(description['enableTraffic']),
    rolloutStrategy: (textOf(description['strategy']) ?? '')
      .toUpperCase()
      .replaceAll(/[^A-Z]/g, ''),
    labelSelectors: description['labelSelectors'],
    maySelectNothing: isTrue(description['allowNothingSelected']),
    skipsTemplateLabels: isTrue(description['skipSpecTemplateLabels']),
    recreates: false,
  }
}

function isFalse(value: unknown): boolean {
  return value === false || (typeof value === 'string' && value.toLowerCase() === 'false')
}
