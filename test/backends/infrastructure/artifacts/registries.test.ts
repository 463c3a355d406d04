import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../packages/base/json/values.ts'
import { parseImageReference } from '../../../../packages/providers/artifacts/image-reference.ts'
import { toReference } from '../../../../packages/providers/artifacts/oci.ts'
import { parseChallenge } from '../../../../packages/providers/artifacts/registry-client.ts'
import { startOciRegistry } from '../../../support/oci-registry.ts'
import { Reply, startUpstream } from '../../../support/upstream.ts'
import { startArtifacts } from '../artifact-service.ts'

const chartType = 'application/vnd.cncf.helm.chart.content.v1.tar+gzip'
const chart = [
  { mediaType: 'application/vnd.cncf.helm.config.v1+json', content: '{}' },
  { mediaType: chartType, content: 'the chart' },
]
const login = { username: 'al', password: 'word' }

const withRegistry = (address: string, account: JsonObject = {}) => ({
  'artifacts.oci.enabled': true,
  'artifacts.oci.accounts': [{ name: 'registry', address, ...account }],
})

test('a chart comes from a registry with a token of its scope', async (t) => {
  const registry = await startOciRegistry(t, { login: 'al:word' })
  registry.push('charts/web', '1.2.0', chart)
  const service = await startArtifacts(t, {
    settings: withRegistry(registry.url, login),
    isLoopbackAllowed: false,
  })
  const artifact = {
    type: 'helm/image',
    artifactAccount: 'registry',
    reference: `oci://${registry.host}/charts/web`,
    version: '1.2.0',
  }
  const { bytes, message } = await service.fetch(artifact)
  assert.equal(bytes.toString(), 'the chart', message)
  assert.deepEqual(
    registry.requests.map((line) => line.replace(/sha256:\w+/, 'DIGEST')),
    [
      '/v2/charts/web/manifests/1.2.0 none',
      '/token Basic',
      '/v2/charts/web/manifests/1.2.0 Bearer',
      '/v2/charts/web/blobs/DIGEST Bearer',
    ],
  )

  registry.revoke()
  registry.requests.length = 0
  assert.equal((await service.fetch(artifact)).bytes.toString(), 'the chart')
  // The content is kept by its digest; the manifest says which one it is.
  assert.deepEqual(registry.requests, [
    '/v2/charts/web/manifests/1.2.0 Bearer',
    '/token Basic',
    '/v2/charts/web/manifests/1.2.0 Bearer',
  ])
})

test('a registry without tokens gets name and password', async (t) => {
  const registry = await startOciRegistry(t, { login: 'al:word', scheme: 'Basic' })
  registry.push('charts/web', 'latest', chart)
  const service = await startArtifacts(t, { settings: withRegistry(registry.url, login) })
  const artifact = { type: 'helm/image', artifactAccount: 'registry', name: 'charts/web' }
  assert.equal((await service.fetch(artifact)).status, 200)

  const denied = await startArtifacts(t, { settings: withRegistry(registry.url) })
  const { status, message } = await denied.fetch(artifact)
  assert.equal(status, 502)
  assert.match(message, /answered with 401.*login/)
})

test('a digest that a trigger noted wins over a tag that has moved', async (t) => {
  const registry = await startOciRegistry(t)
  const digest = registry.push('charts/web', '1', chart)
  registry.push('charts/web', '1', [{ mediaType: chartType, content: 'another chart' }])
  const service = await startArtifacts(t, { settings: withRegistry(registry.url) })
  const ask = async (artifact: JsonObject) =>
    (
      await service.fetch({ type: 'helm/image', artifactAccount: 'registry', ...artifact })
    ).bytes.toString()
  assert.equal(await ask({ reference: 'charts/web:1' }), 'another chart')
  assert.equal(await ask({ reference: 'charts/web:1', metadata: { digest } }), 'the chart')
  assert.equal(await ask({ reference: `charts/web@${digest}` }), 'the chart')
  assert.equal(await ask({ name: 'charts/web', version: digest }), 'the chart')
})

test('content with another digest than its manifest says is refused', async (t) => {
  const registry = await startOciRegistry(t)
  registry.push('charts/web', '1', chart)
  registry.spoil('the chart')
  const service = await startArtifacts(t, { settings: withRegistry(registry.url) })
  const { status, message } = await service.fetch({
    type: 'helm/image',
    artifactAccount: 'registry',
    reference: 'charts/web:1',
  })
  assert.equal(status, 502)
  assert.match(message, /not what was expected: .*blobs\/sha256:\w+ has the digest sha256:/)
})

test('files and manifests of a registry are fetched', async (t) => {
  const registry = await startOciRegistry(t)
  const files = ['app.yml', 'db.yml'].map((title) => ({
    mediaType: 'application/yaml',
    content: `of ${title}`,
    title,
  }))
  registry.push('files/all', '1', files)
  registry.push('files/single', '1', files.slice(0, 1))
  const service = await startArtifacts(t, { settings: withRegistry(registry.url) })
  const ask = (artifact: JsonObject) => service.fetch({ artifactAccount: 'registry', ...artifact })
  assert.equal(
    (await ask({ type: 'oci/file', reference: 'files/single:1' })).bytes.toString(),
    'of app.yml',
  )
  const named = { type: 'oci/file', reference: 'files/all:1', metadata: { subPath: 'db.yml' } }
  assert.equal((await ask(named)).bytes.toString(), 'of db.yml')
  const manifest = await ask({ type: 'docker/image', reference: 'files/all:1' })
  assert.equal((JSON.parse(manifest.bytes.toString()) as { layers: unknown[] }).layers.length, 2)

  for (const [artifact, status, says] of [
    [{ type: 'oci/file', reference: 'files/all:1' }, 400, /metadata\.subPath/],
    [{ type: 'helm/image', reference: 'files/all:1' }, 400, /no Helm chart/],
    [
      { type: 'helm/image', reference: 'files/none:1' },
      404,
      /files\/none\/manifests\/1 answered with 404/,
    ],
    [{ type: 'helm/image', reference: 'registry.example/files/all:1' }, 400, /is for 127\.0\.0\.1/],
    [{ type: 'helm/image', reference: '../v2/_catalog' }, 400, /no reference/],
  ] as const) {
    const answer = await ask(artifact)
    assert.equal(answer.status, status, answer.message)
    assert.match(answer.message, says)
  }
})

