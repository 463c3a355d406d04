import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { executionView } from '../../../packages/engine/orchestration/execution-view.ts'
import { ExpressionAnswers } from '../../../packages/engine/orchestration/expressions/answers.ts'
import { failedLeaves } from '../../../packages/engine/orchestration/failed-stages.ts'
import { startExecution } from '../../../packages/engine/orchestration/machine/advance.ts'
import { graphOf } from '../../../packages/engine/orchestration/machine/graph.ts'
import { createStage } from '../../../packages/engine/orchestration/machine/new-stage.ts'
import { cancelExecution } from '../../../packages/engine/orchestration/machine/operations.ts'
import { resetForRestart } from '../../../packages/engine/orchestration/machine/restart.ts'
import { nextDue, takeDueTasks } from '../../../packages/engine/orchestration/machine/run-task.ts'
import type { Turn } from '../../../packages/engine/orchestration/machine/turn.ts'
import type { Execution, Stage } from '../../../packages/engine/orchestration/model.ts'
import { firstRestMs } from '../../../packages/engine/orchestration/pacer.ts'
import { createStageTypes } from '../../../packages/engine/orchestration/stages/registry.ts'
import { checkGraph } from '../../../packages/engine/orchestration/submission/references.ts'
import { defaults } from '../../support/backend-settings.ts'
import { at, startEngine, V, W } from './support.ts'

/** An execution whose stages count how often one of their members is read. */
function counted(stages: readonly Stage[]): { execution: Execution; reads: () => number } {
  let reads = 0
  const watched = stages.map(
    (stage) =>
      new Proxy(stage, {
        get(target, key) {
          reads++
          return Reflect.get(target, key)
        },
      }),
  )
  const execution = {
    type: 'PIPELINE',
    id: 'E',
    application: 'app',
    status: 'RUNNING',
    canceled: false,
    stages: watched,
    trigger: { parameters: {} },
    engine: { followUps: [], headers: {} },
  } as unknown as Execution
  return { execution, reads: () => reads }
}

function createTurn(): Turn {
  let last = 0
  const nextId = () => String(++last)
  return {
    now: 1000,
    nextId,
    stageTypes: createStageTypes({ ...defaults, preconfigured: [] }),
    limits: defaults.limits,
    answers: new ExpressionAnswers(async () => undefined),
    completed: [],
    events: [],
    expressionSteps: 0,
    recorded: 0,
  }
}

/** Each stage requires the four before it; the last one joins everything. */
function lattice(count: number, status: Stage['status'], type = 'wait'): Stage[] {
  return Array.from({ length: count }, (_each, index) => {
    const isLast = index === count - 1
    const from = isLast ? 0 : Math.max(0, index - 4)
    const requisiteStageRefIds = Array.from({ length: index - from }, (_none, offset) =>
      String(from + offset),
    )
    const stage = createStage({
      id: `s${index}`,
      refId: String(index),
      type,
      requisiteStageRefIds,
      context: {},
    })
    return Object.assign(stage, { status })
  })
}

