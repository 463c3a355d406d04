/** An OpenID Connect provider of our own that does everything right, except what a test tells it to do wrong. */
import { createHash, createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import type { TestContext } from 'node:test'
import { type RecordedRequest, Reply, startUpstream, type Upstream } from './upstream.ts'

export const clientId = 'gw'
export const clientSecret = 's3cret'

export interface SigningKey {
  readonly kid: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

export type Json = Record<string, unknown>

/** Each hook gets what would be sent and returns what is sent instead; a Reply or silence where a whole answer is meant. */
export interface Faults {
  metadata?: (document: Json) => unknown
  /** Changes the query with which the browser is sent back. */
  callback?: (parameters: URLSearchParams) => void
  claims?: (claims: Json) => Json
  /** The JWT; undefined leaves it out. */
  idToken?: (claims: Json, provider: IdentityProvider) => string | undefined
  tokens?: (answer: Json) => unknown
  userInfo?: (answer: Json) => unknown
  keys?: (set: { keys: Json[] }) => unknown
}

interface Grant {
  redirectUri: string
  challenge: string | null
  nonce: string | null
}

/** Keys are expensive to make and no test changes one. */
const made: SigningKey[] = []

export function signingKey(index: number): SigningKey {
  made[index] ??= { kid: `key-${index}`, ...generateKeyPairSync('rsa', { modulusLength: 2048 }) }
  return made[index]
}

export function signJwt(claims: Json, key: SigningKey, header: Json = {}): string {
  const data = `${encode({ alg: 'RS256', kid: key.kid, ...header })}.${encode(claims)}`
  const signature = sign('sha256', Buffer.from(data), {
    key: key.privateKey,
    dsaEncoding: 'ieee-p1363',
  })
  return `${data}.${signature.toString('base64url')}`
}

/** Signed with a secret, which is what an attacker makes of a public key. */
export function signWithSecret(claims: Json, secret: string, header: Json): string {
  const data = `${encode({ alg: 'HS256', ...header })}.${encode(claims)}`
  return `${data}.${createHmac('sha256', secret).update(data).digest('base64url')}`
}

export function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

export class IdentityProvider {
  readonly #upstream: Upstream
  readonly #grants = new Map<string, Grant>()
  faults: Faults = {}
  /** Who logs in: what the user-info address says, besides the subject. */
  person: Json = { sub: 'subject-1', email: 'a@x.io', given_name: 'A', family_name: 'B' }
  /** The first one signs. */
  keys: SigningKey[] = [signingKey(0)]
  now: () => number = Date.now
  #count = 0

  constructor(upstream: Upstream) {
    this.#upstream = upstream
  }

  get url(): string {
    return this.#upstream.url
  }

  get requests(): RecordedRequest[] {
    return this.#upstream.requests
  }

  /** Requests to one path, such as `/token`. */
  requestsTo(path: string): RecordedRequest[] {
    return this.requests.filter((request) => request.path === path)
  }

  answer(request: RecordedRequest): unknown {
    const { faults } = this
    switch (request.path) {
      case '/.well-known/openid-configuration':
        return this.#pass(faults.metadata, this.#metadata())
      case '/authorize':
        return this.#authorize(new URLSearchParams(request.query))
      case '/token':
        return this.#exchange(request)
      case '/userinfo':
        return this.#userInfo(request)
      case '/jwks':
        return this.#pass(faults.keys, { keys: this.keys.map(toJwk) })
      default:
        return new Reply(404)
    }
  }

  idTokenClaims(nonce: string | null): Json {
    const now = Math.floor(this.now() / 1000)
    return {
      iss: this.url,
      aud: clientId,
      sub: this.person['sub'],
      iat: now,
      exp: now + 300,
      ...(nonce !== null && { nonce }),
    }
  }

  #pass<Answer>(fault: ((answer: Answer) => unknown) | undefined, answer: Answer): unknown {
    return fault === undefined ? answer : fault(answer)
  }

  #metadata(): Json {
    return {
      issuer: this.url,
      authorization_endpoint: `${this.url}/authorize`,
      token_endpoint: `${this.url}/token`,
      userinfo_endpoint: `${this.url}/userinfo`,
      jwks_uri: `${this.url}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      authorization_response_iss_parameter_supported: true,
    }
  }

  #authorize(query: URLSearchParams): unknown {
    const code = `code-${++this.#count}-of-the-provider`
    const redirectUri = query.get('redirect_uri') ?? ''
    this.#grants.set(code, {
      redirectUri,
      challenge: query.get('code_challenge'),
      nonce: query.get('nonce'),
    })
    const parameters = new URLSearchParams({ code, state: query.get('state') ?? '', iss: this.url })
    this.faults.callback?.(parameters)
    return new Reply(302, undefined, {
      location: `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${parameters}`,
    })
  }

  #exchange(request: RecordedRequest): unknown {
    const form = new URLSearchParams(request.body)
    const grant = this.#grants.get(form.get('code') ?? '')
    this.#grants.delete(form.get('code') ?? '')
    const proof = form.get('code_verifier')
    const isProven = !grant?.challenge || (proof !== null && challengeOf(proof) === grant.challenge)
    if (grant === undefined || grant.redirectUri !== form.get('redirect_uri') || !isProven) {
      return new Reply(400, { error: 'invalid_grant' })
    }
    const idToken = this.#idToken(grant.nonce)
    const answer = {
      access_token: 'access-token-1',
      token_type: 'Bearer',
      expires_in: 300,
      refresh_token: 'refresh-token-1',
    }
    return this.#pass(this.faults.tokens, {
      ...answer,
      ...(idToken !== undefined && { id_token: idToken }),
    })
  }

  #idToken(nonce: string | null): string | undefined {
    const claims = this.idTokenClaims(nonce)
    const said = this.faults.claims?.(claims) ?? claims
    if (this.faults.idToken !== undefined) return this.faults.idToken(said, this)
    return signJwt(said, this.keys[0] as SigningKey)
  }

  #userInfo({ headers, query, body }: RecordedRequest): unknown {
    const given =
      headers.authorization ?? new URLSearchParams(query || body).get('access_token') ?? ''
    if (!given.includes('access-token-1'))
      return new Reply(401, undefined, { 'www-authenticate': 'Bearer' })
    return this.#pass(this.faults.userInfo, this.person)
  }
}

/** The public half as providers publish it. */
export function toJwk({ kid, publicKey }: SigningKey): Json {
  return { ...(publicKey.export({ format: 'jwk' }) as Json), kid, alg: 'RS256', use: 'sig' }
}

function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url')
}

export async function startIdentityProvider(
  t: TestContext,
  faults: Faults = {},
): Promise<IdentityProvider> {
  const upstream = await startUpstream(t)
  const provider = new IdentityProvider(upstream)
  provider.faults = faults
  upstream.answer((request) => provider.answer(request))
  return provider
}
