/** Fetches the secrets that settings refer to, all at once, from the stores that their engines name. */
import { createHash } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fieldOf } from '@fairlead/base/json/values.ts'
import { readS3Object, readSecretsManager } from './aws.ts'
import { readGcsObject } from './google.ts'
import { readKubernetesSecret } from './kubernetes.ts'
import {
  type EngineReference,
  paramOf,
  parseEngineReference,
  type ResolvedSecret,
  SecretError,
  type SecretPlaces,
} from './secret-reference.ts'

type ReadSecret = (reference: EngineReference, places: SecretPlaces) => Promise<Buffer>

const engines: Readonly<Record<string, ReadSecret>> = {
  noop: async (reference) => Buffer.from(paramOf(reference, 'v', 'value')),
  file: inYaml(readPlainFile),
  k8s: readKubernetesSecret,
  s3: inYaml(readS3Object),
  gcs: inYaml(readGcsObject),
  'secrets-manager': readSecretsManager,
}

const remedies: Readonly<Record<string, string>> = {
  vault:
    'have the Vault agent write a file and refer to it with encrypted:file!f:path!k:key, or use External Secrets and k8s',
}

/** Without the name, which may be the secret itself. */
const unknownEngine = `refers to a secret whose engine is none of ${Object.keys(engines).join(', ')}; write encrypted:engine!key:value`

/** One result for each reference; files of `encryptedFile:` are written. Takes 40 seconds at most. */
export async function resolveSecrets(
  references: Iterable<string>,
  places: SecretPlaces,
): Promise<ReadonlyMap<string, ResolvedSecret>> {
  return new Map(
    await Promise.all(
      [...references].map(async (text) => [text, await resolve(text, places)] as const),
    ),
  )
}

async function resolve(text: string, places: SecretPlaces): Promise<ResolvedSecret> {
  const reference = parseEngineReference(text)
  const { engine, isFile } = reference
  try {
    const read = Object.hasOwn(engines, engine) ? engines[engine] : undefined
    if (read === undefined) {
      if (remedies[engine] === undefined) return { kind: 'problem', message: unknownEngine }
      throw new SecretError(`Fairlead does not have it; ${remedies[engine]}`)
    }
    const bytes = await read(reference, places)
    if (isFile) return { kind: 'file', text: writeSecretFile(text, reference, bytes) }
    return { kind: 'value', text: bytes.toString('utf8') }
  } catch (error) {
    if (!(error instanceof SecretError)) throw error
    return {
      kind: 'problem',
      message: `the secret engine "${engine}" has no value: ${error.message}`,
    }
  }
}

async function readPlainFile(reference: EngineReference): Promise<Buffer> {
  const path = paramOf(reference, 'f', 'path of the file')
  try {
    const bytes = await readFile(path)
    return reference.isFile ? bytes : Buffer.from(bytes.toString('utf8').replace(/\r?\n$/, ''))
  } catch (error) {
    throw new SecretError(
      `${path} cannot be read (${(error as NodeJS.ErrnoException).code}); correct the path or its owner`,
    )
  }
}

/** `!k:a.b` selects this place of the YAML document; without it, all of it counts. */
function inYaml(read: ReadSecret): ReadSecret {
  return async (reference, places) => {
    const bytes = await read(reference, places)
    const key = reference.params.get('k')
    if (key === undefined) return bytes
    const value = key.split('.').reduce<unknown>(fieldOf, await parseYaml(bytes))
    if (typeof value === 'string') return Buffer.from(value)
    throw new SecretError(
      `${paramOf(reference, 'f', 'path')} has no value at the key "${key}"; correct !k:`,
    )
  }
}

/** Every scalar stays a text, as it is spelled: a password may look like a number. */
async function parseYaml(bytes: Buffer): Promise<unknown> {
  const { default: yaml } = await import('yaml')
  try {
    return yaml.parse(bytes.toString('utf8'), { schema: 'failsafe', logLevel: 'silent' })
  } catch {
    throw new SecretError('what it read is not YAML; leave !k: out, or correct the document')
  }
}

/** One for a process, so that a further reading of the configuration replaces the files. */
let folder: string | undefined

/** A file that only this user may read, gone with the process. */
function writeSecretFile(text: string, { params }: EngineReference, bytes: Buffer): string {
  try {
    folder ??= createSecretFolder()
    const name = basename(params.get('k') ?? params.get('f') ?? params.get('s') ?? '').replaceAll(
      /[^\w.-]/g,
      '_',
    )
    const path = join(
      folder,
      `${createHash('sha256').update(text).digest('hex').slice(0, 16)}-${name}`,
    )
    writeFileSync(path, bytes, { mode: 0o600 })
    return path
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new SecretError(
      `its file cannot be written to ${tmpdir()} (${code}); let TMPDIR name a directory that takes files`,
    )
  }
}

function createSecretFolder(): string {
  const created = mkdtempSync(join(tmpdir(), 'fairlead-secrets-'))
  chmodSync(created, 0o700)
  process.once('exit', () => rmSync(created, { recursive: true, force: true }))
  return created
}
