/** `fairlead backup`: writes the data directory into one file, while Fairlead runs. */
import { existsSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { encrypt } from '@fairlead/app/backups/encryption.ts'
import { writeBackup } from '@fairlead/app/backups/write-backup.ts'
import type { Config } from '@fairlead/app/config/config.ts'
import { volumesFolderName } from '@fairlead/base/names/agent-files.ts'
import { formatBytes } from '@fairlead/base/names/amounts.ts'
import { storePrivateFile } from '@fairlead/base/storage/private-files.ts'
import { keyFileFor } from '@fairlead/engine/secrets/key-file.ts'
import { Misuse, readArguments } from './arguments.ts'
import { configOption, existingDataDir, readConfig } from './read-config.ts'
import { readPassword } from './read-password.ts'
import { packageVersion } from './version.ts'

const options = {
  encrypt: { type: 'boolean' },
  recipient: { type: 'string', multiple: true },
  ...configOption,
} as const

export async function run(args: readonly string[]): Promise<number> {
  const { positionals, values } = readArguments(args, { command: 'backup', options, words: 1 })
  const [file] = positionals
  if (file === undefined)
    throw new Misuse('backup', 'Say the file to write, or "-" for standard output.')
  if (values.encrypt && values.recipient)
    throw new Misuse('backup', '--encrypt and --recipient exclude each other.')
  if (file !== '-' && existsSync(file))
    throw new Misuse('backup', `${file} exists. Name another file, or remove it.`)
  const { config } = await readConfig(args)
  const isEncrypted = values.encrypt === true || values.recipient !== undefined
  const passphrase = values.encrypt ? await readPassphrase() : undefined
  const archive = openArchive(config, isEncrypted)
  const written = isEncrypted
    ? await encrypt(archive, { passphrase, recipients: values.recipient })
    : archive
  await (file === '-'
    ? pipeline(written, process.stdout as Writable)
    : storePrivateFile(resolve(file), (sink) => pipeline(written, sink)))
  process.stderr.write(`${describe(config, file, isEncrypted)}\n`)
  return 0
}

async function readPassphrase(): Promise<string> {
  const passphrase = await readPassword()
  if (passphrase === '') throw new Misuse('backup', 'The passphrase is empty.')
  return passphrase
}

function openArchive({ backends }: Config, isEncrypted: boolean): AsyncIterable<Uint8Array> {
  const dataDir = existingDataDir(backends)
  const { name: secretsKey } = keyOf(backends)
  return writeBackup({
    dataDir,
    secretsKey,
    withSecretsKey: isEncrypted,
    version: packageVersion(),
    now: new Date(),
  })
}

/** The key of the secrets, with its name where it lies in the data directory. */
function keyOf({ dataDir, secrets }: Config['backends']): {
  file: string
  name: string | undefined
} {
  const file = keyFileFor(dataDir, secrets.keyFile)
  return { file, name: dirname(file) === dataDir ? basename(file) : undefined }
}

function describe({ backends, redis, audit }: Config, file: string, isEncrypted: boolean): string {
  const { dataDir } = backends
  const key = keyOf(backends)
  const isKeyInside = isEncrypted && key.name !== undefined
  const auditFile = audit !== undefined && 'file' in audit.sink ? audit.sink.file : undefined
  const missing = [
    ...(existsSync(key.file) && !isKeyInside ? [`the key of the secrets (${key.file})`] : []),
    ...(auditFile !== undefined && relative(dataDir, auditFile).startsWith('..')
      ? [`the audit log (${auditFile})`]
      : []),
    ...(existsSync(join(dataDir, volumesFolderName))
      ? [`volumes of programs (${join(dataDir, volumesFolderName)})`]
      : []),
    ...(redis === undefined ? [] : ['what is in Redis (sessions, tokens, banners)']),
    'configuration files and certificates',
  ]
  const size = file === '-' ? '' : ` (${formatBytes(statSync(file).size)})`
  return `The backup of ${dataDir} is written${file === '-' ? '' : ` to ${file}`}${size}. Not in it: ${missing.join(', ')}.`
}
