/**
 * A provider that does one thing wrong, a row for each, after the relying-party modules of the OpenID conformance suite. A
 * login that should not count is answered with a page or an error object, never with a redirect, and nobody is logged in.
 */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import test from 'node:test'
import {
  clientId,
  encode,
  type Faults,
  type IdentityProvider,
  type Json,
  type SigningKey,
  signingKey,
  signJwt,
  signWithSecret,
  startIdentityProvider,
  toJwk,
} from '../../support/identity-provider.ts'
import { brokenOff, Reply, silence } from '../../support/upstream.ts'
import { assertRefused, currentSettings, logIn, startOAuth2 } from './support.ts'

interface Row {
  name: string
  faults: Faults
  /** 302: the provider is in order after all. */
  status: 302 | 401 | 503
  prepare?: (provider: IdentityProvider) => void
}

// Made beforehand: making a key takes longer than some time-outs.
signingKey(0)
signingKey(1)

const now = () => Math.floor(Date.now() / 1000)

function claims(change: (claims: Json) => Json): Faults {
  return { claims: change }
}

function without(name: string): Faults {
  return claims((all) => Object.fromEntries(Object.entries(all).filter(([key]) => key !== name)))
}

function atHash(text: string): string {
  return Buffer.from(text).toString('base64url')
}

const idTokens: Row[] = [
  {
    name: 'auth-scenario 113: iss of another issuer',
    status: 401,
    faults: claims((all) => ({ ...all, iss: 'https://evil.example' })),
  },
  {
    name: 'iss with a slash too many',
    status: 401,
    faults: claims((all) => ({ ...all, iss: `${all['iss']}/` })),
  },
  { name: 'no iss', status: 401, faults: without('iss') },
  {
    name: 'auth-scenario 113: aud of another client',
    status: 401,
    faults: claims((all) => ({ ...all, aud: 'other' })),
  },
  { name: 'no aud', status: 401, faults: without('aud') },
  { name: 'an empty list as aud', status: 401, faults: claims((all) => ({ ...all, aud: [] })) },
  {
    name: 'aud as a list of this client alone',
    status: 302,
    faults: claims((all) => ({ ...all, aud: [clientId] })),
  },
  {
    name: 'auth-scenario 113: several audiences without azp',
    status: 401,
    faults: claims((all) => ({ ...all, aud: [clientId, 'other'] })),
  },
  {
    name: 'several audiences with the right azp',
    status: 302,
    faults: claims((all) => ({ ...all, aud: [clientId, 'other'], azp: clientId })),
  },
  {
    name: 'auth-scenario 113: azp of another client',
    status: 401,
    faults: claims((all) => ({ ...all, azp: 'other' })),
  },
  { name: 'no sub', status: 401, faults: without('sub') },
  { name: 'sub that is no text', status: 401, faults: claims((all) => ({ ...all, sub: 7 })) },
  { name: 'no iat', status: 401, faults: without('iat') },
  {
    name: 'iat that is no number',
    status: 401,
    faults: claims((all) => ({ ...all, iat: String(all['iat']) })),
  },
  {
    name: 'auth-scenario 112: iat 70 seconds ahead',
    status: 401,
    faults: claims((all) => ({ ...all, iat: now() + 70 })),
  },
  { name: 'no exp', status: 401, faults: without('exp') },
  {
    name: 'auth-scenario 112: exp 61 seconds ago',
    status: 401,
    faults: claims((all) => ({ ...all, exp: now() - 61 })),
  },
  {
    name: 'auth-scenario 112: exp 55 seconds ago',
    status: 302,
    faults: claims((all) => ({ ...all, exp: now() - 55 })),
  },
  {
    name: 'nbf two minutes ahead',
    status: 401,
    faults: claims((all) => ({ ...all, nbf: now() + 120 })),
  },
  {
    name: 'auth-scenario 111: another nonce',
    status: 401,
    faults: claims((all) => ({ ...all, nonce: 'another' })),
  },
  { name: 'auth-scenario 111: no nonce', status: 401, faults: without('nonce') },
  {
    name: 'at_hash of another access token',
    status: 401,
    faults: claims((all) => ({ ...all, at_hash: atHash('other') })),
  },
  { name: 'auth-scenario 117: no ID token', status: 401, faults: { idToken: () => undefined } },
  { name: 'an ID token that is no JWT', status: 401, faults: { idToken: () => 'not-a-jwt' } },
  {
    name: 'an ID token of one part too many',
    status: 401,
    faults: { idToken: (all) => `${signJwt(all, signingKey(0))}.x` },
  },
]

const elliptic: SigningKey = {
  kid: 'elliptic',
  ...generateKeyPairSync('ec', { namedCurve: 'P-256' }),
}
const ellipticSet = {
  keys: [{ ...elliptic.publicKey.export({ format: 'jwk' }), kid: elliptic.kid, use: 'sig' }],
}

