import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { fieldAt, type JsonObject } from '../../../packages/base/json/values.ts'
import type { BuildServerType } from '../../../packages/builds/build-server.ts'
import { buildsBackend } from '../../../packages/builds/builds.ts'
import {
  giteaActionsType,
  githubActionsType,
} from '../../../packages/builds/github-actions/actions-type.ts'
import { defaults } from '../../support/backend-settings.ts'
import { startBackends } from '../../support/backends.ts'
import { Reply, silence, startUpstream } from '../../support/upstream.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { createServerContext, startExchangeServer } from './exchanges.ts'

const token = 'ghp-of-the-test'
const job = 'shop/web/build.yml'
const dispatches = 'POST /repos/shop/web/actions/workflows/build.yml/dispatches'

interface Given {
  readonly repositories?: readonly string[]
  readonly host?: object
}

async function startActions(
  t: TestContext,
  file: string,
  { repositories = ['shop/web'], host = { token } }: Given = {},
) {
  const upstream = await startExchangeServer(t, file)
  const surroundings = createServerContext()
  const type: BuildServerType = file.startsWith('github') ? githubActionsType : giteaActionsType
  const key = file.startsWith('github') ? 'github-actions.hosts' : 'gitea-actions.hosts'
  const keys = type.keys.parse({
    [key]: [{ name: 'hub', address: upstream.url, repositories, ...host }],
  })
  const settings = type.toSettings(keys, {
    problem: assert.fail,
    notice: assert.fail,
    isSet: () => true,
  })
  assert.ok(settings !== undefined)
  const [server] = type.open(settings, surroundings.context)
  assert.ok(server !== undefined)
  t.after(() => server.close?.())
  return { ...surroundings, upstream, server, signal: new AbortController().signal }
}

const numbersOf = (builds: readonly JsonObject[] | undefined) => builds?.map(({ number }) => number)

test('workflow files of GitHub are jobs with their inputs', async (t) => {
  const { server } = await startActions(t, 'github-actions/workflows.json')
  const { server: other } = await startActions(t, 'github-actions/workflows.json', {
    repositories: ['shop/gone', 'shop/web'],
  })
  assert.deepEqual(await other.jobs(), [job])
  const described = await server.job(job)
  assert.deepEqual([described?.['displayName'], described?.['buildable']], ['Build', true])
  assert.deepEqual(described?.['parameterDefinitionList'], [
    { name: 'ref', description: 'Branch or tag that is built.', defaultValue: 'main' },
    { name: 'tier', description: 'Where it runs', defaultValue: 'a', choices: ['a', 'b'] },
    { name: 'dry', defaultValue: 'false' },
  ])
  await assert.rejects(server.job('shop/web/none.yml'), {
    status: 404,
    message: /no workflow file none.yml.*Actions: read and write/,
  })
  assert.equal(await server.job('other/web/build.yml'), undefined)
})

test('a run of GitHub is a build, read again only when changed', async (t) => {
  const { server, upstream } = await startActions(t, 'github-actions/workflows.json')
  const build = await server.build(job, 30433642)
  const { building, result, timestamp, duration, fullDisplayName, scm } = build ?? {}
  assert.deepEqual(
    [building, result, timestamp, duration],
    [false, 'SUCCESS', '1777885200000', 120_000],
  )
  assert.equal(fullDisplayName, 'Build #562')
  assert.deepEqual(scm, [
    {
      name: 'shop/web',
      branch: 'main',
      sha1: 'acb5820ced9479c074f688cc328bf03f341a511d',
      committer: 'Ada',
      message: 'Sell hats',
      timestamp: '2026-05-04T08:59:00Z',
      compareUrl: 'https://github.example/shop/web/commit/acb5820ced9479c074f688cc328bf03f341a511d',
      remoteUrl: 'https://github.example/shop/web',
    },
  ])
  upstream.taken()
  assert.deepEqual(await server.build(job, 30433642), build)
  assert.deepEqual(upstream.taken(), ['GET /repos/shop/web/actions/runs/30433642 304'])
  assert.equal(await server.build('shop/web/other.yml', 30433642), undefined)
})

