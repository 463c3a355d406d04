import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { at, createClock, F, J, startEngine, type TestEngine, V, W } from './support.ts'

async function patch(
  engine: TestEngine,
  id: string,
  refId: string,
  changes: unknown,
  user?: string,
) {
  const { id: stageId } = await engine.stage(id, refId)
  return engine.ask('PATCH', `/pipelines/${id}/stages/${stageId}`, changes, user)
}

async function restart(
  engine: TestEngine,
  id: string,
  refId: string,
  body: unknown = {},
  user?: string,
) {
  const { id: stageId } = await engine.stage(id, refId)
  return engine.ask('PUT', `/pipelines/${id}/stages/${stageId}/restart`, body, user)
}

test('orchestration-scenario 47: a judgment that continues ends the stage and tells who decided', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [J('1')] })

  const answer = await patch(
    engine,
    id,
    '1',
    { judgmentStatus: 'continue', judgmentInput: 'blue' },
    'bob',
  )

  assert.equal(answer.status, 200)
  assert.equal(at(answer.body, 'id'), id)
  await engine.ends(id, 'SUCCEEDED')
  const stage = await engine.stage(id, '1')
  assert.equal(stage.lastModified?.user, 'bob')
  assert.equal(stage.lastModified?.lastModifiedTime, engine.clock.now())
  assert.equal(stage.context['lastModifiedBy'], 'bob')
  assert.equal(stage.context['judgmentInput'], 'blue')
})

test('orchestration-scenario 48: a judgment that stops ends stage and execution TERMINAL', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [J('1')] })

  await patch(engine, id, '1', { judgmentStatus: 'stop' })

  await engine.ends(id, 'TERMINAL')
  assert.equal((await engine.stage(id, '1')).status, 'TERMINAL')
})

test('orchestration-scenario 49: judgments ignore case, other texts decide nothing', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [J('1')] })

  await patch(engine, id, '1', { judgmentStatus: 'perhaps' })
  await engine.clock.settled()
  assert.equal((await engine.stage(id, '1')).status, 'RUNNING')
  await patch(engine, id, '1', { judgmentStatus: 'Continue' })
  await engine.ends(id, 'SUCCEEDED')
})

test('orchestration-scenario 50: a judgment that stops can be ignored', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [{ ...J('1'), continuePipeline: true }, W('2', 0, '1')] })

  await patch(engine, id, '1', { judgmentStatus: 'stop' })

  await engine.ends(id, 'SUCCEEDED')
  assert.equal((await engine.stage(id, '1')).status, 'FAILED_CONTINUE')
  assert.equal((await engine.stage(id, '2')).status, 'SUCCEEDED')
})

test('orchestration-scenario 51: a judgment needs one of the required roles', async (t) => {
  const roles: Record<string, string[]> = { ann: ['dev'], bob: ['ops'] }
  const engine = await startEngine(t, {
    others: async (service, { path }) => {
      const names = roles[path.split('/').at(-1) ?? ''] ?? []
      return service === 'fiat'
        ? { status: 200, body: { roles: names.map((name) => ({ name })) } }
        : { status: 404, body: undefined }
    },
  })
  const id = await engine.run({ stages: [{ ...J('1'), requiredJudgmentRoles: ['ops'] }] })

  for (const changes of [
    { judgmentStatus: 'continue', judgmentInput: 'x' },
    { requiredJudgmentRoles: [] },
    { canManuallySkip: true },
  ]) {
    const refused = await patch(engine, id, '1', changes, 'ann')
    assert.equal(refused.status, 403)
    assert.match(String(at(refused.body, 'message')), /needs one of the roles ops; ann has none/)
  }
  const { status, context } = await engine.stage(id, '1')
  assert.deepEqual(
    [status, context['judgmentStatus'], context['judgmentInput']],
    ['RUNNING', undefined, undefined],
  )
  await patch(engine, id, '1', { judgmentStatus: 'continue' }, 'bob')
  await engine.ends(id, 'SUCCEEDED')
})

