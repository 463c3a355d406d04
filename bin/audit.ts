/** `fairlead audit verify`: says whether an audit log is as it was written, and which line is not. */
import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { linesOf } from '../src/telemetry/audit/lines.ts'
import { readAuditFile } from '../src/telemetry/audit/sqlite-sink.ts'
import { type Verification, verifyChain } from '../src/telemetry/audit/verify.ts'
import { readConfig } from './read-config.ts'

const usage = `Usage: fairlead audit verify FILE…             files of audit.sink: file, the oldest first
       fairlead audit verify --sqlite [FILE]     the database; by default that of the data directory

  --expect HASH   hash of a record that must still be there, such as the last one of an earlier examination
  --config FILE   another configuration file; may be repeated, later wins

A gateway may write meanwhile. Ends with 1 when a record was altered or is missing.
`

const options = {
  sqlite: { type: 'boolean', default: false },
  expect: { type: 'string' },
  config: { type: 'string', multiple: true },
} as const

export async function audit(args: readonly string[]): Promise<number> {
  const given = readArguments(args)
  if (typeof given === 'string') {
    process.stderr.write(`${given}\n\n${usage}`)
    return 2
  }
  const files = given.sqlite && given.files.length === 0 ? await configuredFile(args) : given.files
  if (files === undefined) return 1
  const missing = files.find((file) => !existsSync(file))
  if (missing !== undefined) {
    process.stderr.write(`${missing} does not exist\n`)
    return 1
  }
  try {
    return await report(files, given.sqlite ? readAuditFile : linesOf, given.expect)
  } catch (error) {
    process.stderr.write(`${files.join(', ')} cannot be read: ${(error as Error).message}\n`)
    return 1
  }
}

/** What was given, or what is wrong with it. */
function readArguments(args: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const [action, ...files] = positionals
    if (action !== 'verify') return 'There is: fairlead audit verify'
    if (files.length === 0 && !values.sqlite) return 'Say which file, or --sqlite.'
    if (files.length > 1 && values.sqlite) return '--sqlite examines one file.'
    return { ...values, files }
  } catch (error) {
    return (error as Error).message
  }
}

async function configuredFile(args: readonly string[]): Promise<string[] | undefined> {
  const loaded = await readConfig(args)
  if (loaded === undefined) return undefined
  const sink = loaded.config.audit?.sink
  if (sink?.kind === 'sqlite') return [sink.file]
  process.stderr.write('the configuration keeps no audit log in SQLite; name the file\n')
  return undefined
}

type ReadLines = (file: string) => AsyncIterable<string> | Iterable<string>

async function report(files: readonly string[], read: ReadLines, expected: string | undefined): Promise<number> {
  let found = expected === undefined
  async function* lines() {
    for (const file of files) {
      for await (const line of read(file)) {
        found ||= line.includes(`"hash":"${expected}"`)
        yield line
      }
    }
  }
  const verification = await verifyChain(lines())
  const breaks = verification.breaks.map(({ line, problem }) => `line ${line} ${problem}\n`)
  if (!found) breaks.push(`the record with the hash ${expected} is missing\n`)
  process.stdout.write(breaks.join('') + summarize(verification, breaks.length === 0))
  return breaks.length === 0 ? 0 : 1
}

function summarize({ records, first = 1, last, incomplete }: Verification, sound: boolean): string {
  if (last === undefined) return 'there is no record\n'
  return [
    sound ? `${records} records, none altered or missing between the first and the last` : `${records} records`,
    ...(first > 1 ? [`the first is record ${first}: older ones have been removed`] : []),
    ...(incomplete ? ['the last line is incomplete: it was being written'] : []),
    `the last is record ${last.sequence}, hash ${last.hash}`,
    '',
  ].join('\n')
}