const questions: {
  name: string
  status: Stage['status']
  type?: string
  ask: (execution: Execution, turn: Turn) => unknown
}[] = [
  {
    name: 'reading a key that no ancestor has',
    status: 'SUCCEEDED',
    ask: (execution) => graphOf(execution).readKey(execution.stages.at(-1)!, 'nothing'),
  },
  {
    name: 'finding ancestors',
    status: 'SUCCEEDED',
    ask: (execution) => graphOf(execution).ancestorsOf(execution.stages.at(-1)!),
  },
  {
    name: 'finding what follows',
    status: 'NOT_STARTED',
    ask: (execution) => graphOf(execution).downstreamOf(execution.stages[0]!),
  },
  {
    name: 'looking for a halted stage upstream',
    status: 'NOT_STARTED',
    ask(execution) {
      execution.stages[0]!.status = 'STOPPED'
      return graphOf(execution).hasHaltedUpstream(execution.stages)
    },
  },
  {
    name: 'starting',
    status: 'NOT_STARTED',
    ask: (execution, turn) => startExecution(execution, turn),
  },
  {
    name: 'running through stages without work',
    status: 'NOT_STARTED',
    type: 'noop',
    ask(execution, turn) {
      startExecution(execution, turn)
      assert.equal(execution.status, 'SUCCEEDED')
    },
  },
  {
    name: 'looking for due tasks',
    status: 'RUNNING',
    ask: (execution, turn) => takeDueTasks(execution, turn, () => false),
  },
  {
    name: 'finding the next due time',
    status: 'RUNNING',
    ask: (execution) => nextDue(execution, () => false),
  },
  {
    name: 'cancelling',
    status: 'RUNNING',
    ask: (execution, turn) => cancelExecution(execution, { canceledBy: 'ann' }, '', turn),
  },
  {
    name: 'restarting the first stage',
    status: 'SUCCEEDED',
    ask: (execution, turn) =>
      resetForRestart({ execution, stage: execution.stages[0]!, turn }, 'ann'),
  },
  { name: 'showing the record', status: 'RUNNING', ask: (execution) => executionView(execution) },
  {
    name: 'listing failed leaves',
    status: 'TERMINAL',
    ask: (execution) =>
      failedLeaves(execution, { deckOrigin: '', limit: 1_000_000, find: () => undefined }),
  },
  {
    name: 'checking the graph',
    status: 'NOT_STARTED',
    ask: (execution) => checkGraph(execution.stages as never),
  },
]
for (const { name, status, type, ask } of questions) {
  test(`the work of ${name} grows with the number of stages`, () => {
    const [small, large] = [200, 800].map((count) => {
      const { execution, reads } = counted(lattice(count, status, type))
      ask(execution, createTurn())
      return reads()
    }) as [number, number]

    // Four times the stages; sorting may add a little.
    assert.ok(large <= 6 * small, `${small} reads for 200 stages, ${large} for 800`)
  })
}

test('reading many keys looks at the graph once', () => {
  const { execution, reads } = counted(lattice(400, 'SUCCEEDED'))
  const last = execution.stages.at(-1)!
  graphOf(execution).readKey(last, 'first')
  const before = reads()

  for (let round = 0; round < 10; round++) graphOf(execution).readKey(last, `key ${round}`)

  assert.ok(reads() - before <= 10 * 2 * 400, String(reads() - before))
})

const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')

test('what is too large to run is refused with words', async (t) => {
  const { ask } = await startEngine(t, {
    limits: { stages: 10, requisites: 20, entries: 2, bytes: 5000 },
  })
  const many = Array.from({ length: 11 }, (_each, index) => W(String(index), 0))
  const refs = Array.from({ length: 8 }, (_each, index) => String(index))
  const dense = refs.map((ref, index) => W(ref, 0, ...refs.slice(0, index)))
  const start = { application: 'app', name: 'p' }
  for (const [path, body, words] of [
    [
      '/orchestrate',
      { ...start, stages: many },
      /11 stages; 10 are allowed.*pipelines\.max-stages/,
    ],
    [
      '/orchestrate',
      { ...start, stages: dense },
      /28 dependencies.*20 are allowed.*pipelines\.max-requisites/,
    ],
    [
      '/orchestrate',
      { ...start, stages: [], expectedArtifacts: [{}, {}, {}] },
      /"expectedArtifacts" .* 3 entries; 2 are/,
    ],
    ['/ops', { application: 'app', job: many }, /11 stages/],
    [
      '/orchestrate',
      { ...start, stages: [{ ...W('1', 0), pad: 'x'.repeat(6000) }] },
      /definition has \d+ bytes; 5000/,
    ],
    [
      '/orchestrate',
      { ...start, stages: [], trigger: { pad: 'x'.repeat(21_000) } },
      /trigger has \d+ bytes; 20000/,
    ],
    [
      '/ops',
      { application: 'app', job: [{ ...W('1', 0), pad: 'x'.repeat(21_000) }] },
      /task has \d+.*pipelines\.max-size/,
    ],
    [
      '/ops',
      [{ type: 'savePipeline', pipeline: base64({ pad: 'x'.repeat(6000) }) }],
      /definition has \d+ bytes; 5000/,
    ],
    [
      '/ops',
      [{ type: 'savePipeline', pipelines: base64([{ pad: 'x'.repeat(6000) }]) }],
      /list of definitions has \d+ bytes; 5000/,
    ],
    [
      '/ops',
      [{ type: 'savePipeline', pipelines: base64([{}, {}, {}]) }],
      /3 definitions; 2 are.*pipelines\.max-entries/,
    ],
    ['/ops', [], /no "job"/],
    ['/ops', { application: 'app' }, /no "job"/],
  ] as const) {
    const answer = await ask('POST', path, body)
    assert.equal(answer.status, 400, JSON.stringify(answer.body))
    assert.match(String(at(answer.body, 'message')), words)
  }
})