test('a judgment takes only an input that it offers', async (t) => {
  const engine = await startEngine(t)
  const judgmentInputs = [{ value: 'blue' }, { value: 'green' }]
  const id = await engine.run({ stages: [{ ...J('1'), judgmentInputs }] })
  const refused = await patch(engine, id, '1', {
    judgmentStatus: 'continue',
    judgmentInput: 'grean',
  })
  assert.equal(refused.status, 400)
  assert.match(String(at(refused.body, 'message')), /green, blue/)
  assert.equal((await engine.stage(id, '1')).context['judgmentInput'], undefined)
  await patch(engine, id, '1', { judgmentStatus: 'continue', judgmentInput: 'green' })
  await engine.ends(id, 'SUCCEEDED')
})

// The clock stands still: both judgments are of the same millisecond.
for (const second of ['bob', 'ann']) {
  test(`a judgment of ${second} counts that comes while roles of an earlier one of ann are asked for`, async (t) => {
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
    let asks = 0
    const engine = await startEngine(t, {
      others: async (_service, { path }) => {
        const isOfAnn = path.endsWith('/ann')
        if (!isOfAnn && !path.endsWith('/bob')) return { status: 404, body: undefined }
        if (isOfAnn) asks++
        // Of each judgment of ann, the first question is that of the request, and the second that of the stage.
        if (isOfAnn && asks % 2 === 1) throw new Error('connection refused')
        if (!isOfAnn || asks > 2) return { status: 200, body: { roles: [{ name: 'ops' }] } }
        ask()
        await answered
        return { status: 200, body: { roles: [] } }
      },
    })
    const id = await engine.run({ stages: [{ ...J('1'), requiredJudgmentRoles: ['ops'] }] })
    await patch(engine, id, '1', { judgmentStatus: 'continue' }, 'ann')
    await asked

    await patch(engine, id, '1', { judgmentStatus: 'continue' }, second)
    answer()

    await engine.ends(id, 'SUCCEEDED')
  })
}

test('a judgment counts soon after the permission service is back', async (t) => {
  let isBack = false
  const engine = await startEngine(t, {
    others: async () => {
      if (!isBack) throw new Error('connection refused')
      return { status: 200, body: { roles: [{ name: 'ops' }] } }
    },
  })
  const id = await engine.run({ stages: [{ ...J('1'), requiredJudgmentRoles: ['ops'] }] })
  await patch(engine, id, '1', { judgmentStatus: 'continue' }, 'bob')
  await engine.clock.settled()

  isBack = true
  engine.clock.pass(16)

  await engine.ends(id, 'SUCCEEDED')
})

for (const [hands, user] of [
  [true, 'bob'],
  [false, 'ann'],
] as const) {
  test(`orchestration-scenario 52: identity of a judgment passed on: ${hands}, next stage as ${user}`, async (t) => {
    const engine = await startEngine(t)
    const stages = [
      { ...J('1'), propagateAuthenticationContext: hands },
      V('2', { who: '${#currentUser()}' }, '1'),
    ]
    const id = await engine.run({ spelEvaluator: 'v4', stages }, 'ann')

    await patch(engine, id, '1', { judgmentStatus: 'continue' }, 'bob')

    await engine.ends(id, 'SUCCEEDED')
    assert.equal((await engine.stage(id, '2')).outputs['who'], user)
  })
}

test('orchestration-scenario 53: the rest of a wait can be skipped', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [W('1', 600)] })

  await patch(engine, id, '1', { skipRemainingWait: true })

  await engine.ends(id, 'SUCCEEDED')
})

test('orchestration-scenario 54: a wait takes as long as it says', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [W('1', 3)] })
  engine.clock.pass(2.9)
  await engine.clock.settled()
  assert.equal((await engine.stage(id, '1')).status, 'RUNNING')
  engine.clock.pass(0.1)

  await engine.ends(id, 'SUCCEEDED')

  const { startTime, endTime } = await engine.stage(id, '1')
  assert.equal(endTime! - startTime!, 3000)
})

test('a wait ends in time although the clock was set back', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [W('1', 30)] })
  await engine.clock.settled()

  engine.clock.pass(-3600)
  await engine.clock.settled()
  assert.equal((await engine.execution(id)).status, 'RUNNING')
  engine.clock.pass(31)

  await engine.ends(id, 'SUCCEEDED')
})

