/** Values of KV version 2 of Vault, within the rules of the settings, kept for seconds. */

import { readFile } from 'node:fs/promises'
import { createCache, type ExpiringCache, loadOnce } from '@fairlead/base/caches/expiring-cache.ts'
import { parseIfJson } from '@fairlead/base/json/json.ts'
import { maybe, or, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, numberOf, objectOf, textOf } from '@fairlead/base/json/values.ts'
import { CallError, call } from '@fairlead/base/net/call.ts'
import { encodeSegments } from '@fairlead/base/net/encode-path.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { matchesRule, type VaultSettings } from './settings.ts'

interface VaultDocument {
  readonly data: JsonObject
  readonly version: number
}

const maxKept = 1000
const toDocument = shape({
  data: shape({ data: maybe(objectOf), metadata: shape({ version: or(numberOf, 0) }) }),
})

export class VaultSecrets {
  readonly #settings: VaultSettings
  readonly #client: VaultClient
  readonly #cache: ExpiringCache<Promise<VaultDocument>>

  constructor(settings: VaultSettings, steady: () => number) {
    this.#settings = settings
    this.#client = new VaultClient(settings, steady)
    this.#cache = createCache({ maxSize: maxKept, ttlMs: settings.cacheMs, now: steady })
  }

  /** @throws {PortError} 400 naming the reference and the remedy; 503 while Vault is away */
  async read(
    path: string,
    key: string,
    application: string | undefined,
  ): Promise<{ value: string; version: number }> {
    const what = `secret:vault:${path}#${key}`
    const rules = this.#settings.rules.map(({ applications, paths }) => ({
      applications,
      patterns: paths,
    }))
    if (!matchesRule(path, application, rules)) {
      const subject =
        application === undefined ? 'without an application' : `by the application ${application}`
      throw new PortError(
        400,
        `${what} may not be used ${subject}; an operator can allow it by secrets.vault.rules.`,
      )
    }
    const load = () => this.#load(path, what)
    const { data, version } = await (this.#settings.cacheMs === 0
      ? load()
      : loadOnce(this.#cache, path, load))
    const value = Object.hasOwn(data, key) ? data[key] : undefined
    if (typeof value === 'string' && value !== '') return { value, version }
    if (typeof value === 'number' || typeof value === 'boolean')
      return { value: String(value), version }
    throw new PortError(
      400,
      `${what} has no value: the secret in Vault has no text at the key "${key}". Correct the key.`,
    )
  }

  async #load(path: string, what: string): Promise<VaultDocument> {
    const { mount } = this.#settings
    const { status, body } = await this.#client.get(
      `${encodeSegments(mount)}/data/${encodeSegments(path)}`,
    )
    const { data, metadata } = toDocument(body).data
    if (status === 200 && data !== undefined) return { data, version: metadata.version }
    const isAway = status >= 500 || status === 429
    throw new PortError(
      isAway ? 503 : 400,
      `${what} cannot be read: ${describeFailure(status, path, mount)}`,
    )
  }
}

function describeFailure(status: number, path: string, mount: string): string {
  if (status === 403)
    return `Vault denies it. Let the policy of Fairlead read ${mount}/data/${path}, or renew its token.`
  if (status === 404)
    return `there is nothing at ${path} in the mount ${mount}, or its newest version is deleted. Write it, or correct the path.`
  if (status === 503) return 'Vault is sealed. Unseal it.'
  return `Vault answered with ${status}. Check that ${mount} is a KV engine of version 2.`
}

interface VaultAnswer {
  readonly status: number
  readonly body: unknown
}

interface VaultToken {
  readonly text: string
  /** Milliseconds on the steady clock; undefined: it does not expire. */
  readonly endMs: number | undefined
  readonly isRenewable: boolean
}

const limits = { idleMs: 5_000, timeoutMs: 20_000, maxBytes: 32 * 1024 * 1024 }
/** A token is renewed, or obtained anew, when less than this part of its time is left. */
const renewedPart = 1 / 3

export class VaultClient {
  readonly #settings: VaultSettings
  readonly #steady: () => number
  #token: Promise<VaultToken & { readonly renewMs: number | undefined }> | undefined

  constructor(settings: VaultSettings, steady: () => number) {
    this.#settings = settings
    this.#steady = steady
  }

