import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { fieldAt, type JsonObject } from '../../../../packages/base/json/values.ts'
import { startGateway } from '../../../support/gateway.ts'
import { Reply, startUpstream } from '../../../support/upstream.ts'
import { waitFor, waitUntil } from '../../../support/wait-until.ts'

const chart = Buffer.from([0, 255, 31, 139, 10, 13, 128])

test('clients of the gateway list, fetch and bind artifacts of a repository', async (t) => {
  const index = `entries:\n  web:\n  - version: 1.0.0\n    digest: ${hash('sha256', chart, 'hex')}\n    urls: [web-1.0.0.tgz]\n`
  const repository = await startUpstream(t, {
    'GET /index.yaml': new Reply(200, index),
    'GET /web-1.0.0.tgz': new Reply(200, chart),
  })
  const artifacts = {
    helm: { enabled: true, accounts: [{ name: 'charts', repository: repository.url }] },
  }
  const url = await startGateway(t, { artifacts }, { embedded: true })
  const read = async (path: string) => (await (await fetch(url + path)).json()) as JsonObject
  const send = (method: string, path: string, body: unknown) =>
    fetch(url + path, {
      method,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })

  const artifact = { type: 'helm/chart', artifactAccount: 'charts', name: 'web', version: '1.0.0' }
  assert.deepEqual(await read('/artifacts/account/charts/names?type=helm%2Fchart'), ['web'])
  assert.deepEqual(
    await read('/artifacts/account/charts/versions?type=helm%2Fchart&artifactName=web'),
    ['1.0.0'],
  )
  const fetched = await send('PUT', '/artifacts/fetch', artifact)
  assert.equal(fetched.status, 200)
  assert.deepEqual(Buffer.from(await fetched.arrayBuffer()), chart)
  const missing = await send('PUT', '/artifacts/fetch', { ...artifact, name: 'none' })
  assert.equal(missing.status, 404)
  assert.match(
    ((await missing.json()) as JsonObject)['message'] as string,
    /has no chart none 1\.0\.0/,
  )

  await send('POST', '/tasks', {
    application: 'shop',
    description: 'create',
    job: [{ type: 'createApplication', application: { name: 'shop', email: 'a@b.example' } }],
  })
  const expectedArtifacts = [
    {
      id: 'chart',
      matchArtifact: { type: 'helm/chart', name: 'web' },
      useDefaultArtifact: true,
      defaultArtifact: artifact,
    },
  ]
  const stages = [{ refId: '1', name: 'bind', type: 'bindArtifact', expectedArtifacts }]
  await waitUntil(
    async () =>
      (await send('POST', '/pipelines', { application: 'shop', name: 'deploy', stages })).ok,
    'the pipeline',
  )
  assert.equal((await send('POST', '/pipelines/shop/deploy', {})).status, 202)
  const ended = await waitFor(async () => {
    const [run] = (await read('/applications/shop/pipelines')) as unknown as {
      status: string
      stages: JsonObject[]
    }[]
    return run?.status === 'SUCCEEDED' ? run : undefined
  }, 'the execution')
  assert.deepEqual(fieldAt(ended.stages[0], 'outputs', 'artifacts'), [artifact])
})
