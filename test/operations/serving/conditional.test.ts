/** Conditional reads: clients that have a response get 304. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { openUsers } from '../../../packages/gateway/login/form/users.ts'
import { basic } from '../../login/support.ts'
import { runGateway, startGateway } from '../../support/gateway.ts'
import { Reply, startUpstream } from '../../support/upstream.ts'
import { waitUntil } from '../../support/wait-until.ts'

async function ask(url: string, tag?: string, headers: Record<string, string> = {}) {
  const condition = tag === undefined ? {} : { 'if-none-match': tag }
  const answer = await fetch(url, {
    headers: { 'accept-encoding': 'identity', ...headers, ...condition },
  })
  return {
    status: answer.status,
    text: await answer.text(),
    tag: answer.headers.get('etag') ?? undefined,
    headers: answer.headers,
  }
}

const gateCaching = 'no-cache, no-store, max-age=0, must-revalidate'

test('reads of embedded services are 304 until something changes', async (t) => {
  const { url } = await runGateway(t, {}, { embedded: true })
  const post = async (path: string, body: unknown) => {
    const headers = { 'content-type': 'application/json' }
    return await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  }
  const start = async (application: string) => {
    const stages = [{ refId: '1', type: 'wait', waitTime: 0, requisiteStageRefIds: [] }]
    const { ref } = (await (
      await post('/pipelines/start', { application, name: 'main', stages })
    ).json()) as { ref: string }
    await waitUntil(
      async () => (await ask(url + ref)).text.includes('"endTime"'),
      'the end of the run',
    )
    return ref
  }
  const saveApplication = async (name: string, email: string) => {
    const job = [{ type: 'createApplication', application: { name, email } }]
    await post('/tasks', { application: 'web', description: 'save', job })
    await waitUntil(
      async () => (await ask(`${url}/applications`)).text.includes(email),
      'the application',
    )
  }
  await saveApplication('web', 'first@example.org')
  const ref = await start('web')
  const id = ref.split('/').at(-1)
  const lists = ['/applications', '/applications/web/pipelineConfigs', '/applications/web/tasks']
  const infrastructure = ['serverGroups', 'loadBalancers', 'clusters', 'jobs'].map(
    (kind) => `/applications/web/${kind}`,
  )
  for (const path of [...lists, ref, `/executions?executionIds=${id}`, ...infrastructure]) {
    const first = await ask(url + path)
    assert.equal(first.status, 200, path)
    assert.match(first.tag ?? '', /^(?:W\/)?"[\w.-]+"$/, path)
    assert.equal(first.headers.get('cache-control'), gateCaching, path)
    for (const condition of [
      String(first.tag),
      '*',
      `"other", W/${first.tag?.replace('W/', '')}`,
    ]) {
      const again = await ask(url + path, condition)
      assert.deepEqual(
        [again.status, again.text, again.tag],
        [304, '', first.tag],
        `${path} ${condition}`,
      )
    }
    assert.equal(
      (await ask(url + path, first.tag, { 'accept-encoding': 'gzip' })).status,
      304,
      path,
    )
    assert.equal((await ask(url + path, '"other"')).status, 200, path)
    assert.equal(
      (await ask(url + path, first.tag, { accept: 'application/x-yaml' })).status,
      200,
      path,
    )
    const headers = { 'accept-encoding': 'identity', 'if-none-match': String(first.tag) }
    assert.equal((await fetch(url + path, { method: 'HEAD', headers })).status, 304, path)
  }
  const before = await Promise.all(lists.map((path) => ask(url + path)))
  const run = await ask(url + ref)
  await post('/pipelines', { application: 'web', name: 'deploy', stages: [], triggers: [] })
  await saveApplication('other', 'second@example.org')
  assert.equal((await ask(url + ref, run.tag)).status, 304)
  for (const [index, path] of lists.entries()) {
    const after = await ask(url + path, before[index]?.tag)
    assert.equal(after.status, 200, path)
    assert.notEqual(after.text, before[index]?.text, path)
  }
  await fetch(url + ref, { method: 'DELETE' })
  const gone = await ask(url + ref, run.tag)
  assert.deepEqual([gone.status, gone.tag], [404, undefined])
})

test('validators of external services are passed on, and judged by them', async (t) => {
  let status = 200
  const orca = await startUpstream(t, ({ headers }) => {
    if (status !== 200) return new Reply(status, { message: 'no' }, { etag: '"7"' })
    return headers['if-none-match'] === '"7"'
      ? new Reply(304, undefined, { etag: '"7"' })
      : new Reply(200, { id: 'e1' }, { etag: '"7"' })
  })
  const url = await startGateway(t, {
    http: { browserCache: true },
    services: { orca: { baseUrl: orca.url } },
  })
  const first = await ask(`${url}/pipelines/e1`)
  assert.deepEqual([first.status, first.tag], [200, '"7"'])
  assert.equal(first.headers.get('cache-control'), 'private, no-cache')
  assert.match(first.headers.get('vary') ?? '', /Authorization, Cookie/)
  const second = await ask(`${url}/pipelines/e1`, '"7"')
  assert.deepEqual([second.status, second.text, second.tag], [304, '', '"7"'])
  const yaml = await ask(`${url}/pipelines/e1`, '"7"', { accept: 'application/x-yaml' })
  assert.deepEqual([yaml.status, yaml.text.trim()], [200, 'id: "e1"'])
  const yamlAgain = await ask(`${url}/pipelines/e1`, yaml.tag, { accept: 'application/x-yaml' })
  assert.deepEqual(
    [yamlAgain.status, yamlAgain.headers.get('cache-control')],
    [304, 'private, no-cache'],
  )
  status = 404
  const failed = await ask(`${url}/pipelines/e1`, '"7"')
  assert.deepEqual(
    [failed.status, failed.tag, failed.headers.get('cache-control')],
    [404, undefined, gateCaching],
  )
})

/** Two of them make a list that is filtered in portions. */
const longNote = 'é'.repeat(200_000)

