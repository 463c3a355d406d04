/** Manifests as they are sent to the API server. */
import { formatJson } from '../../../../../json/json.ts'
import { fieldAt, isObject, type JsonObject, objectOf } from '../../../../../json/values.ts'
import { lastAppliedAnnotation, writtenByAnnotation } from '../manifests/annotations.ts'
import { withEntries } from '../manifests/edit.ts'
import { isSecret } from '../manifests/secrets.ts'
import type { PreparedManifest } from './prepared.ts'

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
