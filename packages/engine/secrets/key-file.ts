/** The key file of the secrets while the back ends run: read, created with the first secret, never replaced. */
import { dirname, join } from 'node:path'
import { PortError } from '@fairlead/base/port-error.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { FastifyBaseLogger } from 'fastify'
import { createKeyFile, loadKeys, type SecretKey } from './keys.ts'
import type { SecretStore } from './secret-store.ts'
import { ownKeyName } from './settings.ts'

/** @param configured Undefined: beside the database */
export function keyFileFor(dataDir: string, configured: string | undefined): string {
  return configured ?? join(dataDir, ownKeyName)
}

export class KeyFile {
  readonly #file: string
  readonly #isOwn: boolean
  readonly #store: SecretStore
  readonly #log: FastifyBaseLogger
  #keys: readonly SecretKey[] | undefined

  constructor(
    { db, settings, log }: Pick<BackendContext, 'db' | 'settings' | 'log'>,
    store: SecretStore,
  ) {
    const configured = settings.secrets.keyFile
    this.#file = keyFileFor(dirname(db.location() ?? ''), configured)
    this.#isOwn = configured === undefined
    this.#store = store
    this.#log = log
  }

  get file(): string {
    return this.#file
  }

  /** Reports what cannot be decrypted, and encrypts with the newest key what an older one did. */
  examine(): void {
    const keys = this.#load()
    for (const [key, names] of this.#store.missingKeys(keys ?? [])) {
      const shown = names.slice(0, 20)
      this.#log.error(
        { key, file: this.#file, secrets: shown, count: names.length },
        'secrets cannot be used: their key is not in the key file. Add it to that file, and restart; or set the secrets again',
      )
    }
    if (keys === undefined) return
    const count = this.#store.reencrypt(keys)
    if (count > 0)
      this.#log.info({ count, file: this.#file }, 'secrets were encrypted with the newest key')
  }

  /** Newest first. @throws {PortError} 400 when there is none */
  all(): readonly SecretKey[] {
    const keys = this.#keys ?? this.#load()
    if (keys !== undefined) return keys
    throw new PortError(400, this.#describeAbsence())
  }

  /** The newest key; the first one of a standalone instance is created. @throws {PortError} 400 */
  forWriting(): SecretKey {
    let keys = this.#keys ?? this.#load()
    if (keys === undefined && this.#isOwn && this.#store.usedKeys().length === 0)
      keys = this.#create()
    const [newest] = keys ?? []
    if (newest === undefined) throw new PortError(400, this.#describeAbsence())
    this.#store.noteKey(newest)
    return newest
  }

  #create(): readonly SecretKey[] {
    try {
      this.#keys = createKeyFile(this.#file)
    } catch (error) {
      throw new PortError(
        400,
        `The key of the secrets cannot be created: ${(error as Error).message}.`,
      )
    }
    this.#log.warn(
      { file: this.#file },
      'the key of the secrets was created. Keep a copy apart from backups of the data directory',
    )
    return this.#keys
  }

  #load(): readonly SecretKey[] | undefined {
    try {
      this.#keys = loadKeys(this.#file)
    } catch (error) {
      this.#log.error(
        { file: this.#file, problem: (error as Error).message },
        'the key file of the secrets cannot be used',
      )
    }
    return this.#keys
  }

  #describeAbsence(): string {
    const used = this.#store.usedKeys()
    const remedy =
      used.length > 0
        ? `Restore it with the key ${used.join(' or ')}.`
        : `Make one with "openssl rand -base64 32 > ${this.#file}", readable for the user of Fairlead alone.`
    return `The key file of the secrets, ${this.#file}, is missing or cannot be used. ${remedy}`
  }
}
