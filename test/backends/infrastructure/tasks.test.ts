import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import pino from 'pino'
import { fieldAt, textsOf } from '../../../packages/base/json/values.ts'
import type { ServiceAnswer } from '../../../packages/ports/service-call.ts'
import type { OperationType } from '../../../packages/providers/infrastructure/operation-type.ts'
import { Tasks, taskMigrations } from '../../../packages/providers/infrastructure/tasks.ts'
import { Reconciler, type ReconcilerOptions } from '../../../packages/providers/local/reconciler.ts'
import { followTask, startInfrastructure } from '../../support/infrastructure.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'
import { waitUntil } from '../../support/wait-until.ts'

const log = pino({ enabled: false })

/** Tasks that do one thing. */
function openTasks(t: TestContext, run: OperationType['run']) {
  const folder = createFolder('tasks')
  const file = join(folder, 'tasks.db')
  const db = new DatabaseSync(file, { timeout: 0 })
  for (const migration of taskMigrations) db.exec(migration)
  const other = new DatabaseSync(file)
  const operation: OperationType = {
    check: () => [],
    applications: ({ names }) => textsOf(names).map((name) => name.split('-', 1)[0] ?? ''),
    run,
  }
  const open = () =>
    new Tasks({
      context: { db, now: Date.now, log, stateChanged: () => {} },
      find: () => operation,
    })
  const tasks = open()
  t.after(async () => {
    await tasks.close()
    for (const each of [db, other]) each.close()
    removeFolder(folder)
  })
  const submit = (...names: string[]) =>
    tasks.submit({
      requestId: undefined,
      user: 'ann',
      identity: {},
      operations: [{ provider: 'local', name: 'resizeServerGroup', description: { names } }],
    })
  return { tasks, other, submit, open }
}

test('a task goes on once the store is free again', async (t) => {
  const { tasks, other, submit } = openTasks(t, async () => {})
  const id = submit()
  other.exec('BEGIN IMMEDIATE')
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.equal(fieldAt(tasks.view(id), 'status', 'completed'), false)
  other.exec('COMMIT')

  await waitUntil(
    () => fieldAt(tasks.view(id), 'status', 'completed') === true,
    'the end of the task',
  )
})

test('an operation whose change the store refuses is repeated', async (t) => {
  let runs = 0
  const { tasks, submit } = openTasks(t, async (_description, run) => {
    run.commit(() => {
      if (++runs === 1) throw Object.assign(new Error('database or disk is full'), { errcode: 13 })
    })
  })
  const id = submit()
  await waitUntil(
    () => fieldAt(tasks.view(id), 'status', 'completed') === true,
    'the end of the task',
  )
  assert.deepEqual([runs, fieldAt(tasks.view(id), 'status', 'failed')], [2, false])
})

test('a task that is submitted before the start runs once', async (t) => {
  let runs = 0
  const { tasks, submit } = openTasks(t, async () => {
    runs++
  })
  const id = submit()
  tasks.start()
  await waitUntil(
    () => fieldAt(tasks.view(id), 'status', 'completed') === true,
    'the end of the task',
  )
  await tasks.close()
  assert.equal(runs, 1)
})

test('a task for a client of the process before fails', async (t) => {
  let runs = 0
  const { tasks, open } = openTasks(t, async (_description, { signal }) => {
    runs++
    await new Promise((_resolve, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason as Error)),
    )
  })
  const operation = { provider: 'local', name: 'runJob', description: {} }
  const ordered = { requestId: undefined, user: 'ann', identity: {}, operations: [operation] }
  const id = tasks.submit({ ...ordered, isAttached: true })
  await waitUntil(() => runs === 1, 'the start of the command')
  await tasks.close()
  const next = open()
  next.start()
  assert.match(JSON.stringify(next.view(id)), /"failed":true.*so did the connection/)
  assert.equal(runs, 1)
})

test('a request without operations finds the task of its id, or takes its place', async (t) => {
  const { ask, read } = await startInfrastructure(t, {
    local: { accounts: [{ name: 'dev', regions: [{ name: 'east', zones: ['east-a'] }] }] },
  })
  const submit = async (id: string, ...operations: object[]) =>
    (await ask('POST', `/local/ops?clientRequestId=${id}`, operations)).body
  const place = { credentials: 'dev', region: 'east', description: 'none', ipIngress: [] }
  const sent = await submit('one', { upsertSecurityGroup: { ...place, name: 'first' } })
  assert.deepEqual(await submit('one'), sent)
  const claimed = await submit('two')
  assert.deepEqual(
    await submit('two', { upsertSecurityGroup: { ...place, name: 'second' } }),
    claimed,
  )
  for (const task of [sent, claimed]) await followTask(read, String(fieldAt(task, 'id')))
  const groups = JSON.stringify(await read('/securityGroups'))
  assert.deepEqual([/first/.test(groups), /second/.test(groups)], [true, false])
})

