/** Pipelines in the store: read, and written. */
import { ApiError } from '../api/api-error.ts'
import { actionHeaders, client, type Schemas, unwrap, warningsOf } from '../api/client.ts'
import { reportWarning } from '../components/notices.tsx'
import { digitsLost, hasInexact, keepsDigits } from '../model/exact-json.ts'
import { type Json, textOf } from '../model/read.ts'

export const definitionPath = '/applications/{application}/pipelineConfigs/{pipelineName}'

/** @throws {ApiError} */
export async function readDefinition(application: string, id: string): Promise<Json> {
  return (await unwrap(client.GET(definitionPath, { params: { path: { application, pipelineName: id } } }))) as Json
}

/** All of an application. @throws {ApiError} */
export async function readDefinitions(application: string): Promise<readonly Json[]> {
  return unwrap(client.GET('/applications/{application}/pipelineConfigs', { params: { path: { application } } }))
}

/** Creates or overwrites a pipeline, and shows what the server warns of; with `updateTs`, unless the stored one is newer. @throws {ApiError} */
export async function sendDefinition(definition: Json): Promise<void> {
  if (!keepsDigits && hasInexact(definition)) throw new ApiError({ status: 0, message: digitsLost })
  const query = { staleCheck: true }
  const body = definition as Schemas['Pipeline']
  const warnings = await warningsOf(client.POST('/pipelines', { params: { query }, headers: actionHeaders, body }))
  reportWarning(`${textOf(definition['name']) ?? 'The pipeline'} is saved, with warnings`, warnings)
}
