/** Event streams in front of the embedded engine: content, continuation, rights, bounds. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { openUsers } from '../../packages/gateway/login/form/users.ts'
import { Browser } from '../login/browser.ts'
import { basic } from '../login/support.ts'
import { createToken } from '../login/tokens/support.ts'
import { startSeeded } from '../permissions/support.ts'
import { type GatewayOptions, runGateway } from '../support/gateway.ts'
import { listen } from './listen.ts'

const wait = (waitTime: number) => ({
  refId: '1',
  type: 'wait',
  waitTime,
  requisiteStageRefIds: [],
})

/** A gateway without login. */
async function start(t: test.TestContext, settings = {}, options: GatewayOptions = {}) {
  const running = await runGateway(t, settings, { embedded: true, ...options })
  const { url } = running
  const send = async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(url + path, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    assert.ok(answer.status < 300, `${method} ${path} answered ${answer.status}: ${text}`)
    return text === '' ? undefined : (JSON.parse(text) as { ref: string })
  }
  const run = async (application: string, stage: object) => {
    const pipeline = { application, name: 'main', stages: [stage] }
    const id = (await send('POST', '/pipelines/start', pipeline))?.ref.split('/').at(-1)
    return String(id)
  }
  return { ...running, send, run }
}

test('streams in front of the embedded engine', async (t) => {
  const { url, run, send } = await start(t, { server: { servlet: { 'context-path': '/gate' } } })

  await t.test('an execution is sent at once, and again when it changes', async (t) => {
    const id = await run('web', wait(1))
    const stream = await listen(t, `${url}/executions/${id}/events`)
    assert.equal(stream.headers.get('content-type'), 'text/event-stream')
    assert.match(stream.headers.get('cache-control') ?? '', /no-cache/)
    assert.equal(stream.headers.get('x-accel-buffering'), 'no')
    assert.equal(stream.headers.get('content-encoding'), null)
    const { data } = await stream.find(
      ({ name, data }) => name === 'execution' && data['status'] === 'SUCCEEDED',
    )
    assert.equal(data['id'], id)
    assert.deepEqual(
      (data['stages'] as Record<string, unknown>[]).map(({ refId, type, status }) => [
        refId,
        type,
        status,
      ]),
      [['1', 'wait', 'SUCCEEDED']],
    )
    assert.match(stream.text(), /^retry: \d+\n\n/)
    assert.equal(stream.events.at(-1)?.data['trigger'], undefined)
  })

  await t.test('a task is sent with its steps', async (t) => {
    const application = { name: 'shop', email: 'a@example.com' }
    const job = [{ type: 'createApplication', application }]
    const task = await send('POST', '/tasks', {
      application: 'shop',
      description: 'Create shop',
      job,
    })
    const stream = await listen(t, `${url}${task?.ref}/events`)
    const { data } = await stream.find(
      (event) => event.name === 'task' && event.data['status'] === 'SUCCEEDED',
    )
    assert.equal(data['name'], 'Create shop')
    assert.ok((data['steps'] as unknown[]).length > 0)
  })

  await t.test('only executions of the application are sent', async (t) => {
    const stream = await listen(t, `${url}/applications/WEB/executions/events`)
    await stream.find(({ name }) => name === 'ready')
    await run('other', wait(0))
    const id = await run('web', wait(0))
    await stream.find(({ data }) => data['id'] === id && data['status'] === 'SUCCEEDED')
    assert.deepEqual(
      [...new Set(stream.events.map(({ data }) => data['application']))],
      [undefined, 'web'],
    )
  })

  await t.test('a client continues after the last event that it has seen', async (t) => {
    const first = await listen(t, `${url}/applications/web/executions/events`)
    const ready = await first.find(({ name }) => name === 'ready')
    first.close()
    const job = [{ type: 'upsertApplication', application: { name: 'web' } }]
    const task = await send('POST', '/tasks', { application: 'web', job })
    const id = await run('web', wait(0))
    const second = await listen(t, `${url}/applications/web/executions/events`, {
      'last-event-id': String(ready.id),
    })
    const { id: seen } = await second.find(
      ({ data }) => data['id'] === id && data['status'] === 'SUCCEEDED',
    )
    assert.equal(
      second.events.some(({ name }) => name === 'resync' || name === 'ready'),
      false,
    )
    const isOfTask = second.events.some(({ data }) => task?.ref.endsWith(String(data['id'])))
    assert.equal(isOfTask, false, 'a task is no execution of a pipeline')
    second.close()
    const other = await run('web', wait(0))
    const third = await listen(t, `${url}/applications/web/executions/events`, {
      'last-event-id': String(seen),
    })
    await third.find(({ data }) => data['id'] === other)
    assert.equal(
      third.events.some(({ data }) => data['id'] === id),
      false,
    )
  })

  await t.test('changes of tasks and definitions of the application are reported', async (t) => {
    const path = `${url}/applications/web/executions/events`
    const stream = await listen(t, path)
    const ready = await stream.find(({ name }) => name === 'ready')
    assert.deepEqual(ready.data, {
      parts: ['executions', 'tasks', 'infrastructure', 'definitions'],
      heartbeatMs: 25_000,
    })
    const other = await listen(t, `${url}/applications/other/executions/events`)
    const save = (application: string) =>
      send('POST', '/pipelines', { application, name: 'deploy', stages: [], triggers: [] })
    const change = (application: string) => {
      const job = [
        { type: 'upsertApplication', application: { name: application, email: 'a@example.com' } },
      ]
      return send('POST', '/tasks', { application, job })
    }
    await save('web')
    const definitions = await stream.find(
      ({ data }) => data['part'] === 'definitions',
      'the saved pipeline',
    )
    assert.deepEqual([definitions.name, definitions.id], ['changed', undefined])
    await change('web')
    await stream.find(
      ({ name, data }) => name === 'changed' && data['part'] === 'tasks',
      'the task',
    )
    const later = await run('other', wait(0))
    await other.find(({ data }) => data['id'] === later, 'the run of the other application')
    assert.equal(
      other.events.some(({ data }) => data['part'] === 'tasks'),
      false,
    )

    const again = await listen(t, path, { 'last-event-id': String(ready.id) })
    for (const part of ['tasks', 'infrastructure', 'definitions'])
      await again.find(({ data }) => data['part'] === part, part)
  })

  await t.test('an unknown last event leads to resync', async (t) => {
    const headers = { 'last-event-id': 'before.7' }
    const stream = await listen(t, `${url}/applications/web/executions/events`, headers)
    const { data, id } = await stream.find(({ name }) => name === 'resync')
    assert.deepEqual(data, { reason: 'gap' })
    assert.match(String(id), /^\w+\.\d+$/)
  })

  await t.test('a removed execution ends its stream', async (t) => {
    const id = await run('web', wait(0))
    const stream = await listen(t, `${url}/executions/${id}/events`)
    await stream.find(({ data }) => data['status'] === 'SUCCEEDED')
    await send('DELETE', `/pipelines/${id}`)
    assert.deepEqual((await stream.find(({ name }) => name === 'removed')).data, { id })
    assert.deepEqual((await stream.find(({ name }) => name === 'end')).data, { reason: 'removed' })
    await stream.ended()
  })

  await t.test('an unknown id is 404, and a task is no execution', async () => {
    const task = await send('POST', '/tasks', {
      application: 'web',
      job: [{ type: 'upsertApplication', application: { name: 'web' } }],
    })
    for (const id of ['nope', task?.ref.split('/').at(-1)]) {
      const answer = await fetch(`${url}/executions/${id}/events`)
      assert.equal(answer.status, 404)
      assert.match(
        ((await answer.json()) as { message: string }).message,
        /There is no execution with the id/,
      )
    }
  })

  await t.test('HEAD is answered without a stream', async () => {
    const answer = await fetch(`${url}/applications/web/executions/events`, { method: 'HEAD' })
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('content-type'), 'text/event-stream')
    await answer.text()
  })
})

