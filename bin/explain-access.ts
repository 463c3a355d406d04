/** `fairlead explain access`: says whether somebody may use an operation, and by which rule. */
import { parseArgs } from 'node:util'
import { type AccessQuestion, explainAccess } from '../src/doctor/explain-access.ts'
import { readConfig } from './read-config.ts'

export const usage = `Usage: fairlead explain access --user NAME --operation OPERATION [options]

  --user NAME              whose access
  --operation OPERATION    an id such as savePipelineUsingPOST, or a request such as "POST /pipelines"
  --application NAME       the application that it would be about
  --account NAME           the account that it would be about
  --build-service NAME     the build service that it would be about
  --service-account NAME   the service account that a trigger would run as
  --config FILE            another configuration file; may be repeated, later wins

Nothing is carried out. Ends with 1 when the answer is no.
`

const options = {
  user: { type: 'string' },
  operation: { type: 'string' },
  application: { type: 'string' },
  account: { type: 'string' },
  'build-service': { type: 'string' },
  'service-account': { type: 'string' },
  config: { type: 'string', multiple: true },
} as const

export async function explainAccessCommand(args: readonly string[]): Promise<number> {
  const values = parse(args)
  if (typeof values === 'string') {
    process.stderr.write(`${values}\n\n${usage}`)
    return 2
  }
  const loaded = await readConfig(args)
  if (loaded === undefined) return 1
  try {
    const { decision, lines } = await explainAccess(loaded.config, values)
    process.stdout.write(`${lines.join('\n')}\n`)
    return decision === 'denied' ? 1 : 0
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`)
    return 1
  }
}

/** The question, or what is wrong with it. */
function parse(args: readonly string[]): AccessQuestion | string {
  try {
    const { values } = parseArgs({ args: [...args], options, allowPositionals: true })
    const { user: username, operation, application, account } = values
    if (username === undefined || operation === undefined) return 'Say whose access to what, with --user and --operation.'
    const { 'build-service': buildService, 'service-account': serviceAccount } = values
    return { username, operation, application, account, buildService, serviceAccount }
  } catch (error) {
    return (error as Error).message
  }
}
