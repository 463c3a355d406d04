/** `fairlead openapi`: prints the OpenAPI document. */
import { allOperations } from '../src/operations/all.ts'
import { formatOpenApi } from '../src/operations/openapi.ts'
import { packageVersion } from './version.ts'

export async function openapi(): Promise<number> {
  process.stdout.write(`${JSON.stringify(formatOpenApi(allOperations, { version: packageVersion() }), null, 2)}\n`)
  return 0
}
