/** `fairlead move`: definitions with their histories from Front50, Gate or another Fairlead, and into a file. */
import { existsSync } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { Config } from '@fairlead/app/config/config.ts'
import { readDefinitionFile, toLines } from '@fairlead/app/moves/definition-file.ts'
import type { MovedObject } from '@fairlead/app/moves/kinds.ts'
import { openCopy, openForWriting } from '@fairlead/app/moves/open-definitions.ts'
import { isFront50, readFront50, readGate } from '@fairlead/app/moves/read-remote.ts'
import { formatReport, writeDefinitions } from '@fairlead/app/moves/write-definitions.ts'
import { withoutSlash } from '@fairlead/base/settings/setting.ts'
import { storePrivateFile } from '@fairlead/base/storage/private-files.ts'
import { openLog } from '@fairlead/base/telemetry/log.ts'
import { Misuse, readArguments } from './arguments.ts'
import { configOption, existingDataDir, readConfig } from './read-config.ts'

const options = {
  from: { type: 'string' },
  to: { type: 'string' },
  'dry-run': { type: 'boolean' },
  replace: { type: 'boolean' },
  strict: { type: 'boolean' },
  user: { type: 'string' },
  ...configOption,
} as const

export async function run(args: readonly string[]): Promise<number> {
  const {
    from,
    to,
    'dry-run': isDry = false,
    replace: replaces = false,
    strict = false,
    user,
  } = readArguments(args, { command: 'move', options }).values
  if ((from === undefined) === (to === undefined))
    throw new Misuse('move', 'Say either --from or --to.')
  if (to !== undefined && existsSync(to))
    throw new Misuse('move', `${to} exists. Name another file, or remove it.`)
  const { config } = await readConfig(args)
  if (config.upstreams.services.front50.kind !== 'embedded')
    throw new Error(
      'The definition store of this configuration is not embedded. Remove services.front50.baseUrl.',
    )
  if (to !== undefined) return writeFile(config, to)
  const objects = await openSource(config, from ?? '', user)
  const opened = (isDry ? openCopy : openForWriting)(config, openLog('silent').log)
  try {
    const report = await writeDefinitions(opened, objects, {
      isStrict: strict || config.backends.findings.strict,
      replaces,
    })
    process.stdout.write(
      `${formatReport(report)}${isDry ? 'Nothing is written: this was a dry run.\n' : ''}`,
    )
    return 0
  } finally {
    opened.close()
  }
}

async function openSource(
  config: Config,
  from: string,
  user: string | undefined,
): Promise<AsyncIterable<MovedObject>> {
  if (!/^https?:\/\//.test(from)) return readDefinitionFile(from)
  const token = process.env['FAIRLEAD_TOKEN']
  const headers = {
    accept: 'application/json',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(user === undefined ? {} : { 'x-spinnaker-user': user }),
  }
  const source = { url: withoutSlash(from), headers, mostVersions: config.backends.limits.versions }
  if (await isFront50(source)) return readFront50(source)
  process.stderr.write(
    'A Gate shows neither service accounts nor snapshots, and histories of pipelines only.\n',
  )
  return readGate(source)
}

async function writeFile(config: Config, file: string): Promise<number> {
  existingDataDir(config.backends)
  const opened = openCopy(config, openLog('silent').log)
  try {
    await storePrivateFile(file, (sink) =>
      pipeline(Readable.from(toLines(opened.definitions)), createGzip(), sink),
    )
  } finally {
    opened.close()
  }
  process.stderr.write(
    `The definitions are written to ${file}. It shows secrets of triggers. Not in it: executions, secrets of applications, settings.\n`,
  )
  return 0
}
