/** Publishes keys as Google does, and signs tokens with them as its proxy does. */
import type { TestContext } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { Reply, startUpstream, type Upstream } from '../../support/upstream.ts'

export const audience = '/projects/1/global/backendServices/2'

export interface KeyServer {
  readonly url: string
  readonly upstream: Upstream
  /** Adds a key, which is published unless told otherwise. */
  addKey(kid: string, options?: { published?: boolean; algorithm?: string }): Promise<void>
  fail(): void
  /** A good token of alice, with other claims or header fields where given; undefined leaves a claim out. */
  sign(claims?: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>
}

/** Starts with one key, `k1`. @param now Milliseconds since the epoch */
export async function startKeyServer(t: TestContext, now: () => number): Promise<KeyServer> {
  const upstream = await startUpstream(t)
  const published: object[] = []
  const privateKeys = new Map<string, CryptoKey>()

  async function addKey(
    kid: string,
    { published: isPublished = true, algorithm = 'ES256' } = {},
  ): Promise<void> {
    const { privateKey, publicKey } = await generateKeyPair(algorithm)
    privateKeys.set(kid, privateKey)
    if (isPublished)
      published.push({ ...(await exportJWK(publicKey)), kid, alg: algorithm, use: 'sig' })
    upstream.answer({ 'GET /keys': { keys: published } })
  }

  await addKey('k1')
  return {
    url: `${upstream.url}/keys`,
    upstream,
    addKey,
    fail: () => upstream.answer({ 'GET /keys': new Reply(500, {}) }),
    sign(claims = {}, header = {}) {
      const nowSeconds = Math.floor(now() / 1000)
      const all = {
        iss: 'https://cloud.google.com/iap',
        aud: audience,
        sub: 'accounts.google.com:1',
        email: 'alice@example.com',
        iat: nowSeconds,
        exp: nowSeconds + 600,
        ...claims,
      }
      const fields = { alg: 'ES256', kid: 'k1', ...header }
      const key = privateKeys.get(fields.kid)
      if (key === undefined) throw new Error(`no key ${fields.kid}`)
      return new SignJWT(JSON.parse(JSON.stringify(all)) as Record<string, unknown>)
        .setProtectedHeader(fields)
        .sign(key)
    },
  }
}
