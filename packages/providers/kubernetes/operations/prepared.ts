/** Manifests on their way to the API server, and as they are sent. */

import { formatJson } from '@fairlead/base/json/json.ts'
import { asGiven, maybeObject, or, shape } from '@fairlead/base/json/shape.ts'
import {
  isTrue,
  type JsonObject,
  objectOf,
  objectsOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import type { ApiResource } from '../api/cluster-api.ts'
import type { Kind } from '../kinds.ts'
import {
  contentAnnotation,
  lastAppliedAnnotation,
  type ManifestStrategy,
  writtenByAnnotation,
} from '../manifests/annotations.ts'
import { withEntries } from '../manifests/edit.ts'
import { manifestsOf } from '../manifests/input.ts'
import { annotationBytes, maxAnnotationBytes } from '../manifests/limits.ts'
import { isSecret } from '../manifests/secrets.ts'
import {
  type ChosenVersion,
  chooseVersion,
  contentDigest,
  formatVersion,
  type PriorVersion,
  toPriorVersion,
} from '../manifests/versions.ts'
import type { Wave } from '../manifests/waves.ts'
import type { KubeObject } from '../objects.ts'
import type { KubernetesAccount } from '../parts.ts'

interface ArtifactPlace {
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
    place: ArtifactPlace & { readonly manifest: JsonObject; readonly writer: string },
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
      digest: undefined,
      writtenBy: writer,
    }
    this.#chosen.set(keyOf(place, artifactName), [...earlier, own])
    return chosen
  }

  /** The name of the highest version; undefined: there is none. */
  async newestName(place: ArtifactPlace): Promise<string | undefined> {
    const prior = priorVersions(await this.#list(place), place.artifactName)
    return prior.sort((one, other) => other.number - one.number)[0]?.name
  }

  #list(place: ArtifactPlace): Promise<readonly Pick<KubeObject, 'metadata'>[]> {
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

function keyOf(
  { resource: { group, plural }, namespace }: ArtifactPlace,
  artifact: string,
): string {
  return [group, plural, namespace, artifact].join(' ')
}

export interface ManifestDraft {
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
  readonly wave: Wave
  /** List entries share a key, so that lists are written as a whole. */
  readonly hasDuplicates: boolean
  /** Sentences for users: what is not as they may expect. */
  readonly notes: readonly string[]
}

export interface PreparedManifest extends Omit<ManifestDraft, 'artifactName' | 'isEdit'> {
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

const toAnnotated = shape({ metadata: shape({ annotations: objectOf }) })

/** Adds the configuration that is applied, and who writes what must not be written twice. */
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
  const bytes =
    annotationBytes(toAnnotated(marked).metadata.annotations) + Buffer.byteLength(applied) * 1.1
  return withDataOfTexts(
    withAnnotations(
      marked,
      bytes < maxAnnotationBytes
        ? { [lastAppliedAnnotation]: applied }
        : { [contentAnnotation]: contentDigest(manifest) },
    ),
  )
}

function withAnnotations(
  manifest: JsonObject,
  entries: Readonly<Record<string, string>>,
): JsonObject {
  return withEntries(manifest, ['metadata', 'annotations'], { entries, keepsExisting: false })
}

const toSecret = shape({ data: objectOf, stringData: maybeObject })

/** An apply does not remove values that were written as texts, since the API server turns them into data. */
export function withDataOfTexts(object: JsonObject): JsonObject {
  const { stringData: _texts, ...rest } = object
  const { data, stringData } = toSecret(object)
  if (!isSecret(object) || stringData === undefined) return object
  const encoded = Object.entries(stringData).map(([key, value]) => [
    key,
    Buffer.from(String(value)).toString('base64'),
  ])
  return { ...rest, data: { ...data, ...Object.fromEntries(encoded) } }
}

const toDeployFields = shape({
  moniker: shape({ app: or(textOf, ''), cluster: textOf, stack: textOf, detail: textOf }),
  requiredArtifacts: objectsOf,
  optionalArtifacts: objectsOf,
  bindsArtifacts: [isNotFalse, 'enableArtifactBinding'],
  isVersioned: [maybeTrue, 'versioned'],
  namespaceOverride: (value: unknown) => textOf(value)?.trim() || undefined,
  services: textsOf,
  enablesTraffic: [isNotFalse, 'enableTraffic'],
  rolloutStrategy: [toConstant, 'strategy'],
  labelSelectors: asGiven,
  maySelectNothing: [isTrue, 'allowNothingSelected'],
  skipsTemplateLabels: [isTrue, 'skipSpecTemplateLabels'],
})

export interface DeployFields extends ReturnType<typeof toDeployFields> {
  readonly manifests: readonly JsonObject[]
  /** Replaces what exists, whatever the manifests say. */
  readonly recreates: boolean
}

export function toDeployment(description: JsonObject): DeployFields {
  return {
    ...toDeployFields(description),
    manifests: manifestsOf(description),
    recreates: false,
  }
}

function isNotFalse(value: unknown): boolean {
  return String(value).toLowerCase() !== 'false'
}

function maybeTrue(value: unknown): boolean | undefined {
  return value === undefined || value === '' ? undefined : isTrue(value)
}

/** `Red/Black` is `REDBLACK`. */
function toConstant(value: unknown): string {
  return (textOf(value) ?? '').toUpperCase().replaceAll(/[^A-Z]/g, '')
}
