/** The build service with a Jenkins: reads, starts and stops. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../../packages/base/json/values.ts'
import { createBuildsBackend } from '../../../../packages/builds/builds.ts'
import { startBackends } from '../../../support/backends.ts'
import { brokenOff, Reply, silence } from '../../../support/upstream.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { type FakeJenkins, startJenkins } from './fake-jenkins.ts'
import { jenkinsOf } from './settings.ts'

async function startBuilds(
  t: TestContext,
  { jenkins = undefined as FakeJenkins | undefined, csrf = false } = {},
) {
  const server = jenkins ?? (await startJenkins(t))
  const master = {
    name: 'ci-main',
    address: server.url,
    username: 'ada',
    password: 't0ken',
    csrf,
    skipHostnameVerification: false,
  }
  const backends = await startBackends(t, [createBuildsBackend({ lookupMs: 1 })], {
    now: () => 1_790_000_060_000,
    settings: {
      buildServers: {
        jenkins: jenkinsOf([master, { ...master, name: 'ci-away', address: 'http://127.0.0.1:1' }]),
      },
    },
    others: async () => ({ status: 200, body: undefined }),
  })
  const ask = (
    method: string,
    path: string,
    { body = undefined as unknown, execution = '' } = {},
  ) => backends.ask('igor', method, path, body, { 'x-spinnaker-execution-id': execution })
  const read = async (path: string) => {
    const { status, body } = await ask('GET', path)
    return status === 200 ? (body as JsonObject) : status
  }
  return { jenkins: server, ask, read, backends }
}

function messageOf(body: unknown): string {
  return String((body as JsonObject)['message'])
}

test('builds-scenario 1 and 2: hosts are sorted, and chosen by type', async (t) => {
  const { read } = await startBuilds(t)
  assert.deepEqual(await read('/masters'), ['ci-away', 'ci-main'])
  assert.deepEqual(await read('/masters?type=JENKINS'), ['ci-away', 'ci-main'])
  assert.deepEqual(await read('/masters?type=TRAVIS'), [])
  assert.equal(await read('/masters?type=bogus'), 400)
})

test('builds-scenario 4: jobs in folders are listed with their folders', async (t) => {
  const { read, jenkins } = await startBuilds(t)
  assert.deepEqual(await read('/jobs/ci-main'), [
    'app',
    'team/job/svc',
    'team/job/lib/job/feature%2Fx',
    'my app',
  ])
  const { authorization } = jenkins.requests[0]?.headers ?? {}
  assert.equal(authorization, `Basic ${Buffer.from('ada:t0ken').toString('base64')}`)
})

test('builds-scenario 6, 7 and 8: a job is described with its parameters', async (t) => {
  const { read } = await startBuilds(t)
  const app = (await read('/jobs/ci-main/app')) as JsonObject
  const [env, tier] = app['parameterDefinitionList'] as [JsonObject, JsonObject]
  assert.deepEqual(
    [app['buildable'], env['name'], env['type'], env['defaultValue'], tier['choices']],
    [true, 'ENV', 'StringParameterDefinition', 'dev', ['a', 'b']],
  )
  assert.deepEqual(env['defaultParameterValue'], { name: 'ENV', value: 'dev' })
  assert.equal(((await read('/jobs/ci-main/team/job/svc')) as JsonObject)['name'], 'svc')
  // The name of a branch keeps its encoded slash.
  assert.equal(
    ((await read('/jobs/ci-main/team/job/lib/job/feature%252Fx')) as JsonObject)['displayName'],
    'feature/x',
  )
  for (const job of ['nope', 'team', 'app/config.xml', 'team/job/../app', 'app/job/'])
    assert.equal(await read(`/jobs/ci-main/${job}`), 404, job)
})

test('builds-scenario 9 and 12: builds are listed newest first', async (t) => {
  const { read } = await startBuilds(t)
  const builds = (await read('/builds/all/ci-main/app')) as unknown as JsonObject[]
  assert.deepEqual(
    builds.map(({ number, building, result, duration }) => [number, building, result, duration]),
    [
      [7, true, undefined, 0],
      [6, false, 'SUCCESS', 61_234],
      [5, false, 'FAILURE', 50],
    ],
  )
  assert.ok(
    builds.every(({ timestamp }) => typeof timestamp === 'string' && /^\d+$/.test(timestamp)),
  )
  assert.deepEqual(builds[1]?.['testResults'], [
    { failCount: 1, skipCount: 2, totalCount: 40, urlName: 'testReport' },
  ])
  assert.deepEqual(await read('/builds/all/ci-main/my%20app'), [])
  assert.deepEqual(await read('/builds/all/ci-main?job=my%20app'), [])
})

test('builds-scenario 10, 11 and 14: one build has its commit and files', async (t) => {
  const { read } = await startBuilds(t)
  const build = (await read('/builds/status/6/ci-main/app')) as JsonObject
  assert.deepEqual(
    [build['number'], build['name'], build['id'], build['building'], build['url']],
    [6, 'app', 'app-6', false, 'http://jenkins.example/job/app/6/'],
  )
  assert.deepEqual(build['scm'], [
    {
      name: 'refs/remotes/origin/feature/login',
      branch: 'feature/login',
      sha1: '8f0c3ab5d1b44d0d2c1ee0e2d9f4f8b5a6c7d8e9',
      remoteUrl: 'https://git.example/shop/app.git',
      committer: 'Ada',
      message: 'Add the login',
      timestamp: '2026-09-21T08:40:00.000Z',
    },
  ])
  const {
    name: _name,
    branch: _branch,
    remoteUrl: _url,
    ...commit
  } = (build['scm'] as JsonObject[])[0] ?? {}
  assert.deepEqual(await read('/builds/changes/ci-main/app?after=5&until=7'), [commit])
  assert.equal(
    await read('/builds/changes/ci-main/app?after=3&until=7'),
    404,
    'build 4 is no longer listed',
  )
  const [file] = (await read('/builds/artifacts/6/ci-main/app')) as unknown as JsonObject[]
  assert.deepEqual(
    [file?.['type'], file?.['reference'], file?.['name'], file?.['version']],
    ['jenkins/file', 'target/out.yml', 'app', '6'],
  )
  assert.deepEqual(
    await read('/builds/status/3/ci-main?job=team/job/svc'),
    await read('/builds/status/3/ci-main/team/job/svc'),
  )
  assert.equal(await read('/builds/status/999/ci-main/app'), 404)
  assert.deepEqual(await read('/ci/builds/app-6/output'), {
    log: 'Started by user admin\r\nFinished: SUCCESS\r\n',
  })
  assert.deepEqual(
    await read('/builds/output/6/ci-main?job=app'),
    await read('/ci/builds/ci-main%2Fapp-6/output'),
  )
  assert.equal(await read('/ci/builds/ci-main%2Fnope-6/output'), 404)
  assert.equal(await read('/ci/builds/nope-6/output'), 503, 'the server that is away may have it')
})

test('builds-scenario 15: a property file is looked up until it is archived', async (t) => {
  const { read, jenkins } = await startBuilds(t)
  assert.deepEqual(await read('/builds/properties/6/out.yml/ci-main/app'), { foo: 'bar' })
  assert.deepEqual(await read('/builds/properties/6/out.yml/ci-main?job=app'), { foo: 'bar' })
  const lookups = () => jenkins.lines().filter((line) => line === 'GET /job/app/6/api/json').length
  const before = lookups()
  assert.equal(await read('/builds/properties/6/other.yml/ci-main/app'), 404)
  assert.equal(lookups() - before, 5)
})

test('builds-scenario 16 and 17: equal starts reach Jenkins once', async (t) => {
  const { ask, jenkins } = await startBuilds(t)
  jenkins.replace('POST /job/app/buildWithParameters', silence)
  const start = (env = 'prod') =>
    ask('PUT', `/masters/ci-main/jobs/app?ENV=${env}`, { body: 1000, execution: 'E1' })
  const first = start()
  const started = () => jenkins.requests.filter(({ method }) => method === 'POST')
  await waitUntil(() => started().length === 1, 'the start at Jenkins')
  assert.deepEqual(await start(), { status: 202, body: undefined })
  jenkins.release(new Reply(201, undefined, { location: 'http://jenkins.example/queue/item/41/' }))
  assert.deepEqual(await first, { status: 200, body: 41 })
  assert.deepEqual(await start(), { status: 200, body: 41 })
  assert.deepEqual(
    started().map(({ body }) => body),
    ['ENV=prod'],
  )
  jenkins.replace(
    'POST /job/app/buildWithParameters',
    new Reply(201, undefined, { location: '/queue/item/43/' }),
  )
  assert.deepEqual(await start('dev'), { status: 200, body: 43 })
  assert.deepEqual(await start(), { status: 200, body: 43 }, 'the number has been given once more')
})

test('builds-scenario 18 and 19: what cannot be built is not started', async (t) => {
  const { ask, jenkins } = await startBuilds(t)
  const choice = await ask('PUT', '/masters/ci-main/jobs/app?TIER=z')
  assert.equal(choice.status, 400)
  assert.match(messageOf(choice.body), /"z".*"TIER".*a, b/)
  assert.equal((await ask('PUT', '/masters/ci-main/jobs/team/job/svc?ENV=prod')).status, 400)
  assert.equal((await ask('PUT', '/masters/ci-main/jobs/nope')).status, 404)
  jenkins.document('/job/app')['buildable'] = false
  assert.equal((await ask('PUT', '/masters/ci-main/jobs/app')).status, 400)
  assert.ok(jenkins.requests.every(({ method }) => method === 'GET'))
  // A failed start is not remembered.
  jenkins.document('/job/app')['buildable'] = true
  jenkins.replace('POST /job/app/buildWithParameters', new Reply(409))
  assert.equal((await ask('PUT', '/masters/ci-main/jobs/app')).status, 400)
  jenkins.replace('POST /job/app/buildWithParameters', new Reply(201))
  assert.equal((await ask('PUT', '/masters/ci-main/jobs/app')).status, 500)
  assert.deepEqual((await ask('PUT', '/masters/ci-main/jobs/team/job/svc')).body, 42)
})

test('builds-scenario 20: a queue item gets the number of its build', async (t) => {
  const { read, jenkins } = await startBuilds(t)
  const waiting = (await read('/builds/queue/ci-main/41')) as JsonObject
  assert.equal(waiting['number'], null)
  jenkins.document('/queue/item/41')['executable'] = {
    number: 8,
    url: 'http://jenkins.example/job/app/8/',
  }
  const begun = (await read('/builds/queue/ci-main/41')) as JsonObject
  assert.deepEqual([begun['number'], begun['executable']], [8, { number: 8 }])
  assert.equal(await read('/builds/queue/ci-main/99'), 404)
  // Items that have left the queue are forgotten.
  assert.deepEqual(await read('/builds/queue/ci-main/99?job=app'), {
    number: null,
    cancelled: true,
  })
  jenkins.document('/job/app/7')['queueId'] = 99
  assert.deepEqual(await read('/builds/queue/ci-main/99?job=app'), {
    number: 7,
    executable: { number: 7 },
  })
  assert.equal(await read('/builds/queue/ci-main/99?job=nope'), 404)
})

test('builds-scenario 21: builds are stopped, queue items cancelled', async (t) => {
  const { ask, jenkins } = await startBuilds(t, {
    jenkins: await startJenkins(t, { protection: 'crumb' }),
  })
  const posts = () => jenkins.lines().filter((line) => line.startsWith('POST'))
  assert.deepEqual(await ask('PUT', '/masters/ci-main/jobs/app/stop/41/7'), {
    status: 200,
    body: true,
  })
  // Once without the crumb that Jenkins turns out to want.
  assert.deepEqual(posts(), ['POST /job/app/7/stop', 'POST /job/app/7/stop'])
  assert.deepEqual(await ask('PUT', '/masters/ci-main/jobs/stop/41/0?jobName=app'), {
    status: 200,
    body: true,
  })
  assert.equal(posts().at(-1), 'POST /queue/cancelItem')
  // It has left the queue meanwhile.
  jenkins.document('/queue/item/41')['executable'] = { number: 7 }
  assert.deepEqual(await ask('PUT', '/masters/ci-main/jobs/app/stop/41/0'), {
    status: 200,
    body: true,
  })
  assert.equal(posts().at(-1), 'POST /job/app/7/stop')
  assert.equal(
    (
      await ask('PATCH', '/masters/ci-main/jobs/app/update/6', {
        body: { description: 'By Fairlead' },
      })
    ).status,
    200,
  )
  assert.equal(jenkins.requests.at(-1)?.body, 'description=By+Fairlead')
})

test('builds-scenario 28: a server that fails or is away keeps its status', async (t) => {
  const { ask, read, jenkins } = await startBuilds(t)
  jenkins.replace('GET /job/app/api/json', new Reply(500))
  assert.equal(await read('/builds/all/ci-main/app'), 500)
  jenkins.replace('GET /job/app/api/json', new Reply(401))
  const denied = await ask('GET', '/builds/all/ci-main/app')
  assert.equal(denied.status, 502)
  assert.match(messageOf(denied.body), /"ci-main".*credentials in jenkins\.masters/)
  jenkins.replace(
    'GET /job/app/api/json',
    new Reply(302, undefined, { location: 'https://new.example/job/app/api/json' }),
  )
  assert.match(
    messageOf((await ask('GET', '/builds/all/ci-main/app')).body),
    /redirects to https:\/\/new\.example.*Set its address/,
  )
  jenkins.replace('GET /job/app/api/json', '<title>Sign in</title>')
  assert.match(
    messageOf((await ask('GET', '/builds/all/ci-main/app')).body),
    /something else than JSON/,
  )
  for (let call = 0; call < 4; call++) assert.equal(await read('/builds/all/ci-away/app'), 503)
  assert.match(messageOf((await ask('GET', '/jobs/ci-away')).body), /did not answer the last calls/)
  assert.deepEqual(await read('/masters'), ['ci-away', 'ci-main'])
  assert.equal(((await read('/jobs/ci-main')) as unknown as string[]).length, 4)
})

test('a start without an answer is not repeated at once', async (t) => {
  const { ask, jenkins } = await startBuilds(t)
  jenkins.replace('POST /job/app/buildWithParameters', brokenOff)
  const start = () => ask('PUT', '/masters/ci-main/jobs/app', { body: 1000, execution: 'E2' })
  assert.equal((await start()).status, 504)
  assert.equal((await start()).status, 202)
  assert.equal(jenkins.lines().filter((line) => line.startsWith('POST')).length, 1)
})

test('builds are started by users with a role of their server', async (t) => {
  const jenkins = await startJenkins(t)
  const master = {
    name: 'ci-main',
    address: jenkins.url,
    permissions: { READ: ['dev', 'ops'], WRITE: ['Ops'] },
  }
  const backends = await startBackends(t, [createBuildsBackend()], {
    settings: { authorization: true, buildServers: { jenkins: jenkinsOf([master]) } },
    others: async (_service, { path }) => {
      const roles = path.endsWith('/olga') ? [{ name: 'ops' }] : [{ name: 'dev' }]
      return {
        status: 200,
        body: {
          name: 'x',
          admin: false,
          accounts: [],
          applications: [],
          serviceAccounts: [],
          roles,
        },
      }
    },
  })
  const start = (user: string) =>
    backends.ask('igor', 'PUT', '/masters/ci-main/jobs/app', 1000, {
      'x-spinnaker-user': user,
      'x-spinnaker-execution-id': user,
    })
  assert.equal((await start('dave')).status, 403)
  assert.deepEqual(await start('olga'), { status: 200, body: 41 })
  const [service] = (await backends.ask('igor', 'GET', '/buildServices')).body as JsonObject[]
  assert.deepEqual(service, {
    name: 'ci-main',
    buildServiceProvider: 'JENKINS',
    permissions: master.permissions,
  })
})
