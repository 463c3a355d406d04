/** An ACME authority: its directory, nonces, account, and signed requests (RFC 8555, RFC 9773). */

import { createPublicKey, type KeyObject } from 'node:crypto'
import { Agent } from 'node:https'
import { isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import { type Answer, CallError, call } from '@fairlead/base/net/call.ts'
import type { AcmeSettings } from './settings.ts'

/** The authority has refused a request, or cannot be reached. The message is for people. */
export class AcmeProblem extends Error {
  override readonly name = 'AcmeProblem'
  /** Status of the response; 0 without one. */
  readonly status: number
  /** The last part of the problem's type, such as `rateLimited`; `unreachable` without a response. */
  readonly type: string
  /** Milliseconds since the epoch before which the request must not be repeated. */
  readonly retryAtMs: number | undefined
  /** Hosts that the authority names as the cause. */
  readonly hosts: readonly string[]
  /** URL of the request. */
  readonly url: string | undefined

  constructor(message: string, about: Partial<Pick<AcmeProblem, AboutProblem>> = {}) {
    super(message)
    this.status = about.status ?? 0
    this.type = about.type ?? 'unreachable'
    this.retryAtMs = about.retryAtMs
    this.hosts = about.hosts ?? []
    this.url = about.url
  }
}

type AboutProblem = 'status' | 'type' | 'retryAtMs' | 'hosts' | 'url'

interface AcmeDirectory {
  readonly newNonce: string
  readonly newAccount: string
  readonly newOrder: string
  /** Undefined: the authority has no renewal information. */
  readonly renewalInfo?: string
  readonly meta?: JsonObject
}

export interface AcmeAnswer {
  readonly url: string
  readonly body: JsonObject
  readonly text: string
  /** See `AcmeProblem.retryAtMs`. */
  readonly retryAtMs: number | undefined
}

type AcmeAccess = Pick<AcmeSettings, 'directory' | 'roots' | 'email' | 'binding'>

/** What the store keeps about the account. */
export interface AcmeAccount {
  readonly key: KeyObject
  /** Undefined until the authority knows the key. */
  url: string | undefined
}

interface AuthorityParts {
  /** Called before the first signed request; what it throws fails the request. */
  readonly loadAccount: () => AcmeAccount
  /** Called with the URL of an account that was made. */
  readonly onAccount: (url: string) => void
  readonly now: () => number
}

const timeoutMs = 30_000
const maxSockets = 10
const maxAnswerBytes = 1024 * 1024
/** An authority that refuses every second nonce refuses so many in a row once in a million requests. */
const maxBadNonces = 20
const maxKeptNonces = 32
const directoryAgeMs = 24 * 3_600_000

export class AcmeAuthority {
  readonly #access: AcmeAccess
  readonly #parts: AuthorityParts
  readonly #connections = new Agent({ keepAlive: true, maxSockets, timeout: timeoutMs })
  #loadedAccount: AcmeAccount | undefined
  #nonces: string[] = []
  #directory: { readonly atMs: number; readonly read: Promise<AcmeDirectory> } | undefined
  #registration: Promise<string> | undefined

  constructor(access: AcmeAccess, parts: AuthorityParts) {
    this.#access = access
    this.#parts = parts
  }

  get #account(): AcmeAccount {
    this.#loadedAccount ??= this.#parts.loadAccount()
    return this.#loadedAccount
  }

  /** @throws {AcmeProblem} */
  directory(): Promise<AcmeDirectory> {
    const known = this.#directory
    if (known !== undefined && this.#parts.now() - known.atMs < directoryAgeMs) return known.read
    const read = this.#readDirectory()
    const current = { atMs: this.#parts.now(), read }
    this.#directory = current
    read.catch(() => {
      if (this.#directory === current) this.#directory = undefined
    })
    return read
  }

  /**
   * A request that the account signs; without a payload it reads (POST-as-GET). An account that the authority has lost is made again.
   *
   * @throws {AcmeProblem}
   */
  async post(url: string, payload?: JsonObject): Promise<AcmeAnswer> {
    const kid = this.#account.url ?? (await this.#register())
    try {
      return await this.#signed(url, payload, { kid })
    } catch (error) {
      if (!(error instanceof AcmeProblem) || error.type !== 'accountDoesNotExist') throw error
      if (this.#account.url === kid) this.#account.url = undefined
      return this.#signed(url, payload, { kid: this.#account.url ?? (await this.#register()) })
    }
  }

  /** A request that nothing signs, for renewal information. @throws {AcmeProblem} */
  async get(url: string): Promise<AcmeAnswer> {
    return this.#toAnswer(url, await this.#send('GET', url))
  }

  /** The key's thumbprint follows the token. @see RFC 8555, section 8.1 */
  async keyAuthorization(token: string): Promise<string> {
    const { calculateJwkThumbprint } = await import('jose')
    return `${token}.${await calculateJwkThumbprint(this.#jwk())}`
  }

  close(): void {
    this.#connections.destroy()
  }

  /** One registration at a time, however many orders wait for it. */
  #register(): Promise<string> {
    this.#registration ??= this.#newAccount().finally(() => {
      this.#registration = undefined
    })
    return this.#registration
  }

  async #newAccount(): Promise<string> {
    const { newAccount, meta = {} } = await this.directory()
    const { email, binding } = this.#access
    if (meta['externalAccountRequired'] === true && binding === undefined)
      throw new AcmeProblem(
        'The authority wants an external account binding: set local.front.acme.binding.kid and local.front.acme.binding.hmac.',
        { type: 'externalAccountRequired' },
      )
    const { url } = await this.#signed(
      newAccount,
      {
        // Configuring an authority accepts its terms.
        termsOfServiceAgreed: true,
        ...(email !== undefined && { contact: [`mailto:${email}`] }),
        ...(binding !== undefined && {
          externalAccountBinding: await this.#bind(newAccount, binding),
        }),
      },
      { jwk: this.#jwk() },
    )
    this.#account.url = url
    this.#parts.onAccount(url)
    return url
  }

  async #bind(url: string, { kid, hmac }: { kid: string; hmac: string }): Promise<JsonObject> {
    const { FlattenedSign } = await import('jose')
    const content = Buffer.from(JSON.stringify(this.#jwk()))
    const signed = await new FlattenedSign(content)
      .setProtectedHeader({ alg: 'HS256', kid, url })
      .sign(Buffer.from(hmac, 'base64url'))
    return { ...signed }
  }

  #jwk(): { kty: string; crv: string; x: string; y: string } {
    const { kty, crv, x, y } = createPublicKey(this.#account.key).export({ format: 'jwk' })
    return { kty, crv, x, y } as { kty: string; crv: string; x: string; y: string }
  }

  async #signed(
    url: string,
    payload: JsonObject | undefined,
    by: { readonly kid: string } | { readonly jwk: object },
  ): Promise<AcmeAnswer> {
    const { FlattenedSign } = await import('jose')
    const content = Buffer.from(payload === undefined ? '' : JSON.stringify(payload))
    for (let refused = 0; ; refused++) {
      const nonce = this.#nonces.pop() ?? (await this.#newNonce())
      const body = await new FlattenedSign(content)
        .setProtectedHeader({ alg: 'ES256', nonce, url, ...by })
        .sign(this.#account.key)
      const answer = await this.#send('POST', url, JSON.stringify(body))
      try {
        return this.#toAnswer(url, answer)
      } catch (error) {
        const isBadNonce = error instanceof AcmeProblem && error.type === 'badNonce'
        if (!isBadNonce || refused >= maxBadNonces) throw error
      }
    }
  }

  async #newNonce(): Promise<string> {
    const { newNonce } = await this.directory()
    const answer = await this.#send('HEAD', newNonce)
    this.#toAnswer(newNonce, answer)
    const nonce = this.#nonces.pop()
    if (nonce === undefined) throw new AcmeProblem('The authority gives no nonce.', answer)
    return nonce
  }

  async #readDirectory(): Promise<AcmeDirectory> {
    const { directory } = this.#access
    const { body } = await this.get(directory)
    const missing = ['newNonce', 'newAccount', 'newOrder'].find(
      (name) => typeof body[name] !== 'string',
    )
    if (missing !== undefined)
      throw new AcmeProblem(
        `${directory} is no directory of an ACME authority: it has no ${missing}. Correct local.front.acme.directory.`,
        { type: 'malformed' },
      )
    return body as unknown as AcmeDirectory
  }

  async #send(method: string, url: string, body?: string): Promise<Answer> {
    const { roots } = this.#access
    try {
      const answer = await call({
        method,
        url: new URL(url),
        headers: {
          'user-agent': 'fairlead',
          ...(body !== undefined && { 'content-type': 'application/jose+json' }),
        },
        body,
        timeoutMs,
        maxBytes: maxAnswerBytes,
        agent: this.#connections,
        tls: { ...(roots !== undefined && { ca: roots }) },
      })
      const nonce = answer.headers['replay-nonce']
      if (typeof nonce === 'string' && this.#nonces.length < maxKeptNonces) this.#nonces.push(nonce)
      return answer
    } catch (error) {
      if (!(error instanceof CallError)) throw error
      throw new AcmeProblem(`The authority cannot be reached: ${error.message}`)
    }
  }

  #toAnswer(url: string, { status, headers, bytes }: Answer): AcmeAnswer {
    const text = bytes.toString('utf8')
    const body = parseObject(text)
    const retryAtMs = toRetryAt(headers['retry-after'], this.#parts.now())
    if (status >= 200 && status < 300)
      return { url: headers.location ?? url, body, text, retryAtMs }
    throw toProblem(body, { status, retryAtMs, url })
  }
}

