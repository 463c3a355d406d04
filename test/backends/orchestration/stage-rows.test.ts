/** Stages of a long execution stand in rows of their own: a step writes those that it has changed, and reads what was written, whatever became of others. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openDatabase } from '../../../packages/base/storage/database.ts'
import { GroupCommit } from '../../../packages/base/storage/group-commit.ts'
import { migrate } from '../../../packages/base/storage/migrations.ts'
import { ownParts } from '../../../packages/engine/orchestration/kept-stage.ts'
import type { Execution, Stage } from '../../../packages/engine/orchestration/model.ts'
import { orchestrationMigrations } from '../../../packages/engine/orchestration/schema.ts'
import { ExecutionStore } from '../../../packages/engine/orchestration/store.ts'

function stageOf(id: string): Stage {
  return {
    id,
    refId: id,
    type: 'wait',
    name: id,
    status: 'RUNNING',
    // Names of an author, which are no members of a stage here.
    context: { engine: { deep: [1] }, tasks: 1, big: 12345678901234567890n.toString() },
    outputs: {},
    tasks: [
      {
        id: '1',
        name: 'wait',
        implementingClass: 'wait',
        status: 'RUNNING',
        stageStart: true,
        stageEnd: true,
        loopStart: false,
        loopEnd: false,
        taskExceptionDetails: {},
        engine: { run: 'r', dueAt: 1 },
      },
    ],
    requisiteStageRefIds: [],
    engine: {},
  }
}

function executionOf(stages: Stage[]): Execution {
  const trigger = { type: 'manual', user: 'ann', parameters: {}, artifacts: [], notifications: [] }
  return {
    type: 'PIPELINE',
    id: 'e',
    rootId: 'e',
    application: 'app',
    status: 'RUNNING',
    buildTime: 1,
    canceled: false,
    limitConcurrent: false,
    maxConcurrentExecutions: 0,
    keepWaitingPipelines: false,
    origin: 'api',
    authentication: { user: 'ann', allowedAccounts: [] },
    trigger: { ...trigger, rebake: false, dryRun: false, strategy: false },
    stages,
    notifications: [],
    initialConfig: {},
    systemNotifications: [],
    spelEvaluator: 'v4',
    additionalHeaders: {},
    engine: { headers: {}, followUps: [] },
  }
}

function open(t: TestContext) {
  const dir = mkdtempSync(join(tmpdir(), 'fairlead-stage-rows-'))
  const db = openDatabase(join(dir, 'x.db'))
  migrate(db, 'orca', orchestrationMigrations)
  const commits = new GroupCommit(db)
  t.after(async () => {
    await commits.close()
    db.close()
    rmSync(dir, { recursive: true })
  })
  const storeOf = (maxBodyLength = 0) => new ExecutionStore(db, commits, maxBodyLength)
  const texts = () =>
    Object.fromEntries(
      db
        .prepare("SELECT id, body FROM orchestration_stages WHERE id <> ''")
        .all()
        .map(({ id, body }) => [id, body]),
    )
  return { db, commits, storeOf, texts }
}

const changes: Record<string, (stage: Stage) => void> = {
  'its status': (stage) => {
    stage.status = 'SUCCEEDED'
  },
  'a key of its context in place': (stage) => {
    stage.context['exception'] = { details: {} }
  },
  'a key of its context that a stage has': (stage) => {
    stage.context['engine'] = { deep: [2] }
  },
  'a key that is taken away': (stage) => {
    delete stage.context['tasks']
  },
  'its outputs': (stage) => {
    stage.outputs = { found: true }
  },
  'a task': (stage) => {
    stage.tasks[0]!.status = 'SUCCEEDED'
  },
  'the error of a task': (stage) => {
    stage.tasks[0]!.taskExceptionDetails = { exception: {} }
  },
  'when a task is due': (stage) => {
    stage.tasks[0]!.engine.dueAt = 2
  },
  'one more task': (stage) => {
    stage.tasks.push({ ...stage.tasks[0]!, id: '2' })
  },
  'what it requires': (stage) => {
    stage.requisiteStageRefIds = ['a']
  },
  'a note': (stage) => {
    stage.engine.isDry = true
  },
  'who has changed it': (stage) => {
    stage.lastModified = { user: 'bob', allowedAccounts: [], lastModifiedTime: 1 }
  },
}

test('what a step has changed is written, and nothing of other stages', (t) => {
  for (const [what, change] of Object.entries(changes)) {
    const { db, commits, storeOf, texts } = open(t)
    const store = storeOf()
    commits.transact(() => store.insert(executionOf(['a', 'b', 'c'].map(stageOf)), 1))
    db.exec(`CREATE TRIGGER others BEFORE UPDATE ON orchestration_stages WHEN OLD.id <> 'b'
      BEGIN SELECT RAISE(ABORT, 'another stage is written'); END`)
    for (let round = 0; round < 2; round++) {
      const loaded = store.load('e')!
      assert.equal(
        commits.transact(() => store.save(loaded, 1)),
        false,
        what,
      )
    }
    const before = texts()
    const loaded = store.load('e')!
    change(loaded.stages[1]!)
    assert.equal(
      commits.transact(() => store.save(loaded, 1)),
      true,
      what,
    )
    assert.notEqual(texts()['b'], before['b'], what)
    for (const reader of [store, storeOf()])
      assert.deepEqual(reader.load('e')!.stages, loaded.stages, what)
  }
})

test('a step that was rolled back is forgotten, also in memory', (t) => {
  const { commits, storeOf } = open(t)
  const store = storeOf()
  commits.transact(() => store.insert(executionOf([stageOf('a')]), 1))
  const tried = store.load('e')!
  tried.stages[0]!.context['tried'] = true
  const attempt = () =>
    commits.transact(() => {
      store.save(tried, 1)
      throw new Error('full')
    })
  assert.throws(attempt, /full/)
  const loaded = store.load('e')!
  assert.equal(loaded.stages[0]!.context['tried'], undefined)
  loaded.stages[0]!.context['tried'] = true
  assert.ok(commits.transact(() => store.save(loaded, 1)))
  assert.equal(storeOf().load('e')!.stages[0]!.context['tried'], true)
})

test('stages are put in, put in another order and taken out; all go with their execution', (t) => {
  const { commits, storeOf, texts } = open(t)
  const store = storeOf()
  commits.transact(() => store.insert(executionOf(['a', 'b'].map(stageOf)), 1))
  for (const ids of [['c', 'b', 'a'], ['b'], ['b', 'b'], []]) {
    const loaded = store.load('e')!
    loaded.stages = ids.map(
      (id, at) =>
        (ids.indexOf(id) === at && loaded.stages.find((stage) => stage.id === id)) || stageOf(id),
    )
    commits.transact(() => store.save(loaded, 1))
    for (const reader of [store, storeOf()])
      assert.deepEqual(
        reader.load('e')!.stages.map(({ id }) => id),
        ids,
      )
    assert.deepEqual(Object.keys(texts()).sort(), [...new Set(ids)].sort())
  }
  commits.transact(() => store.remove('e'))
  assert.deepEqual([texts(), store.load('e')], [{}, undefined])
})

test('a short record has its stages in its body until it is long', (t) => {
  const { commits, storeOf, texts } = open(t)
  const store = storeOf(4000)
  commits.transact(() => store.insert(executionOf([stageOf('a'), stageOf('b')]), 1))
  const change = (value: string) => {
    const loaded = store.load('e')!
    loaded.stages[0]!.context['value'] = value
    commits.transact(() => store.save(loaded, 1))
    assert.deepEqual(storeOf().load('e'), loaded)
    return Object.keys(texts()).sort()
  }
  assert.deepEqual(change('short'), [])
  assert.deepEqual(change('long'.repeat(1000)), ['a', 'b'])
  assert.deepEqual(change('short'), ['a', 'b'])
})

for (const [older, stages, gone] of [
  ['moves its stages into rows', [stageOf('a'), stageOf('b')], '1'],
  ['moves the order of its stages into a row', ['a', 'b'], "id = ''"],
] as const)
  test(`the first change of a long record of an older version ${older}`, (t) => {
    const { db, commits, storeOf, texts } = open(t)
    const store = storeOf()
    commits.transact(() => store.insert(executionOf([stageOf('a'), stageOf('b')]), 1))
    db.prepare('UPDATE orchestration_executions SET body = ?, revision = 0').run(
      JSON.stringify({ ...executionOf([]), stages }),
    )
    db.exec(`DELETE FROM orchestration_stages WHERE ${gone}`)
    const loaded = storeOf().load('e')!
    assert.deepEqual(loaded.stages, [stageOf('a'), stageOf('b')])
    const later = storeOf()
    const changed = later.load('e')!
    changed.stages[0]!.status = 'SUCCEEDED'
    commits.transact(() => later.save(changed, 1))
    assert.deepEqual(Object.keys(texts()).sort(), ['a', 'b'])
    assert.deepEqual(storeOf().load('e'), changed)
    const body = String(db.prepare('SELECT body FROM orchestration_executions').get()?.['body'])
    assert.equal(JSON.parse(body).stages, undefined)
  })

test('what is mentioned, the text and the size count stages, too', (t) => {
  const { commits, storeOf } = open(t)
  const store = storeOf()
  const stage = { ...stageOf('a'), context: { image: 'web:v123' } }
  commits.transact(() => store.insert(executionOf([stage]), 1))
  assert.ok(store.isMentioned('web:v123'))
  assert.ok(!store.isMentioned('web:v124'))
  assert.match(store.textOf('e') ?? '', /web:v123/)
  const length = JSON.stringify(stage).length
  assert.ok(store.storedBytes('e') > length && store.sizeOf(store.load('e')!) > length)
})

test('a step goes on with what the last step has stored, and with nothing else', (t) => {
  const { commits, storeOf, texts } = open(t)
  const [store, other] = [storeOf(), storeOf()]
  const waiting: Stage = { ...stageOf('b'), status: 'NOT_STARTED' }
  const step = (by: typeof store, change: (stages: readonly Stage[]) => void) =>
    commits.transact(() => {
      const loaded = by.loadForStep('e')!
      change(loaded.stages)
      by.save(loaded, 1)
      return loaded
    })
  const contexts = () =>
    storeOf()
      .load('e')!
      .stages.map(({ context }) => context['step'])
  commits.transact(() => store.insert(executionOf([stageOf('a'), waiting]), 1))
  const first = step(store, ([a]) => Object.assign(a!.context, { step: 1 }))
  const second = step(store, ([, b]) => {
    ownParts(b!)
    Object.assign(b!.context, { step: 2 })
    b!.tasks[0]!.engine.dueAt = 7
  })
  assert.equal(second, first)
  assert.deepEqual([contexts(), storeOf().load('e')], [[1, 2], second])

  // What the step's stage still holds is no change of the record, and what it may share is not its own.
  Object.assign(second.stages[0]!.context, { step: 'late' })
  assert.throws(() => Object.assign(store.loadForStep('e')!.stages[1]!.context, { step: 'own' }))
  step(store, () => undefined)
  assert.deepEqual(contexts(), [1, 2])

  const fail = () =>
    step(store, ([a]) => {
      Object.assign(a!.context, { step: 'failed' })
      throw new Error('full')
    })
  assert.throws(fail, /full/)
  assert.deepEqual(step(store, () => undefined).stages, storeOf().load('e')!.stages)

  step(other, ([a]) => Object.assign(a!.context, { step: 3 }))
  step(store, ([a]) => Object.assign(a!.context, { step: Number(a!.context['step']) + 1 }))
  const changed = store.load('e')!
  changed.stages = [changed.stages[1]!, stageOf('c')]
  commits.transact(() => store.save(changed, 1))
  step(store, ([, c]) => Object.assign(c!.context, { step: 5 }))
  assert.deepEqual(contexts(), [2, 5])
  assert.deepEqual(Object.keys(texts()).sort(), ['b', 'c'])
})

test('a large value of a stage has a row of its own, which is written when the value changes', (t) => {
  const { db, storeOf, texts } = open(t)
  const store = storeOf()
  const stage = stageOf('a')
  const manifests = Array.from({ length: 2000 }, (_, at) => ({ kind: 'ConfigMap', at, none: null }))
  stage.context = { first: 1, manifests, log: 'x'.repeat(40_000), last: { is: 'here' } }
  stage.outputs = { 'a.b': 'y'.repeat(40_000) }
  store.insert(executionOf([stage, stageOf('b')]), undefined)
  const rows = ['a', 'a\ncontext.log', 'a\ncontext.manifests', 'a\noutputs.a.b', 'b']
  assert.deepEqual(Object.keys(texts()).sort(), rows)
  const same = (context: Stage['context'], loaded: Execution | undefined) =>
    assert.equal(JSON.stringify(loaded?.stages[0]?.context), formatted(context))
  same(stage.context, storeOf().load('e'))

  db.exec(`CREATE TRIGGER large BEFORE UPDATE ON orchestration_stages WHEN OLD.id LIKE '%manifests'
    BEGIN SELECT raise(FAIL, 'the large value is written'); END`)
  const other = storeOf()
  for (const looks of [1, 2]) {
    const step = other.loadForStep('e') as Execution
    step.stages[0]!.context['looks'] = looks
    step.stages[0]!.context['log'] = 'z'.repeat(40_000 + looks)
    assert.ok(other.save(step, undefined))
  }
  assert.equal(texts()['a\ncontext.log'], JSON.stringify('z'.repeat(40_002)))
  const next = other.loadForStep('e') as Execution
  next.stages[0]!.context['manifests'] = []
  assert.throws(() => db.exec("UPDATE orchestration_stages SET body = ''"), /is written/)
  next.stages[0]!.outputs = {}
  assert.ok(other.save(next, undefined))
  assert.deepEqual(Object.keys(texts()).sort(), ['a', 'a\ncontext.log', 'b'])
  const { manifests: _, ...rest } = stage.context
  const wanted = { ...rest, manifests: [], log: 'z'.repeat(40_002), looks: 2 }
  assert.deepEqual(storeOf().load('e')?.stages[0]?.context, wanted)
  assert.deepEqual(storeOf().load('e')?.stages[0]?.outputs, {})
})

/** Members that are null are not stored. */
const formatted = (value: unknown) =>
  JSON.stringify(value, (_key, member) => (member === null ? undefined : member))
