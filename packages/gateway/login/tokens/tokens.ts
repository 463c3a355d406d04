/** API tokens: created and shown once, recognised in requests, rotated, revoked. */
import { randomUUID } from 'node:crypto'
import { GatewayError } from '@fairlead/base/errors.ts'
import type { Redis } from '@fairlead/base/redis/redis.ts'
import type { FastifyBaseLogger } from 'fastify'
import type { TokenSettings } from './settings.ts'
import {
  openTokenStore,
  type Principal,
  type PrincipalType,
  type StoredToken,
  type TokenLimits,
  type TokenStore,
} from './token-store.ts'
import { createTokenText, hashToken, isTokenText } from './token-text.ts'

interface TokensOptions {
  settings: TokenSettings
  store: TokenStore
  log: FastifyBaseLogger
  eraOf?: (username: string, method: string) => number | undefined
  now?: () => number
}

interface NewToken {
  readonly name: string
  readonly principal: Principal
  /** The login method of a user who creates a token for oneself. */
  readonly method?: string
  readonly createdBy: string
  /** Milliseconds since the epoch; undefined means as late as allowed, and for a service account never. */
  readonly expiresAtMs?: number
  readonly limits: TokenLimits
}

/** A token together with its secret, which is not stored. */
export interface IssuedToken {
  readonly token: StoredToken
  readonly text: string
}

interface Rotation {
  readonly by: string
  readonly renews: boolean
  readonly overlapMs?: number
}

type Recognition = { kind: 'token'; token: StoredToken } | { kind: 'refused'; reason: string }

const dayMs = 86_400_000
const useIntervalMs = 60_000
const maxNameLength = 64
const maxPerPrincipal = 100
const maxLimitEntries = 100

export class Tokens {
  readonly settings: TokenSettings
  readonly #store: TokenStore
  readonly #log: FastifyBaseLogger
  readonly #eraOf: NonNullable<TokensOptions['eraOf']>
  readonly #now: () => number
  #endings = 0

  constructor({ settings, store, log, eraOf = () => undefined, now = Date.now }: TokensOptions) {
    this.settings = settings
    this.#store = store
    this.#log = log
    this.#eraOf = eraOf
    this.#now = now
  }

  /** How often tokens were revoked or got another secret by this process. */
  get endings(): number {
    return this.#endings
  }

  /** Finds the token that a request came with, and notes the use. @throws {GatewayError} TOKENS_UNAVAILABLE */
  async recognise(text: string): Promise<Recognition> {
    const recognition = await this.verify(text)
    if (recognition.kind === 'token') this.#recordUse(recognition.token)
    return recognition
  }

