import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Fields, type Store, startStore } from './store.ts'

async function idsAt(store: Store, path: string): Promise<unknown[]> {
  return (await store.ok<Fields[]>('GET', path)).map((one) => one['id'])
}

/** An instance of a template of the first schema. */
const instance = (source: string) => ({
  type: 'templatedPipeline',
  config: { pipeline: { template: { source } } },
})

/** An instance of a template of the second schema. */
const artifactInstance = (reference: string) => ({
  type: 'templatedPipeline',
  schema: 'v2',
  template: {
    artifactAccount: 'front50ArtifactCredentials',
    type: 'front50/pipelineTemplate',
    reference,
  },
})

test('a template of the first schema lives from creation to deletion', async (t) => {
  const store = await startStore(t)
  const template = {
    id: 'Web',
    schema: '1',
    metadata: { name: 'web', scopes: ['Team-A'] },
    stages: [],
  }
  assert.equal(await store.ok('POST', '/pipelineTemplates', template), undefined)
  await store.fails(400, 'POST', '/pipelineTemplates', { ...template, id: 'web' })
  await store.fails(422, 'POST', '/pipelineTemplates', { schema: '1' })
  assert.equal((await store.ok('GET', '/pipelineTemplates/web'))['id'], 'Web')
  await store.fails(404, 'GET', '/pipelineTemplates/none')
  assert.deepEqual(await idsAt(store, '/pipelineTemplates?scopes=team-a'), ['Web'])
  assert.deepEqual(await idsAt(store, '/pipelineTemplates?scopes=b&scopes=c'), [])
  assert.equal(
    (await store.ok('PUT', '/pipelineTemplates/Web', { ...template, step: 2 }))['step'],
    2,
  )
  await store.fails(400, 'PUT', '/pipelineTemplates/Web', { ...template, id: 'other' })
  await store.fails(404, 'PUT', '/pipelineTemplates/none', { ...template, id: 'none' })
  assert.equal(await store.ok('DELETE', '/pipelineTemplates/WEB'), undefined)
  assert.deepEqual(await idsAt(store, '/pipelineTemplates'), [])
  await store.fails(404, 'DELETE', '/pipelineTemplates/web')
})

test('a template that pipelines or other templates use is not deleted', async (t) => {
  const store = await startStore(t)
  await store.ok('POST', '/pipelineTemplates', { id: 'base' })
  await store.ok('POST', '/pipelineTemplates', { id: 'middle', source: 'spinnaker://base' })
  await store.ok('POST', '/pipelineTemplates', { id: 'leaf', source: 'spinnaker://middle' })
  await store.ok('POST', '/pipelines', {
    id: 'P',
    application: 'demo',
    name: 'p',
    ...instance('spinnaker://leaf'),
  })
  assert.deepEqual(await idsAt(store, '/pipelineTemplates/leaf/dependentPipelines'), ['P'])
  assert.deepEqual(await idsAt(store, '/pipelineTemplates/base/dependentPipelines'), [])
  assert.deepEqual(
    await idsAt(store, '/pipelineTemplates/base/dependentPipelines?recursive=true'),
    ['P'],
  )
  for (const id of ['leaf', 'base']) {
    assert.match(
      (await store.fails(400, 'DELETE', `/pipelineTemplates/${id}`))['message'] as string,
      /P/,
    )
  }
  await store.ok('DELETE', '/pipelines/demo/p')
  assert.match(
    (await store.fails(400, 'DELETE', '/pipelineTemplates/base'))['message'] as string,
    /middle, leaf/,
  )
  for (const id of ['leaf', 'middle', 'base']) await store.ok('DELETE', `/pipelineTemplates/${id}`)
})

test('templates in a circle do not hang the search for dependents', async (t) => {
  const store = await startStore(t)
  await store.ok('POST', '/pipelineTemplates', { id: 'a', source: 'spinnaker://b' })
  await store.ok('POST', '/pipelineTemplates', { id: 'b', source: 'spinnaker://a' })
  assert.deepEqual(await idsAt(store, '/pipelineTemplates/a/dependentPipelines?recursive=true'), [])
})