test('streams are bounded, and end in order at a stop', async (t) => {
  const { url, stop } = await start(t, {
    live: { maxStreams: 3, maxStreamsPerUser: 2, heartbeat: '100ms' },
  })
  const path = `${url}/applications/web/executions/events`
  const streams = [await listen(t, path), await listen(t, path)]
  const refused = await fetch(path)
  assert.equal(refused.status, 429)
  assert.equal(refused.headers.get('retry-after'), '10')
  assert.match(await refused.text(), /TOO_MANY_STREAMS/)
  await Promise.all(streams.map((stream) => stream.find(({ name }) => name === 'ready')))
  const [first, second] = streams
  first?.close()
  const third = await listenAgain(t, path)
  assert.match(await (await fetch(`${url}/metrics`)).text(), /fairlead_event_streams 2\n/)
  const stopped = stop()
  for (const stream of [second, third]) {
    assert.deepEqual((await stream?.find(({ name }) => name === 'end'))?.data, {
      reason: 'stopping',
    })
    assert.match(stream?.text() ?? '', /\nretry: \d+\n\nevent: end\n/)
    await stream?.ended()
  }
  await stopped
})

/** Until the place of one that was closed is free. */
async function listenAgain(t: test.TestContext, path: string) {
  for (;;) {
    try {
      return await listen(t, path)
    } catch (error) {
      assert.match(String(error), /429/)
    }
  }
}

