/** Manifests on their way to the API server, and as they are sent. */
import { formatJson } from '@fairlead/base/json/json.ts'
import { fieldAt, isObject, type JsonObject, objectOf } from '@fairlead/base/json/values.ts'
import type { ApiResource } from '../api/cluster-api.ts'
import type { Kind } from '../kinds.ts'
import { lastAppliedAnnotation, type ManifestStrategy, writtenByAnnotation } from '../manifests/annotations.ts'
import { withEntries } from '../manifests/edit.ts'
import { isSecret } from '../manifests/secrets.ts'

/** A manifest on its way. */
export interface Draft {
  readonly manifest: JsonObject
  readonly kind: Kind
  readonly resource: ApiResource
  /** Its definition is deployed by the same request. */
  readonly isPlanned: boolean
  /** Empty for cluster-wide objects. */
  readonly namespace: string
  /** Name in the request. */
  readonly artifactName: string
  /** Whether a live version of it was edited. */
  readonly isEdit: boolean
  readonly strategy: ManifestStrategy
}

/** A manifest as it is applied. */
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
}: Pick<PreparedManifest, 'manifest' | 'isNewVersion' | 'strategy' | 'objectName' | 'writer'>): JsonObject {
  const isMarked = isNewVersion || strategy.recreates || objectName === undefined
  const marked = isMarked ? withAnnotations(manifest, { [writtenByAnnotation]: writer }) : manifest
  const applied = formatJson(manifest)
  const fits = sizeOf(fieldAt(marked, 'metadata', 'annotations')) + applied.length * 1.1 < maxAnnotationBytes
  const whole = fits && sizeOf({ [lastAppliedAnnotation]: applied }) < maxAnnotationBytes
  return withDataOfTexts(whole ? withAnnotations(marked, { [lastAppliedAnnotation]: applied }) : marked)
}

function withAnnotations(manifest: JsonObject, entries: Readonly<Record<string, string>>): JsonObject {
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
  const encoded = Object.entries(stringData).map(([key, value]) => [key, Buffer.from(String(value)).toString('base64')])
  return { ...rest, data: { ...objectOf(rest['data']), ...Object.fromEntries(encoded) } }
}
