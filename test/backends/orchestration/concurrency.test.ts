import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitUntil } from '../../support/wait-until.ts'
import { F, startEngine, type TestEngine, W } from './support.ts'

const limited = { id: 'C', limitConcurrent: true, keepWaitingPipelines: true }

async function statuses(engine: TestEngine, ids: readonly string[]): Promise<string[]> {
  return Promise.all(ids.map(async (id) => (await engine.execution(id)).status))
}

test('orchestration-scenario 92: limited runs take turns in the order of their submission', async (t) => {
  const engine = await startEngine(t)
  const ids: string[] = []
  for (let count = 0; count < 3; count++)
    ids.push(await engine.run({ ...limited, stages: [W('1', 2)] }))

  assert.deepEqual(await statuses(engine, ids), ['RUNNING', 'NOT_STARTED', 'NOT_STARTED'])
  assert.equal((await engine.execution(ids[1]!)).startTime, undefined)
  for (const [done, left] of [
    [1, ['SUCCEEDED', 'RUNNING', 'NOT_STARTED']],
    [2, ['SUCCEEDED', 'SUCCEEDED', 'RUNNING']],
    [3, ['SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED']],
  ] as const) {
    engine.clock.pass(2)
    await engine.ends(ids[done - 1]!, 'SUCCEEDED')
    assert.deepEqual(await statuses(engine, ids), left)
  }
})

test('orchestration-scenario 93: without keepWaiting only the newest waiting run continues', async (t) => {
  const engine = await startEngine(t)
  const ids: string[] = []
  for (let count = 0; count < 3; count++) {
    ids.push(await engine.run({ ...limited, keepWaitingPipelines: false, stages: [W('1', 2)] }))
  }
  engine.clock.pass(2)
  await engine.ends(ids[0]!, 'SUCCEEDED')

  assert.deepEqual(await statuses(engine, ids), ['SUCCEEDED', 'CANCELED', 'RUNNING'])
  const dropped = await engine.execution(ids[1]!)
  assert.equal(dropped.canceledBy, 'spinnaker')
  assert.ok(dropped.cancellationReason)
})

test('app-scenario 69: a run of a trigger that skips does not wait for the one before', async (t) => {
  const engine = await startEngine(t)
  const start = (trigger: object) => engine.run({ ...limited, trigger, stages: [W('1', 2)] })
  const schedule = { type: 'cron', onOverlap: 'skip' }
  const ids = [await start(schedule), await start(schedule), await start({ type: 'manual' })]

  assert.deepEqual(await statuses(engine, ids), ['RUNNING', 'CANCELED', 'NOT_STARTED'])
  const { cancellationReason } = await engine.execution(ids[1]!)
  assert.match(String(cancellationReason), /skips times that overlap/)
  engine.clock.pass(2)
  await engine.ends(ids[0]!, 'SUCCEEDED')
  assert.deepEqual(await statuses(engine, ids), ['SUCCEEDED', 'CANCELED', 'RUNNING'])
})

test('orchestration-scenario 94, 96 and 97: runs without limit or config id do not wait', async (t) => {
  const engine = await startEngine(t)
  const stages = [W('1', 2)]
  const ids = [
    await engine.run({ id: 'A', limitConcurrent: false, stages }),
    await engine.run({ id: 'A', limitConcurrent: false, stages }),
    await engine.run({ limitConcurrent: true, stages }),
    await engine.run({ limitConcurrent: true, stages }),
    await engine.run({ id: 'B', limitConcurrent: true, stages }),
    await engine.run({ id: 'C', limitConcurrent: true, stages }),
  ]

  assert.ok((await statuses(engine, ids)).every((status) => status === 'RUNNING'))
})