test('repositories and tags are listed over all pages', async (t) => {
  const registry = await startOciRegistry(t, { login: 'al:word', pageSize: 2 })
  for (const tag of ['1', '2', '3', '4', '5']) registry.push('charts/web', tag, chart)
  registry.push('charts/db', '1', chart)
  const settings = withRegistry(registry.url, login)
  const service = await startArtifacts(t, { settings })
  assert.deepEqual((await service.list('registry/names?type=helm%2Fimage')).body, [
    'charts/db',
    'charts/web',
  ])
  const tags = await service.list('registry/versions?type=helm%2Fimage&artifactName=charts%2Fweb')
  assert.deepEqual(tags.body, ['1', '2', '3', '4', '5'])
  assert.equal((await service.list('registry/versions?type=helm')).status, 400)
  assert.deepEqual((await service.list('nowhere/names?type=helm')).body, [])

  const named = await startArtifacts(t, {
    settings: withRegistry(registry.url, { repositories: ['charts/web'] }),
  })
  assert.deepEqual((await named.list('registry/names?type=helm')).body, ['charts/web'])
})

test('blobs at another server get no credentials, and none at an internal one', async (t) => {
  const storage = await startUpstream(t, () => new Reply(200, 'the chart'))
  const registry = await startOciRegistry(t, { login: 'al:word', storage: storage.url })
  registry.push('charts/web', '1', chart)
  const artifact = { type: 'helm/image', artifactAccount: 'registry', reference: 'charts/web:1' }
  const service = await startArtifacts(t, { settings: withRegistry(registry.url, login) })
  assert.equal((await service.fetch(artifact)).bytes.toString(), 'the chart')
  assert.equal(storage.requests[0]?.headers.authorization, undefined)

  storage.requests.length = 0
  const strict = await startArtifacts(t, {
    settings: withRegistry(registry.url, login),
    isLoopbackAllowed: false,
  })
  const { status, message } = await strict.fetch(artifact)
  assert.equal(status, 400)
  assert.match(message, /must not call 127\.0\.0\.1.*allowedAddresses/)
  assert.equal(storage.requests.length, 0)
})

test('credentials are not sent to a token service without TLS', async (t) => {
  const registry = await startOciRegistry(t, {
    login: 'al:word',
    realm: 'http://tokens.example/token',
  })
  registry.push('charts/web', '1', chart)
  const service = await startArtifacts(t, { settings: withRegistry(registry.url, login) })
  const { status, message } = await service.fetch({
    type: 'helm/image',
    artifactAccount: 'registry',
    name: 'charts/web',
    version: '1',
  })
  assert.equal(status, 502)
  assert.match(message, /"http:\/\/tokens\.example\/token", which is no https address/)
})

test('references of images are parsed as registries know them', () => {
  const digest = `sha256:${'a'.repeat(64)}`
  for (const [text, host, repository, tag] of [
    ['registry.example/team/app:1.2', 'registry.example', 'team/app', '1.2'],
    ['localhost:5000/app', 'localhost:5000', 'app', undefined],
    ['team/app', undefined, 'team/app', undefined],
    [`oci://registry.example/app:1@${digest}`, 'registry.example', 'app', '1'],
  ] as const) {
    const found = parseImageReference(text, undefined)
    assert.deepEqual([found.host, found.repository, found.tag], [host, repository, tag])
    assert.equal(found.digest, text.includes('@') ? digest : undefined)
  }
  for (const text of ['', 'Team/App', 'a/../b', 'a@sha256:12', 'a b', `a:${'x'.repeat(129)}`])
    assert.throws(() => parseImageReference(text, undefined), /no reference/)
})

test('images of Docker Hub have their usual names', () => {
  const hub = { name: 'hub', address: 'https://registry-1.docker.io' }
  for (const [text, repository] of [
    ['nginx:1', 'library/nginx'],
    ['docker.io/library/nginx:1', 'library/nginx'],
    ['index.docker.io/shop/web:1', 'shop/web'],
  ]) {
    const found = toReference({ reference: text }, hub)
    assert.deepEqual([found.repository, found.tag], [repository, '1'])
  }
  assert.throws(
    () =>
      toReference(
        { reference: 'docker.io/nginx' },
        { ...hub, address: 'https://registry.example' },
      ),
    /is for registry/,
  )
})

test('challenges of registries are parsed with and without quotes', () => {
  const challenge = parseChallenge(
    'Bearer realm="https://auth.example/token",service=registry, scope="repository:a,b:pull"',
  )
  assert.deepEqual(challenge, {
    scheme: 'bearer',
    realm: 'https://auth.example/token',
    service: 'registry',
    scope: 'repository:a,b:pull',
  })
  assert.equal(parseChallenge('Negotiate'), undefined)
})