test('a stream ends with the right to read it', async (t) => {
  const { url, dataDir, ask, add, run, createApplication } = await startSeeded(t)
  await add('rita', ['readers', 'writers'])
  await add('otto', ['others'])
  const grant = (roles: string[]) => ({ READ: roles, WRITE: ['writers'], EXECUTE: ['writers'] })
  await createApplication('web', grant(['readers', 'writers']))
  await createApplication('secret', { READ: ['nobody'], WRITE: ['nobody'], EXECUTE: ['nobody'] })
  const path = `${url}/applications/web/executions/events`
  const open = (headers: Record<string, string>) => listen(t, path, headers)

  await t.test('who may not read is refused', async () => {
    const started = await ask('admin', 'POST /pipelines/start', {
      application: 'secret',
      name: 'p',
      stages: [wait(0)],
    })
    const { ref } = started.json() as { ref: string }
    for (const request of [
      '/applications/web/executions/events',
      `/executions/${ref.split('/').at(-1)}/events`,
    ]) {
      assert.equal((await ask('otto', `GET ${request}`)).status, 403, request)
    }
    assert.equal((await ask(undefined, 'GET /applications/web/executions/events')).status, 401)
  })

  await t.test('a logout ends the streams of its session', async () => {
    const browser = new Browser(url)
    await browser.login('rita', 'correct horse')
    const stream = await open({ cookie: browser.cookie })
    const other = await open(basic('admin', 'correct horse'))
    await browser.visit('/auth/logout')
    assert.deepEqual((await stream.find(({ name }) => name === 'end')).data, { reason: 'access' })
    await stream.ended()
    assert.equal(
      other.events.some(({ name }) => name === 'end'),
      false,
    )
    other.close()
  })

  await t.test('a revoked token ends its streams', async () => {
    const browser = new Browser(url)
    await browser.login('rita', 'correct horse')
    const { id, token } = await createToken(browser, { name: 'listens' })
    const stream = await open({ 'x-spinnaker-token': token })
    const lines = await fetch(`${url}/apps/web/logs?follow=true`, {
      headers: { 'x-spinnaker-token': token },
    })
    assert.equal(lines.status, 200)
    assert.equal(
      (await browser.ask(`/auth/apiTokens/${id}`, { method: 'DELETE' })).status < 300,
      true,
    )
    await stream.find(({ name }) => name === 'end')
    await stream.ended()
    await assert.rejects(lines.text(), 'logs end, too')
  })

  await t.test(
    'a changed password and the removal of a user end streams of Basic credentials',
    async () => {
      const users = openUsers(dataDir)
      t.after(() => users.close())
      await add('sam', ['readers'])
      const endings: [headers: Record<string, string>, change: () => unknown][] = [
        [basic('sam', 'correct horse'), () => users.setPassword('sam', 'battery staple')],
        [basic('sam', 'battery staple'), () => ask('admin', 'DELETE /auth/users/sam')],
      ]
      for (const [headers, change] of endings) {
        const stream = await open(headers)
        await change()
        assert.deepEqual((await stream.find(({ name }) => name === 'end')).data, {
          reason: 'access',
        })
        await stream.ended()
      }
    },
  )

  await t.test('a role that is taken away ends the streams that it allowed', async () => {
    await add('tom', ['readers', 'others'])
    const stream = await open(basic('tom', 'correct horse'))
    assert.ok((await ask('admin', 'PUT /auth/users/tom/roles', { roles: ['others'] })).status < 300)
    assert.deepEqual((await stream.find(({ name }) => name === 'end')).data, { reason: 'access' })
    await stream.ended()
  })

  await t.test('a changed permission ends the streams of those who lose it', async () => {
    const stream = await open(basic('rita', 'correct horse'))
    const admin = await open(basic('admin', 'correct horse'))
    await run('admin', 'web', {
      type: 'updateApplication',
      application: { name: 'web', permissions: grant(['others']) },
    })
    assert.deepEqual((await stream.find(({ name }) => name === 'end')).data, { reason: 'access' })
    const started = await ask('admin', 'POST /pipelines/start', {
      application: 'web',
      name: 'p',
      stages: [wait(0)],
    })
    const id = (started.json() as { ref: string }).ref.split('/').at(-1)
    await admin.find(({ data }) => data['id'] === id)
    assert.equal(stream.text().includes(String(id)), false)
  })
})
