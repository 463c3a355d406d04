/** Secrets of triggers: readers of definitions get masks, and saves with masks keep what is stored. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import { orchestrationBackend } from '../../../packages/engine/orchestration-backend.ts'
import { startBackends } from '../../support/backends.ts'
import { at } from '../orchestration/support.ts'
import { type Fields, type Store, startStore } from './store.ts'

const mask = '******'
const hook = (constraints: Fields, source = 'ci') => ({
  type: 'webhook',
  source,
  enabled: true,
  payloadConstraints: constraints,
})
const git = {
  type: 'git',
  source: 'github',
  project: 'acme',
  slug: 'shop',
  enabled: true,
  secret: 'git-secret-2',
}
const secretTriggers = [
  hook({ secret: '^open-sesame-1$', branch: 'main' }),
  git,
  { type: 'pubsub', attributeConstraints: { 'x-signature': 'sign-3333', kind: 'push' } },
]
const pipeline = { id: 'P', application: 'demo', name: 'p', triggers: secretTriggers }
const secretTexts = /open-sesame|git-secret|sign-3333/

const triggersOf = (store: Store) => store.stored('pipeline', 'P')['triggers'] as Fields[]

test('no read of a definition shows secrets of its triggers', async (t) => {
  const store = await startStore(t)
  const template = {
    id: 'web',
    schema: 'v2',
    metadata: { scopes: ['global'] },
    pipeline: { triggers: secretTriggers },
  }
  const answers = [
    await store.ok('POST', '/pipelines', pipeline),
    await store.ok('PUT', '/pipelines/P', { ...pipeline, description: 'newer' }),
    await store.ok('POST', '/strategies', { ...pipeline, id: 'S', name: 's' }),
    await store.ok('POST', '/v2/pipelineTemplates?tag=stable', template),
    await store.ok('PUT', '/v2/pipelineTemplates/web?tag=stable', template),
    await store.ok('POST', '/pipelineTemplates', {
      id: 'old',
      configuration: { triggers: secretTriggers },
    }),
  ]
  const paths = [
    '/pipelines',
    '/pipelines?enabledPipelines=true',
    '/pipelines/demo',
    '/pipelines/demo/name/p',
    '/pipelines/P/get',
  ]
    .concat([
      '/pipelines/P/history',
      '/pipelines/P/history?limit=1',
      '/strategies',
      '/strategies/demo',
      '/strategies/S/history',
    ])
    .concat([
      '/pipelineTemplates',
      '/pipelineTemplates/old',
      '/v2/pipelineTemplates',
      '/v2/pipelineTemplates/versions',
    ])
    .concat(['/v2/pipelineTemplates/web?tag=stable'])
  for (const path of paths) answers.push(await store.ok('GET', path))
  for (const [index, answer] of answers.entries()) {
    const text = JSON.stringify(answer ?? '')
    assert.doesNotMatch(text, secretTexts, String(paths[index - 6] ?? index))
    if (index >= 6)
      assert.ok(text.includes(mask) && text.includes('github'), String(paths[index - 6]))
  }
  const [first] = (await store.ok('GET', '/pipelines/P/get'))['triggers'] as Fields[]
  assert.deepEqual(first?.['payloadConstraints'], { secret: mask, branch: 'main' })
  assert.deepEqual(triggersOf(store).slice(0, 2), secretTriggers.slice(0, 2))
})

test('a save of what was read keeps secrets, whatever else it changes', async (t) => {
  const store = await startStore(t)
  const twins = [hook({ token: 'token-aaaa' }), hook({ token: 'token-bbbb' })]
  await store.ok('POST', '/pipelines', { ...pipeline, triggers: [...secretTriggers, ...twins] })
  const read = await store.ok('GET', '/pipelines/P/get')
  const [first, second, third, ...others] = read['triggers'] as Fields[]
  const changed = { ...second, branch: 'dev' }
  await store.ok('PUT', '/pipelines/P?staleCheck=true', {
    ...read,
    triggers: [changed, ...others, third, first],
  })
  assert.deepEqual(triggersOf(store), [
    { ...git, branch: 'dev' },
    ...twins,
    secretTriggers[2],
    secretTriggers[0],
  ])

  await store.ok('POST', '/pipelines', { ...read, triggers: [first] })
  await store.ok('POST', '/pipelines', {
    ...read,
    triggers: [hook({ secret: 'rotated-4444', branch: 'main' })],
  })
  await store.ok('POST', '/pipelines', { ...read, triggers: [first, changed] })
  const [restored, fromHistory] = triggersOf(store)
  assert.equal(
    at(restored, 'payloadConstraints', 'secret'),
    'rotated-4444',
    'of the newest version',
  )
  assert.equal(fromHistory?.['secret'], git.secret, 'of an older version')
})

test('batches, strategies and templates keep secrets that were read as masks', async (t) => {
  const store = await startStore(t)
  await store.ok('POST', '/pipelines', pipeline)
  const read = await store.ok('GET', '/pipelines/P/get')
  const report = await store.ok('POST', '/pipelines/batchUpdate', [
    { ...read, description: 'batch' },
  ])
  assert.equal(report['successful_pipelines_count'], 1)
  assert.deepEqual(triggersOf(store), secretTriggers)

  await store.ok('POST', '/strategies', { ...pipeline, id: 'S' })
  const [strategy] = await store.ok<Fields[]>('GET', '/strategies/demo')
  await store.ok('PUT', '/strategies/S', strategy)
  assert.deepEqual(store.stored('strategy', 'S')['triggers'], secretTriggers)

  const path = '/v2/pipelineTemplates/web?tag=stable'
  await store.ok('POST', '/v2/pipelineTemplates?tag=stable', {
    id: 'web',
    schema: 'v2',
    pipeline: { triggers: secretTriggers },
  })
  await store.ok('PUT', path, await store.ok('GET', path))
  assert.deepEqual(
    at(store.stored('pipeline-template', 'web'), 'pipeline', 'triggers'),
    secretTriggers,
  )
  await store.ok('POST', '/pipelineTemplates', {
    id: 'old',
    configuration: { triggers: secretTriggers },
  })
  await store.ok('PUT', '/pipelineTemplates/old', await store.ok('GET', '/pipelineTemplates/old'))
  assert.deepEqual(
    at(store.stored('pipeline-template', 'old'), 'configuration', 'triggers'),
    secretTriggers,
  )
})

test('a mask for which nothing is stored is refused', async (t) => {
  const store = await startStore(t)
  await store.ok('POST', '/pipelines', pipeline)
  const { id: _id, ...read } = await store.ok('GET', '/pipelines/P/get')
  const saves: [path: string, body: Fields, message: RegExp][] = [
    ['/pipelines', { ...read, name: 'copy' }, /"payloadConstraints.secret" of trigger 1 is masked/],
    ['/pipelines', { ...read, id: 'other', application: 'elsewhere' }, /Send the secret itself/],
    [
      '/pipelines',
      { ...read, id: 'P', triggers: [hook({ other: mask })] },
      /"payloadConstraints.other" of trigger 1/,
    ],
    ['/strategies', { ...read, name: 's' }, /"payloadConstraints.secret" of trigger 1/],
    [
      '/pipelineTemplates',
      { id: 'old', configuration: { triggers: [{ ...git, secret: mask }] } },
      /"secret" of trigger 1/,
    ],
    [
      '/v2/pipelineTemplates',
      { id: 'web', schema: 'v2', pipeline: { triggers: [hook({ token: mask })] } },
      /trigger 1 is masked/,
    ],
  ]
  for (const [path, body, message] of saves)
    assert.match(String((await store.fails(400, 'POST', path, body))['message']), message)
  await store.ok('DELETE', '/pipelines/demo/p')
  await store.fails(400, 'POST', '/pipelines', { ...read, id: 'P', application: 'elsewhere' })
  assert.equal(
    (await store.fails(400, 'POST', '/pipelines', { ...read, name: 'x' }))['status'],
    400,
  )
})

test('two triggers that changed never swap their secrets', async (t) => {
  const store = await startStore(t)
  await store.ok('POST', '/pipelines', {
    ...pipeline,
    triggers: [
      hook({ token: 'token-aaaa', branch: 'a' }),
      hook({ token: 'token-bbbb', branch: 'b' }),
    ],
  })
  await store.fails(400, 'PUT', '/pipelines/P', {
    ...pipeline,
    triggers: [hook({ token: mask, branch: 'c' })],
  })
  const kept = hook({ token: mask, branch: 'b' })
  await store.ok('PUT', '/pipelines/P', {
    ...pipeline,
    triggers: [hook({ token: mask, branch: 'c' }), kept],
  })
  assert.deepEqual(
    triggersOf(store).map((trigger) => at(trigger, 'payloadConstraints', 'token')),
    ['token-aaaa', 'token-bbbb'],
  )
})

test('a task that saves a definition does not show its secrets, and a plan neither', async (t) => {
  const backends = await startBackends(t, [definitionsBackend, orchestrationBackend], {
    others: async () => ({ status: 404, body: undefined }),
  })
  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')
  const save = async (job: Fields): Promise<unknown> => {
    const started = await backends.ask('orca', 'POST', '/ops', { application: 'demo', job: [job] })
    const path = String(at(started.body, 'ref'))
    for (;;) {
      const { body } = await backends.ask('orca', 'GET', path)
      if (['SUCCEEDED', 'TERMINAL'].includes(String(at(body, 'status')))) return body
    }
  }
  const shown = [
    await save({ type: 'savePipeline', pipeline: encoded(pipeline) }),
    await save({
      type: 'savePipeline',
      isBulkSavingPipelines: true,
      pipelines: encoded([pipeline, { ...pipeline, name: '' }]),
    }),
    (await backends.ask('orca', 'POST', '/plan/P', {})).body,
  ]
  for (const body of shown) {
    const decoded = JSON.stringify(body).replace(/[A-Za-z0-9+/=]{40,}/g, (text) =>
      Buffer.from(text, 'base64').toString(),
    )
    assert.doesNotMatch(decoded, secretTexts)
    assert.ok(decoded.includes(mask))
  }
  assert.equal(at(shown[0], 'status'), 'SUCCEEDED')
  const masked = (await backends.ask('front50', 'GET', '/pipelines/P/get')).body
  assert.equal(
    at(await save({ type: 'savePipeline', pipeline: encoded(masked) }), 'status'),
    'SUCCEEDED',
  )
  assert.deepEqual(backends.stored('pipeline', 'P')['triggers'], secretTriggers)
})
