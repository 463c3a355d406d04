/** The answers of the hosts are written after their documentation; they are no recordings. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../packages/base/json/values.ts'
import { artifactAccountTypes } from '../../../../packages/providers/artifacts/all.ts'
import { Reply, startUpstream } from '../../../support/upstream.ts'
import { startArtifacts } from '../artifact-service.ts'

interface HostCase {
  readonly id: string
  readonly account: JsonObject
  readonly path: string
  readonly version?: string
  /** Of the request. */
  readonly query: string
  readonly header: readonly [name: string, value: string]
}

const basic = `Basic ${Buffer.from('al:word').toString('base64')}`

const cases: readonly HostCase[] = [
  {
    id: 'github',
    account: { token: 't0ken' },
    path: '/repos/shop/deploy/contents/k8s/app.yml',
    version: 'v1',
    query: 'ref=v1',
    header: ['authorization', 'Bearer t0ken'],
  },
  {
    id: 'github',
    account: { username: 'al', password: 'word' },
    path: '/api/v3/repos/shop/deploy/contents/app.yml',
    query: '',
    header: ['authorization', basic],
  },
  {
    id: 'gitlab',
    account: { token: 't0ken' },
    path: '/api/v4/projects/shop%2Fdeploy/repository/files/k8s%2Fapp.yml/raw',
    query: 'ref=HEAD',
    header: ['private-token', 't0ken'],
  },
  {
    id: 'gitlab',
    account: { token: 't0ken' },
    path: '/api/v4/projects/7/repository/files/app.yml/raw',
    version: 'release/1',
    query: 'ref=release%2F1',
    header: ['private-token', 't0ken'],
  },
  {
    id: 'bitbucket',
    account: { username: 'al', password: 'word' },
    path: '/2.0/repositories/shop/deploy/src/main/app.yml',
    version: 'main',
    query: '',
    header: ['authorization', basic],
  },
  {
    id: 'bitbucket',
    account: { token: 't0ken' },
    path: '/rest/api/1.0/projects/SHOP/repos/deploy/raw/app.yml',
    version: 'main',
    query: 'at=main',
    header: ['authorization', 'Bearer t0ken'],
  },
  {
    id: 'gitea',
    account: { token: 't0ken' },
    path: '/api/v1/repos/shop/deploy/raw/app.yml',
    version: 'v1',
    query: 'ref=v1',
    header: ['authorization', 'token t0ken'],
  },
]

const settingsOf = (id: string, ...accounts: JsonObject[]) => ({
  [`artifacts.${id}.enabled`]: true,
  [`artifacts.${id}.accounts`]: accounts,
})

for (const { id, account, path, version, query, header } of cases) {
  test(`a file of ${id} is fetched from ${path}`, async (t) => {
    const host = await startUpstream(t, {
      [`GET ${path}`]: new Reply(200, 'a: 1', { 'content-type': 'text/plain' }),
    })
    const service = await startArtifacts(t, {
      settings: settingsOf(
        id,
        { name: 'own', hosts: ['127.0.0.1'], ...account },
        { name: 'other', hosts: ['x.example'], ...account },
      ),
    })
    const artifact = { type: `${id}/file`, reference: `${host.url}${path}`, version }
    const { bytes, message } = await service.fetch({ ...artifact, artifactAccount: 'own' })
    assert.equal(bytes.toString(), 'a: 1', message)
    assert.equal(host.requests[0]?.query, query)
    assert.equal(host.requests[0]?.headers[header[0]], header[1])

    await service.fetch({ ...artifact, artifactAccount: 'other' })
    assert.equal(host.requests[1]?.headers[header[0]], undefined)

    const missing = await service.fetch({
      ...artifact,
      artifactAccount: 'other',
      reference: artifact.reference.replace('app', 'none'),
    })
    assert.equal(missing.status, 404)
    assert.match(
      missing.message,
      new RegExp(`no credentials for 127\\.0\\.0\\.1: see artifacts\\.${id}\\.accounts`),
    )
    const wrong = await service.fetch({
      ...artifact,
      artifactAccount: 'own',
      reference: `${host.url}/shop/deploy/app.yml`,
    })
    assert.equal(wrong.status, 400)
    assert.match(wrong.message, /needs the address of a file in the API of/)
  })
}

test('a folder of GitHub is no file', async (t) => {
  const path = '/repos/shop/deploy/contents/k8s'
  const answer = new Reply(200, [{ type: 'file', name: 'app.yml' }], {
    'content-type': 'application/json; charset=utf-8',
  })
  const host = await startUpstream(t, { [`GET ${path}`]: answer })
  const service = await startArtifacts(t, { settings: settingsOf('github', { name: 'own' }) })
  const { status, message } = await service.fetch({
    type: 'github/file',
    artifactAccount: 'own',
    reference: `${host.url}${path}`,
  })
  assert.equal(status, 400)
  assert.match(message, /is no file/)
})

test('credentials have hosts that get them', () => {
  const problems: string[] = []
  const report = {
    problem: (_key: string, text: string) => problems.push(text),
    notice: () => {},
    isSet: () => false,
  }
  for (const [id, expected] of [
    ['github', []],
    ['gitea', ['"own" has credentials and no hosts that get them: list its hosts']],
  ] as const) {
    problems.length = 0
    const type = artifactAccountTypes.find((each) => each.id === id)
    type?.toSettings(type.keys.parse(settingsOf(id, { name: 'own', token: 't' })) as never, report)
    assert.deepEqual(problems, expected)
  }
})