test('a wait and its time limit last as long although the clock was set forward', async (t) => {
  const clock = createClock()
  const engine = await startEngine(t, { clock })
  const id = await engine.run({ stages: [{ ...W('1', 30), stageTimeoutMs: 40_000 }] })
  await clock.settled()

  clock.jump(3600)
  await clock.settled()
  clock.pass(20)
  await clock.settled()
  const waiting = await engine.execution(id)
  assert.deepEqual([waiting.status, waiting.stages[0]?.tasks[0]?.status], ['RUNNING', 'RUNNING'])
  clock.pass(11)

  await engine.ends(id, 'SUCCEEDED')
})

test('a clock that is set forward and back again makes no wait longer', async (t) => {
  const clock = createClock()
  const engine = await startEngine(t, { clock })
  const id = await engine.run({ stages: [W('1', 30)] })
  await clock.settled()

  for (const seconds of [3600, -3600]) {
    clock.jump(seconds)
    await engine.execution(id)
    await clock.settled()
  }
  clock.pass(31)

  await engine.ends(id, 'SUCCEEDED')
})

test('orchestration-scenario 55: a wait without a time is over at once', async (t) => {
  const engine = await startEngine(t)

  await engine.ends(await engine.run({ stages: [{ type: 'wait' }] }), 'SUCCEEDED')
})

test('orchestration-scenario 56: cancel ends what runs and leaves what has not started', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [W('1', 600), W('2', 0, '1')] })

  const answer = await engine.ask('PUT', `/pipelines/${id}/cancel?reason=bye`, undefined, 'ann')

  assert.deepEqual(answer, { status: 202, body: undefined })
  const done = await engine.ends(id, 'CANCELED')
  assert.equal(done.canceled, true)
  assert.equal(done.canceledBy, 'ann')
  assert.equal(done.cancellationReason, 'bye')
  assert.ok(done.endTime)
  const first = await engine.stage(id, '1')
  assert.equal(first.status, 'CANCELED')
  assert.ok(first.endTime)
  assert.equal(first.tasks[0]!.status, 'CANCELED')
  assert.equal((await engine.stage(id, '2')).status, 'NOT_STARTED')
})

test('orchestration-scenario 57: cancel ends all branches', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [W('1', 600), W('2', 600)] })

  await engine.ask('PUT', `/pipelines/${id}/cancel`)

  const { stages, cancellationReason } = await engine.ends(id, 'CANCELED')
  assert.deepEqual(
    stages.map((stage) => stage.status),
    ['CANCELED', 'CANCELED'],
  )
  assert.equal(
    cancellationReason,
    undefined,
    'orchestration-scenario 58: without a reason there is none',
  )
})

test('orchestration-scenario 60: a paused execution can be cancelled', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [W('1', 600)] })
  await engine.ask('PUT', `/pipelines/${id}/pause`)

  await engine.ask('PUT', `/pipelines/${id}/cancel`)

  await engine.ends(id, 'CANCELED')
  assert.equal((await engine.stage(id, '1')).status, 'CANCELED')
})

test('orchestration-scenario 61: cancel changes nothing about an execution that is over', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [W('1', 0)] })
  const before = await engine.ends(id, 'SUCCEEDED')
  engine.clock.pass(1)

  assert.equal((await engine.ask('PUT', `/pipelines/${id}/cancel?reason=late`)).status, 202)

  assert.deepEqual(await engine.execution(id), before)
})

test('orchestration-scenario 62: cancel answers 404 for unknown ids and tasks', async (t) => {
  const engine = await startEngine(t)
  const task = await engine.task({ type: 'wait', waitTime: 600 })

  assert.equal((await engine.ask('PUT', '/pipelines/nope/cancel')).status, 404)
  assert.equal((await engine.ask('PUT', `/pipelines/${task}/cancel`)).status, 404)
})

test('orchestration-scenario 64: force changes nothing about a cancel', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [W('1', 600)] })

  assert.equal((await engine.ask('PUT', `/pipelines/${id}/cancel?force=true`)).status, 202)

  await engine.ends(id, 'CANCELED')
})

