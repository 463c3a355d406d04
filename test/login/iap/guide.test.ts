/** The guide about the Identity-Aware Proxy, followed literally: its configuration as it stands, with keys of the test. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import test from 'node:test'
import { parse } from 'yaml'
import { runGateway } from '../../support/gateway.ts'
import { startKeyServer } from './key-server.ts'

const guide = readFileSync(
  resolve(import.meta.dirname, '../../../docs/guides/login-iap.md'),
  'utf8',
)

test('the guide accepts good tokens and logs the others', async (t) => {
  const keys = await startKeyServer(t, Date.now)
  const { google } = parse(/```yaml\n(.*?)```/s.exec(guide)?.[1] ?? '') as {
    google: { iap: { audience: string } }
  }
  const reasons: string[] = []
  const settings = { google: { iap: { ...google.iap, iapVerifyKeyUrl: keys.url } } }
  const { url } = await runGateway(t, settings, {
    log: ({ reason }) => reason !== undefined && reasons.push(String(reason)),
  })
  const ask = (path: string, token: string) =>
    fetch(url + path, { headers: { 'x-goog-iap-jwt-assertion': token } })
  const { audience } = google.iap

  const good = await ask('/auth/user', await keys.sign({ aud: audience }))
  assert.equal(((await good.json()) as { username: string }).username, 'alice@example.com')
  for (const [claims, reason] of [
    [{ aud: 'other' }, /another audience/],
    [{ aud: audience, iss: 'other' }, /another issuer/],
    [{ aud: audience, exp: 1 }, /expired/],
    [{ aud: audience, iat: 4_000_000_000 }, /issued in the future/],
  ] as const) {
    assert.equal((await ask('/applications', await keys.sign(claims))).status, 403)
    assert.match(reasons.at(-1) ?? '', reason)
    assert.match(guide, reason)
  }
})