test('a validator does not outlive the rights it was given for', async (t) => {
  const applications = ['one', 'two'].map((name) => ({ name }))
  const readable: Record<string, string[]> = { rita: ['one', 'two'], sam: ['one'] }
  const [front50, orca] = await Promise.all([
    startUpstream(t, { 'GET /v2/applications': applications }),
    startUpstream(t, ({ path, headers }) => {
      if (path === '/pipelines/e1')
        return new Reply(200, { id: 'e1', application: 'two' }, { etag: '"7"' })
      if (headers['if-none-match']?.includes('"8"')) return new Reply(304)
      const runs = applications.map(({ name }) => ({
        id: `in ${name}`,
        application: name,
        note: longNote,
      }))
      return new Reply(200, runs, { etag: '"8"' })
    }),
  ])
  const fiat = await startUpstream(t, ({ method, path }) => {
    const name = path.split('/').at(-1) ?? ''
    if (method !== 'GET') return new Reply(200)
    const granted = (readable[name] ?? []).map((application) => ({
      name: application,
      authorizations: ['READ'],
    }))
    return {
      name,
      admin: false,
      accounts: [],
      applications: granted,
      serviceAccounts: [],
      roles: [],
    }
  })
  const clock = { ms: Date.now() }
  const { url, dataDir } = await runGateway(
    t,
    {
      fairlead: { admin: { password: 'correct horse' } },
      permissions: { enforce: 'gateway' },
      services: {
        fiat: { enabled: true, baseUrl: fiat.url },
        front50: { enabled: true, baseUrl: front50.url },
        orca: { enabled: true, baseUrl: orca.url },
      },
    },
    { now: () => clock.ms },
  )
  const users = openUsers(dataDir)
  for (const name of ['rita', 'sam']) await users.add(name, 'correct horse', ['dev'])
  users.close()
  const askAs = (name: string, path: string, tag?: string) =>
    ask(url + path, tag, basic(name, 'correct horse'))
  await waitUntil(
    async () => (await askAs('rita', '/applications')).text.includes('two'),
    'the list',
  )
  const all = await askAs('rita', '/applications')
  assert.equal((await askAs('rita', '/applications', all.tag)).status, 304)
  const some = await askAs('sam', '/applications', all.tag)
  assert.deepEqual([some.status, JSON.parse(some.text)], [200, [{ name: 'one' }]])
  assert.equal((await askAs('rita', '/pipelines/e1', '"7"')).status, 200)
  for (const condition of ['"7"', '*'])
    assert.equal((await askAs('sam', '/pipelines/e1', condition)).status, 403)
  const runs = '/applications/one/pipelines'
  const [ofRita, ofSam] = [await askAs('rita', runs), await askAs('sam', runs)]
  assert.equal(JSON.parse(ofRita.text).length, 2)
  assert.deepEqual(JSON.parse(ofSam.text), [{ id: 'in one', application: 'one', note: longNote }])
  assert.notEqual(ofRita.tag, ofSam.tag)
  orca.requests.length = 0
  const again = await askAs('sam', runs, `"other", ${ofRita.tag}, ${ofSam.tag}`)
  assert.deepEqual([again.status, again.text, again.tag], [304, '', ofSam.tag])
  assert.deepEqual(
    orca.requests.map(({ headers }) => headers['if-none-match']),
    ['W/"8"'],
  )
  assert.equal((await askAs('sam', runs, '*')).status, 304)
  for (const other of [ofRita.tag, '"8"', 'W/"8~"'])
    assert.equal((await askAs('sam', runs, other)).text, ofSam.text)
  const yaml = await ask(url + runs, ofSam.tag, {
    ...basic('sam', 'correct horse'),
    accept: 'application/x-yaml',
  })
  assert.equal(yaml.status, 200)
  readable['rita'] = ['one']
  clock.ms += 3_600_000
  const left = await askAs('rita', runs, ofRita.tag)
  assert.deepEqual([left.status, left.text], [200, ofSam.text])
  const fewer = await askAs('rita', '/applications', all.tag)
  assert.deepEqual([fewer.status, fewer.text, fewer.tag], [200, some.text, some.tag])
  assert.equal((await askAs('rita', '/pipelines/e1', '"7"')).status, 403)
})