test('orchestration-scenario 65: force cancel rewrites the record at once', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [W('1', 600)] })
  const task = await engine.task({ type: 'wait', waitTime: 600 })

  assert.equal(
    (await engine.ask('PUT', `/admin/forceCancelExecution?executionId=${id}`)).status,
    200,
  )
  const path = `/admin/forceCancelExecution?executionId=${task}&executionType=ORCHESTRATION`
  assert.equal((await engine.ask('PUT', path)).status, 200)

  const done = await engine.execution(id)
  assert.equal(done.status, 'CANCELED')
  assert.equal(done.canceledBy, 'admin')
  assert.ok(done.endTime)
  assert.equal(done.stages[0]!.status, 'CANCELED')
  assert.equal(done.stages[0]!.tasks[0]!.status, 'CANCELED')
  assert.equal((await engine.view(task)).status, 'CANCELED')
  assert.equal(
    (await engine.ask('PUT', '/admin/forceCancelExecution?executionId=nope')).status,
    404,
  )
  assert.equal(
    (await engine.ask('PUT', `/admin/forceCancelExecution?executionId=${id}&executionType=X`))
      .status,
    400,
  )
})

test('orchestration-scenario 67 and 68: pause stops execution, stage and task, resume lets them go on', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [W('1', 600)] })
  const { startTime } = await engine.execution(id)

  assert.equal((await engine.ask('PUT', `/pipelines/${id}/pause`, undefined, 'ann')).status, 202)
  const paused = await engine.ends(id, 'PAUSED')
  assert.deepEqual(
    [paused.stages[0]!.status, paused.stages[0]!.tasks[0]!.status],
    ['PAUSED', 'PAUSED'],
  )
  assert.equal(paused.paused?.pausedBy, 'ann')
  assert.equal(paused.paused?.pauseTime, engine.clock.now())
  assert.equal(paused.paused?.paused, true)

  engine.clock.pass(7)
  assert.equal((await engine.ask('PUT', `/pipelines/${id}/resume`, undefined, 'bob')).status, 202)
  const resumed = await engine.ends(id, 'RUNNING')
  assert.equal(resumed.paused?.resumedBy, 'bob')
  assert.equal(resumed.paused?.paused, false)
  assert.equal(resumed.paused?.pausedMs, 7000)
  assert.equal(resumed.startTime, startTime)
})

test('orchestration-scenario 69: a wait goes on counting while it is paused', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [W('1', 5)] })
  engine.clock.pass(1)
  await engine.ask('PUT', `/pipelines/${id}/pause`)
  engine.clock.pass(7)

  await engine.ask('PUT', `/pipelines/${id}/resume`)

  await engine.ends(id, 'SUCCEEDED')
})

test('orchestration-scenario 70 and 71: pause and resume in the wrong state change nothing', async (t) => {
  const engine = await startEngine(t)
  const done = await engine.run({ stages: [W('1', 0)] })
  const before = await engine.ends(done, 'SUCCEEDED')
  const running = await engine.run({ stages: [W('1', 600)] })
  const beforeRunning = await engine.execution(running)

  assert.equal((await engine.ask('PUT', `/pipelines/${done}/pause`)).status, 202)
  assert.equal((await engine.ask('PUT', `/pipelines/${done}/resume`)).status, 202)
  assert.equal((await engine.ask('PUT', `/pipelines/${running}/resume`)).status, 202)

  assert.deepEqual(await engine.execution(done), before)
  assert.deepEqual(await engine.execution(running), beforeRunning)
})

test('orchestration-scenario 72: after a pause no later stage succeeds before the resume', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [W('1', 2), W('2', 0, '1')] })
  engine.clock.pass(1)
  await engine.ask('PUT', `/pipelines/${id}/pause`)
  engine.clock.pass(5)
  await engine.clock.settled()

  assert.notEqual((await engine.stage(id, '2')).status, 'SUCCEEDED')
  await engine.ask('PUT', `/pipelines/${id}/resume`)
  await engine.ends(id, 'SUCCEEDED')
})

test('orchestration-scenario 73: a judgment made while paused counts after the resume', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [J('1')] })
  await engine.ask('PUT', `/pipelines/${id}/pause`)

  await patch(engine, id, '1', { judgmentStatus: 'continue' })
  await engine.clock.settled()
  assert.equal((await engine.execution(id)).status, 'PAUSED')
  await engine.ask('PUT', `/pipelines/${id}/resume`)
  await engine.ends(id, 'SUCCEEDED')
})

