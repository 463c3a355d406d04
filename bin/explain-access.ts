/** `fairlead explain access`: says whether somebody may use an operation, and by which rule. */
import { parseArgs } from 'node:util'
import { explainAccess } from '../src/doctor/explain-access.ts'
import { readConfig } from './read-config.ts'

const usage = `Usage: fairlead explain access --user NAME --operation ID [options]

  --user NAME              whose access
  --operation ID           which operation, such as savePipelineUsingPOST
  --application NAME       the application that it would be about
  --account NAME           the account that it would be about
  --config FILE            another configuration file; may be repeated, later wins

Nothing is carried out. Ends with 1 when the answer is no.
`

const options = {
  user: { type: 'string' },
  operation: { type: 'string' },
  application: { type: 'string' },
  account: { type: 'string' },
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
  const { user: username, operation, application, account } = values
  try {
    const { decision, lines } = await explainAccess(loaded.config, { username, operation, application, account })
    process.stdout.write(`${lines.join('\n')}\n`)
    return decision === 'denied' ? 1 : 0
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`)
    return 1
  }
}

interface Values {
  user: string
  operation: string
  application: string | undefined
  account: string | undefined
}

/** The values, or what is wrong with them. */
function parse(args: readonly string[]): Values | string {
  try {
    const { values } = parseArgs({ args: [...args], options, allowPositionals: true })
    const { user, operation, application, account } = values
    if (user === undefined || operation === undefined) return 'Say whose access to what, with --user and --operation.'
    return { user, operation, application, account }
  } catch (error) {
    return (error as Error).message
  }
}