test('a pipeline whose template the store does not have is refused', async (t) => {
  const store = await startStore(t)
  await store.ok('POST', '/v2/pipelineTemplates?tag=stable', { id: 'web', schema: 'v2' })
  const pipeline = { application: 'demo', name: 'p' }
  for (const [template, isKnown] of [
    [instance('spinnaker://none'), false],
    [instance('https://example.com/template.yml'), true],
    [artifactInstance('spinnaker://web:canary'), false],
    [artifactInstance('spinnaker://web:stable'), true],
    [{ ...artifactInstance('spinnaker://none'), type: 'other' }, true],
  ] as const) {
    const answer = await store.ask('POST', '/pipelines', { ...pipeline, id: 'P', ...template })
    assert.equal(answer.status, isKnown ? 200 : 400, JSON.stringify(template))
  }
})

test('saving a second-schema template writes its latest tag and digest', async (t) => {
  const store = await startStore(t)
  const template = {
    id: 'web',
    schema: 'v2',
    metadata: { name: 'web', scopes: ['global'] },
    pipeline: { b: 1, a: 12 },
  }
  assert.equal(await store.ok('POST', '/v2/pipelineTemplates?tag=stable', template), undefined)
  await store.fails(400, 'POST', '/v2/pipelineTemplates?tag=stable', template)
  await store.fails(400, 'POST', '/v2/pipelineTemplates?tag=mine', template)
  await store.fails(422, 'POST', '/v2/pipelineTemplates', { schema: 'v2' })
  const versions = (await store.ok('GET', '/v2/pipelineTemplates/versions?scopes=global'))[
    'web'
  ] as Fields[]
  assert.deepEqual(versions.map((version) => version['tag'] ?? 'digest').sort(), [
    'digest',
    'latest',
    'stable',
  ])
  const digest = versions.find((version) => version['digest'] !== undefined)?.['digest']

  for (const query of ['?tag=stable', '?tag=latest', `?digest=${digest}`]) {
    const read = await store.ok('GET', `/v2/pipelineTemplates/web${query}`)
    assert.deepEqual(read['pipeline'], { b: 1, a: 12 })
    assert.equal('tag' in read || 'digest' in read, false)
  }
  await store.fails(404, 'GET', '/v2/pipelineTemplates/web')
  await store.fails(400, 'GET', `/v2/pipelineTemplates/web?tag=stable&digest=${digest}`)

  const sameContent = { ...template, pipeline: { a: 12, b: 1 } }
  await store.ok('PUT', '/v2/pipelineTemplates/web?tag=stable', sameContent)
  assert.equal((await store.ok<unknown[]>('GET', '/v2/pipelineTemplates')).length, 3)
  await store.ok('PUT', '/v2/pipelineTemplates/web', { ...template, pipeline: {} })
  assert.equal((await store.ok<unknown[]>('GET', '/v2/pipelineTemplates')).length, 5)
  assert.deepEqual((await store.ok('GET', '/v2/pipelineTemplates/web?tag=latest'))['pipeline'], {})
  assert.deepEqual((await store.ok('GET', '/v2/pipelineTemplates/web?tag=stable'))['pipeline'], {
    a: 12,
    b: 1,
  })
  await store.fails(404, 'PUT', '/v2/pipelineTemplates/none', { id: 'none' })
  await store.fails(400, 'PUT', '/v2/pipelineTemplates/web', { id: 'other' })
})

test('only an unused version can be deleted', async (t) => {
  const store = await startStore(t)
  await store.ok('POST', '/v2/pipelineTemplates?tag=stable', { id: 'web', schema: 'v2' })
  const reference = 'spinnaker://web:stable'
  await store.ok('POST', '/pipelines', {
    id: 'P',
    application: 'demo',
    name: 'p',
    ...artifactInstance(reference),
  })
  assert.deepEqual(await idsAt(store, '/v2/pipelineTemplates/web/dependentPipelines'), ['P'])
  assert.deepEqual(await idsAt(store, '/v2/pipelineTemplates/web:latest/dependentPipelines'), [])
  await store.fails(400, 'DELETE', '/v2/pipelineTemplates/web?tag=stable')
  await store.ok('DELETE', '/v2/pipelineTemplates/web?tag=latest')
  await store.fails(404, 'DELETE', '/v2/pipelineTemplates/web?tag=latest')
})