const holding = {
  stages: [
    {
      refId: '1',
      type: 'checkPreconditions',
      preconditions: [{ type: 'expression', context: { expression: 'true' } }],
    },
  ],
}

test('orchestration-scenario 74 and 75: a failed stage restarts with the preconditions of the definition', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [F('1'), W('2', 5, '1')] })
  const before = await engine.ends(id, 'TERMINAL')
  engine.clock.pass(10)

  const answer = await restart(engine, id, '1', holding, 'ann')

  assert.equal(answer.status, 200)
  assert.equal(at(answer.body, 'status'), 'TERMINAL')
  const restarted = await engine.ends(id, 'RUNNING')
  assert.equal(restarted.canceled, false)
  assert.ok(restarted.startTime! > before.startTime!)
  assert.equal(restarted.endTime, undefined)
  await engine.eventually(async () => (await engine.stage(id, '2')).status === 'RUNNING')
  engine.clock.pass(5)
  await engine.ends(id, 'SUCCEEDED')
  const stage = await engine.stage(id, '1')
  assert.equal(stage.status, 'SUCCEEDED')
  assert.equal(at(stage.context, 'restartDetails', 'restartedBy'), 'ann')
  assert.equal(typeof at(stage.context, 'restartDetails', 'restartTime'), 'number')
  assert.equal(stage.context['exception'], undefined)
})

test('orchestration-scenario 76: a restart resets what is downstream and nothing else', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [W('1', 0), W('2', 0, '1'), W('3', 0)] })
  const before = await engine.ends(id, 'SUCCEEDED')
  engine.clock.pass(1)

  await restart(engine, id, '1')

  const after = await engine.ends(id, 'SUCCEEDED')
  const changed = after.stages.map(
    (stage, index) => stage.startTime !== before.stages[index]!.startTime,
  )
  assert.deepEqual(changed, [true, true, false])
  const attempts = after.stages.map((stage) => stage.context['previousAttempts'])
  const former = before.stages.map(({ startTime, endTime, status }) => [
    { startTime, endTime, status },
  ])
  assert.deepEqual(attempts, [former[0], former[1], undefined])
})

test('orchestration-scenario 77: a restart needs a body, an empty object will do', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [W('1', 0)] })
  const { stages } = await engine.ends(id, 'SUCCEEDED')

  assert.equal(
    (await engine.ask('PUT', `/pipelines/${id}/stages/${stages[0]!.id}/restart`)).status,
    400,
  )
  assert.equal((await restart(engine, id, '1')).status, 200)
})

test('orchestration-scenario 78: restarting a running stage changes nothing', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [W('1', 600)] })
  await engine.clock.settled()
  const before = await engine.execution(id)
  engine.clock.pass(1)

  assert.equal((await restart(engine, id, '1')).status, 200)

  assert.deepEqual(await engine.execution(id), before)
})

test('orchestration-scenario 79: a restarted judgment has forgotten the old one', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [J('1')] })
  await patch(engine, id, '1', { judgmentStatus: 'stop' })
  await engine.ends(id, 'TERMINAL')

  await restart(engine, id, '1')

  await engine.ends(id, 'RUNNING')
  assert.equal((await engine.stage(id, '1')).context['judgmentStatus'], undefined)
  await patch(engine, id, '1', { judgmentStatus: 'continue' })
  await engine.ends(id, 'SUCCEEDED')
})

test('orchestration-scenario 80: restarting a synthetic stage restarts its parent with new children', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [F('1')] })
  await engine.ends(id, 'TERMINAL')
  const child = await engine.stage(id, '1<1')

  await restart(engine, id, '1<1', holding)

  await engine.ends(id, 'SUCCEEDED')
  assert.notEqual((await engine.stage(id, '1<1')).id, child.id)
  assert.equal((await engine.execution(id)).stages.length, 2)
})

test('orchestration-scenario 81: a canceled execution can be restarted', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [W('1', 600)] })
  await engine.ask('PUT', `/pipelines/${id}/cancel?reason=first`)
  await engine.ends(id, 'CANCELED')

  await restart(engine, id, '1')
  await engine.ends(id, 'RUNNING')
  engine.clock.pass(600)

  const done = await engine.ends(id, 'SUCCEEDED')
  assert.deepEqual([done.canceled, done.cancellationReason], [false, undefined])
})

