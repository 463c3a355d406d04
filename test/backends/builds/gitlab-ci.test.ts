import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../packages/base/json/values.ts'
import { gitlabCiType } from '../../../packages/builds/gitlab-ci/gitlab-ci.ts'
import { createServerContext, startExchangeServer } from './exchanges.ts'

const token = 'glpat-of-the-test'

async function startGitlab(t: TestContext) {
  const gitlab = await startExchangeServer(t, 'gitlab-ci/pipelines.json')
  const surroundings = createServerContext()
  const master = {
    name: 'lab',
    address: gitlab.url,
    privateToken: token,
    limitByMembership: true,
    limitByOwnership: false,
  }
  const keys = gitlabCiType.keys.parse({ 'gitlab-ci.enabled': true, 'gitlab-ci.masters': [master] })
  const settings = gitlabCiType.toSettings(keys, {
    problem: assert.fail,
    notice: assert.fail,
    isSet: () => true,
  })
  assert.ok(settings !== undefined)
  const [server] = gitlabCiType.open(settings, surroundings.context)
  assert.ok(server !== undefined)
  t.after(() => server.close?.())
  return { ...surroundings, gitlab, server, signal: new AbortController().signal }
}

const numbersOf = (builds: readonly JsonObject[] | undefined) => builds?.map(({ number }) => number)

test('projects of GitLab and their branches are jobs', async (t) => {
  const { server, gitlab } = await startGitlab(t)
  assert.deepEqual(await server.jobs(), ['shop/web', 'shop/web/docs'])
  const job = await server.job('shop/web')
  assert.deepEqual([job?.['displayName'], job?.['buildable']], ['Shop / Web', true])
  assert.deepEqual(numbersOf(await server.builds('shop/web')), [48, 47])
  assert.deepEqual(numbersOf(await server.builds('shop/web/main')), [47])
  assert.equal(await server.builds('shop/unknown'), undefined)
  // As newer versions of igor name them.
  const numbered = (id: number, path: string) => ({
    request: `GET /api/v4/projects/${id}`,
    body: { id, path_with_namespace: path },
  })
  gitlab.exchange(numbered(7, 'shop/web'), numbered(9, 'shop/notes'))
  assert.deepEqual(numbersOf(await server.builds('7')), [48, 47])
  assert.deepEqual(numbersOf(await server.builds('7/main')), [47])
  assert.equal((await server.build('7', 47))?.['id'], '7-47')
  assert.equal(await server.start('7', { config: {}, parameters: {} }), '49')
  for (const other of ['9', '99']) assert.equal(await server.builds(other), undefined)
})

test('a pipeline of GitLab is a build with its commit', async (t) => {
  const { server } = await startGitlab(t)
  const build = await server.build('shop/web/main', 47)
  const { building, result, timestamp, duration, scm } = build ?? {}
  assert.deepEqual(
    [building, result, timestamp, duration],
    [false, 'SUCCESS', '1777885210000', 98_000],
  )
  assert.deepEqual(scm, [
    {
      name: 'shop/web',
      branch: 'main',
      sha1: 'a91957a858320c0e17f3a0eca7cfacbff50ea29a',
      remoteUrl: 'https://gitlab.example/shop/web.git',
      committer: 'Ada',
      message: 'Sell hats\n',
      timestamp: '2026-05-04T08:59:00.000+00:00',
      compareUrl:
        'https://gitlab.example/shop/web/-/commit/a91957a858320c0e17f3a0eca7cfacbff50ea29a',
    },
  ])
  assert.equal(await server.build('shop/web/other', 47), undefined)
  assert.equal(await server.build('shop/web', 999), undefined)
})

test('a start at GitLab sends variables, and a stop cancels', async (t) => {
  const { server, gitlab } = await startGitlab(t)
  assert.equal(await server.start('shop/web', { config: {}, parameters: { TIER: 'a' } }), '49')
  const started = gitlab.requests.find(({ method }) => method === 'POST')
  assert.deepEqual(JSON.parse(started?.body ?? ''), {
    ref: 'main',
    variables: [{ key: 'TIER', value: 'a' }],
  })
  assert.deepEqual(await server.queueItem('49'), { number: 49, executable: { number: 49 } })
  await server.stop('shop/web', '48', 48)
  // GitLab does not know it: nothing is left to cancel.
  await server.stop('shop/web', '999', 0)
  await server.describe('shop/web', 47, 'deployed')
  assert.equal(gitlab.requests.at(-1)?.body, '{"name":"deployed"}')
  await assert.rejects(
    server.start('shop/web/docs/old', { config: {}, parameters: {} }),
    /shop\/web\/docs on "old" \(400\).*Reference not found/,
  )
  const moved = {
    status: 405,
    body: { message: 'Non GET methods are not allowed for moved projects' },
  }
  gitlab.exchange({ request: 'POST /api/v4/projects/shop%2Fweb%2Fdocs/pipeline', ...moved })
  await assert.rejects(server.start('shop/web/docs/old', { config: {}, parameters: {} }), {
    status: 400,
    message: /been renamed/,
  })
  await assert.rejects(server.stop('shop/web', '', 999), {
    status: 400,
    message: /needs the scope "api"/,
  })
})

test('properties of a pipeline come from archives, else from logs', async (t) => {
  const { server } = await startGitlab(t)
  const fromFile = await server.properties('shop/web', 47, 'build.properties')
  assert.deepEqual(fromFile, { version: '1.2.3', image: 'registry.example/web:1.2.3' })
  const fromLog = await server.properties('shop/web', 47, 'other.properties')
  assert.deepEqual(fromLog, { image: 'registry.example/web:47', chart: 'web-1.2.3' })
  assert.equal(await server.properties('shop/web', 999, 'build.properties'), undefined)
})

