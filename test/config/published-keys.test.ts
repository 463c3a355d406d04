/** What becomes of the keys that Spring, Spinnaker and Gate document when they stand in the configuration of a gateway. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFindings, toCanonical } from '../../packages/app/config/canonical.ts'
import { settingGroups } from '../../packages/app/config/capabilities.ts'
import { foreignKeys } from '../../packages/app/config/foreign-keys.ts'
import { createKnownKeys, nearestKey } from '../../packages/app/config/known-keys.ts'
import { createMap, createScalar } from '../../packages/app/config/tree.ts'
import { load, problemsOf } from './given.ts'
import { gateKeys, korkKeys, springKeys } from './published-keys.ts'

const known = createKnownKeys(
  Object.assign({}, ...Object.values(settingGroups).map((keys) => keys.shape)),
  foreignKeys,
)

function examine(key: string) {
  const origin = { source: 'test' }
  const findings = createFindings()
  const root = createMap(origin)
  root.entries.set(key, createScalar('x', origin))
  toCanonical(root, known, findings)
  return findings
}

for (const [whose, keys] of Object.entries({
  Spring: springKeys,
  "Spinnaker's libraries": korkKeys,
  Gate: gateKeys,
})) {
  test(`every published key of ${whose} is known`, () => {
    const refused = keys.filter((key) => {
      const { unknown, problems } = examine(key)
      return unknown.length > 0 || problems.length > 0
    })
    assert.deepEqual(refused, [])
  })
}

test('suggestions are other keys of this product', () => {
  const paths = [...springKeys, ...korkKeys, ...gateKeys]
    .map((key) => key.split('.'))
    .filter((_, index) => index % 5 === 0)
  for (const path of paths) {
    for (const written of [
      [...path, 'unheard-of'],
      [...path.slice(0, -1), 'unheard-of'],
      ['elsewhere', ...path],
    ]) {
      const hint = nearestKey(known, written)?.join('.')
      assert.notEqual(hint, written.join('.'))
      assert.ok(
        hint === undefined || !/unheard-of|elsewhere/.test(hint),
        `${written.join('.')}: ${hint}`,
      )
    }
  }
})

test('older names of settings mean what the present ones mean', async (t) => {
  const { config } = await load(t, {
    'config/gate.yml': 'server.max-http-header-size: 64KB\nokHttpClient.connectTimoutMs: 1234\n',
  })
  assert.equal(config.http.maxHeaderBytes, 65_536)
  assert.equal(config.upstreams.okHttpClient.connectTimeoutMs, 1234)
  assert.equal(config.upstreams.services.orca.bounds.connectTimeoutMs, 1234)
  const newer = await load(t, {
    'config/gate.yml': 'authz.service-accounts.filter.match-authorizations: [READ]\n',
  })
  assert.deepEqual(newer.config.permissions.serviceAccountFilter.matchAuthorizations, ['READ'])
  const both = await load(t, {
    'config/gate.yml': 'server: {max-http-header-size: 64KB, max-http-request-header-size: 16KB}\n',
  })
  assert.equal(both.config.http.maxHeaderBytes, 16_384)
})

test('what would be missed without a word is refused', async (t) => {
  const problems = await problemsOf(t, {
    'config/gate.yml':
      'authz.enabled: true\nserver.ssl.server-name-bundles: [{server-name: a, bundle: b}]\n',
  })
  assert.match(
    problems[0] as string,
    /^config\/gate\.yml:1: authz\.enabled: .*signs no identity tokens/,
  )
  assert.match(
    problems[1] as string,
    /^config\/gate\.yml:2: server\.ssl\.server-name-bundles: one certificate/,
  )
})