const signatures: Row[] = [
  {
    name: 'ES256, as the provider announces it',
    status: 302,
    faults: {
      metadata: (document) => ({ ...document, id_token_signing_alg_values_supported: ['ES256'] }),
      keys: () => ellipticSet,
      idToken: (all) => signJwt(all, elliptic, { alg: 'ES256' }),
    },
  },
  {
    name: 'ES256, although the provider announces RS256',
    status: 401,
    faults: { keys: () => ellipticSet, idToken: (all) => signJwt(all, elliptic, { alg: 'ES256' }) },
  },
  {
    name: 'auth-scenario 114: alg none',
    status: 401,
    faults: { idToken: (all) => `${encode({ alg: 'none' })}.${encode(all)}.` },
  },
  {
    name: 'alg none, with the signature of RS256',
    status: 401,
    faults: { idToken: (all) => signJwt(all, signingKey(0), { alg: 'none' }) },
  },
  {
    name: 'auth-scenario 114: HS256 with the public key as secret',
    status: 401,
    faults: {
      idToken: (all) => {
        const pem = signingKey(0).publicKey.export({ type: 'spki', format: 'pem' }) as string
        return signWithSecret(all, pem, { kid: 'key-0' })
      },
    },
  },
  {
    name: 'HS256 with the client secret, although the provider announces it',
    status: 401,
    faults: {
      metadata: (document) => ({
        ...document,
        id_token_signing_alg_values_supported: ['HS256', 'RS256'],
      }),
      idToken: (all) => signWithSecret(all, 's3cret', {}),
    },
  },
  {
    name: 'auth-scenario 114: signed by a key that the provider does not have, under a known name',
    status: 401,
    faults: { idToken: (all) => signJwt(all, { ...signingKey(1), kid: 'key-0' }) },
  },
  {
    name: 'a kid that the provider does not have',
    status: 401,
    faults: { idToken: (all) => signJwt(all, signingKey(1)) },
  },
  {
    name: 'a key that the token brings along',
    status: 401,
    faults: {
      idToken: (all) => signJwt(all, signingKey(1), { kid: undefined, jwk: toJwk(signingKey(1)) }),
    },
  },
  {
    name: 'auth-scenario 114: altered payload',
    status: 401,
    faults: {
      idToken: (all) => {
        const [header, , signature] = signJwt(all, signingKey(0)).split('.')
        return `${header}.${encode({ ...all, email: 'admin@x.io' })}.${signature}`
      },
    },
  },
  {
    name: 'no kid, where the provider has one key',
    status: 302,
    faults: { idToken: (all) => signJwt(all, signingKey(0), { kid: undefined }) },
  },
  {
    name: 'no kid, where the provider has several keys',
    status: 401,
    faults: { idToken: (all) => signJwt(all, signingKey(0), { kid: undefined }) },
    prepare: (provider) => {
      provider.keys = [signingKey(0), signingKey(1)]
    },
  },
  { name: 'an empty key set', status: 401, faults: { keys: () => ({ keys: [] }) } },
  { name: 'a key set that is none', status: 401, faults: { keys: () => ({ keys: 'none' }) } },
  { name: 'a key set that is HTML', status: 401, faults: { keys: () => '<html>' } },
  { name: 'a key set that cannot be had', status: 503, faults: { keys: () => new Reply(500) } },
  {
    name: 'a critical header that nobody knows',
    status: 401,
    faults: { idToken: (all) => signJwt(all, signingKey(0), { crit: ['x'], x: 1 }) },
  },
]

const callbacks: Row[] = [
  {
    name: 'iss of another issuer in the answer to the browser',
    status: 401,
    faults: { callback: (query) => query.set('iss', 'https://evil.example') },
  },
  {
    name: 'no iss in the answer to the browser, although announced',
    status: 401,
    faults: { callback: (query) => query.delete('iss') },
  },
  {
    name: 'auth-scenario 95: another state',
    status: 401,
    faults: { callback: (query) => query.set('state', 'A'.repeat(43)) },
  },
  {
    name: 'auth-scenario 100: no state',
    status: 401,
    faults: { callback: (query) => query.delete('state') },
  },
  {
    name: 'a state that is a name of every object',
    status: 401,
    faults: { callback: (query) => query.set('state', '__proto__') },
  },
  {
    name: 'auth-scenario 100: neither code nor error',
    status: 401,
    faults: { callback: (query) => query.delete('code') },
  },
  {
    name: 'auth-scenario 100: two codes',
    status: 401,
    faults: { callback: (query) => query.append('code', 'c2') },
  },
  { name: 'two states', status: 401, faults: { callback: (query) => query.append('state', 's2') } },
  {
    name: 'a code that the provider did not give',
    status: 401,
    faults: { callback: (query) => query.set('code', 'c9') },
  },
  {
    name: 'tokens in the answer to the browser',
    status: 401,
    faults: { callback: (query) => query.set('id_token', 'a.b.c') },
  },
]

