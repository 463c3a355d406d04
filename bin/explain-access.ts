/** `fairlead explain access`: shows whether a user may use an operation, and by which rule. */
import { type AccessQuestion, explainAccess } from '@fairlead/app/doctor/explain-access.ts'
import { Misuse, readArguments } from './arguments.ts'
import { configOption, readConfig } from './read-config.ts'

const options = {
  user: { type: 'string' },
  operation: { type: 'string' },
  application: { type: 'string' },
  account: { type: 'string' },
  'build-service': { type: 'string' },
  'service-account': { type: 'string' },
  ...configOption,
} as const

export async function explainAccessCommand(args: readonly string[]): Promise<number> {
  const question = toQuestion(args)
  const { config } = await readConfig(args)
  const { decision, lines } = await explainAccess(config, question)
  process.stdout.write(`${lines.join('\n')}\n`)
  return decision === 'denied' ? 1 : 0
}

/** @throws {Misuse} */
function toQuestion(args: readonly string[]): AccessQuestion {
  const { values } = readArguments(args, { command: 'explain access', options, words: 1 })
  const { user: username, operation, application, account } = values
  if (username === undefined || operation === undefined) {
    throw new Misuse(
      'explain access',
      'Name the user and the operation, with --user and --operation.',
    )
  }
  const { 'build-service': buildService, 'service-account': serviceAccount } = values
  return { username, operation, application, account, buildService, serviceAccount }
}
