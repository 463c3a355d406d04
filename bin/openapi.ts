/** `fairlead openapi`: prints the OpenAPI document. */
import { subjects } from '../src/operations/all.ts'
import { formatOpenApi } from '../src/operations/openapi.ts'
import { packageVersion } from './version.ts'

export async function openapi(): Promise<number> {
  process.stdout.write(`${JSON.stringify(formatOpenApi(subjects, { version: packageVersion() }), null, 2)}\n`)
  return 0
}
