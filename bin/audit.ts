/** `fairlead audit verify`: says whether an audit log is as it was written, and which line is not. */
import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import pino from 'pino'
import { openRedis } from '../src/redis/open-redis.ts'
import { linesOf } from '../src/telemetry/audit/lines.ts'
import { auditStream, readAuditStream } from '../src/telemetry/audit/redis-sink.ts'
import { readAuditFile } from '../src/telemetry/audit/sqlite-sink.ts'
import { type Verification, verifyChain } from '../src/telemetry/audit/verify.ts'
import { readConfig } from './read-config.ts'

export const usage = `Usage: fairlead audit verify FILE…             files of audit.sink: file, the oldest first
       fairlead audit verify --sqlite [FILE]     the database; by default that of the data directory
       fairlead audit verify --redis             the stream in the Redis of the configuration

  --expect HASH   hash of a record that must still be there, such as the last one of an earlier examination
  --config FILE   another configuration file; may be repeated, later wins

A gateway may write meanwhile. Ends with 1 when a record was altered or is missing.
`

const options = {
  sqlite: { type: 'boolean', default: false },
  redis: { type: 'boolean', default: false },
  expect: { type: 'string' },
  config: { type: 'string', multiple: true },
} as const

export async function audit(args: readonly string[]): Promise<number> {
  const given = readArguments(args)
  if (typeof given === 'string') {
    process.stderr.write(`${given}\n\n${usage}`)
    return 2
  }
  try {
    const source = given.redis
      ? await openStream(args)
      : given.sqlite
        ? await findDatabase(args, given.files)
        : toFiles(given.files)
    if (source === undefined) return 1
    try {
      return await report(source, given.expect)
    } finally {
      await source.close?.()
    }
  } catch (error) {
    process.stderr.write(`the audit log cannot be read: ${(error as Error).message}\n`)
    return 1
  }
}

/** Where the lines come from, in order. */
interface Source {
  readonly parts: readonly { readonly name: string; readonly lines: AsyncIterable<string> | Iterable<string> }[]
  close?(): Promise<void>
}

/** What was given, or what is wrong with it. */
function readArguments(args: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const [action, ...files] = positionals
    if (action !== 'verify') return 'There is: fairlead audit verify'
    if (values.redis && (values.sqlite || files.length > 0)) return '--redis examines the stream and nothing else.'
    if (files.length === 0 && !values.sqlite && !values.redis) return 'Say which file, --sqlite or --redis.'
    if (files.length > 1 && values.sqlite) return '--sqlite examines one file.'
    return { ...values, files }
  } catch (error) {
    return (error as Error).message
  }
}

function toFiles(files: readonly string[]): Source | undefined {
  return areThere(files) ? { parts: files.map((name) => ({ name, lines: linesOf(name) })) } : undefined
}

async function findDatabase(args: readonly string[], [given]: readonly string[]): Promise<Source | undefined> {
  const file = given ?? (await configuredFile(args))
  return file !== undefined && areThere([file]) ? { parts: [{ name: file, lines: readAuditFile(file) }] } : undefined
}

function areThere(files: readonly string[]): boolean {
  const missing = files.find((file) => !existsSync(file))
  if (missing !== undefined) process.stderr.write(`${missing} does not exist\n`)
  return missing === undefined
}

async function configuredFile(args: readonly string[]): Promise<string | undefined> {
  const loaded = await readConfig(args)
  if (loaded === undefined) return undefined
  const sink = loaded.config.audit?.sink
  if (sink?.kind === 'sqlite') return sink.file
  process.stderr.write('the configuration keeps no audit log in SQLite; name the file\n')
  return undefined
}

async function openStream(args: readonly string[]): Promise<Source | undefined> {
  const loaded = await readConfig(args)
  if (loaded === undefined) return undefined
  if (loaded.config.redis === undefined) {
    process.stderr.write('the configuration names no Redis; set redis.connection\n')
    return undefined
  }
  const redis = await openRedis(loaded.config.redis, pino({ level: 'silent' }))
  return { parts: [{ name: auditStream, lines: readAuditStream(redis) }], close: () => redis.close() }
}

async function report({ parts }: Source, expected: string | undefined): Promise<number> {
  let found = expected === undefined
  const begins: { name: string; before: number }[] = []
  async function* lines() {
    let before = 0
    for (const { name, lines: own } of parts) {
      begins.push({ name, before })
      for await (const line of own) {
        before++
        found ||= line.includes(`"hash":"${expected}"`)
        yield line
      }
    }
  }
  const verification = await verifyChain(lines())
  const place = (line: number) => {
    const part = begins.findLast(({ before }) => before < line)
    return part === undefined || parts.length === 1 ? `line ${line}` : `${part.name}, line ${line - part.before},`
  }
  const breaks = verification.breaks.map(({ line, problem }) => `${place(line)} ${problem}\n`)
  if (!found) breaks.push(`the record with the hash ${expected} is missing\n`)
  process.stdout.write(breaks.join('') + summarize(verification, breaks.length === 0))
  return breaks.length === 0 ? 0 : 1
}

function summarize({ records, first = 1, lost, last, incomplete }: Verification, sound: boolean): string {
  if (last === undefined) return 'there is no record\n'
  return [
    sound ? `${records} records, none altered or missing between the first and the last` : `${records} records`,
    ...(first > 1 ? [`the first is record ${first}: older ones have been removed`] : []),
    ...(lost > 0 ? [`${lost} events could not be written, as the records say themselves`] : []),
    ...(incomplete ? ['the last line is incomplete: it was being written'] : []),
    `the last is record ${last.sequence}, hash ${last.hash}`,
    '',
  ].join('\n')
}
