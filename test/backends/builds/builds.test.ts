import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { buildServerTypes } from '../../../packages/builds/build-servers.ts'
import { buildsBackend } from '../../../packages/builds/builds.ts'
import { buildServerDeclarations } from '../../../packages/builds/declarations.ts'
import { startBackends } from '../../support/backends.ts'

async function startBuilds(t: TestContext) {
  const backends = await startBackends(t, [buildsBackend])
  return (method: string, path: string, body?: unknown) => backends.ask('igor', method, path, body)
}

test('what opens a build server is listed for each that is declared', () => {
  const [declared, opened] = [buildServerDeclarations, buildServerTypes].map((all) =>
    all.map(({ id }) => id),
  )
  assert.deepEqual(opened, declared)
})

test('builds-scenario 3: without a build server the list of hosts is empty', async (t) => {
  const ask = await startBuilds(t)
  for (const path of [
    '/masters',
    '/masters/',
    '/masters?type=',
    '/masters?type=jenkins',
    '/masters?type=GITLAB_CI',
  ]) {
    assert.deepEqual(await ask('GET', path), { status: 200, body: [] }, path)
  }
})

test('builds-scenario 2: an unknown type of build server is refused', async (t) => {
  const ask = await startBuilds(t)
  const answer = await ask('GET', '/masters?type=bogus')
  assert.equal(answer.status, 400)
  assert.match(String((answer.body as Record<string, unknown>)['message']), /bogus/)
})

for (const [method, path] of [
  ['GET', '/jobs/none'],
  ['GET', '/jobs/none/'],
  ['GET', '/jobs/none/team/job/svc'],
  ['GET', '/builds/all/none/app'],
  ['GET', '/builds/all/none/my%20app'],
  ['GET', '/builds/status/6/none/app'],
  ['GET', '/builds/status/6/none?job=team/job/svc'],
  ['GET', '/builds/properties/6/out.yml/none/app'],
  ['GET', '/builds/artifacts/6/none?job=app'],
  ['GET', '/builds/queue/none/41'],
  ['PUT', '/masters/none/jobs/team/job/svc?ENV=prod'],
  ['PUT', '/masters/none/jobs/app/stop/41/7'],
  ['PATCH', '/masters/none/jobs/app/update/7'],
] as const) {
  test(`builds-scenario 5: ${method} ${path} is answered 404 and names the host`, async (t) => {
    const ask = await startBuilds(t)
    const { status, body } = await ask(method, path, method === 'GET' ? undefined : 1000)
    assert.equal(status, 404)
    assert.equal((body as Record<string, unknown>)['status'], 404)
    assert.match(String((body as Record<string, unknown>)['message']), /"none"/)
  })
}

test('a start with a plain-text body answers 404', async (t) => {
  const backends = await startBackends(t, [buildsBackend])
  const answer = await fetch(`${backends.url('igor')}/masters/none/jobs/app`, {
    method: 'PUT',
    headers: { 'content-type': 'text/plain' },
    body: 'since noon',
  })
  assert.equal(answer.status, 404)
})

test('builds-scenario 13: a build number that is no number is refused', async (t) => {
  const ask = await startBuilds(t)
  assert.equal((await ask('GET', '/builds/status/abc/ci-main/app')).status, 400)
})

test('lists of other integrations are empty, single things are missing', async (t) => {
  const ask = await startBuilds(t)
  for (const path of [
    '/buildServices',
    '/artifactory/names',
    '/nexus/names',
    '/concourse/c/teams',
    '/gcb/accounts',
    '/ci/builds',
  ]) {
    assert.deepEqual(await ask('GET', path), { status: 200, body: [] }, path)
  }
  for (const path of [
    '/artifacts/maven/lib',
    '/artifacts/maven/lib/1',
    '/gcb/triggers/a',
    '/codebuild/projects/a',
    '/ci/builds/1/output',
  ]) {
    assert.equal((await ask('GET', path)).status, 404, path)
  }
  assert.equal((await ask('GET', '/github/p/r/compareCommits?from=a')).status, 400)
  assert.equal((await ask('GET', '/github/p/r/compareCommits?from=a&to=b')).status, 404)
})