function parseObject(text: string): JsonObject {
  try {
    const body: unknown = JSON.parse(text)
    return isObject(body) ? body : {}
  } catch {
    return {}
  }
}

/** Seconds, or a date. */
function toRetryAt(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined
  const seconds = Number(header)
  const atMs = Number.isFinite(seconds) ? now + seconds * 1000 : Date.parse(header)
  return Number.isNaN(atMs) ? undefined : atMs
}

const typePrefix = 'urn:ietf:params:acme:error:'
const maxDetail = 500

/** A problem document, of a response or of a challenge. @see RFC 8555, section 6.7 */
export function toProblem(
  body: JsonObject,
  about: { status: number; retryAtMs?: number; url?: string },
): AcmeProblem {
  const subproblems = Array.isArray(body['subproblems']) ? body['subproblems'].filter(isObject) : []
  const type = String(body['type'] ?? '').replace(typePrefix, '') || `status ${about.status}`
  const details = [body, ...subproblems].flatMap(({ detail, identifier }) => {
    if (typeof detail !== 'string') return []
    return isObject(identifier) ? `${String(identifier['value'])}: ${detail}` : detail
  })
  const hosts = subproblems.flatMap(({ identifier }) =>
    isObject(identifier) ? String(identifier['value']) : [],
  )
  const detail = details.join(' ').slice(0, maxDetail)
  const from = about.url === undefined ? '' : ` at ${new URL(about.url).host}`
  return new AcmeProblem(
    detail === ''
      ? `The authority answered with status ${about.status}${from}.`
      : `The authority reports ${type}: ${detail}`,
    { ...about, type, hosts },
  )
}
