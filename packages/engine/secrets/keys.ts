/** Keys that encrypt secrets: a file outside the database, newest key first. */
import { createHash, randomBytes } from 'node:crypto'
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

const keyBytes = 32

export interface SecretKey {
  /** Derived from the key, so that a wrong key never passes for the right one. */
  readonly id: string
  readonly bytes: Buffer
}

/** @throws {Error} for people, without a line of the file */
function parseKeys(text: string, file: string): readonly SecretKey[] {
  const lines = text.split('\n').map((line) => line.trim())
  const keys = lines.flatMap((line, index) => {
    if (line === '' || line.startsWith('#')) return []
    const bytes = Buffer.from(line, 'base64')
    if (bytes.length === keyBytes) return [toKey(bytes)]
    throw new Error(
      `${file}: line ${index + 1} is no key of ${keyBytes} bytes in base64; make one with "openssl rand -base64 ${keyBytes}"`,
    )
  })
  if (keys.length > 0) return keys
  throw new Error(`${file}: it holds no key; make one with "openssl rand -base64 ${keyBytes}"`)
}

function toKey(bytes: Buffer): SecretKey {
  return {
    id: createHash('sha256')
      .update('fairlead secrets key ')
      .update(bytes)
      .digest('hex')
      .slice(0, 12),
    bytes,
  }
}

/** @returns undefined when there is no file @throws {Error} for people */
export function loadKeys(file: string): readonly SecretKey[] | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw new Error(`${file}: it cannot be read (${code}); give the user of Fairlead read access`)
  }
  return parseKeys(text, file)
}

/** Creates the file with a new key, mode 0600; the key of another process wins. @throws {Error} for people */
export function createKeyFile(file: string): readonly SecretKey[] {
  const fresh = `${file}.${process.pid}`
  try {
    const text = `# Encrypts the secrets in backends.db. Keep a copy apart from backups of the data directory.\n${randomBytes(keyBytes).toString('base64')}\n`
    writeFileSync(fresh, text, { mode: 0o600, flush: true })
    linkSync(fresh, file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'EEXIST')
      throw new Error(
        `${file}: it cannot be created (${code}); give the user of Fairlead write access`,
      )
  } finally {
    rmSync(fresh, { force: true })
  }
  const keys = loadKeys(file)
  if (keys === undefined) throw new Error(`${file}: it has disappeared after its creation`)
  return keys
}
