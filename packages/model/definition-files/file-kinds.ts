/** Kinds of definitions in files, and how a document says of which it is. */
import { isObject, isTrue, type JsonObject, textOf } from '@fairlead/base/json/values.ts'

/** What others refer to comes first, which is the order in which they are applied. */
export const fileKinds = [
  'application',
  'environments',
  'load-balancer',
  'project',
  'template',
  'canary-configuration',
  'strategy',
  'pipeline',
] as const
export type FileKind = (typeof fileKinds)[number]

export function isFileKind(value: unknown): value is FileKind {
  return fileKinds.some((kind) => kind === value)
}

/**
 * The kind by the field `kind`, or else by what only documents of that kind have, as in files that were written for others.
 *
 * @returns undefined for what is no definition
 */
export function kindOfDocument(document: JsonObject): FileKind | undefined {
  const { kind } = document
  if (isFileKind(kind)) return kind
  if (kind !== undefined) return undefined
  return fileKinds.find((each) => signs[each]?.(document) === true)
}

/** Whether it is a manifest of Kubernetes. */
export function isManifest(document: unknown): document is JsonObject {
  return isObject(document) && has(document, 'apiVersion', 'kind')
}

const has = (document: JsonObject, ...keys: readonly string[]) =>
  keys.every((key) => document[key] !== undefined)

const signs: Readonly<Partial<Record<FileKind, (document: JsonObject) => boolean>>> = {
  'canary-configuration': (document) =>
    Array.isArray(document['metrics']) && (has(document, 'judge') || has(document, 'classifier')),
  template: (document) =>
    (isObject(document['metadata']) && (has(document, 'pipeline') || has(document, 'variables'))) ||
    (has(document, 'variables', 'stages') && !has(document, 'application')),
  strategy: ({ strategy, stages }) => isTrue(strategy) && Array.isArray(stages),
  pipeline: (document) =>
    Array.isArray(document['stages']) || document['type'] === 'templatedPipeline',
  application: (document) =>
    textOf(document['name']) !== undefined && has(document, 'email') && !has(document, 'config'),
  project: (document) => isObject(document['config']) && has(document, 'email'),
}
