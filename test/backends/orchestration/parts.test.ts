import assert from 'node:assert/strict'
import { test } from 'node:test'
import pino from 'pino'
import { createUlids } from '../../../packages/base/storage/ulid.ts'
import { DueQueue } from '../../../packages/engine/orchestration/due-queue.ts'
import {
  createLifeCyclePublisher,
  mergedNotifications,
} from '../../../packages/engine/orchestration/life-cycle-events.ts'
import { createStage } from '../../../packages/engine/orchestration/machine/new-stage.ts'
import type { Execution } from '../../../packages/engine/orchestration/model.ts'
import { openEcho } from '../../../packages/external/echo.ts'
import { openFront50 } from '../../../packages/external/front50.ts'
import type { CallService } from '../../../packages/ports/service-call.ts'
import { F, startEngine, V, W } from './support.ts'

test('ids rise within a millisecond and when the clock goes back', () => {
  let now = 1_900_000_000_000
  const next = createUlids(() => now)
  const ids = Array.from({ length: 100 }, next)
  now -= 5000
  ids.push(next())
  now += 10_000
  ids.push(next())

  assert.deepEqual(ids, [...ids].sort())
  assert.equal(new Set(ids).size, 102)
  assert.ok(ids.every((id) => /^[0-9A-HJKMNP-TV-Z]{26}$/.test(id)))
})

test('the queue returns due executions, earliest first, each once', () => {
  const queue = new DueQueue()
  for (let due = 99; due >= 0; due--) queue.set(`e${due}`, due)
  queue.set('e5', 200)
  queue.set('e6', undefined)
  queue.set('e50', 1)

  const taken: string[] = []
  for (let id = queue.take(10); id !== undefined; id = queue.take(10)) taken.push(id)

  assert.deepEqual(taken.sort(), ['e0', 'e1', 'e10', 'e2', 'e3', 'e4', 'e50', 'e7', 'e8', 'e9'])
  assert.equal(queue.next(), 11)
})

test('notifications of an application complete those of a pipeline', () => {
  const own = [{ type: 'email', address: 'a', when: ['pipeline.failed'] }]
  const ofApplication = {
    email: [
      { type: 'email', address: 'a', when: ['pipeline.failed', 'pipeline.complete'] },
      { type: 'email', address: 'b', when: ['pipeline.failed'] },
    ],
    application: 'app',
  }

  assert.deepEqual(mergedNotifications(own, ofApplication), [
    ...own,
    { type: 'email', address: 'a', when: ['pipeline.complete'] },
    { type: 'email', address: 'b', when: ['pipeline.failed'] },
  ])
  assert.deepEqual(mergedNotifications(own, undefined), own)
})

test('an execution reports its start and end, and those of stages and tasks, as events', async (t) => {
  const told: string[] = []
  const taskNames: unknown[] = []
  const engine = await startEngine(t, {
    others: async (service, { body }) => {
      if (service !== 'echo') return { status: 404, body: undefined }
      const { details, content } = body as {
        details: { type: string }
        content: Record<string, unknown>
      }
      told.push(details.type)
      if (details.type.startsWith('orca:task:')) taskNames.push(content['taskName'])
      throw new Error('connection refused')
    },
  })

  await engine.ends(await engine.run({ stages: [W('1', 0)] }), 'SUCCEEDED')

  await engine.eventually(async () => told.length === 6)
  assert.deepEqual(told.sort(), [
    'orca:pipeline:complete',
    'orca:pipeline:starting',
    'orca:stage:complete',
    'orca:stage:starting',
    'orca:task:complete',
    'orca:task:starting',
  ])
  assert.deepEqual(taskNames, ['wait.wait', 'wait.wait'])
})

test('tasks that fail or are cancelled are reported as failed', async (t) => {
  const told: string[] = []
  const engine = await startEngine(t, {
    others: async (service, { body }) => {
      const { details, content } = (body ?? {}) as {
        details?: { type: string }
        content?: Record<string, unknown>
      }
      if (service === 'echo' && details?.type === 'orca:task:failed')
        told.push(String(content?.['taskName']))
      return { status: 200, body: undefined }
    },
  })

  await engine.ends(await engine.run({ stages: [F('1')] }), 'TERMINAL')
  const waiting = await engine.run({ stages: [W('1', 600)] })
  await engine.eventually(async () => (await engine.stage(waiting, '1')).status === 'RUNNING')
  await engine.ask('PUT', `/pipelines/${waiting}/cancel`)

  await engine.eventually(async () => told.length === 2)
  assert.deepEqual(told.sort(), ['checkPreconditions.checkPrecondition', 'wait.wait'])
})