test('orchestration-scenario 95: at most as many run as the limit says', async (t) => {
  const engine = await startEngine(t)
  const ids: string[] = []
  for (let count = 0; count < 5; count++) {
    ids.push(
      await engine.run({
        id: 'C',
        maxConcurrentExecutions: 2,
        keepWaitingPipelines: true,
        stages: [W('1', 2)],
      }),
    )
  }
  for (let round = 0; round < 3; round++) {
    await engine.clock.settled()
    assert.ok((await statuses(engine, ids)).filter((status) => status === 'RUNNING').length <= 2)
    engine.clock.pass(2)
  }

  for (const id of ids) await engine.ends(id, 'SUCCEEDED')
})

for (const limit of [
  { limitConcurrent: true },
  { limitConcurrent: false, maxConcurrentExecutions: 1 },
]) {
  test(`orchestration-scenario 98: a paused run keeps its place with ${JSON.stringify(limit)}`, async (t) => {
    const engine = await startEngine(t)
    const pipeline = { ...limited, ...limit, stages: [W('1', 2)] }
    const ids = [await engine.run(pipeline)]
    await engine.ask('PUT', `/pipelines/${ids[0]}/pause`)
    ids.push(await engine.run(pipeline), await engine.run(pipeline))
    assert.deepEqual(await statuses(engine, ids), ['PAUSED', 'NOT_STARTED', 'NOT_STARTED'])

    await engine.ask('PUT', `/pipelines/${ids[0]}/resume`)

    assert.deepEqual(await statuses(engine, ids), ['RUNNING', 'NOT_STARTED', 'NOT_STARTED'])
    engine.clock.pass(2)
    await engine.ends(ids[0]!, 'SUCCEEDED')
    assert.deepEqual(await statuses(engine, ids), ['SUCCEEDED', 'RUNNING', 'NOT_STARTED'])
    await engine.ask('PUT', `/pipelines/${ids[1]}/pause`)
    await engine.ask('PUT', `/pipelines/${ids[1]}/cancel`)
    assert.deepEqual(await statuses(engine, ids), ['SUCCEEDED', 'CANCELED', 'RUNNING'])
  })
}

test('a run with more room does not overtake those that wait', async (t) => {
  const engine = await startEngine(t)
  const stages = [W('1', 2)]
  const ids = [
    await engine.run({ ...limited, stages }),
    await engine.run({ ...limited, stages }),
    await engine.run({ ...limited, limitConcurrent: false, maxConcurrentExecutions: 3, stages }),
  ]
  assert.deepEqual(await statuses(engine, ids), ['RUNNING', 'NOT_STARTED', 'NOT_STARTED'])

  engine.clock.pass(2)
  await engine.ends(ids[0]!, 'SUCCEEDED')

  assert.deepEqual(await statuses(engine, ids), ['SUCCEEDED', 'RUNNING', 'RUNNING'])
})

test('without keepWaiting a cancelled waiting run supersedes no other', async (t) => {
  const engine = await startEngine(t)
  const pipeline = { ...limited, keepWaitingPipelines: false, stages: [W('1', 2)] }
  const ids: string[] = []
  for (let count = 0; count < 4; count++) ids.push(await engine.run(pipeline))

  await engine.ask('PUT', `/pipelines/${ids[1]}/cancel`)

  assert.deepEqual(await statuses(engine, ids), [
    ...['RUNNING', 'CANCELED', 'NOT_STARTED', 'NOT_STARTED'],
  ])
})

test('a waiting run without stages ends when its turn comes, and the next starts', async (t) => {
  const engine = await startEngine(t)
  const ids = [
    await engine.run({ ...limited, stages: [W('1', 2)] }),
    await engine.run({ ...limited, stages: [] }),
    await engine.run({ ...limited, stages: [W('1', 2)] }),
  ]
  engine.clock.pass(2)

  await engine.ends(ids[2]!, 'RUNNING')

  assert.deepEqual(await statuses(engine, ids), ['SUCCEEDED', 'TERMINAL', 'RUNNING'])
  const listed = (await engine.ask('GET', '/pipelines?pipelineConfigIds=C&limit=3')).body
  assert.deepEqual((listed as { id: string }[]).map(({ id }) => id).toSorted(), ids.toSorted())
})