  /** Repeated once with a new token when Vault denies it. @throws {PortError} 400; 503 while Vault is away */
  async get(path: string): Promise<VaultAnswer> {
    const token = await this.#currentToken()
    const answer = await this.#send('GET', path, { token })
    if (answer.status !== 403 || this.#settings.login.kind === 'token') return answer
    this.#token = undefined
    return this.#send('GET', path, { token: await this.#currentToken() })
  }

  async #currentToken(): Promise<string> {
    const known = this.#token ?? this.#start(this.#logIn())
    const { renewMs, ...token } = await known
    if (renewMs === undefined || this.#steady() < renewMs) return token.text
    // Several requests at once renew it once.
    const next = this.#token === known ? this.#start(this.#renew(token)) : (this.#token ?? known)
    return (await next).text
  }

  #start(obtaining: Promise<VaultToken>) {
    const token = obtaining.then((found) => {
      const begunMs = this.#steady()
      const { endMs } = found
      return {
        ...found,
        renewMs: endMs === undefined ? undefined : endMs - (endMs - begunMs) * renewedPart,
      }
    })
    this.#token = token
    token.catch(() => {
      if (this.#token === token) this.#token = undefined
    })
    return token
  }

  async #logIn(): Promise<VaultToken> {
    const { login } = this.#settings
    if (login.kind === 'token') return this.#lookUp(login.token)
    if (login.kind === 'token-file')
      return this.#lookUp(await readText(login.file, 'secrets.vault.token-file'))
    const isRole = login.kind === 'approle'
    const key = isRole ? 'secrets.vault.approle' : 'secrets.vault.kubernetes'
    const body = isRole
      ? { role_id: login.roleId, secret_id: login.secretId }
      : { role: login.role, jwt: await readText(login.file, `${key}.token-file`) }
    const answer = await this.#send(
      'POST',
      isRole ? 'auth/approle/login' : 'auth/kubernetes/login',
      { body },
    )
    const token = toToken(answer.body, this.#steady())
    if (answer.status === 200 && token !== undefined) return token
    throw new PortError(
      400,
      `Vault refuses the login (${answer.status}); check ${key} and the role in Vault.`,
    )
  }

  /** How long a given token lives; one that may not ask is used as it is. */
  async #lookUp(text: string): Promise<VaultToken> {
    const { status, body } = await this.#send('GET', 'auth/token/lookup-self', { token: text })
    const { ttl, renewable } = toLookUp(body).data
    const endMs = status === 200 && ttl > 0 ? this.#steady() + ttl * 1000 : undefined
    return { text, endMs, isRenewable: renewable }
  }

  /** A token that cannot be renewed is replaced by a login; one that was given is used to its end. */
  async #renew(token: VaultToken): Promise<VaultToken> {
    if (token.isRenewable) {
      const { status, body } = await this.#send('POST', 'auth/token/renew-self', {
        token: token.text,
        body: {},
      })
      const renewed = toToken(body, this.#steady())
      if (status === 200 && renewed !== undefined) return { ...renewed, text: token.text }
    }
    return this.#settings.login.kind === 'token' ? { ...token, endMs: undefined } : this.#logIn()
  }

  async #send(
    method: string,
    path: string,
    { token, body }: { token?: string; body?: object },
  ): Promise<VaultAnswer> {
    const { address, namespace, authorities } = this.#settings
    const url = new URL(`${address}/v1/${path}`)
    const headers = {
      ...(token !== undefined && { 'x-vault-token': token }),
      ...(namespace !== undefined && { 'x-vault-namespace': namespace }),
      'x-vault-request': 'true',
    }
    const tls = authorities === undefined ? undefined : { ca: authorities }
    const sent = body && JSON.stringify(body)
    const { status, bytes } = await call({
      ...limits,
      method,
      url,
      headers,
      tls,
      body: sent,
    }).catch((cause: Error) => {
      const reason = (cause instanceof CallError && cause.code) || cause.message
      throw new PortError(
        503,
        `Vault at ${url.host} cannot be asked (${reason}); check secrets.vault.address, its TLS and the network.`,
      )
    })
    return { status, body: parseIfJson(bytes.toString()) }
  }
}

const isYes = (value: unknown) => value === true
const toLookUp = shape({ data: shape({ ttl: or(numberOf, 0), renewable: isYes }) })
const toAuth = shape({
  auth: shape({ client_token: textOf, lease_duration: or(numberOf, 0), renewable: isYes }),
})

function toToken(body: unknown, nowMs: number): VaultToken | undefined {
  const { client_token: text, lease_duration: seconds, renewable } = toAuth(body).auth
  return text === undefined
    ? undefined
    : { text, endMs: seconds > 0 ? nowMs + seconds * 1000 : undefined, isRenewable: renewable }
}

async function readText(file: string, key: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    throw new PortError(
      400,
      `The file of ${key} cannot be read (${(error as NodeJS.ErrnoException).code}); check its path and owner.`,
    )
  }
}