test('orchestration-scenario 82: another branch that was canceled stays so until it is restarted', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [F('1'), W('b', 600)] })
  await engine.ends(id, 'TERMINAL')

  await restart(engine, id, '1', holding)
  await engine.ends(id, 'CANCELED')
  assert.equal((await engine.stage(id, '1')).status, 'SUCCEEDED')
  await restart(engine, id, 'b')
  await engine.ends(id, 'RUNNING')
  await patch(engine, id, 'b', { skipRemainingWait: true })
  await engine.ends(id, 'SUCCEEDED')
})

test('orchestration-scenario 83: restarting an unknown stage answers 404 and changes nothing', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [W('1', 0)] })
  const before = await engine.ends(id, 'SUCCEEDED')

  assert.equal((await engine.ask('PUT', `/pipelines/${id}/stages/nope/restart`, {})).status, 404)
  assert.equal((await engine.ask('PUT', '/pipelines/nope/stages/nope/restart', {})).status, 404)

  assert.deepEqual(await engine.execution(id), before)
})

test('orchestration-scenario 84: restarted variables are evaluated again', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ spelEvaluator: 'v4', stages: [V('1', { a: '${1+1}' })] })
  await engine.ends(id, 'SUCCEEDED')
  engine.clock.pass(1)

  await restart(engine, id, '1')

  await engine.eventually(async () => (await engine.execution(id)).endTime === engine.clock.now())
  assert.equal((await engine.stage(id, '1')).outputs['a'], 2)
})

test('orchestration-scenario 85: a restart waits for its turn when the limit is reached', async (t) => {
  const engine = await startEngine(t)
  const first = await engine.run({ id: 'C', limitConcurrent: true, stages: [W('1', 1)] })
  engine.clock.pass(1)
  await engine.ends(first, 'SUCCEEDED')
  const second = await engine.run({ id: 'C', limitConcurrent: true, stages: [W('1', 5)] })

  await restart(engine, first, '1')

  await engine.ends(first, 'NOT_STARTED')
  engine.clock.pass(5)
  await engine.ends(second, 'SUCCEEDED')
  await engine.ends(first, 'RUNNING')
  engine.clock.pass(1)
  await engine.ends(first, 'SUCCEEDED')
})

test('orchestration-scenario 87: a change of a stage replaces whole keys', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [{ ...J('1'), a: { x: 1 }, b: 2 }] })

  await patch(engine, id, '1', { a: { y: 2 } })

  const { context } = await engine.stage(id, '1')
  assert.deepEqual(context['a'], { y: 2 })
  assert.equal(context['b'], 2)
})

test('orchestration-scenario 88: changing an unknown stage or execution answers 404', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [J('1')] })
  const before = await engine.execution(id)

  assert.equal((await engine.ask('PATCH', `/pipelines/${id}/stages/nope`, { a: 1 })).status, 404)
  assert.equal((await engine.ask('PATCH', '/pipelines/nope/stages/nope', { a: 1 })).status, 404)

  assert.deepEqual(await engine.execution(id), before)
})

test('orchestration-scenario 89: a finished stage accepts a new context, not a new status', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [W('1', 0)] })
  await engine.ends(id, 'SUCCEEDED')

  assert.equal((await patch(engine, id, '1', { note: 'x' })).status, 200)

  const stage = await engine.stage(id, '1')
  assert.equal(stage.context['note'], 'x')
  assert.equal(stage.status, 'SUCCEEDED')
})

test('orchestration-scenario 91: a stage that does not allow it cannot be skipped', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [W('1', 600)] })

  assert.equal((await patch(engine, id, '1', { manualSkip: true })).status, 405)

  const stage = await engine.stage(id, '1')
  assert.equal(stage.status, 'RUNNING')
  assert.equal('manualSkip' in stage.context, false)
})

