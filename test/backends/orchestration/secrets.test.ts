/** Secrets that users send with stages reach the services, and no view of an execution shows them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CallService } from '../../../src/backends/backend.ts'
import { maskIn } from '../../../src/backends/orchestration/secrets.ts'
import { createCloudService } from './infrastructure/cloud-service.ts'
import { at, J, startEngine, V } from './support.ts'

const secrets = { TOKEN: 's3cr3t-value', PIN: '12' }
const environment = { DB_PASSWORD: 'hunter-2222', MODE: 'fast' }
const place = { cloudProvider: 'local', credentials: 'dev', account: 'dev', region: 'east' }
const deploy = {
  type: 'createServerGroup',
  name: 'Deploy',
  ...place,
  application: 'shop',
  stack: 'main',
  imageId: 'new',
  capacity: { min: 1, max: 1, desired: 1 },
  secrets,
  environment,
  note: 'with ${secrets.TOKEN}',
}

test('secrets reach the service and no view, also when stages change and restart', async (t) => {
  const cloud = createCloudService()
  const events: unknown[] = []
  const others: CallService = async (service, request) => {
    if (service !== 'echo') return cloud.call(service, request)
    events.push(request.body)
    return { status: 200, body: undefined }
  }
  const engine = await startEngine(t, { others, clock: { now: Date.now, pass: () => {}, settled: async () => {} } })
  const copied = "${#stage('Deploy')['context']['secrets']['TOKEN']}"
  const id = await engine.run({
    stages: [J('1'), { refId: '2', requisiteStageRefIds: ['1'], ...deploy }, V('3', { copied, plain: 'of ${MODE}' }, '2')],
  })
  const stage = await engine.eventually(async () => (await engine.stage(id, '1')).status === 'RUNNING' && engine.stage(id, '2'))
  assert.ok(stage)
  assert.deepEqual(stage.context['secrets'], { TOKEN: '******', PIN: '******' })
  assert.deepEqual(stage.context['environment'], { DB_PASSWORD: '******', MODE: 'fast' })

  const { secrets: shown } = stage.context
  const changed = await engine.ask('PATCH', `/pipelines/${id}/stages/${stage.id}`, {
    secrets: { ...(shown as object), NEW: 'n3w-value' },
  })
  assert.equal(changed.status, 200)
  const judged = { judgmentStatus: 'continue' }
  await engine.ask('PATCH', `/pipelines/${id}/stages/${(await engine.stage(id, '1')).id}`, judged)
  await engine.ends(id, 'SUCCEEDED')
  await engine.ask('PUT', `/pipelines/${id}/stages/${stage.id}/restart`, {})
  await engine.eventually(async () => cloud.operations.filter(([name]) => name === 'createServerGroup').length === 2)
  await engine.ends(id, 'SUCCEEDED')

  for (const [name, fields] of cloud.operations) {
    if (name !== 'createServerGroup') continue
    assert.deepEqual(fields['secrets'], { ...secrets, NEW: 'n3w-value' })
    assert.deepEqual(fields['environment'], environment)
  }

  const asked = ['secrets', 'secrets.TOKEN.substring(1)', 'note', "#stage('Deploy')['context']", 'execution'].flatMap((text) => {
    const query = new URLSearchParams({ expression: `\${${text}}` })
    return [`/pipelines/${id}/evaluateExpression?${query}`, `/pipelines/${id}/${stage.id}/evaluateExpression?${query}`]
  })
  const views = await Promise.all(
    [`/pipelines/${id}`, `/pipelines?executionIds=${id}`, ...asked].map(async (path) => [
      path,
      (await engine.ask('GET', path)).body,
    ]),
  )
  for (const [path, body] of [...views, ['changed', changed.body], ['events', events]]) {
    const text = JSON.stringify(body)
    for (const secret of ['3cr3t', 'hunter', 'n3w-value']) assert.ok(!text.includes(secret), `${String(path)}: ${text}`)
  }
  assert.equal((await engine.stage(id, '3')).outputs['copied'], '******')
  assert.ok(events.length > 0)
})

test('secrets of a task are masked in its variables and steps', async (t) => {
  const cloud = createCloudService()
  cloud.failing.set('createServerGroup', 'The value s3cr3t-value is too weak.')
  const engine = await startEngine(t, { others: cloud.call, clock: { now: Date.now, pass: () => {}, settled: async () => {} } })
  const { note: _, ...job } = deploy
  const id = await engine.task(job)
  await engine.taskEnds(id, 'TERMINAL')
  for (const path of [`/tasks/${id}`, '/tasks', '/applications/app/tasks']) {
    const text = JSON.stringify((await engine.ask('GET', path)).body)
    assert.ok(text.includes('******') && !/s3cr3t|hunter/.test(text), `${path}: ${text}`)
  }
})

test('thousands of secrets are masked in thousands of texts within a moment', () => {
  const secrets = Array.from({ length: 5000 }, (_, index) => `s3cret-of-part-${index}`).toSorted(
    (one, other) => other.length - one.length,
  )
  const texts = Array.from({ length: 20_000 }, (_, index) => `line ${index}`)
  const begun = performance.now()

  const shown = maskIn([...texts, 'with s3cret-of-part-4711.', 's3cre'], secrets)
  const tookMs = performance.now() - begun

  assert.deepEqual(shown, [...texts, 'with ******.', 's3cre'])
  assert.ok(tookMs < 1500, `${tookMs} ms`)
})

test('views mask passwords in addresses, and what proves the sender of a webhook', async (t) => {
  const engine = await startEngine(t)
  const environment = { DATABASE_URL: 'postgres://shop:p%40ss-0001@db/shop', CACHE: 'redis://:word@0002@cache', PORT: '8080' }
  const trigger = {
    type: 'webhook',
    payloadConstraints: { secret: '^open-0003$', signature: 'sign-0004', branch: 'main' },
    payload: { secret: 'open-0003', signature: 'sign-0004', branch: 'main', text: 'with open-0003' },
  }
  const stages = [{ ...V('1', { seen: '${trigger.payload.secret}' }), environment }]
  const id = await engine.run({ stages, trigger })
  await engine.ends(id, 'SUCCEEDED')
  for (const path of [`/pipelines/${id}`, `/pipelines?executionIds=${id}&expand=false`, `/pipelines/${id}/logs`]) {
    const shown = JSON.stringify((await engine.ask('GET', path)).body)
    assert.deepEqual(shown.match(/ss-0001|word@?0002|open-0003|sign-0004/g), null, path)
  }
  const {
    trigger: seen,
    stages: [stage],
  } = await engine.execution(id)
  assert.deepEqual([at(seen, 'payload', 'branch'), at(seen, 'payloadConstraints', 'branch')], ['main', 'main'])
  assert.equal(at(stage, 'context', 'environment', 'DATABASE_URL'), 'postgres://shop:******@db/shop')
  assert.equal(at(stage, 'context', 'environment', 'PORT'), '8080')
})
