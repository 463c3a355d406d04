/** Definitions in the text of a file: JSON or YAML, one or several. */

import { isObject, type JsonObject, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { parseYamlStream } from '@fairlead/base/json/yaml.ts'
import { type FileKind, fileKinds, kindOfDocument } from './file-kinds.ts'

export interface FileDefinition {
  readonly kind: FileKind
  /** Without the field `kind`. */
  readonly document: JsonObject
}

/** @throws {Error} with a sentence, when it cannot be read or holds what is no definition */
export function readDefinitions(text: string): FileDefinition[] {
  const found = parseYamlStream(text)
    .filter((document) => document !== null)
    .flatMap((document) => (Array.isArray(document) ? document : [document]) as unknown[])
    .flatMap(unpack)
  if (found.length === 0) throw new Error('it holds no definition')
  return found.map((document) => {
    const kind = isObject(document) ? kindOfDocument(document) : undefined
    if (kind === undefined || !isObject(document)) throw new Error(describeUnknown(document))
    const { kind: _said, ...rest } = document
    return { kind, document: rest }
  })
}

/** Pipelines of an application in one file, as dinghy and others write them. */
function unpack(document: unknown): unknown[] {
  if (!isObject(document) || !Array.isArray(document['pipelines']) || 'stages' in document)
    return [document]
  const { application } = document
  return objectsOf(document['pipelines']).map((pipeline) => ({ application, ...pipeline }))
}

function describeUnknown(document: unknown): string {
  const said = isObject(document) ? textOf(document['kind']) : undefined
  if (isObject(document) && document['apiVersion'] !== undefined)
    return 'it is a manifest of Kubernetes: name it in a stage deployManifest of a pipeline, as docs/guides/deploy-to-kubernetes.md shows'
  if (isObject(document) && isObject(document['services']))
    return 'it describes an app: check an app file by "fairlead validate", and write what a file of another tool says into .fairlead/app.yml, which "fairlead init" begins'
  return said === undefined
    ? `it is no definition that is known: write "kind", one of ${fileKinds.join(', ')}`
    : `"${said}" is no kind of definition: write one of ${fileKinds.join(', ')}`
}