test('entity tags beyond their bytes make no task', async (t) => {
  const { ask } = await startEngine(t)
  const tagged = (bytes: number) => ({
    entityRef: { entityType: 'cluster', entityId: 'app-a' },
    tags: [{ name: 'a', value: 'x'.repeat(bytes) }],
  })
  for (const job of [
    { type: 'upsertEntityTags', ...tagged(256 * 1024) },
    { type: 'bulkUpsertEntityTags', entityTags: [tagged(256 * 1024), tagged(256 * 1024)] },
  ]) {
    const answer = await ask('POST', '/ops', { application: 'app', job: [job] })
    assert.equal(answer.status, 400, JSON.stringify(answer.body))
    assert.match(String(at(answer.body, 'message')), /entity tags have \d+ bytes; \d+ are allowed/)
  }
  assert.deepEqual((await ask('GET', '/applications/app/tasks')).body, [])
})

test('a stage that would add too many others fails with words', async (t) => {
  const { run, ends, stage } = await startEngine(t, { limits: { stages: 10 } })
  const preconditions = Array.from({ length: 40 }, () => ({
    type: 'expression',
    context: { expression: 'true' },
  }))
  const id = await run({ stages: [{ refId: '1', type: 'checkPreconditions', preconditions }] })

  await ends(id, 'TERMINAL')

  const { context } = await stage(id, '1')
  assert.match(
    String(at(context, 'exception', 'details', 'errors', 0)),
    /add 40 stages, and an execution may have 40/,
  )
})

test('too large results fail, too large records end', async (t) => {
  const { run, ends, stage, ask } = await startEngine(t, { limits: { bytes: 2000 } })
  const text = (length: number) => `\${'x'.repeat(${length})}`
  const oversized = await run({ spelEvaluator: 'v4', stages: [V('1', { a: text(3000) })] })
  const growing = await run({
    spelEvaluator: 'v4',
    stages: ['1', '2', '3', '4', '5', '6', '7'].map((ref) => V(ref, { a: text(600) })),
  })

  await ends(oversized, 'TERMINAL')
  const { cancellationReason } = await ends(growing, 'TERMINAL')

  assert.match(
    String(at((await stage(oversized, '1')).context, 'exception', 'details', 'errors', 0)),
    /2000 are allowed/,
  )
  assert.match(String(cancellationReason), /grown to \d+ characters, 8000 are allowed/)
  const waiting = await run({ stages: [W('1', 60)] })
  const path = `/pipelines/${waiting}/stages/${(await stage(waiting, '1')).id}`
  assert.equal((await ask('PATCH', path, { pad: 'x'.repeat(7900) })).status, 413)
  assert.equal((await ask('PATCH', path, { pad: 'x' })).status, 200)
})

function createDataDir(t: TestContext): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'fairlead-bounds-'))
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  return dataDir
}

