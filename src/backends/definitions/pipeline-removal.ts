/** Removal of a pipeline or strategy together with its service account. */
import type { FastifyRequest } from 'fastify'
import type { JsonObject } from '../../json/values.ts'
import { pathValue } from '../requests/request-values.ts'
import { type DocumentStore, foldName } from '../stores/document-store.ts'
import type { Definitions } from './collections.ts'
import { missingDefinition } from './requests.ts'
import { removeManagedAccount } from './service-accounts.ts'

/** Belongs into the caller's transaction. */
export function removePipeline(definitions: Definitions, store: DocumentStore, pipeline: JsonObject): void {
  store.remove(foldName(String(pipeline['id'])))
  removeManagedAccount(definitions, String(pipeline['id']))
}

/** The pipeline or strategy that a path names by application and name. @throws {BackendError} 404 */
export function namedByPath(request: FastifyRequest, store: DocumentStore): JsonObject {
  const application = pathValue(request, 'application')
  const name = pathValue(request, 'name')
  const found = store.named(name, application)[0]
  if (found === undefined) throw missingDefinition(`definition named "${name}" in the application "${application}"`)
  return found
}
