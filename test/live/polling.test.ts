/** Event streams in front of an external orchestrator: one poll for all listeners, none without any. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { startGateway } from '../support/gateway.ts'
import { Reply, startUpstream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait-until.ts'
import { listen } from './listen.ts'

const execution = (id: string, status: string, application = 'web') => ({
  id,
  application,
  name: 'main',
  status,
  trigger: { secret: 'not part of a summary' },
  stages: [
    {
      id: `${id}-1`,
      refId: '1',
      type: 'wait',
      name: 'Wait',
      status,
      context: { waitTime: 3 },
      outputs: {},
    },
  ],
})

test('streams in front of an external orchestrator', async (t) => {
  const orca = await startUpstream(t)
  const gateway = await startGateway(t, {
    services: { orca: { baseUrl: orca.url } },
    live: { pollInterval: '100ms', idlePollInterval: '200ms' },
  })
  const polls = (path: string) => orca.requests.filter((request) => request.path === path).length

  await t.test('two clients share one poll, and none goes on without them', async (t) => {
    let answered = 0
    orca.answer(({ path }) => {
      if (path !== '/pipelines/e1') return new Reply(404)
      answered++
      return execution('e1', answered < 4 ? 'RUNNING' : 'SUCCEEDED')
    })
    const [first, second] = [
      await listen(t, `${gateway}/executions/e1/events`),
      await listen(t, `${gateway}/executions/e1/events`),
    ]
    for (const stream of [first, second])
      await stream.find(({ data }) => data['status'] === 'SUCCEEDED')
    assert.deepEqual(
      first.events.map(({ data }) => data['status']),
      ['RUNNING', 'SUCCEEDED'],
    )
    assert.equal(first.text().includes('secret'), false)
    assert.deepEqual(first.events.at(-1), second.events.at(-1))
    // The look-up of the owner, once, is not a poll: without logins there is none.
    assert.equal(polls('/pipelines/e1'), answered)
    assert.equal(orca.requests[0]?.headers['x-spinnaker-user'], 'anonymous')
    first.close()
    second.close()
    await waitUntil(
      async () =>
        /fairlead_event_streams 0\n/.test(await (await fetch(`${gateway}/metrics`)).text()),
      'the end of both streams',
    )
    const before = answered
    const third = await listen(t, `${gateway}/executions/e1/events`, {
      'last-event-id': String(first.events.at(-1)?.id),
    })
    await third.find(({ name }) => name === 'execution')
    third.close()
    assert.ok(answered - before <= 3, `polled ${answered - before} times while no client listened`)
  })

  await t.test('runs of an application begin, end and vanish', async (t) => {
    let active = [execution('a1', 'RUNNING'), execution('x1', 'RUNNING', 'other')]
    const found = new Map<string, unknown>()
    orca.answer(({ path, query }) => {
      if (path === '/pipelines')
        return [...found.values()].filter((one) => query.includes((one as { id: string }).id))
      return path === '/v2/applications/web/pipelines' && query.includes('statuses') ? active : []
    })
    const stream = await listen(t, `${gateway}/applications/web/executions/events`)
    await stream.find(({ name }) => name === 'ready')
    active = [execution('a1', 'RUNNING'), execution('a2', 'RUNNING')]
    await stream.find(({ data }) => data['id'] === 'a2')
    found.set('a1', execution('a1', 'TERMINAL'))
    active = []
    await stream.find(({ data }) => data['id'] === 'a1' && data['status'] === 'TERMINAL')
    await stream.find(({ name, data }) => name === 'removed' && data['id'] === 'a2')
    assert.equal(stream.text().includes('x1'), false)
    stream.close()
  })

  await t.test(
    'clients learn that the orchestrator is silent, and when it answers again',
    async (t) => {
      orca.answer({
        'GET /tasks/t1': { id: 't1', name: 'Resize', status: 'RUNNING', steps: [], variables: [] },
      })
      const stream = await listen(t, `${gateway}/tasks/t1/events`)
      await stream.find(({ name, data }) => name === 'task' && data['name'] === 'Resize')
      orca.answer(() => new Reply(500))
      assert.deepEqual((await stream.find(({ name }) => name === 'stale')).data, {
        service: 'orca',
      })
      orca.answer({
        'GET /tasks/t1': {
          id: 't1',
          name: 'Resize',
          status: 'SUCCEEDED',
          steps: [],
          variables: [],
        },
      })
      await stream.find(({ name }) => name === 'fresh')
      await stream.find(({ data }) => data['status'] === 'SUCCEEDED')
    },
  )

  await t.test('a first read that fails is the answer', async () => {
    orca.answer({
      'GET /executions/e9': new Reply(404),
      'GET /tasks/t9': new Reply(503, { message: 'busy' }),
    })
    assert.equal((await fetch(`${gateway}/executions/e9/events`)).status, 404)
    assert.equal((await fetch(`${gateway}/tasks/t9/events`)).status, 503)
  })
})
