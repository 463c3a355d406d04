/** Limits of objects that the API server and its store have, so that what exceeds them is not sent. */
import { formatJson } from '@fairlead/base/json/json.ts'
import { fieldOf, type JsonObject, objectOf } from '@fairlead/base/json/values.ts'
import { toHead } from '../objects.ts'
import { isSecret } from './secrets.ts'

const mebibyte = 1024 * 1024
/** All annotations of an object together. */
export const maxAnnotationBytes = 256 * 1024
const maxDataBytes = mebibyte
const maxObjectBytes = 1.5 * mebibyte

/** Why the API server would refuse the manifest for its size: a sentence's end, or undefined. */
export function describeSizeProblem(manifest: JsonObject): string | undefined {
  const { kind, metadata } = toHead(manifest)
  const isData = isSecret(manifest) || kind.toLowerCase() === 'configmap'
  const data = isData ? dataBytes(manifest) : 0
  if (data > maxDataBytes)
    return `its data has ${data} bytes, and Kubernetes takes ${maxDataBytes}. Split it, or keep large files in a volume or an image.`
  const annotations = annotationBytes(metadata.annotations)
  if (annotations > maxAnnotationBytes)
    return `its annotations have ${annotations} bytes together, and Kubernetes takes ${maxAnnotationBytes}. Shorten them.`
  const whole = Buffer.byteLength(formatJson(manifest))
  if (whole > maxObjectBytes)
    return `it has ${whole} bytes, and Kubernetes stores objects of at most ${maxObjectBytes}. Split it.`
  return undefined
}

export function annotationBytes(annotations: JsonObject): number {
  const texts = Object.entries(annotations).flat().map(String)
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
}

function dataBytes(manifest: JsonObject): number {
  const isEncoded = (name: string) =>
    name === 'binaryData' || (name === 'data' && isSecret(manifest))
  return ['data', 'binaryData', 'stringData']
    .flatMap((name) =>
      Object.values(objectOf(fieldOf(manifest, name))).map((value) =>
        isEncoded(name)
          ? Buffer.byteLength(String(value), 'base64')
          : Buffer.byteLength(String(value)),
      ),
    )
    .reduce((sum, bytes) => sum + bytes, 0)
}
