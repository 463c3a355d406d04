/** Removal of secret values from objects that results and answers show. */
import { hash } from 'node:crypto'
import { formatJson } from '@fairlead/base/json/json.ts'
import { isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import { lastAppliedAnnotation } from './annotations.ts'
import { withoutField } from './edit.ts'

const secretFields = [
  ['data'],
  ['stringData'],
  ['metadata', 'annotations', lastAppliedAnnotation],
] as const

export function isSecret({ kind, apiVersion }: JsonObject): boolean {
  return (
    typeof kind === 'string' &&
    kind.toLowerCase() === 'secret' &&
    (apiVersion === 'v1' || apiVersion === undefined)
  )
}

/** Without `data`, `stringData` and the configuration that repeats them; other objects stay as they are. */
export function withoutSecretValues<T extends JsonObject>(object: T): T {
  if (!isSecret(object)) return object
  return secretFields.reduce<JsonObject>(
    (stripped, path) => withoutField(stripped, path),
    object,
  ) as T
}

/** Form in task results: without what only the API server needs. */
function toResult(object: JsonObject): JsonObject {
  return withoutField(withoutSecretValues(object), ['metadata', 'managedFields'])
}

/** Characters that the objects of a result may have together before long ones are shown by their digest. */
const longestResult = 1024 * 1024
const longObject = 16 * 1024

/** Forms in task results; of megabytes, only names, status and digests of the long ones. */
export function toResults(objects: readonly JsonObject[]): JsonObject[] {
  const shown = objects.map((object) => {
    const result = toResult(object)
    return { result, text: formatJson(result) }
  })
  const length = shown.reduce((sum, { text }) => sum + text.length, 0)
  if (length <= longestResult) return shown.map(({ result }) => result)
  return shown.map(({ result, text }) => (text.length > longObject ? headOf(result, text) : result))
}

function headOf({ apiVersion, kind, metadata, status }: JsonObject, text: string): JsonObject {
  const head = withoutField({ apiVersion, kind, metadata }, [
    'metadata',
    'annotations',
    lastAppliedAnnotation,
  ])
  return {
    ...head,
    ...(isObject(status) && formatJson(status).length < longObject && { status }),
    digest: `sha256:${hash('sha256', text, 'hex')}`,
    bytes: Buffer.byteLength(text),
  }
}