test('archives and logs of a pipeline are those of its jobs', async (t) => {
  const { server, gitlab } = await startGitlab(t)
  const [archive, ...others] = (await server.artifacts('shop/web', 47)) ?? []
  assert.deepEqual(others, [])
  assert.deepEqual(
    [archive?.['fileName'], archive?.['name']],
    ['artifacts.zip', 'package/artifacts.zip'],
  )
  assert.equal(
    archive?.['reference'],
    `${gitlab.url}/api/v4/projects/shop%2Fweb/jobs/502/artifacts`,
  )
  const jobs = Array.from({ length: 100 }, (_each, index) => ({
    id: 400 + index,
    name: 'early',
    stage: 'test',
    status: 'success',
  }))
  const list = 'GET /api/v4/projects/shop%2Fweb/pipelines/48/jobs?per_page=100'
  const last = [{ id: 500, name: 'late', artifacts_file: { filename: 'late.zip' } }]
  gitlab.exchange({ request: list, body: jobs }, { request: `${list}&page=2`, body: last })
  assert.equal((await server.artifacts('shop/web', 48))?.[0]?.['name'], 'late/late.zip')
  const log = (await server.output('shop/web', 47)) ?? ''
  assert.ok(log.indexOf('test / test (success)') < log.indexOf('build / package (success)'), log)
  assert.match(
    log,
    /Running tests[\s\S]*=== build \/ child \(success\) ===\n\[the build server has no log of this job\]/,
  )
})

test('unchanged pipelines are polled with 304, and failing projects harm no other', async (t) => {
  const { server, gitlab, signal, warnings } = await startGitlab(t)
  const first = await server.recentBuilds(signal, new Map())
  assert.deepEqual(
    first.map(({ job, builds }) => [job, numbersOf(builds)]),
    [
      ['shop/web', [48, 47]],
      ['7', [48, 47]],
      ['shop/web/feature/cart', [48]],
      ['shop/web/main', [47]],
    ],
  )
  assert.equal(warnings.length, 1)
  assert.match(
    warnings[0] ?? '',
    /builds of shop\/web\/docs cannot be polled: .*403.*gitlab-ci.masters.*scope/,
  )
  gitlab.taken()
  assert.deepEqual(await server.recentBuilds(signal, new Map()), [])
  assert.ok(
    gitlab
      .taken()
      .includes('GET /api/v4/projects/shop%2Fweb/pipelines?order_by=id&sort=desc&per_page=100 304'),
  )
  assert.equal(warnings.length, 1)
  for (const { headers } of gitlab.requests) assert.equal(headers['private-token'], token)
})

test('a pipeline that waits has ended for triggers, not for stages', async (t) => {
  const { server, gitlab } = await startGitlab(t)
  const states = async (status: string) => {
    gitlab.exchange({
      request: 'GET /api/v4/projects/shop%2Fweb/pipelines/47',
      body: { id: 47, status, ref: 'main' },
    })
    const list = 'GET /api/v4/projects/shop%2Fweb/pipelines?order_by=id&sort=desc&per_page=100'
    gitlab.exchange({ request: list, body: [{ id: 47, status, ref: 'main' }] })
    const [listed] = (await server.builds('shop/web')) ?? []
    return [listed?.['result'], (await server.build('shop/web', 47))?.['building']]
  }
  assert.deepEqual(await states('manual'), ['NOT_BUILT', true])
  assert.deepEqual(await states('scheduled'), [undefined, true])
  assert.deepEqual(await states('skipped'), ['NOT_BUILT', false])
})

test('a pipeline that left the list is followed to its end', async (t) => {
  const { server, gitlab, signal } = await startGitlab(t)
  await server.recentBuilds(signal, new Map())
  const list = 'GET /api/v4/projects/shop%2Fweb/pipelines?order_by=id&sort=desc&per_page=100'
  const one = 'GET /api/v4/projects/shop%2Fweb/pipelines/48'
  gitlab.exchange(
    {
      request: list,
      headers: { etag: '"l2"' },
      body: [{ id: 50, status: 'success', ref: 'main' }],
    },
    { request: one, body: { id: 48, status: 'running', ref: 'feature/cart' } },
  )
  const positions = new Map([['shop/web', { upTo: 47, sent: [], open: [48], marks: [] }]])
  const second = await server.recentBuilds(signal, positions)
  assert.deepEqual(numbersOf(second.find(({ job }) => job === 'shop/web')?.builds), [50, 48])
  gitlab.exchange({ request: one, body: { id: 48, status: 'failed', ref: 'feature/cart' } })
  const third = await server.recentBuilds(signal, positions)
  assert.deepEqual(
    third.map(({ job, builds }) => [job, builds.map(({ result }) => result)]),
    [
      ['shop/web', ['FAILURE']],
      ['shop/web/feature/cart', ['FAILURE']],
    ],
  )
  assert.deepEqual(await server.recentBuilds(signal, positions), [])
})

test('settings of GitLab reject servers that would read everything', () => {
  const problems: string[] = []
  const report = {
    problem: (key: string, text: string) => void problems.push(`${key} ${text}`),
    notice: () => {},
    isSet: () => true,
  }
  const master = {
    name: 'lab',
    address: 'https://lab.example',
    limitByOwnership: false,
    permissions: { READ: ['dev'] },
    itemUpperThreshold: 50,
  }
  const keys = gitlabCiType.keys.parse({ 'gitlab-ci.enabled': true, 'gitlab-ci.masters': [master] })
  gitlabCiType.toSettings(keys, report)
  assert.match(problems.join(), /^gitlab-ci.masters "lab" would read all projects/)
  assert.equal(gitlabCiType.toSettings(gitlabCiType.keys.parse({}), report), undefined)
})
