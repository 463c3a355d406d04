import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { isNewData } from '../../packages/app/hosting/data-age.ts'
import { isRead } from '../../packages/gateway/operations/access/token-limits.ts'
import { allOperations } from '../../packages/gateway/operations/all.ts'
import { runGateway } from '../support/gateway.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'
import { waitFor } from '../support/wait-until.ts'

const password = 'a long password'

interface Run {
  readonly name: string
  readonly status: string
  readonly authentication: { readonly user: string }
  readonly stages: unknown[]
}

const isOver = ({ status }: Run) => ['SUCCEEDED', 'TERMINAL'].includes(status)

/** Users of an instance whose operator has set nothing: `admin`, and those given. */
async function start(
  t: TestContext,
  users: Record<string, string[]>,
  settings: object = {},
  dataDir?: string,
) {
  const running = await runGateway(
    t,
    { fairlead: { admin: { password } }, permissions: { 'built-in-roles': null }, ...settings },
    { embedded: true, ...(dataDir !== undefined && { dataDir }) },
  )
  const ask = async (user: string, method: string, path: string, body?: unknown) => {
    const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
    const answer = await fetch(running.url + path, {
      method,
      headers: { 'content-type': 'application/json', ...(user !== '' && { authorization }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return {
      status: answer.status,
      body: (text === '' ? undefined : JSON.parse(text)) as never,
      text,
    }
  }
  for (const [username, roles] of Object.entries(users))
    await ask('admin', 'POST', '/auth/users', { username, password, roles })
  const ended = async (ref: string) => {
    const run = async () => (await ask('admin', 'GET', ref)).body as Run
    return waitFor(async () => {
      const found = await run()
      return isOver(found) ? found : undefined
    }, `the end of ${ref}`)
  }
  const task = (user: string, application: string, job: object) =>
    ask(user, 'POST', '/tasks', { application, description: 'x', job: [job] })
  const createThere = async (name: string, permissions?: object) => {
    const { body } = await task('admin', name, {
      type: 'createApplication',
      application: { name, email: 'a@b.c', permissions },
    })
    await ended((body as { ref: string }).ref)
  }
  return { ...running, ask, ended, task, createThere }
}

const waits = (application: string) => ({
  application,
  name: 'w',
  stages: [{ refId: '1', type: 'wait', waitTime: 0 }],
})
const command = { refId: '1', type: 'runCommand', name: 'c', command: 'true' }

test('a second user reads, a deployer runs, and own roles follow permissions', async (t) => {
  const { ask, ended, task, createThere } = await start(t, {
    reed: [],
    dora: ['deployers'],
    mia: ['bank'],
  })
  await createThere('shop')
  await createThere('bank', { READ: ['bank', 'readers'], WRITE: ['bank'] })
  const newOne = (name: string) => ({
    type: 'createApplication',
    application: { name, email: 'a@b.c' },
  })
  const wait = { type: 'wait', waitTime: 0 }
  const project = { type: 'upsertProject', project: { name: 'p', email: 'a@b.c', config: {} } }
  const cases = [
    [
      'reads an application',
      (user: string) => ask(user, 'GET', '/applications/shop/pipelines?limit=1'),
      200,
      200,
      200,
    ],
    [
      'saves a pipeline',
      (user: string) => ask(user, 'POST', '/pipelines', { ...waits('shop'), name: user }),
      403,
      200,
      403,
    ],
    [
      'starts one of its own application',
      (user: string) => ask(user, 'POST', '/pipelines/start', waits('bank')),
      403,
      403,
      200,
    ],
    [
      'starts one of no defined application',
      (user: string) => ask(user, 'POST', '/pipelines/start', waits('none')),
      403,
      200,
      403,
    ],
    [
      'creates an application',
      (user: string) => task(user, `${user}app`, newOne(`${user}app`)),
      403,
      200,
      403,
    ],
    [
      'deploys where programs run as Fairlead',
      (user: string) => task(user, 'shop', { type: 'runJob', ...place, application: 'shop' }),
      403,
      403,
      403,
    ],
    [
      'files a task for an application that does not exist',
      (user: string) => task(user, 'none', wait),
      403,
      200,
      403,
    ],
    [
      'changes a project, filed for its own application',
      (user: string) => task(user, 'bank', project),
      403,
      403,
      403,
    ],
    ['removes an image', (user: string) => ask(user, 'DELETE', '/local/images/a/1'), 403, 404, 404],
  ] as const
  for (const [what, act, ...statuses] of cases) {
    for (const [index, user] of ['reed', 'dora', 'mia'].entries()) {
      const { status, text } = await act(user)
      assert.equal(status, statuses[index], `${user} ${what}: ${text}`)
    }
  }
  const { body } = await ask('dora', 'POST', '/pipelines/start', {
    ...waits('shop'),
    stages: [command],
  })
  const run = await ended((body as { ref: string }).ref)
  assert.equal(run.status, 'TERMINAL')
  assert.match(
    JSON.stringify(run.stages),
    /own user of Fairlead, which is for administrators unless the operator sets `user`/,
  )
})

const place = { cloudProvider: 'local', account: 'local', credentials: 'local', region: 'local' }

test('a trigger acts for the user who gave its pipeline its content', async (t) => {
  const { ask, createThere } = await start(t, { dora: ['deployers'] })
  await createThere('shop')
  const save = (user: string, name: string, more: object = {}) =>
    ask(user, 'POST', '/pipelines', {
      application: 'shop',
      name,
      id: name,
      stages: [command],
      triggers: [{ type: 'webhook', enabled: true, source: name }],
      ...more,
    })
  const fire = async (name: string) => {
    return waitFor(async () => {
      await ask('', 'POST', `/webhooks/webhook/${name}`, {})
      const runs: Run[] = (await ask('admin', 'GET', '/applications/shop/pipelines?limit=50')).body
      return runs.find((run) => run.name === name && isOver(run))
    }, `a run of ${name}`)
  }
  await save('admin', 'vouched')
  await save('dora', 'foreign')
  // To switch it off and on, or to put it elsewhere, is not to vouch for it.
  await ask('admin', 'POST', '/actions/pipelines/reorder', {
    application: 'shop',
    idsToIndices: { foreign: 3 },
  })
  await save('admin', 'foreign', { disabled: true, index: 3 })
  await save('admin', 'foreign', { disabled: false, index: 3 })
  const [vouched, foreign] = [await fire('vouched'), await fire('foreign')]
  assert.deepEqual([vouched.status, vouched.authentication.user], ['SUCCEEDED', 'admin'])
  assert.deepEqual([foreign.status, foreign.authentication.user], ['TERMINAL', 'dora'])
})

test('data of an older version keeps everything open until told otherwise', async (t) => {
  const dataDir = createFolder('older')
  t.after(() => removeFolder(dataDir))
  const first = await start(t, { reed: [] }, {}, dataDir)
  await first.createThere('shop')
  const save = (user: string, asked: typeof first.ask) =>
    asked(user, 'POST', '/pipelines', { ...waits('shop'), name: `p${Date.now()}` })
  assert.equal((await save('reed', first.ask)).status, 403)
  assert.equal(isNewData(dataDir), true)
  await first.stop()
  const db = new DatabaseSync(join(dataDir, 'backends.db'))
  db.exec('DROP TABLE instance_defaults')
  db.close()
  const older = await start(t, {}, {}, dataDir)
  assert.equal((await save('reed', older.ask)).status, 200)
  assert.equal(isNewData(dataDir), false)
  await older.stop()
  const told = await start(t, {}, { permissions: { 'built-in-roles': true } }, dataDir)
  assert.equal((await save('reed', told.ask)).status, 403)
})

test('a reader is refused every operation that changes something of others', async (t) => {
  const { ask } = await start(t, { reed: ['readers'] })
  const passed: string[] = []
  for (const operation of allOperations) {
    if (
      isRead(operation) ||
      /^\/(?:auth|webhooks|proxies)\/|callbacks|\/concourse\/|\/gremlin\/|\/artifacts\/fetch/.test(
        operation.path,
      )
    )
      continue
    const path = operation.path.replaceAll(/\{[^}]+\}/g, 'x')
    const { status } = await ask(
      'reed',
      operation.method,
      path,
      operation.method === 'GET' ? undefined : {},
    )
    if (status < 300) passed.push(`${operation.method} ${operation.path}`)
    const { body } = await ask(
      'reed',
      'GET',
      `/auth/explain?operation=${operation.id}&application=x&account=x&buildService=x`,
    )
    if ((body as { decision: string }).decision !== 'denied')
      passed.push(`explain ${operation.method} ${operation.path}`)
  }
  assert.deepEqual(passed, [])
})