test('an embedded event service is spared the events that it would ignore', async (t) => {
  const told: unknown[] = []
  const engine = await startEngine(t, {
    backends: [
      {
        service: 'echo',
        migrations: [],
        open: () => ({
          routes() {},
          ports: {
            events: {
              ...openEcho(assert.fail),
              takesLifeCycle: false,
              report: async (event) => void told.push(event),
            },
          },
        }),
      },
    ],
  })
  await engine.ends(await engine.run({ stages: [W('1', 0)] }), 'SUCCEEDED')
  await engine.ends(await engine.run({ stages: [W('1', 0)] }), 'SUCCEEDED')

  assert.deepEqual(told, [])
})

test('events wait in bounded memory, those of large executions shortened', async () => {
  const posted: { type: string; stages: number }[] = []
  const open: (() => void)[] = []
  const call: CallService = async (service, { body }) => {
    if (service !== 'echo') return { status: 404, body: undefined }
    const { details, content } = body as never as {
      details: { type: string }
      content: { execution: Execution }
    }
    posted.push({ type: details.type, stages: content.execution.stages.length })
    await new Promise<void>((resolve) => open.push(resolve))
    return { status: 200, body: undefined }
  }
  const sizes = new Map<unknown, number>()
  const publishEvents = createLifeCyclePublisher(
    {
      ports: { events: openEcho(call), definitions: openFront50(call) },
      log: pino({ level: 'silent' }),
    },
    (execution) => sizes.get(execution) ?? 0,
  )
  const publish = (size: number) => {
    const stage = createStage({
      id: 's',
      refId: '1',
      type: 'wait',
      requisiteStageRefIds: [],
      context: { a: 1 },
    })
    const execution = {
      id: 'E',
      type: 'PIPELINE',
      application: 'app',
      trigger: {},
      stages: [stage],
    } as never as Execution
    Object.assign(execution, { engine: { headers: {} }, authentication: { allowedAccounts: [] } })
    sizes.set(execution, size)
    publishEvents([
      { phase: 'starting', execution, stage },
      { phase: 'complete', execution, stage },
    ])
  }

  publish(1000)
  for (let count = 0; count < 40; count++) publish(4 * 1024 * 1024)
  do {
    for (const resolve of open.splice(0)) resolve()
    await new Promise((resolve) => setImmediate(resolve))
  } while (open.length > 0)

  // Four are on their way at once; of the others those fit that tell of eight executions.
  assert.equal(posted.length, 4 + 2 * 8)
  assert.equal(posted[0]!.stages, 1)
  assert.equal(posted.at(-1)!.stages, 0)
})

test('a value that contains itself grows to a limit', async (t) => {
  const engine = await startEngine(t)
  const stages = [{ ...W('1', 30), self: '${execution}', more: ['${execution}', '${execution}'] }]
  const id = await engine.run({ stages })
  const sizes: number[] = []
  for (let round = 0; round < 3; round++) {
    const execution = await engine.execution(id)
    sizes.push(JSON.stringify(execution).length)
    await engine.ask('PATCH', `/pipelines/${id}/stages/${execution.stages[0]!.id}`, { round })
    await engine.clock.settled()
  }

  assert.ok(sizes[2]! < 5_000_000, String(sizes))
  assert.ok(sizes[2]! - sizes[1]! < 100_000, String(sizes))
})

test('what expressions and variables call __proto__ poisons nothing', async (t) => {
  const engine = await startEngine(t)
  const stages = [
    {
      ...V('1', { a: '${__proto__}', b: "${ {'__proto__': 1} }", ['${"__proto__"}']: 1 }),
      variable: 1,
    },
  ]
  const id = await engine.run({ spelEvaluator: 'v4', stages })

  await engine.ends(id, 'SUCCEEDED')

  assert.equal((await engine.stage(id, '1')).outputs['b'], "${ {'__proto__': 1} }")
})