test('a dispatch to GitHub names its run', async (t) => {
  const { server, upstream } = await startActions(t, 'github-actions/workflows.json')
  assert.equal(
    await server.start(job, { config: {}, parameters: { ref: 'next', tier: 'b' } }),
    '30433700',
  )
  const sent = upstream.requests.find(({ method }) => method === 'POST')
  assert.deepEqual(JSON.parse(sent?.body ?? ''), {
    ref: 'next',
    inputs: { tier: 'b' },
    return_run_details: true,
  })
  assert.equal(sent?.headers.authorization, `Bearer ${token}`)
  assert.deepEqual(await server.queueItem('30433700'), {
    number: 30433700,
    executable: { number: 30433700 },
  })
  upstream.exchange({
    request: dispatches,
    status: 422,
    body: { message: 'Unexpected inputs provided: ["x"]' },
  })
  await assert.rejects(server.start(job, { config: {}, parameters: { x: '1' } }), {
    status: 400,
    message: /on "main" \(422\): Unexpected inputs/,
  })
  upstream.exchange({
    request: dispatches,
    status: 403,
    body: { message: 'Resource not accessible by personal access token' },
  })
  await assert.rejects(server.start(job, { config: {}, parameters: {} }), {
    status: 400,
    message: /not accessible.*Actions: read and write/,
  })
})

test('without run details, each dispatch finds a run of its own', async (t) => {
  const { server, upstream } = await startActions(t, 'github-actions/workflows.json')
  upstream.exchange({ request: dispatches, status: 204 })
  const items = [
    await server.start(job, { config: {}, parameters: {} }),
    await server.start(job, { config: {}, parameters: {} }),
  ]
  assert.deepEqual(await server.queueItem(items[0] ?? ''), { number: null, executable: null })
  const run = (id: number, branch: string) => ({
    id,
    path: '.github/workflows/build.yml',
    event: 'workflow_dispatch',
    head_branch: branch,
  })
  upstream.exchange({
    request:
      'GET /repos/shop/web/actions/workflows/build.yml/runs?per_page=100&event=workflow_dispatch',
    body: {
      workflow_runs: [
        run(30433703, 'main'),
        run(30433702, 'main'),
        run(30433701, 'other'),
        run(30433600, 'main'),
      ],
    },
  })
  const found = [
    await server.queueItem(items[0] ?? ''),
    await server.queueItem(items[1] ?? ''),
    await server.queueItem(items[0] ?? ''),
  ]
  assert.deepEqual(numbersOf(found.map((each) => each ?? {})), [30433702, 30433703, 30433702])
  const foreign = Buffer.from(JSON.stringify(['other/vault/build.yml', 'main', 1])).toString(
    'base64url',
  )
  for (const item of ['bm90IGFuIGl0ZW0', foreign])
    assert.equal(await server.queueItem(item), undefined)
})

test('a stop cancels the run, and one that has ended is no failure', async (t) => {
  const { server, upstream } = await startActions(t, 'github-actions/workflows.json')
  await server.stop(job, '30433643', 30433643)
  await server.stop(job, '30433642', 0)
  const cancelled = upstream.taken().filter((line) => line.includes('/cancel'))
  assert.deepEqual(cancelled, [
    'POST /repos/shop/web/actions/runs/30433643/cancel 202',
    'POST /repos/shop/web/actions/runs/30433642/cancel 409',
  ])
})

test('archives of a run hold its property file', async (t) => {
  const { server, upstream } = await startActions(t, 'github-actions/workflows.json')
  const archives = (await server.artifacts(job, 30433642)) ?? []
  assert.deepEqual(
    archives.map(({ fileName }) => fileName),
    ['site.zip', 'build.zip'],
  )
  assert.equal(
    archives[1]?.['reference'],
    `${upstream.url}/repos/shop/web/actions/artifacts/12/zip`,
  )
  const properties = await server.properties(job, 30433642, 'build.properties')
  assert.deepEqual(properties, { version: '1.2.3', image: 'registry.example/web:1.2.3' })
  const list = 'GET /repos/shop/web/actions/runs/30433642/artifacts?per_page=100'
  const named = { id: 12, name: 'build', size_in_bytes: 556, expired: false }
  upstream.exchange({ request: `${list}&name=build`, body: { artifacts: [named] } })
  upstream.taken()
  assert.deepEqual(await server.properties(job, 30433642, 'build.properties'), properties)
  assert.ok(
    !upstream.taken().some((line) => line.startsWith(`${list} `)),
    'by the name of the archive',
  )
  await assert.rejects(server.properties(job, 30433642, 'none.yml'), {
    status: 413,
    message: /site is larger.*archive of its own/,
  })
})

