/** A Jenkins behind the gateway. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startGateway } from '../../../support/gateway.ts'
import { Reply } from '../../../support/upstream.ts'
import { startJenkins } from './fake-jenkins.ts'

test('builds-scenario 25, 26 and 28: a Jenkins through the gateway', async (t) => {
  const jenkins = await startJenkins(t)
  const masters = [
    {
      name: 'ci-main',
      address: jenkins.url,
      username: 'ada',
      password: 't0ken',
      permissions: { READ: ['ops'] },
    },
  ]
  const url = await startGateway(t, {
    jenkins: { enabled: true, masters },
    services: { igor: { baseUrl: 'embedded' } },
  })
  const read = async (path: string) => {
    const answer = await fetch(`${url}${path}`)
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
  }

  assert.deepEqual((await read('/v3/builds')).body, ['ci-main'])
  const builds = await read('/v3/builds/ci-main/builds?job=team/job/svc')
  assert.deepEqual(
    [builds.status, (builds.body as unknown as { number: number }[]).map(({ number }) => number)],
    [200, [3]],
  )
  assert.equal((await read('/v2/builds/ci-main/build/6/app')).body['id'], 'app-6')
  assert.equal((await read('/v3/builds/ci-main/builds')).status, 400)
  const missing = await read('/v3/builds/none/jobs')
  assert.equal(missing.status, 404)
  assert.match(String(missing.body['message']), /none/)
  jenkins.replace('GET /job/app/api/json', new Reply(500))
  assert.equal((await read('/v3/builds/ci-main/builds?job=app')).status, 500)
})
