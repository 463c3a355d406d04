/** Manifests of a stage in its record: long ones as a digest and one compressed copy, so that megabytes of them stay small there. */
import { hash } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import { maybeObject, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, objectsOf, textOf } from '@fairlead/base/json/values.ts'

/** Characters. Shorter ones stand in the record as they are. */
const longestPlain = 1024 * 1024
const mostUnpackedBytes = 256 * 1024 * 1024
const packedKey = 'manifests.packed'

const toPacked = shape({ [packedKey]: textOf, manifests: maybeObject })

interface PackedDocuments {
  /** What the context of the stage keeps. */
  readonly context: JsonObject
  /** What its outputs show: `{digest, bytes, objects}` for long ones. */
  readonly shown: unknown
}

export function packDocuments(documents: readonly JsonObject[]): PackedDocuments {
  const text = formatJson(documents)
  if (text.length <= longestPlain) return { context: { manifests: documents }, shown: documents }
  const shown = {
    digest: `sha256:${hash('sha256', text, 'hex')}`,
    bytes: Buffer.byteLength(text),
    objects: documents.length,
  }
  const packed = gzipSync(text).toString('base64')
  return { context: { manifests: shown, [packedKey]: packed }, shown }
}

/** Undefined where the context has none that are packed. */
export function packedDocuments(context: JsonObject): JsonObject[] | undefined {
  const { [packedKey]: packed, manifests: shown } = toPacked(context)
  if (packed === undefined || shown === undefined) return undefined
  const text = gunzipSync(Buffer.from(packed, 'base64'), { maxOutputLength: mostUnpackedBytes })
  return objectsOf(parseJson(text.toString('utf8')))
}

/** Its manifests, packed or not. */
export function documentsOf(context: JsonObject): JsonObject[] {
  return packedDocuments(context) ?? objectsOf(context['manifests'])
}
