/** `fairlead openapi`: prints the OpenAPI document. */
import { subjects } from '@fairlead/gateway/operations/all.ts'
import { formatOpenApi } from '@fairlead/gateway/operations/serving/openapi.ts'
import { readArguments } from './arguments.ts'
import { packageVersion } from './version.ts'

export async function run(args: readonly string[]): Promise<number> {
  readArguments(args, { command: 'openapi', options: {} })
  process.stdout.write(
    `${JSON.stringify(formatOpenApi(subjects, { version: packageVersion() }), null, 2)}\n`,
  )
  return 0
}