const tokenAnswers: Row[] = [
  {
    name: 'auth-scenario 102: invalid_grant',
    status: 401,
    faults: { tokens: () => new Reply(400, { error: 'invalid_grant' }) },
  },
  {
    name: 'auth-scenario 102: status 500',
    status: 503,
    faults: { tokens: () => new Reply(500, { error: 'x' }) },
  },
  { name: 'auth-scenario 102: no JSON', status: 401, faults: { tokens: () => '<html>' } },
  {
    name: 'auth-scenario 102: no access token',
    status: 401,
    faults: { tokens: ({ access_token: _, ...all }) => all },
  },
  { name: 'auth-scenario 102: no answer in time', status: 503, faults: { tokens: () => silence } },
  { name: 'an answer that breaks off', status: 503, faults: { tokens: () => brokenOff } },
  {
    name: 'an access token that is a number',
    status: 401,
    faults: { tokens: (all) => ({ ...all, access_token: 7 }) },
  },
  {
    name: 'tokens of a kind that nobody knows',
    status: 401,
    faults: { tokens: (all) => ({ ...all, token_type: 'mac' }) },
  },
  {
    name: 'a refusal with a challenge',
    status: 401,
    faults: {
      tokens: () => new Reply(401, { error: 'invalid_client' }, { 'www-authenticate': 'Basic' }),
    },
  },
  {
    name: 'auth-scenario 107: a redirect of the token endpoint',
    status: 401,
    faults: { tokens: () => new Reply(307, undefined, { location: 'http://127.0.0.1:9/' }) },
  },
]

const userInfos: Row[] = [
  {
    name: 'auth-scenario 116: another sub',
    status: 401,
    faults: { userInfo: (all) => ({ ...all, sub: 'subject-2' }) },
  },
  { name: 'no sub', status: 401, faults: { userInfo: ({ sub: _, ...all }) => all } },
  {
    name: 'auth-scenario 103: status 401',
    status: 401,
    faults: { userInfo: () => new Reply(401) },
  },
  {
    name: 'auth-scenario 103: status 500',
    status: 503,
    faults: { userInfo: () => new Reply(500) },
  },
  { name: 'auth-scenario 103: a list', status: 401, faults: { userInfo: () => '[]' } },
  { name: 'auth-scenario 103: HTML', status: 401, faults: { userInfo: () => '<html>' } },
  {
    name: 'auth-scenario 103: more than a megabyte',
    status: 401,
    faults: { userInfo: (all) => ({ ...all, x: 'x'.repeat(1_100_000) }) },
  },
  {
    name: 'auth-scenario 103: neither user name nor e-mail address',
    status: 401,
    faults: { userInfo: ({ sub }) => ({ sub, email: null }) },
  },
  {
    name: 'auth-scenario 103: no answer in time',
    status: 503,
    faults: { userInfo: () => silence },
  },
  {
    name: 'auth-scenario 217: a line break in the name',
    status: 401,
    faults: { userInfo: (all) => ({ ...all, email: 'a\r\nX-SPINNAKER-USER: b' }) },
  },
  {
    name: 'auth-scenario 107: a redirect',
    status: 401,
    faults: { userInfo: () => new Reply(302, undefined, { location: 'http://127.0.0.1:9/' }) },
  },
]

const groups = {
  'ID token': idTokens,
  signature: signatures,
  callback: callbacks,
  'token endpoint': tokenAnswers,
  'user-info': userInfos,
}

for (const [group, rows] of Object.entries(groups)) {
  for (const { name, faults, status, prepare } of rows) {
    test(`${group}, ${name}: ${status === 302 ? 'counts' : `is answered with ${status}`}`, async (t) => {
      const provider = await startIdentityProvider(t, faults)
      prepare?.(provider)
      const timeouts = name.includes('in time')
        ? { 'connect-timeout-ms': 50, 'read-timeout-ms': 450 }
        : {}
      const lines: string[] = []
      const browser = (
        await startOAuth2(
          t,
          {
            ...currentSettings(provider),
            security: { oauth2: { 'external-auth-token-filter': timeouts } },
          },
          { log: (line) => lines.push(JSON.stringify(line)) },
        )
      ).open()

      const answer = await logIn(browser)

      if (status === 302) {
        assert.equal(answer.status, 302, answer.text)
        assert.notEqual(await browser.user(), undefined)
      } else {
        await assertRefused(browser, answer, status)
        assert.ok(
          lines.some((line) => line.includes('a login was refused') && line.includes('"reason"')),
        )
        for (const secret of ['access-token-1', 'refresh-token-1', 's3cret', 'of-the-provider']) {
          assert.ok(!lines.join('\n').includes(secret), secret)
        }
      }
    })
  }
}