test('the log of a run joins those of its jobs', async (t) => {
  const { server } = await startActions(t, 'github-actions/workflows.json')
  const log = await server.output(job, 30433642)
  assert.match(
    log ?? '',
    /^=== test \(success\) ===\n.*12 tests passed\n\n=== package \(success\) ===\n\[the build server has no log/,
  )
  assert.equal(await server.output('shop/other/build.yml', 30433642), undefined)
  assert.equal(await server.output('nonsense', 1), undefined)
})

test('the store that GitHub redirects to gets no token', async (t) => {
  const { server, upstream } = await startActions(t, 'github-actions/workflows.json')
  const store = await startUpstream(t, {
    'GET /test.txt': new Reply(200, 'from the store', { 'content-type': 'text/plain' }),
  })
  const request = 'GET /repos/shop/web/actions/jobs/399444496/logs'
  upstream.exchange({ request, status: 302, headers: { location: `${store.url}/test.txt?sig=x` } })
  assert.match((await server.output(job, 30433642)) ?? '', /from the store/)
  const [download] = store.requests
  assert.equal(download?.headers.authorization, undefined)
})

test('one conditional request polls all workflows of a repository', async (t) => {
  const { server, upstream, signal, warnings } = await startActions(
    t,
    'github-actions/workflows.json',
    {
      repositories: ['shop/web', 'shop/gone'],
    },
  )
  const recent = await server.recentBuilds(signal, new Map())
  assert.deepEqual(
    recent.map((each) => [each.job, numbersOf(each.builds)]),
    [[job, [30433643, 30433642]]],
  )
  assert.match(warnings.join(''), /builds of shop\/gone cannot be polled/)
  upstream.taken()
  assert.deepEqual(await server.recentBuilds(signal, new Map()), [])
  assert.deepEqual(upstream.taken().toSorted(), [
    'GET /repos/shop/gone/actions/runs?per_page=100 404',
    'GET /repos/shop/web/actions/runs?per_page=100 304',
  ])
  assert.doesNotMatch(warnings.join(''), new RegExp(token))
})

test('a poll reads as many pages as are new, and what ran before a restart', async (t) => {
  const { server, upstream, signal } = await startActions(t, 'github-actions/workflows.json')
  const run = (id: number) => ({
    id,
    path: '.github/workflows/build.yml',
    status: 'completed',
    conclusion: 'success',
  })
  const runs = (from: number, count: number) =>
    Array.from({ length: count }, (_each, index) => run(from - index))
  const list = 'GET /repos/shop/web/actions/runs?per_page=100'
  const second = {
    request: `${list}&page=2`,
    body: { workflow_runs: [run(201), ...runs(200, 99)] },
  }
  upstream.exchange(
    { request: list, headers: { etag: '"1"' }, body: { workflow_runs: runs(300, 100) } },
    second,
  )
  upstream.exchange({ request: 'GET /repos/shop/web/actions/runs/90', body: run(90) })
  const positions = new Map([[job, { upTo: 89, sent: [110], open: [90], marks: [] }]])
  const [recent] = await server.recentBuilds(signal, positions)
  const numbers = numbersOf(recent?.builds) ?? []
  assert.deepEqual(
    [numbers.length, numbers[0], numbers.at(-1), new Set(numbers).size],
    [200, 300, 90, 200],
  )
  assert.deepEqual(
    upstream.taken().filter((line) => line.includes('page=3')),
    [],
  )
  assert.deepEqual(await server.recentBuilds(signal, positions), [])

  // A page that cannot be read is read again.
  upstream.exchange({
    request: list,
    headers: { etag: '"2"' },
    body: { workflow_runs: runs(500, 100) },
  })
  upstream.exchange({ ...second, status: 500 })
  await assert.rejects(server.recentBuilds(signal, positions), { status: 500 })
  upstream.exchange(second)
  const [again] = await server.recentBuilds(signal, positions)
  assert.equal(again?.builds[0]?.['number'], 500)
})

test('polls pause while the rate limit is nearly used up', async (t) => {
  const { server, upstream, signal, pass, context } = await startActions(
    t,
    'github-actions/workflows.json',
  )
  const reset = Math.ceil(context.now() / 1000) + 600
  const request = 'GET /repos/shop/web/actions/runs?per_page=100'
  const headers = {
    'x-ratelimit-limit': '5000',
    'x-ratelimit-remaining': '20',
    'x-ratelimit-reset': String(reset),
  }
  upstream.exchange({ request, headers, body: { workflow_runs: [] } })
  await server.recentBuilds(signal, new Map())
  await assert.rejects(server.recentBuilds(signal, new Map()), {
    status: 503,
    message: /"hub" is nearly used up: polls pause until/,
  })
  assert.equal(upstream.taken().length, 1)
  assert.equal(await server.start(job, { config: {}, parameters: {} }), '30433700')
  pass(601_000)
  await server.recentBuilds(signal, new Map())
})

test('calls wait until the rate limit allows them', async (t) => {
  const { server, upstream, pass } = await startActions(t, 'github-actions/workflows.json')
  const request = 'GET /repos/shop/web/actions/runs/30433642'
  upstream.exchange({
    request,
    status: 403,
    headers: { 'retry-after': '120' },
    body: { message: 'secondary rate limit' },
  })
  await assert.rejects(server.build(job, 30433642), {
    status: 503,
    message: /"hub" limits calls for 120 s/,
  })
  await assert.rejects(server.build(job, 30433642), { status: 503 })
  assert.equal(upstream.taken().length, 1)
  upstream.exchange({
    request,
    body: { id: 30433642, path: '.github/workflows/build.yml', status: 'queued' },
  })
  pass(121_000)
  assert.equal((await server.build(job, 30433642))?.['building'], true)
})

test('a server that is away fails polls with one reason', async (t) => {
  const repositories = [
    'shop/web',
    ...Array.from({ length: 20 }, (_each, index) => `shop/other-${index}`),
  ]
  const { server, upstream, signal, warnings } = await startActions(
    t,
    'github-actions/workflows.json',
    { repositories },
  )
  const stopping = new AbortController()
  upstream.answer(() => {
    stopping.abort()
    return silence
  })
  await assert.rejects(server.recentBuilds(stopping.signal, new Map()))
  const { server: away } = await startActions(t, 'github-actions/workflows.json', {
    host: { token, address: 'http://127.0.0.1:1' },
  })
  await assert.rejects(away.recentBuilds(signal, new Map()), {
    status: 503,
    message: /"hub" cannot be reached/,
  })
  assert.deepEqual(warnings, [])
})

test('a renamed repository is read further, and starts say so', async (t) => {
  const { server, upstream } = await startActions(t, 'github-actions/workflows.json')
  const moved = { status: 301, headers: { location: '/repositories/7/runs/1' } }
  upstream.exchange({ request: 'GET /repos/shop/web/actions/runs/1', ...moved })
  upstream.exchange({
    request: 'GET /repositories/7/runs/1',
    body: { id: 1, path: '.github/workflows/build.yml', status: 'queued' },
  })
  assert.equal((await server.build(job, 1))?.['number'], 1)
  upstream.exchange({
    request: dispatches,
    status: 307,
    headers: { location: '/repositories/7/dispatches' },
  })
  await assert.rejects(server.start(job, { config: {}, parameters: {} }), {
    status: 400,
    message: /has been renamed/,
  })
})

test('a GitHub App fetches its token, and again before it expires', async (t) => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const appPrivateKey = privateKey.export({ type: 'pkcs8', format: 'pem' })
  const host = { appId: 'Iv1.1', appInstallationId: '42', appPrivateKey }
  const { server, upstream, context, pass } = await startActions(
    t,
    'github-actions/workflows.json',
    { host },
  )
  const expires_at = new Date(context.now() + 3_600_000).toISOString()
  upstream.exchange({
    request: 'POST /app/installations/42/access_tokens',
    status: 201,
    body: { token: 'ghs-1', expires_at },
  })
  await Promise.all([server.build(job, 30433642), server.build(job, 30433642)])
  const tokens = () =>
    upstream.requests.filter(({ path }) => path.endsWith('/access_tokens')).length
  assert.equal(tokens(), 1)
  assert.equal(upstream.requests.at(-1)?.headers.authorization, 'Bearer ghs-1')
  pass(3_400_000)
  await server.build(job, 30433642)
  assert.equal(tokens(), 2)
})