test('an execution that crashes the engine repeatedly fails', async (t) => {
  const dataDir = createDataDir(t)
  const silent = () => new Promise<never>(() => {})
  let engine = await startEngine(t, { dataDir, others: silent })
  const poison = await engine.task({
    type: 'deletePipeline',
    pipeline: { application: 'app', name: 'p' },
  })
  const other = await engine.run({ stages: [W('1', 3600)] })
  for (let start = 1; start <= 6; start++) {
    assert.equal((await engine.view(poison)).status, 'RUNNING', `before start ${start}`)
    await sleep(firstRestMs)
    await engine.clock.settled()
    await engine.backends.stop()
    engine = await startEngine(t, { dataDir, others: silent })
  }

  const { execution } = await engine.taskEnds(poison, 'TERMINAL')

  assert.match(
    String(execution.cancellationReason),
    /abandoned: the engine ended 5 times while it ran/,
  )
  assert.match(
    String(at(execution.stages[0], 'context', 'exception', 'details', 'errors', 0)),
    /abandoned/,
  )
  assert.equal((await engine.execution(other)).status, 'RUNNING')
})

test('a record too large to read ends and blocks no other', async (t) => {
  const dataDir = createDataDir(t)
  const before = await startEngine(t, { dataDir })
  const limited = { id: 'C', limitConcurrent: true }
  const large = await before.run({
    ...limited,
    stages: [{ ...W('1', 1), pad: 'x'.repeat(20_000) }, W('2', 0, '1')],
  })
  const waiting = await before.run({ ...limited, stages: [W('1', 1)] })
  const small = await before.run({ stages: [W('1', 1)] })
  await before.backends.stop()

  const after = await startEngine(t, { dataDir, limits: { bytes: 1000 } })
  after.clock.pass(2)

  await after.ends(small, 'SUCCEEDED')
  const ended = await after.ends(large, 'TERMINAL')
  assert.match(String(ended.cancellationReason), /record has \d+ bytes.*pipelines\.max-size/)
  assert.ok(ended.endTime)
  assert.equal((await after.execution(waiting)).status, 'RUNNING')
})

test('an execution full of expensive expressions does not hold up others', async (t) => {
  const { run, ends, execution } = await startEngine(t)
  // Each takes all the steps that expressions may take.
  const endless =
    '${{1,2,3,4,5,6,7,8,9,10}.![{1,2,3,4,5,6,7,8,9,10}.![{1,2,3,4,5,6,7,8,9,10}.![{1,2,3,4,5,6,7,8,9,10}.![{1,2,3,4,5,6,7,8,9,10}.![#this]]]]]}'
  const texts = Array.from({ length: 100 }, () => endless)
  const greedy = await run({
    spelEvaluator: 'v4',
    stages: Array.from({ length: 30 }, (_each, index) => ({ ...W(String(index), 0), texts })),
  })
  const modest = await run({ stages: [W('1', 0), W('2', 0, '1'), W('3', 0, '2')] })

  await ends(modest, 'SUCCEEDED')

  assert.equal((await execution(greedy)).status, 'RUNNING')
})

test('an execution whose turn keeps failing is abandoned alone', async (t) => {
  const dataDir = createDataDir(t)
  const engine = await startEngine(t, { dataDir })
  const broken = await engine.run({ stages: [W('1', 1)] })
  const other = await engine.run({ stages: [W('1', 10), W('2', 0, '1')] })
  const db = new DatabaseSync(join(dataDir, 'backends.db'))
  t.after(() => db.close())
  db.prepare("UPDATE orchestration_executions SET body = '{' WHERE id = ?").run(broken)
  const row = () =>
    db.prepare('SELECT status, next_due FROM orchestration_executions WHERE id = ?').get(broken)
  for (let second = 0; second < 5; second++) {
    engine.clock.pass(1)
    await engine.clock.settled()
  }
  assert.equal(row()?.['status'], 'RUNNING')

  for (let second = 0; second < 5; second++) {
    engine.clock.pass(1)
    await engine.clock.settled()
  }

  assert.deepEqual({ ...row() }, { status: 'TERMINAL', next_due: null })
  await engine.ends(other, 'SUCCEEDED')
})

for (const waitTime of [1.2345, 1e300]) {
  test(`a wait of ${waitTime} s does not hold up its neighbours`, async (t) => {
    const engine = await startEngine(t)

    const id = await engine.run({ stages: [W('1', waitTime), W('2', 0)] })
    await engine.clock.settled()

    assert.equal((await engine.stage(id, '2')).status, 'SUCCEEDED')
  })
}