const password = 'correct horse'

/** Everything embedded, with an administrator and two users of different roles. */
async function startWithUsers(t: test.TestContext, dataDir?: string) {
  const options = dataDir === undefined ? {} : { dataDir }
  const gateway = await runGateway(
    t,
    { fairlead: { admin: { password } } },
    { embedded: true, ...options },
  )
  const { url } = gateway
  if (dataDir === undefined) {
    const users = openUsers(gateway.dataDir)
    for (const [name, role] of [
      ['rita', 'dev'],
      ['sam', 'dev'],
      ['olga', 'ops'],
    ] as const)
      await users.add(name, password, [role])
    users.close()
  }
  const askAs = (name: string, path: string, tag?: string, headers: Record<string, string> = {}) =>
    ask(url + path, tag, { ...basic(name, password), ...headers })
  const submit = async (job: Record<string, unknown>) => {
    const answer = await fetch(`${url}/tasks`, {
      method: 'POST',
      headers: { ...basic('admin', password), 'content-type': 'application/json' },
      body: JSON.stringify({ application: 'web', description: 'save', job: [job] }),
    })
    const { ref } = (await answer.json()) as { ref: string }
    await waitUntil(
      async () => (await askAs('admin', ref)).text.includes('"SUCCEEDED"'),
      'the task',
    )
  }
  const save = (role: string, email = 'web@example.org') => {
    const permissions = { READ: [role], WRITE: [role], EXECUTE: [role] }
    return submit({ type: 'updateApplication', application: { name: 'web', email, permissions } })
  }
  return { ...gateway, askAs, save }
}

const polledReads = [
  '/applications',
  '/applications/web',
  '/applications/web/pipelineConfigs',
  '/applications/web/pipelines?limit=5',
  '/applications/web/tasks',
  '/applications/web/serverGroups',
  '/applications/web/loadBalancers',
]

test('a repeated 304 ends with the rights and with the state', async (t) => {
  const { askAs, save } = await startWithUsers(t)
  await save('dev')
  const tags = new Map<string, string | undefined>()
  const poll = async () => {
    for (const path of polledReads) tags.set(path, (await askAs('rita', path)).tag)
    for (let time = 0; time < 3; time++) {
      for (const [path, tag] of tags)
        assert.equal((await askAs('rita', path, tag)).status, 304, path)
    }
  }
  await poll()
  await save('dev', 'new@example.org')
  assert.match(
    (await askAs('rita', '/applications', tags.get('/applications'))).text,
    /new@example\.org/,
  )
  assert.match(
    (await askAs('rita', '/applications/web', tags.get('/applications/web'))).text,
    /new@example\.org/,
  )
  assert.equal(
    (await askAs('rita', '/applications/web/tasks', tags.get('/applications/web/tasks'))).status,
    200,
  )
  await poll()
  await save('ops')
  for (const [path, tag] of tags) {
    for (const condition of [tag, '*']) {
      const after = await askAs('rita', path, condition)
      if (path !== '/applications') assert.equal(after.status, 403, `${path} ${condition}`)
      else if (condition === tag) assert.deepEqual([after.status, after.text], [200, '[]'])
    }
  }
  await save('dev')
  for (const path of polledReads)
    assert.ok([200, 304].includes((await askAs('rita', path, tags.get(path))).status), path)
})

test('a validator of a former process is not taken for a new one', async (t) => {
  const first = await startWithUsers(t)
  await first.save('dev')
  const tags = new Map<string, string | undefined>()
  for (const path of polledReads) tags.set(path, (await first.askAs('rita', path)).tag)
  await first.stop()

  const second = await startWithUsers(t, first.dataDir)
  await second.save('dev', 'after@example.org')
  for (const path of ['/applications', '/applications/web', '/applications/web/tasks']) {
    const after = await second.askAs('rita', path, tags.get(path))
    assert.equal(after.status, 200, path)
  }
})

test('a 304 has the headers that clients need, and no others', async (t) => {
  const { url } = await runGateway(t, {}, { embedded: true })
  const path = '/applications/web/tasks'
  const { tag } = await ask(url + path)
  for (const time of ['asked', 'kept']) {
    const { status, headers } = await ask(url + path, tag, { 'x-spinnaker-request-id': time })
    assert.equal(status, 304)
    assert.deepEqual(
      [...headers.keys()]
        .filter((name) => !['connection', 'date', 'keep-alive'].includes(name))
        .sort(),
      ['cache-control', 'etag', 'expires', 'vary', 'x-spinnaker-request-id'],
    )
    assert.equal(headers.get('x-spinnaker-request-id'), time)
  }
  const cross = await ask(url + path, tag, { origin: 'http://localhost:9000' })
  assert.equal(cross.status, 304)
  const seen = [...cross.headers.keys()].filter((name) => name.startsWith('access-control'))
  assert.deepEqual(seen.sort(), [
    'access-control-allow-credentials',
    'access-control-allow-origin',
    'access-control-expose-headers',
  ])
})
