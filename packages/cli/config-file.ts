/** The file that keeps known instances and their tokens, for the user alone. */
import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { exitCodes, Failure } from './failure.ts'

/** An instance and, if there was a login, the token for it. */
export interface Context {
  /** Without a trailing slash. */
  readonly url: string
  readonly user?: string | undefined
  readonly token?: string | undefined
  /** Id of the API token, for its revocation. */
  readonly tokenId?: string | undefined
  /** ISO 8601. */
  readonly expiresAt?: string | undefined
}

export interface StoredConfig {
  /** Name of the context that is used without `--context`. */
  readonly current?: string | undefined
  readonly contexts: Readonly<Record<string, Context>>
}

export class ConfigFile {
  readonly path: string

  constructor(env: NodeJS.ProcessEnv) {
    const base = env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config')
    this.path = join(base, 'fairlead', 'config.json')
  }

  /** @throws {Failure} with 3 if others could read it, or if it is no JSON */
  load(): StoredConfig {
    this.#checkRights(dirname(this.path), 0o700)
    if (!this.#checkRights(this.path, 0o600)) return { contexts: {} }
    try {
      const { current, contexts } = JSON.parse(readFileSync(this.path, 'utf8')) as StoredConfig
      return { current, contexts: contexts ?? {} }
    } catch (cause) {
      if (!(cause instanceof SyntaxError)) throw cause
      throw new Failure(
        exitCodes.misuse,
        'CONFIG_UNREADABLE',
        `${this.path} is not well-formed JSON: ${cause.message}.`,
        { remedy: `Remove the file and log in again: rm ${this.path} && fairlead login`, cause },
      )
    }
  }

  /** The file is whole at every moment. */
  save(config: StoredConfig): void {
    const folder = dirname(this.path)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const next = `${this.path}.${process.pid}`
    writeFileSync(next, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 })
    chmodSync(next, 0o600)
    renameSync(next, this.path)
  }

  /** @returns whether the file or folder exists */
  #checkRights(path: string, allowed: number): boolean {
    const found = statSync(path, { throwIfNoEntry: false })
    if (found === undefined) return false
    if (process.platform === 'win32' || (found.mode & 0o777 & ~allowed) === 0) return true
    throw new Failure(
      exitCodes.misuse,
      'CONFIG_OPEN',
      `Other users of this machine may read ${path}, which keeps your tokens.`,
      { remedy: `Run: chmod ${allowed.toString(8)} ${path}` },
    )
  }
}
