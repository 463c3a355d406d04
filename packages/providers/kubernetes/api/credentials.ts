/** What requests to an API server log in with: headers, and a client certificate. */
import { readFile } from 'node:fs/promises'
import { sharedWork } from '@fairlead/base/concurrency/shared-work.ts'
import type { ClientCertificate, ClusterAccess, Impersonation } from './cluster-access.ts'
import { runPlugin } from './exec-plugin.ts'

export interface Credential {
  /** Including those of impersonation. */
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly certificate: ClientCertificate | undefined
}

interface Loaded {
  readonly credential: Credential
  readonly loadedAtMs: number
  /** It is loaded again from then on. */
  readonly untilMs: number
}

/** The credentials cannot be had: nothing was sent. The message holds no secrets. */
export class CredentialFault extends Error {}

const fileMs = 60_000
/** A credential is replaced before it expires, at most this long. */
const marginMs = 60_000
/** What has just been loaded is not loaded again because it was rejected, or could not be loaded. */
const restMs = 5000

interface CredentialsOptions {
  readonly execCommands: readonly string[]
  readonly now: () => number
}

export class ClusterCredentials {
  readonly #access: ClusterAccess
  readonly #options: CredentialsOptions
  #loaded: Loaded | undefined
  readonly #loadOnce = sharedWork(() => this.#load())
  #failed: { readonly error: CredentialFault; readonly untilMs: number } | undefined

  constructor(access: ClusterAccess, options: CredentialsOptions) {
    this.#access = access
    this.#options = options
  }

  /** @throws {CredentialFault} */
  get(): Promise<Credential> {
    const nowMs = this.#options.now()
    if (this.#loaded !== undefined && nowMs < this.#loaded.untilMs)
      return Promise.resolve(this.#loaded.credential)
    if (this.#failed !== undefined && nowMs < this.#failed.untilMs)
      return Promise.reject(this.#failed.error)
    return this.#loadOnce()
  }

  /** @returns whether another attempt may have another credential than the one that was rejected */
  reject(rejected: Credential): boolean {
    const { kind } = this.#access.login
    if (kind !== 'token-file' && kind !== 'exec') return false
    if (this.#loaded === undefined || this.#loaded.credential !== rejected) return true
    // A file is cheap to read; a program is not.
    if (kind === 'exec' && this.#options.now() - this.#loaded.loadedAtMs < restMs) return false
    this.#loaded = undefined
    return true
  }

  async #load(): Promise<Credential> {
    const loadedAtMs = this.#options.now()
    try {
      const { headers, certificate = this.#access.clientCertificate, untilMs } = await this.#read()
      const credential = {
        headers: { ...toHeaders(this.#access.impersonation), ...headers },
        certificate,
      }
      this.#loaded = { credential, loadedAtMs, untilMs: untilMs ?? Number.POSITIVE_INFINITY }
      this.#failed = undefined
      return credential
    } catch (error) {
      const fault = new CredentialFault((error as Error).message, { cause: error })
      this.#failed = { error: fault, untilMs: this.#options.now() + restMs }
      throw fault
    }
  }

  async #read(): Promise<{
    headers: Record<string, string>
    certificate?: ClientCertificate | undefined
    untilMs?: number | undefined
  }> {
    const { login } = this.#access
    switch (login.kind) {
      case 'none':
        return { headers: {} }
      case 'token':
        return { headers: bearer(login.token) }
      case 'basic':
        return {
          headers: {
            authorization: `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}`,
          },
        }
      case 'token-file':
        return {
          headers: bearer(await readToken(login.file)),
          untilMs: this.#options.now() + fileMs,
        }
      case 'exec': {
        const { token, certificate, expiresAtMs } = await runPlugin(
          login.exec,
          this.#options.execCommands,
        )
        return {
          headers: token === undefined ? {} : bearer(token),
          certificate,
          untilMs: this.#renewalOf(expiresAtMs),
        }
      }
    }
  }

  /** One that lives for less than the margin is used for half of its life. */
  #renewalOf(expiresAtMs: number | undefined): number | undefined {
    if (expiresAtMs === undefined) return undefined
    const nowMs = this.#options.now()
    return Math.max(expiresAtMs - marginMs, nowMs + (expiresAtMs - nowMs) / 2)
  }
}

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token.trim()}` }
}

async function readToken(file: string): Promise<string> {
  let token: string
  try {
    token = (await readFile(file, 'utf8')).trim()
  } catch (error) {
    throw new Error(
      `the token file ${file} cannot be read (${(error as NodeJS.ErrnoException).code}); check the path and its rights`,
    )
  }
  if (token === '') throw new Error(`the token file ${file} is empty`)
  return token
}

/** @see https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation */
function toHeaders(impersonation: Impersonation | undefined): Record<string, string | string[]> {
  if (impersonation === undefined) return {}
  const { user, uid, groups, extra } = impersonation
  const headers: Record<string, string | string[]> = { 'impersonate-user': user }
  if (uid !== undefined) headers['impersonate-uid'] = uid
  if (groups.length > 0) headers['impersonate-group'] = [...groups]
  for (const [key, values] of Object.entries(extra))
    headers[`impersonate-extra-${encodeURIComponent(key.toLowerCase())}`] = [...values]
  return headers
}
