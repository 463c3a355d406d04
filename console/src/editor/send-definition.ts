/** The one way in which the console stores a pipeline. */
import { ApiError } from '../api/api-error.ts'
import { actionHeaders, client, type Schemas, warningsOf } from '../api/client.ts'
import { reportWarning } from '../components/notices.tsx'
import { digitsLost, hasInexact, keepsDigits } from '../model/exact-json.ts'
import { type Json, textOf } from '../model/read.ts'

/** Creates or overwrites a pipeline, and shows what the server warns of; with `updateTs`, unless the stored one is newer. @throws {ApiError} */
export async function sendDefinition(definition: Json): Promise<void> {
  if (!keepsDigits && hasInexact(definition)) throw new ApiError({ status: 0, message: digitsLost })
  const warnings = await warningsOf(
    client.POST('/pipelines', {
      params: { query: { staleCheck: true } },
      headers: actionHeaders,
      body: definition as Schemas['Pipeline'],
    }),
  )
  reportWarning(`${textOf(definition['name']) ?? 'The pipeline'} is saved, with warnings`, warnings)
}