test('orchestration-scenario 121 to 123: only complete executions can be deleted', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ id: 'C', stages: [W('1', 5)] })
  const task = await engine.task({ type: 'wait', waitTime: 5 })

  for (const path of [`/pipelines/${id}`, `/tasks/${task}`]) {
    assert.equal((await engine.ask('DELETE', path)).status, 409)
    assert.equal((await engine.ask('GET', path)).status, 200)
  }
  engine.clock.pass(5)
  await engine.ends(id, 'SUCCEEDED')
  await engine.taskEnds(task, 'SUCCEEDED')
  for (const path of [`/pipelines/${id}`, `/tasks/${task}`]) {
    assert.equal((await engine.ask('DELETE', path)).status, 200)
    assert.equal((await engine.ask('GET', path)).status, 404)
    assert.equal((await engine.ask('DELETE', path)).status, 404)
  }
  assert.deepEqual((await engine.ask('GET', '/pipelines?pipelineConfigIds=C')).body, [])
})

test('orchestration-scenario 187: of continue and stop at once, the stored one wins', async (t) => {
  const engine = await startEngine(t)
  for (let round = 0; round < 10; round++) {
    const id = await engine.run({ stages: [J('1')] })
    await Promise.all([
      patch(engine, id, '1', { judgmentStatus: 'continue' }),
      patch(engine, id, '1', { judgmentStatus: 'stop' }),
    ])
    await engine.eventually(async () => (await engine.execution(id)).endTime !== undefined)
    const { status, context } = await engine.stage(id, '1')
    assert.equal(status, context['judgmentStatus'] === 'continue' ? 'SUCCEEDED' : 'TERMINAL')
  }
})

test('orchestration-scenario 190: after a storm of pauses and resumes the execution still completes', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [W('1', 5)] })
  const calls = Array.from({ length: 50 }, (_each, index) =>
    engine.ask('PUT', `/pipelines/${id}/${index % 2 === 0 ? 'pause' : 'resume'}`),
  )
  await Promise.all(calls)

  await engine.ask('PUT', `/pipelines/${id}/resume`)
  engine.clock.pass(5)

  await engine.ends(id, 'SUCCEEDED')
})

test('orchestration-scenario 191: two restarts at once are one restart', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({ stages: [W('1', 5)] })
  engine.clock.pass(5)
  await engine.ends(id, 'SUCCEEDED')

  await Promise.all([restart(engine, id, '1'), restart(engine, id, '1')])

  engine.clock.pass(5)
  await engine.ends(id, 'SUCCEEDED')
  assert.equal((await engine.stage(id, '1')).tasks.length, 1)
})

test('orchestration-scenario 186: a store that fails for seconds loses nothing', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'fairlead-full-'))
  t.after(() => rmSync(dataDir, { recursive: true }))
  const engine = await startEngine(t, { dataDir })
  const ids = await Promise.all(
    Array.from({ length: 5 }, () => engine.run({ stages: [W('1', 1), V('2', { a: 1 }, '1')] })),
  )
  await engine.clock.settled()
  const db = new DatabaseSync(join(dataDir, 'backends.db'))
  t.after(() => db.close())
  for (const change of ['INSERT', 'UPDATE'])
    db.exec(
      `CREATE TRIGGER full_${change} BEFORE ${change} ON orchestration_executions BEGIN SELECT RAISE(ABORT, 'full'); END`,
    )

  for (let second = 0; second < 5; second++) {
    engine.clock.pass(1)
    await engine.clock.settled()
  }
  assert.ok(
    (
      await engine.ask('POST', '/orchestrate', {
        application: 'app',
        name: 'p',
        stages: [W('1', 0)],
      })
    ).status >= 500,
  )
  for (const id of ids) assert.equal((await engine.execution(id)).status, 'RUNNING')

  for (const change of ['INSERT', 'UPDATE']) db.exec(`DROP TRIGGER full_${change}`)
  engine.clock.pass(2)
  for (const id of ids) await engine.ends(id, 'SUCCEEDED')
})

