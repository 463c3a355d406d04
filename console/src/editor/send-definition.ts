/** The one way in which the console stores a pipeline. */
import { ApiError } from '../api/api-error.ts'
import { actionHeaders, client, type Schemas, unwrap } from '../api/client.ts'
import { hasInexact, keepsDigits } from '../model/exact-json.ts'
import type { Json } from '../model/read.ts'
import { words } from './words.ts'

/** Creates or overwrites a pipeline; with `updateTs`, unless the stored one is newer. @throws {ApiError} */
export async function sendDefinition(definition: Json): Promise<void> {
  if (!keepsDigits && hasInexact(definition)) throw new ApiError({ status: 0, message: words.digitsLost })
  await unwrap(
    client.POST('/pipelines', {
      params: { query: { staleCheck: true } },
      headers: actionHeaders,
      body: definition as Schemas['Pipeline'],
    }),
  )
}
