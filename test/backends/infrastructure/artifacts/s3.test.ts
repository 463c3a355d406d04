import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../packages/base/json/values.ts'
import { startS3Store } from '../../../support/s3-store.ts'
import { startArtifacts } from '../artifact-service.ts'

const key = { id: 'AKID', secret: 'se/cret+key', region: 'eu-west-1' }
const account = { awsAccessKeyId: 'AKID', awsSecretAccessKey: key.secret, apiRegion: 'eu-west-1' }

const withStore = (apiEndpoint: string, ...accounts: JsonObject[]) => ({
  'artifacts.s3.enabled': true,
  'artifacts.s3.accounts': accounts.map((each, index) => ({
    name: `s3-${index}`,
    apiEndpoint,
    ...account,
    ...each,
  })),
})

test('objects of a store are fetched with a signature', async (t) => {
  const store = await startS3Store(t, key)
  store.objects.set('/shop/deploy/app.yml', 'a: 1')
  store.objects.set('/shop/deploy/app.yml?versionId=v%2F1', 'a: 0')
  store.objects.set('/shop/a%20b/c%2Bd%28%29%21%27%2A~.yml', 'odd')
  const service = await startArtifacts(t, {
    settings: withStore(store.url, {}),
    isLoopbackAllowed: false,
  })
  const ask = async (reference: string, version?: string) =>
    service.fetch({ type: 's3/object', artifactAccount: 's3-0', reference, version })

  assert.equal((await ask('s3://shop/deploy/app.yml')).bytes.toString(), 'a: 1')
  assert.equal((await ask('s3://shop/deploy/app.yml', 'v/1')).bytes.toString(), 'a: 0')
  assert.equal((await ask("s3://shop/a b/c+d()!'*~.yml")).bytes.toString(), 'odd')
  const missing = await ask('s3://shop/none')
  assert.equal(missing.status, 404)
  assert.match(missing.message, /\/shop\/none answered with 404/)
  for (const reference of ['shop/app.yml', 's3://shop', 's3://shop/a/../b', 'https://shop/app.yml'])
    assert.equal((await ask(reference)).status, 400, reference)
})

test('a store that denies access says why, without the secret', async (t) => {
  const store = await startS3Store(t, key)
  store.objects.set('/shop/a', 'a')
  const wrong = [
    { awsSecretAccessKey: 'other' },
    { awsAccessKeyId: 'none' },
    { apiRegion: 'us-east-1' },
    { awsAccessKeyId: undefined, awsSecretAccessKey: undefined },
  ]
  const service = await startArtifacts(t, { settings: withStore(store.url, ...wrong) })
  for (const [index, says] of [
    /403 SignatureDoesNotMatch\. Check access key/,
    /InvalidAccessKeyId/,
    /The bucket is in the region eu-west-1: set apiRegion of the artifact account "s3-2"/,
    /403 AccessDenied/,
  ].entries()) {
    const { status, message } = await service.fetch({
      type: 's3/object',
      artifactAccount: `s3-${index}`,
      reference: 's3://shop/a',
    })
    assert.equal(status, 502)
    assert.match(message, says)
    assert.doesNotMatch(message, /se\/cret/)
  }
})

test('an object that differs from the checksum of its store is refused', async (t) => {
  const store = await startS3Store(t, key)
  store.objects.set('/shop/a', 'a')
  store.objects.set('/shop/parts', 'in parts')
  store.checksums.set('/shop/a', Buffer.alloc(32).toString('base64'))
  store.checksums.set('/shop/parts', `${Buffer.alloc(32).toString('base64')}-2`)
  const service = await startArtifacts(t, { settings: withStore(store.url, {}) })
  const ask = (reference: string) =>
    service.fetch({ type: 's3/object', artifactAccount: 's3-0', reference })
  const { status, message } = await ask('s3://shop/a')
  assert.equal(status, 502)
  assert.match(message, /has the digest sha256:\w+, and not sha256:0000/)
  assert.equal((await ask('s3://shop/parts')).bytes.toString(), 'in parts')
})
