/** `fairlead restore`: puts a backup into the data directory, which must be empty. */
import { createReadStream, existsSync, readdirSync, readFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { askAgent } from '@fairlead/agent/agent-request.ts'
import { decrypt, isEncrypted, needsPassphrase } from '@fairlead/app/backups/encryption.ts'
import { restoreBackup } from '@fairlead/app/backups/restore-backup.ts'
import { lockDataDir } from '@fairlead/app/hosting/lock.ts'
import { shellWord } from '@fairlead/base/names/shell-word.ts'
import { explainUnreadable } from '@fairlead/base/storage/file-fault.ts'
import { socketPathFor } from '@fairlead/base/storage/socket-path.ts'
import { Misuse, readArguments } from './arguments.ts'
import { command } from './command-name.ts'
import { configOption, readConfig } from './read-config.ts'
import { readPassword } from './read-password.ts'

const options = { identity: { type: 'string' }, ...configOption } as const
const headBytes = 200
const agentWaitMs = 5000

export async function run(args: readonly string[]): Promise<number> {
  const { positionals, values } = readArguments(args, { command: 'restore', options, words: 1 })
  const [file] = positionals
  if (file === undefined) throw new Misuse('restore', 'Say the file of the backup.')
  const { config } = await readConfig(args)
  const { dataDir } = config.backends
  checkEmpty(dataDir)
  const archive = await openArchive(file, values.identity)
  const lock = lockDataDir(dataDir)
  try {
    const { createdAt, dataDir: source, hasSecretsKey } = await restoreBackup(archive, dataDir)
    process.stdout.write(`The backup of ${source} from ${createdAt} is restored to ${dataDir}.\n`)
    if (!hasSecretsKey)
      process.stdout.write(
        'It has no key of the secrets: if there are secrets, put their key file to its place.\n',
      )
    await warnOfPrograms(source)
    return 0
  } finally {
    lock.close()
  }
}

function checkEmpty(dataDir: string): void {
  const names = existsSync(dataDir) ? readdirSync(dataDir) : []
  if (names.every((name) => name.startsWith('lock.db') || name === 'lost+found')) return
  throw new Error(
    `The data directory ${dataDir} is not empty. Run "${command('stop --all')}", move the directory away, and try again; ` +
      'or name another one with FAIRLEAD_DATA_DIR.',
  )
}

/** The content of the backup, decrypted. @throws {Error} when it cannot be read or decrypted */
async function openArchive(
  file: string,
  identityFile: string | undefined,
): Promise<AsyncIterable<Uint8Array>> {
  const head = await readHead(file)
  const content = createReadStream(file)
  if (!isEncrypted(head)) return content
  if (identityFile !== undefined)
    return decrypt(content, { identities: readIdentities(identityFile) })
  if (needsPassphrase(head)) return decrypt(content, { passphrase: await readPassword() })
  throw new Misuse(
    'restore',
    'The backup is encrypted for a public key: name the file with the secret key by --identity.',
  )
}

async function readHead(file: string): Promise<Buffer> {
  try {
    await using handle = await open(file)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0)
    return buffer.subarray(0, bytesRead)
  } catch (cause) {
    throw new Error(`The backup cannot be read: ${explainUnreadable(file, cause)}.`, { cause })
  }
}

/** The lines of a file that `age-keygen` has written. */
function readIdentities(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '' && !line.startsWith('#'))
  } catch (cause) {
    throw new Error(`The secret keys cannot be read: ${explainUnreadable(file, cause)}.`, { cause })
  }
}

/** Programs of the directory that was backed up would be started a second time, beside those that run. */
async function warnOfPrograms(source: string): Promise<void> {
  const socketPath = socketPathFor(source, 'agent.sock')
  const signal = AbortSignal.timeout(agentWaitMs)
  const answer = await askAgent({ socketPath, method: 'GET', path: '/observed', signal }).catch(
    () => undefined,
  )
  if (answer?.status !== 200) return
  process.stdout.write(
    `Programs that ${source} has deployed still run on this machine, and the next start would start them again. Stop them first: ` +
      `FAIRLEAD_DATA_DIR=${shellWord(source)} ${command('stop --all')}\n`,
  )
}