test('tasks of an application keep their order, and those of others pass one that waits', async (t) => {
  const events: string[] = []
  const { promise: answer, resolve: give } = Promise.withResolvers<void>()
  t.after(() => give())
  const { tasks, submit } = openTasks(t, async ({ names }, run) => {
    const what = textsOf(names).join(' ')
    events.push(`${what} begins`)
    if (what === 'shop-a-v000') await run.releaseWhile(() => answer)
    // Nothing else runs between two steps of an operation that does not wait aside.
    await new Promise((resolve) => setImmediate(resolve))
    events.push(`${what} ends`)
  })
  const isOver = (id: string) => fieldAt(tasks.view(id), 'status', 'completed') === true
  const first = submit('shop-a-v000')
  const second = submit('Shop-b')
  const free = [submit('web-a'), submit('api'), submit()]
  const both = submit('shop', 'web')
  const last = submit('web')

  await waitUntil(() => free.every(isOver), 'the end of what waits for nothing')
  assert.deepEqual([first, second, both, last].map(isOver), [false, false, false, false])
  give()
  await waitUntil(() => isOver(last), 'the end of all')

  assert.deepEqual(events, [
    'shop-a-v000 begins',
    ...['web-a begins', 'web-a ends', 'api begins', 'api ends', ' begins', ' ends'],
    'shop-a-v000 ends',
    ...[
      'Shop-b begins',
      'Shop-b ends',
      'shop web begins',
      'shop web ends',
      'web begins',
      'web ends',
    ],
  ])
})

test('a definition store that does not answer holds up only what needs it', {
  timeout: 60_000,
}, async (t) => {
  const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>()
  const { promise: answer, resolve: give } = Promise.withResolvers<ServiceAnswer>()
  t.after(() => give({ status: 503, body: {} }))
  const infrastructure = await startInfrastructure(t, {
    local: { accounts: [{ name: 'dev', regions: [{ name: 'east', zones: ['east-a'] }] }] },
    others: () => {
      isAsked()
      return answer
    },
  })
  const place = { credentials: 'dev', region: 'east' }
  const saving = await infrastructure.ask('POST', '/local/ops', [
    { saveSnapshot: { ...place, applicationName: 'shop' } },
  ])
  await asked

  await infrastructure.succeed({
    upsertSecurityGroup: { ...place, name: 'web', description: 'none', ipIngress: [] },
  })

  give({ status: 200, body: {} })
  const saved = await followTask(infrastructure.read, String(fieldAt(saving.body, 'id')))
  assert.equal(fieldAt(saved, 'status', 'failed'), false, JSON.stringify(saved))
})

test('a step that the store refuses is repeated after a pause', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const instance = {
    id: 'i-1',
    account: 'dev',
    region: 'east',
    leaving: { stage: 'draining', sinceMs: 0 },
    registered: [],
  }
  let refusals = 0
  const desired = {
    groupOf: () => undefined,
    revision: 0,
    all: (kind: string) => (kind === 'instances' ? [instance] : []),
    transact() {
      refusals++
      throw new Error('disk full')
    },
  }
  const agent = { setDesired: () => {} }
  const options = {
    desired,
    agent,
    toState: () => ({}),
    context: { now: () => 60_000, steady: () => 0, stateChanged: () => {}, log },
    drainMs: 1000,
  }
  new Reconciler(options as unknown as ReconcilerOptions).step()
  t.mock.timers.tick(900)
  assert.equal(refusals, 1)
  t.mock.timers.tick(200)
  assert.equal(refusals, 2)
})

/** An instance that has begun to drain, for a second, when both clocks said so. @returns makes a step, and returns what has happened so far */
function startDraining(t: TestContext): (nowMs: number, steadyMs: number) => string[] {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const leaving = { stage: 'draining', sinceMs: drainStartMs }
  const instance = { id: 'i-1', account: 'dev', region: 'east', leaving, registered: ['front'] }
  const stages: string[] = []
  const desired = {
    groupOf: () => undefined,
    // The agent has not seen that the load balancer leaves it out.
    revision: 1,
    all: (kind: string) => (kind === 'instances' ? [instance] : []),
    get: () => ({}),
    put: (_kind: string, changed: typeof instance) => void stages.push(changed.leaving.stage),
    transact: (work: () => void) => work(),
  }
  const time = { now: 0, steady: 0 }
  const options = {
    desired,
    agent: { setDesired: () => {} },
    toState: () => ({}),
    context: { now: () => time.now, steady: () => time.steady, stateChanged: () => {}, log },
    drainMs: 1000,
  }
  const reconciler = new Reconciler(options as unknown as ReconcilerOptions)
  return (now, steady) => {
    Object.assign(time, { now, steady })
    reconciler.step()
    return stages
  }
}

const drainStartMs = 7_200_000

for (const [clock, nowMs, expected] of [
  ['goes on', 7_200_500, []],
  ['goes on until its time is over', 7_201_000, ['stopping']],
  ['is corrected a little', 7_199_900, []],
  ['is set back by an hour', 3_600_000, ['stopping']],
] as const) {
  test(`an instance that drains while the clock ${clock} ${expected.length === 0 ? 'goes on draining' : 'ends'}`, (t) => {
    assert.deepEqual(startDraining(t)(nowMs, 0), expected)
  })
}

test('an instance drains as long although the clock is set forward', (t) => {
  const step = startDraining(t)
  const hourMs = 3_600_000
  assert.deepEqual(step(drainStartMs, 0), [])
  assert.deepEqual(step(drainStartMs + hourMs, 500), [])
  assert.deepEqual(step(drainStartMs + hourMs, 1000), ['stopping'])
})