test('orchestration-scenario 188: changes and tasks keep the keys of each other', async (t) => {
  let looks = 0
  let isOver = false
  const engine = await startEngine(t, {
    others: async (service, { method, path }) => {
      if (service !== 'clouddriver') return { status: 404, body: undefined }
      if (method === 'POST') return { status: 200, body: { id: 't1' } }
      const resultObjects = [{ deployedNamesByLocation: { east: ['job-1'] } }]
      if (path === '/task/t1')
        return { status: 200, body: { id: 't1', status: { completed: true }, resultObjects } }
      looks++
      await new Promise((resolve) => setImmediate(resolve))
      return { status: 200, body: { jobState: isOver ? 'Succeeded' : 'Running', looks } }
    },
  })
  const job = {
    refId: '1',
    type: 'runJob',
    cloudProvider: 'local',
    credentials: 'dev',
    region: 'east',
    command: 'true',
  }
  const id = await engine.run({ stages: [{ ...job, requisiteStageRefIds: [] }] })
  await engine.eventually(async () => looks > 0)

  const keys = Array.from({ length: 100 }, (_each, index) => `key${index}`)
  const answers = await Promise.all(keys.map((key) => patch(engine, id, '1', { [key]: key })))
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
  isOver = true
  engine.clock.pass(60)

  await engine.ends(id, 'SUCCEEDED')
  const { context } = await engine.stage(id, '1')
  assert.deepEqual(
    keys.filter((key) => context[key] !== key),
    [],
  )
  assert.deepEqual(
    [at(context, 'deploy.jobs', 'east', 0), at(context, 'jobStatus', 'looks')],
    ['job-1', looks],
  )
})

test('orchestration-scenario 189: a cancel at the end is one or the other', async (t) => {
  const engine = await startEngine(t)
  const ids = await Promise.all(
    Array.from({ length: 50 }, () => engine.run({ stages: [W('1', 1)] })),
  )
  await engine.clock.settled()
  engine.clock.pass(1)

  await Promise.all(ids.map((id) => engine.ask('PUT', `/pipelines/${id}/cancel`)))

  for (const id of ids) {
    const { status, stages } = await engine.execution(id)
    assert.ok(status === 'SUCCEEDED' || status === 'CANCELED', status)
    assert.deepEqual([stages[0]?.status, stages[0]?.tasks[0]?.status], [status, status])
  }
})

test('orchestration-scenario 192: deletion and restart exclude each other', async (t) => {
  const engine = await startEngine(t)
  for (let round = 0; round < 10; round++) {
    const id = await engine.run({ stages: [W('1', 1)] })
    engine.clock.pass(1)
    await engine.ends(id, 'SUCCEEDED')
    const { id: stageId } = await engine.stage(id, '1')
    const remove = () => engine.ask('DELETE', `/pipelines/${id}`)
    const again = () => engine.ask('PUT', `/pipelines/${id}/stages/${stageId}/restart`, {})

    const answers = await Promise.all(round % 2 === 0 ? [remove(), again()] : [again(), remove()])

    const [removed, restarted] = (round % 2 === 0 ? answers : answers.toReversed()).map(
      ({ status }) => status,
    )
    const { status } = await engine.ask('GET', `/pipelines/${id}`)
    assert.deepEqual(
      [removed, restarted, status],
      removed === 200 ? [200, 404, 404] : [409, 200, 200],
    )
  }
  await engine.clock.settled()
})

test('the log of an execution tells what happened, and who did it', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run(
    { stages: [J('1'), { ...F('2'), requisiteStageRefIds: ['1'] }] },
    'ann',
  )
  await engine.eventually(async () => (await engine.stage(id, '1')).status === 'RUNNING')
  await patch(engine, id, '1', { judgmentStatus: 'continue', judgmentInput: 'go' }, 'bob')
  await engine.ends(id, 'TERMINAL')
  const { status, body } = await engine.ask('GET', `/pipelines/${id}/logs`)
  assert.equal(status, 200)
  const log = body as {
    eventType: string
    user?: string
    timestamp: number
    details: Record<string, unknown>
  }[]
  assert.deepEqual([log[0]?.eventType, log[0]?.user], ['ExecutionSubmitted', 'ann'])
  const judged = log.find(({ eventType }) => eventType === 'StageJudged')
  assert.deepEqual([judged?.user, judged?.details['judgmentInput']], ['bob', 'go'])
  assert.ok(
    log.some(
      ({ eventType, details }) => eventType === 'StageComplete' && Array.isArray(details['errors']),
    ),
  )
  assert.equal(log.at(-1)?.timestamp, (await engine.execution(id)).endTime)
  assert.equal((await engine.ask('GET', '/pipelines/nope/logs')).status, 404)
})
