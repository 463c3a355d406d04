/** Definitions in the text of a file: JSON or YAML, one or several. */

import { parseIfJson } from '@fairlead/base/json/json.ts'
import {
  isObject,
  type JsonObject,
  listOf,
  objectOf,
  objectsOf,
  scalarOf,
  textOf,
} from '@fairlead/base/json/values.ts'
import { parseYamlStream } from '@fairlead/base/json/yaml.ts'
import { type FileKind, fileKinds, isManifest, kindOfDocument } from './file-kinds.ts'

export interface FileDefinition {
  readonly kind: FileKind
  /** Without the field `kind`. */
  readonly document: JsonObject
}

/** @throws {Error} with a sentence, when it cannot be read or holds what is no definition */
export function readDefinitions(text: string): FileDefinition[] {
  const found = parseYamlStream(text, { merges: true })
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

/** An application and its pipelines in one file, as dinghy and others write them; a resource of PaCRD; an instance of a version-1 template. */
function unpack(document: unknown): unknown[] {
  if (!isObject(document)) return [document]
  if (textOf(document['apiVersion'])?.startsWith('pacrd.armory.spinnaker.io/'))
    return [ofResource(document)]
  const { pipeline } = document
  if (scalarOf(document['schema']) === '1' && isObject(pipeline))
    return [instanceOf(pipeline, document)]
  if (!Array.isArray(document['pipelines']) || 'stages' in document) return [document]
  const { application, spec } = document
  const { appmetadata, ...fields } = objectOf(spec)
  return [
    ...(isObject(spec)
      ? [{ kind: 'application', name: application, ...fields, ...objectOf(appmetadata) }]
      : []),
    ...objectsOf(document['pipelines']).map((pipeline) => ({ application, ...pipeline })),
  ]
}

function instanceOf({ application, name }: JsonObject, config: JsonObject): JsonObject {
  return { application, name, type: 'templatedPipeline', config }
}

function ofResource({ kind, metadata, spec }: JsonObject): JsonObject {
  const { name } = objectOf(metadata)
  return { kind: textOf(kind)?.toLowerCase(), name, ...objectOf(withoutProperties(spec)) }
}

/**
 * Stages, triggers, notifications and artifacts of PaCRD have their fields in `properties`, beside `type`; before version 0.7 in a
 * field of the type's name.
 */
function withoutProperties(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutProperties)
  if (!isObject(value)) return value
  const { type, ...rest } = value
  const own = textOf(type)?.replace(/^./, (first) => first.toLowerCase()) ?? ''
  const { properties = rest[own], [own]: _own, ...others } = rest
  if (isObject(properties)) return { type: own, ...others, ...mapEntries(properties, readText) }
  return mapEntries(value, (_key, each) => withoutProperties(each))
}

/** Objects that PaCRD has as text. */
function readText(key: string, value: unknown): unknown {
  if (key === 'manifests')
    return listOf(value).flatMap((each) =>
      typeof each === 'string' ? parseYamlStream(each, { merges: true }) : [each],
    )
  return ['customHeaders', 'payload', 'cancelPayload'].includes(key) && typeof value === 'string'
    ? (parseIfJson(value) ?? value)
    : value
}

function mapEntries(object: JsonObject, change: (key: string, value: unknown) => unknown) {
  return Object.fromEntries(Object.entries(object).map(([key, each]) => [key, change(key, each)]))
}

/** Files of Spinnaker that hold no definitions, by what only they have. */
const others: readonly [keys: readonly string[], is: string][] = [
  [
    ['deploymentConfigurations'],
    'it is the configuration of Halyard, not a definition: check the files that Halyard generates of it with --config',
  ],
  [
    ['artifacts', 'environments'],
    'it is a delivery configuration, which needs Keel: set services.keel.baseUrl, and send it to /managed/delivery-configs',
  ],
]

function describeUnknown(document: unknown): string {
  const said = isObject(document) ? textOf(document['kind']) : undefined
  const choice = `write one of ${fileKinds.join(', ')}`
  if (isManifest(document))
    return `"${said}" of ${textOf(document['apiVersion'])} is a manifest of Kubernetes, no definition: a stage deployManifest deploys it (docs/guides/deploy-to-kubernetes.md), and ${choice} for a definition`
  const other = others.find(([keys]) => isObject(document) && keys.every((key) => key in document))
  if (other !== undefined) return other[1]
  if (isObject(document) && isObject(document['services']))
    return 'it describes an app: check an app file by "fairlead validate", and write what a file of another tool says into .fairlead/app.yml, which "fairlead init" begins'
  return said === undefined
    ? `it is no definition that is known: write "kind", one of ${fileKinds.join(', ')}`
    : `"${said}" is no kind of definition: ${choice}`
}