  /** The same without a note of the use. @throws {GatewayError} TOKENS_UNAVAILABLE */
  async verify(text: string): Promise<Recognition> {
    if (!isTokenText(text, this.settings.prefix))
      return { kind: 'refused', reason: 'this is no API token' }
    const hash = hashToken(text)
    const token = await ask(() => this.#store.findByHash(hash))
    if (token === undefined)
      return { kind: 'refused', reason: 'the API token is unknown or revoked' }
    const reason = this.#whyRefused(token, hash)
    if (reason !== undefined)
      return { kind: 'refused', reason: `the API token ${token.id} ${reason}` }
    return { kind: 'token', token }
  }

  /** @throws {GatewayError} BAD_ARGUMENT, CONFLICT when the name is taken or there are too many, TOKENS_UNAVAILABLE */
  async create(wanted: NewToken): Promise<IssuedToken> {
    const nowMs = this.#now()
    const text = createTokenText(this.settings.prefix, this.settings.randomBytes)
    const token: StoredToken = {
      id: randomUUID(),
      name: checkName(wanted.name),
      principal: wanted.principal,
      method: wanted.method,
      era:
        wanted.method === undefined ? undefined : this.#eraOf(wanted.principal.id, wanted.method),
      createdBy: wanted.createdBy,
      createdAtMs: nowMs,
      expiresAtMs: this.#checkEnd(wanted),
      lastUsedAtMs: undefined,
      limits: checkLimits(wanted.limits),
      secret: { hash: hashToken(text), sinceMs: nowMs, former: undefined },
    }
    const present = await this.ofPrincipal(wanted.principal)
    const stale = present.find(
      ({ name, expiresAtMs = Number.POSITIVE_INFINITY }) =>
        name === token.name && expiresAtMs <= nowMs,
    )
    if (present.length - (stale === undefined ? 0 : 1) >= maxPerPrincipal) {
      throw new GatewayError(
        'CONFLICT',
        `${wanted.principal.id} has ${present.length} tokens. Revoke some that are not needed.`,
      )
    }
    if (stale !== undefined) await ask(() => this.#store.remove(stale.id))
    if (!(await ask(() => this.#store.insert(token)))) {
      throw new GatewayError(
        'CONFLICT',
        `${wanted.principal.id} has a token "${token.name}" already. Choose another name.`,
      )
    }
    this.#audit('an API token was created', token, wanted.createdBy)
    return { token, text }
  }

  /**
   * Gives a token another secret. The former one is accepted for `overlapMs` more.
   *
   * @param renews Whether the token gets a new life of the same length; else it ends when it would have ended
   * @throws {GatewayError} NOT_FOUND, CONFLICT when another request did the same just now, TOKENS_UNAVAILABLE
   */
  async rotate(
    id: string,
    { by, renews, overlapMs = this.settings.rotationOverlapMs }: Rotation,
  ): Promise<IssuedToken> {
    const token = await this.find(id)
    const nowMs = this.#now()
    const text = createTokenText(this.settings.prefix, this.settings.randomBytes)
    const formerEndMs = Math.min(nowMs + overlapMs, token.expiresAtMs ?? Number.MAX_SAFE_INTEGER)
    const former = overlapMs > 0 ? { hash: token.secret.hash, untilMs: formerEndMs } : undefined
    const secret = { hash: hashToken(text), sinceMs: nowMs, former }
    const expiresAtMs = renews ? this.#renewedEnd(token) : token.expiresAtMs
    if (!(await ask(() => this.#store.replaceSecret(id, token.secret.hash, secret, expiresAtMs)))) {
      throw new GatewayError(
        'CONFLICT',
        'The token was rotated or revoked by another request just now. Look at the list first.',
      )
    }
    this.#endings++
    this.#audit('an API token was rotated', token, by)
    return { token: { ...token, secret, expiresAtMs }, text }
  }

  /** @throws {GatewayError} NOT_FOUND, TOKENS_UNAVAILABLE */
  async revoke(id: string, by: string): Promise<void> {
    const token = await this.find(id)
    await ask(() => this.#store.remove(id))
    this.#endings++
    this.#audit('an API token was revoked', token, by)
  }

  /** @throws {GatewayError} NOT_FOUND, TOKENS_UNAVAILABLE */
  async find(id: string): Promise<StoredToken> {
    const token = await ask(() => this.#store.find(id))
    if (token === undefined)
      throw new GatewayError(
        'NOT_FOUND',
        `There is no API token with the id "${id.slice(0, 100)}".`,
      )
    return token
  }

  /** Ends all tokens of a principal. @returns how many there were. @throws {GatewayError} TOKENS_UNAVAILABLE */
  async revokeAllOf(principal: Principal, by: string): Promise<number> {
    const found = await this.ofPrincipal(principal)
    for (const { id } of found) await this.revoke(id, by)
    return found.length
  }

  /** @throws {GatewayError} TOKENS_UNAVAILABLE */
  ofPrincipal(principal: Principal): Promise<StoredToken[]> {
    return ask(() => this.#store.ofPrincipal(principal))
  }

  /** @throws {GatewayError} TOKENS_UNAVAILABLE */
  listAll(type: PrincipalType): Promise<StoredToken[]> {
    return ask(() => this.#store.listAll(type))
  }

  close(): void {
    this.#store.close()
  }

  #whyRefused({ expiresAtMs, secret }: StoredToken, hash: string): string | undefined {
    const nowMs = this.#now()
    if (expiresAtMs !== undefined && expiresAtMs <= nowMs) return 'has expired'
    if (secret.hash === hash) return undefined
    return secret.former?.hash === hash && secret.former.untilMs > nowMs
      ? undefined
      : 'was rotated, and its former secret is over'
  }

  /** At most once a minute, and a request never fails for it. */
  #recordUse({ id, lastUsedAtMs }: StoredToken): void {
    const nowMs = this.#now()
    if (lastUsedAtMs !== undefined && nowMs - lastUsedAtMs < useIntervalMs) return
    this.#store.recordUse(id, nowMs).catch((error) => {
      this.#log.warn({ err: error, token: id }, 'the use of an API token could not be noted')
    })
  }

  #checkEnd({ principal, expiresAtMs }: NewToken): number | undefined {
    const nowMs = this.#now()
    const latestMs = nowMs + this.#maxDays(principal.type) * dayMs
    if (expiresAtMs === undefined) return principal.type === 'USER' ? latestMs : undefined
    if (expiresAtMs <= nowMs)
      throw new GatewayError(
        'BAD_ARGUMENT',
        'The token would have expired already. Choose a later end.',
      )
    if (expiresAtMs > latestMs) {
      throw new GatewayError(
        'BAD_ARGUMENT',
        `A token of this kind lives ${this.#maxDays(principal.type)} days at most. Choose an end before ${new Date(latestMs).toISOString()}.`,
      )
    }
    return expiresAtMs
  }

  /** Now plus the lifetime of the present secret, and no longer than allowed today. */
  #renewedEnd({ expiresAtMs, secret, principal }: StoredToken): number | undefined {
    if (expiresAtMs === undefined) return undefined
    return (
      this.#now() + Math.min(expiresAtMs - secret.sinceMs, this.#maxDays(principal.type) * dayMs)
    )
  }

  #maxDays(type: PrincipalType): number {
    return type === 'USER' ? this.settings.maxUserDays : this.settings.maxServiceAccountDays
  }

  #audit(what: string, { id, name, principal }: StoredToken, by: string): void {
    this.#log.info(
      { token: id, name, principal: principal.id, principalType: principal.type, by },
      what,
    )
  }
}

export function openTokens(
  options: Omit<TokensOptions, 'store'> & { dataDir: string; redis?: Redis },
): Tokens {
  const { settings, now = Date.now } = options
  return new Tokens({
    ...options,
    store: openTokenStore({ ...options, redisKeyPrefix: settings.redisKeyPrefix, now }),
  })
}

function checkName(given: string): string {
  const name = given.trim()
  if (name === '')
    throw new GatewayError('BAD_ARGUMENT', 'A token needs a name that describes its purpose.')
  if (name.length > maxNameLength || /[\p{Cc}\p{Cs}]/u.test(name)) {
    throw new GatewayError(
      'BAD_ARGUMENT',
      `The name of a token has up to ${maxNameLength} characters, none of them invisible.`,
    )
  }
  return name
}

/** An empty list would be a token for nothing, and is more likely meant as no limit: asking is better than guessing. */
function checkLimits({ readOnly, applications, operations }: TokenLimits): TokenLimits {
  for (const [what, list] of Object.entries({ applications, operations })) {
    if (list === undefined) continue
    if (list.length === 0)
      throw new GatewayError(
        'BAD_ARGUMENT',
        `"${what}" is empty. Leave it out to allow all, or name some.`,
      )
    if (
      list.length > maxLimitEntries ||
      list.some((entry) => !/^[^\p{Cc}]{1,250}$/u.test(entry.trim()))
    ) {
      throw new GatewayError('BAD_ARGUMENT', `"${what}" holds up to ${maxLimitEntries} names.`)
    }
  }
  return {
    readOnly,
    applications: applications?.map((name) => name.trim().toLowerCase()),
    operations: operations?.map((id) => id.trim()),
  }
}

async function ask<T>(question: () => Promise<T>): Promise<T> {
  try {
    return await question()
  } catch (cause) {
    throw new GatewayError(
      'TOKENS_UNAVAILABLE',
      'The store of API tokens does not answer. Try again in a moment.',
      { cause },
    )
  }
}