test('Gitea finds the run of a dispatch and cannot always cancel', async (t) => {
  const { server, upstream } = await startActions(t, 'gitea-actions/runs.json')
  assert.deepEqual(await server.jobs(), [job])
  const item = await server.start(job, { config: {}, parameters: {} })
  const sent = upstream.requests.find(({ method }) => method === 'POST')
  assert.deepEqual(JSON.parse(sent?.body ?? ''), { ref: 'main', inputs: {}, return_run_info: true })
  assert.equal(sent?.headers.authorization, `token ${token}`)
  const runs = [
    { id: 73, path: 'other.yml@refs/heads/main', event: 'workflow_dispatch', head_branch: 'main' },
    { id: 72, path: 'build.yml@refs/heads/main', event: 'workflow_dispatch', head_branch: 'main' },
  ]
  upstream.exchange({
    request: 'GET /api/v1/repos/shop/web/actions/runs?limit=50&event=workflow_dispatch',
    body: { workflow_runs: runs },
  })
  assert.deepEqual(await server.queueItem(item ?? ''), { number: 72, executable: { number: 72 } })
  const build = await server.build(job, 71)
  assert.deepEqual([build?.['result'], build?.['duration']], ['FAILURE', 120_000])
  await assert.rejects(server.stop(job, '71', 71), {
    status: 400,
    message: /web UI: https:\/\/git.example\/shop\/web\/actions\/runs\/71/,
  })
})