test('orchestration-scenario 99: at most fifty wait, a further one is cancelled', async (t) => {
  const engine = await startEngine(t)
  for (let count = 0; count < 51; count++) await engine.run({ ...limited, stages: [W('1', 2)] })

  const last = await engine.execution(await engine.run({ ...limited, stages: [W('1', 2)] }))

  assert.equal(last.status, 'CANCELED')
  assert.match(last.cancellationReason ?? '', /50/)
})

test('orchestration-scenario 59: a cancelled waiting run gives way to the next', async (t) => {
  const engine = await startEngine(t)
  const ids: string[] = []
  for (let count = 0; count < 3; count++)
    ids.push(await engine.run({ ...limited, stages: [W('1', 2)] }))

  await engine.ask('PUT', `/pipelines/${ids[1]}/cancel`)

  const dropped = await engine.ends(ids[1]!, 'CANCELED')
  assert.equal(dropped.startTime, undefined)
  engine.clock.pass(2)
  await engine.ends(ids[0]!, 'SUCCEEDED')
  assert.deepEqual(await statuses(engine, ids), ['SUCCEEDED', 'CANCELED', 'RUNNING'])
})

for (const end of ['fails', 'is cancelled'] as const) {
  test(`orchestration-scenario 100: the next run starts when the one before ${end}`, async (t) => {
    const engine = await startEngine(t)
    const first = await engine.run({
      ...limited,
      stages: end === 'fails' ? [W('1', 2), F('2', ['1'])] : [W('1', 600)],
    })
    const second = await engine.run({ ...limited, stages: [W('1', 2)] })
    assert.equal((await engine.execution(second)).status, 'NOT_STARTED')

    if (end === 'fails') engine.clock.pass(2)
    else await engine.ask('PUT', `/pipelines/${first}/cancel`)

    await engine.ends(second, 'RUNNING')
  })
}

test('orchestration-scenario 101: of a burst of submissions exactly one runs at any moment', async (t) => {
  const engine = await startEngine(t)
  const ids = await Promise.all(
    Array.from({ length: 20 }, () => engine.run({ ...limited, stages: [W('1', 1)] })),
  )

  assert.equal(new Set(ids).size, 20)
  for (let round = 0; round < 20; round++) {
    const running = await engine.eventually(async () => {
      const found = (await statuses(engine, ids)).filter((status) => status === 'RUNNING').length
      assert.ok(found <= 1)
      return found === 1
    })
    assert.ok(running)
    engine.clock.pass(1)
  }
  for (const id of ids) await engine.ends(id, 'SUCCEEDED')
})

test('orchestration-scenario 193: five hundred executions run side by side while requests are answered', async (t) => {
  const engine = await startEngine(t)
  const ids = await Promise.all(
    Array.from({ length: 500 }, () =>
      engine.run({ id: 'load', stages: [W('1', 1), W('2', 1, '1'), W('3', 1, '2')] }),
    ),
  )
  const succeeded = async () => {
    const listed = (
      await engine.ask('GET', '/pipelines?pipelineConfigIds=load&limit=500&expand=false')
    ).body as {
      status: string
    }[]
    return listed.filter((each) => each.status === 'SUCCEEDED').length
  }
  await waitUntil(async () => {
    engine.clock.pass(1)
    return (await succeeded()) === ids.length
  }, 'the end of five hundred executions')
})

test('the metrics show for how long executions and steps wait', async (t) => {
  const engine = await startEngine(t)
  const first = await engine.run({ ...limited, stages: [W('1', 1000)] })
  await engine.ends(first, 'RUNNING')
  engine.clock.pass(5)
  await engine.run({ ...limited, stages: [W('1', 1)] })
  engine.clock.pass(30)
  assert.deepEqual(engine.backends.observe(), {
    executions: { NOT_STARTED: 1, RUNNING: 1 },
    ended: [],
    queueAgesMs: { due: 0, parked: 30_000 },
  })
  // A step whose time has come, before the engine has had its turn.
  engine.clock.pass(1000)
  assert.deepEqual(engine.backends.observe()?.queueAgesMs, { due: 35_000, parked: 1_030_000 })
})
