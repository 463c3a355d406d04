/** `fairlead audit verify`: verifies an audit log and names the first altered line. */
import { existsSync } from 'node:fs'
import type { Config } from '@fairlead/app/config/config.ts'
import { listAuditFiles } from '@fairlead/gateway/audit/file-sink.ts'
import { linesOf } from '@fairlead/gateway/audit/lines.ts'
import type { SinkSettings } from '@fairlead/gateway/audit/settings.ts'
import { readAuditFile } from '@fairlead/gateway/audit/sqlite-sink.ts'
import { type Verification, verifyChain } from '@fairlead/gateway/audit/verify.ts'
import { choose, Misuse, readArguments } from './arguments.ts'
import { configOption, readConfig } from './read-config.ts'

const options = {
  sqlite: { type: 'boolean', default: false },
  expect: { type: 'string' },
  ...configOption,
} as const

export async function run(args: readonly string[]): Promise<number> {
  const { positionals, values } = readArguments(args, {
    command: 'audit',
    options,
    words: Infinity,
  })
  const [action = '', ...files] = positionals
  return choose({ verify }, action, 'audit')(args, files, values)
}

type Values = ReturnType<typeof readArguments<typeof options>>['values']

async function verify(
  args: readonly string[],
  files: readonly string[],
  { sqlite, expect }: Values,
): Promise<number> {
  if (sqlite && files.length > 1) throw new Misuse('audit', '--sqlite examines one file.')
  const { config } = files.length === 0 ? await readConfig(args) : { config: undefined }
  const kind = sqlite ? 'sqlite' : files.length > 0 ? 'file' : config?.audit?.sink.kind
  try {
    return await report(openSource(kind, config, files), expect)
  } catch (error) {
    throw new Error(`The audit log cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

type AuditSource = readonly {
  readonly name: string
  readonly lines: AsyncIterable<string> | Iterable<string>
}[]

/** @throws {Error} when there is none */
function openSource(
  kind: SinkSettings['kind'] | undefined,
  config: Config | undefined,
  files: readonly string[],
): AuditSource {
  if (kind === 'sqlite') return findDatabase(config, files)
  if (kind === undefined)
    throw new Error('the configuration keeps none (audit.enabled); name the files')
  if (kind === 'stdout')
    throw new Error('audit.sink is stdout; name the files where its lines are kept')
  return toFiles(files.length > 0 ? files : filesOf(config?.audit?.sink))
}

function filesOf(sink: SinkSettings | undefined): string[] {
  return sink?.kind === 'file' ? listAuditFiles(sink.file) : []
}

/** @throws {Error} when one does not exist */
function toFiles(files: readonly string[]): AuditSource {
  checkPresent(files)
  return files.map((name) => ({ name, lines: linesOf(name) }))
}

/** @throws {Error} when there is none */
function findDatabase(config: Config | undefined, [given]: readonly string[]): AuditSource {
  const sink = config?.audit?.sink
  const file = given ?? (sink?.kind === 'sqlite' ? sink.file : undefined)
  if (file === undefined)
    throw new Error('the configuration keeps no audit log in SQLite; name the file')
  checkPresent([file])
  return [{ name: file, lines: readAuditFile(file) }]
}

function checkPresent(files: readonly string[]): void {
  const missing = files.find((file) => !existsSync(file))
  if (missing !== undefined) throw new Error(`${missing} does not exist`)
}

async function report(parts: AuditSource, expected: string | undefined): Promise<number> {
  const begins: { name: string; before: number }[] = []
  async function* lines() {
    let before = 0
    for (const { name, lines: own } of parts) {
      begins.push({ name, before })
      for await (const line of own) {
        before++
        yield line
      }
    }
  }
  const verification = await verifyChain(lines(), expected)
  const place = (line: number) => {
    const part = begins.findLast(({ before }) => before < line)
    return part === undefined || parts.length === 1
      ? `line ${line}`
      : `${part.name}, line ${line - part.before},`
  }
  const breaks = verification.breaks.map(({ line, problem }) => `${place(line)} ${problem}\n`)
  if (!verification.hasExpected) breaks.push(`the record with the hash ${expected} is missing\n`)
  process.stdout.write(breaks.join('') + summarize(verification, breaks.length === 0))
  return breaks.length === 0 ? 0 : 1
}

function summarize(
  { records, first = 1, lost, last, incomplete }: Verification,
  sound: boolean,
): string {
  if (last === undefined) return 'there is no record\n'
  return [
    sound
      ? `${records} records, none altered or missing between the first and the last`
      : `${records} records`,
    ...(first > 1 ? [`the first is record ${first}: older ones have been removed`] : []),
    ...(lost > 0 ? [`${lost} events could not be written, as the records say themselves`] : []),
    ...(incomplete ? ['the last line is incomplete: it was being written'] : []),
    `the last is record ${last.sequence}, hash ${last.hash}`,
    '',
  ].join('\n')
}