test('a short ref that is no branch of Gitea is a tag', async (t) => {
  const { server, upstream } = await startActions(t, 'gitea-actions/runs.json')
  const request =
    'POST /api/v1/repos/shop/web/actions/workflows/build.yml/dispatches?return_run_details=true'
  upstream.answer(({ body, method }) => {
    if (method === 'GET') return new Reply(404)
    return JSON.parse(body).ref === 'refs/tags/v1'
      ? new Reply(200, { workflow_run_id: 74 })
      : new Reply(404, { message: 'no ref' })
  })
  assert.equal(await server.start(job, { config: {}, parameters: { ref: 'v1' } }), '74')
  await assert.rejects(
    server.start(job, { config: {}, parameters: { ref: 'refs/heads/v1' } }),
    /\(404\): no ref.*branch or tag/,
  )
  const posts = upstream.requests.filter(({ method }) => method === 'POST')
  assert.equal(posts.length, 3)
  assert.equal(`POST ${posts[0]?.path}?${posts[0]?.query}`, request)
})

test('Forgejo lists no workflows, and names the run of a dispatch', async (t) => {
  const { server, signal } = await startActions(t, 'gitea-actions/forgejo.json')
  assert.deepEqual(await server.jobs(), [job])
  assert.equal(await server.start(job, { config: {}, parameters: {} }), '1707')
  const [recent] = await server.recentBuilds(signal, new Map())
  const [build] = recent?.builds ?? []
  assert.deepEqual(
    [recent?.job, build?.['number'], build?.['result'], build?.['duration']],
    [job, 1706, 'SUCCESS', 120_000],
  )
})

test('a stage starts a workflow, and its end is an event', async (t) => {
  const upstream = await startExchangeServer(t, 'github-actions/workflows.json')
  const hosts = [{ name: 'hub', address: upstream.url, repositories: ['shop/web'], token }]
  const keys = githubActionsType.keys.parse({ 'github-actions.hosts': hosts })
  const settings = githubActionsType.toSettings(keys, {
    problem: assert.fail,
    notice: assert.fail,
    isSet: () => true,
  })
  const events: JsonObject[] = []
  const backends = await startBackends(t, [buildsBackend], {
    now: () => Date.parse('2026-05-04T09:03:00Z'),
    settings: {
      buildServers: { github_actions: settings ?? {} },
      builds: { ...defaults.builds, pollSeconds: 0.02 },
    },
    others: async (_service, { body }) => {
      events.push(body as JsonObject)
      return { status: 200, body: {} }
    },
  })
  const started = await backends.ask('igor', 'PUT', `/masters/hub/jobs/${job}?tier=b`, 1000)
  assert.equal(String(started.body), '30433700')
  const refused = await backends.ask('igor', 'PUT', `/masters/hub/jobs/${job}?tier=z`, 1000)
  assert.equal(refused.status, 400)
  assert.deepEqual((await backends.ask('igor', 'GET', '/masters?type=github_actions')).body, [
    'hub',
  ])
  await waitUntil(() => events.length > 0, 'the event of the run that has ended')
  const { details, content } = events[0] ?? {}
  assert.deepEqual(details, { type: 'build', source: 'igor' })
  const { type, project } = content as {
    type: string
    project: { name: string; lastBuild: JsonObject }
  }
  assert.deepEqual(
    [type, project.name, project.lastBuild['number']],
    ['GITHUB_ACTIONS', job, 30433642],
  )

  // Run again, it keeps its number.
  const run = {
    id: 30433642,
    path: '.github/workflows/build.yml',
    status: 'completed',
    conclusion: 'success',
    run_attempt: 2,
  }
  upstream.exchange({
    request: 'GET /repos/shop/web/actions/runs?per_page=100',
    headers: { etag: '"2"' },
    body: { workflow_runs: [run] },
  })
  await waitUntil(() => events.length > 1, 'the event of the second attempt')
  assert.equal(fieldAt(events[1], 'content', 'project', 'lastBuild', 'attempt'), 2)
  assert.notEqual(events[1]?.['eventId'], events[0]?.['eventId'])
})
