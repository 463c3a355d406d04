/** Reference of a pipeline to its template, in both schemas. */
import { fieldAt, type JsonObject } from '@fairlead/base/json/values.ts'

const storePrefix = 'spinnaker://'

/** The stored template that a pipeline refers to, such as `web`, `web:stable` or `web@sha256:…`; undefined when none. */
export function templateOf(pipeline: JsonObject): string | undefined {
  if (pipeline['type'] !== 'templatedPipeline') return undefined
  // The second schema refers by an artifact, the first by a source inside its configuration.
  const reference =
    fieldAt(pipeline, 'template', 'reference') ??
    fieldAt(pipeline, 'config', 'pipeline', 'template', 'source')
  return idInStore(reference)
}

/** The template that another template extends. */
export function parentOf(template: JsonObject): string | undefined {
  return idInStore(template['source'])
}

/** The id without the tag or digest that a reference may carry. */
export function undecorated(id: string): string {
  return id
    .replace(/@sha256:[0-9a-f]+$/i, '')
    .replace(/:(?:latest|stable|unstable|experimental|test|canary)$/i, '')
}

/** What a reference such as `spinnaker://web:stable` says after its scheme; undefined for one that leads elsewhere. */
export function idInStore(reference: unknown): string | undefined {
  if (typeof reference !== 'string' || !reference.toLowerCase().startsWith(storePrefix))
    return undefined
  return reference.slice(storePrefix.length)
}
