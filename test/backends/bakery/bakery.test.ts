import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { bakeryBackend } from '../../../packages/providers/bakery/bakery.ts'
import { startBackends } from '../../support/backends.ts'

async function startBakery(t: TestContext) {
  const backends = await startBackends(t, [bakeryBackend])
  return (method: string, path: string, body?: unknown) => backends.ask('rosco', method, path, body)
}

test('bakery-scenario 2: without a builder there are no bake options', async (t) => {
  const ask = await startBakery(t)
  assert.deepEqual(await ask('GET', '/bakeOptions'), { status: 200, body: [] })
})

test("bakery-scenario 4: options of a disabled provider are missing, in the orchestrators' format", async (t) => {
  const ask = await startBakery(t)
  for (const path of ['/bakeOptions/gce', '/bakeOptions/gce/baseImages/nope']) {
    const { status, body } = await ask('GET', path)
    const { error, messages, ...rest } = body as { error: string; messages: string[] }
    assert.equal(status, 404)
    assert.deepEqual(rest, { status: 'NOT_FOUND' })
    assert.equal(typeof error, 'string')
    assert.equal(messages.length, 1)
  }
  const image = await ask('GET', '/bakeOptions/docker/baseImages/nope')
  assert.match((image.body as { messages: string[] }).messages[0]!, /nope/)
})

const answers: [
  scenario: number,
  method: string,
  path: string,
  body: unknown,
  status: number,
  says: RegExp,
][] = [
  [17, 'POST', '/api/v1/global/bake', { package: 'app', cloud_provider_type: 'gce' }, 400, /"gce"/],
  [17, 'POST', '/api/v1/global/bake?rebake=1', { cloud_provider_type: 'zzz' }, 400, /"zzz"/],
  [18, 'POST', '/api/v1/global/bake', {}, 400, /"local"/],
  [20, 'GET', '/api/v1/global/logs/unknown', undefined, 404, /unknown/],
  [21, 'GET', '/api/v1/global/status/unknown', undefined, 400, /unknown/],
  [21, 'GET', '/api/v1/global/bake/unknown', undefined, 400, /unknown/],
  [23, 'GET', '/api/v1/global/cancel/unknown', undefined, 400, /unknown/],
  [29, 'POST', '/api/v2/manifest/bake/FOO', {}, 400, /FOO/],
  [29, 'POST', '/api/v2/manifest/bake/toString', {}, 400, /toString/],
  [29, 'POST', '/api/v2/manifest/bake/HELM3', { inputArtifacts: [] }, 400, /inputArtifacts/],
  [29, 'POST', '/api/v2/manifest/bake/kustomize4', {}, 400, /inputArtifact/],
  [29, 'POST', '/api/v2/manifest/bake/HELM3', { inputArtifacts: 1 }, 400, /inputArtifacts/],
  [
    29,
    'POST',
    '/api/v2/manifest/bake/CF',
    {},
    400,
    /"CF" is none of HELM2, HELM3, .*services\.rosco\.baseUrl/,
  ],
]

for (const [scenario, method, path, body, status, says] of answers) {
  test(`bakery-scenario ${scenario}: ${method} ${path} with ${JSON.stringify(body)} is answered ${status} and says why`, async (t) => {
    const ask = await startBakery(t)
    const answer = await ask(method, path, body)
    assert.equal(answer.status, status)
    assert.match(String((answer.body as Record<string, unknown>)['message']), says)
  })
}
