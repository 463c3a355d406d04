import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { list } from 'tar'
import type { JsonObject } from '../../../packages/base/json/values.ts'
import type { ProviderType } from '../../../packages/providers/provider-type.ts'
import { startGitServer } from '../../support/git-server.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'
import { Reply, startUpstream } from '../../support/upstream.ts'
import { startArtifacts } from './artifact-service.ts'

const gitSettings = (...accounts: JsonObject[]) => ({
  'artifacts.git-repo.enabled': true,
  'artifacts.git-repo.accounts': [{ name: 'git' }, ...accounts],
})
const httpSettings = (...accounts: JsonObject[]) => ({
  'artifacts.http.enabled': true,
  'artifacts.http.accounts': accounts,
})

async function namesIn(archive: Buffer): Promise<string[]> {
  const folder = createFolder('archive')
  const names: string[] = []
  writeFileSync(join(folder, 'a.tgz'), archive)
  await list({ file: join(folder, 'a.tgz'), onReadEntry: ({ path }) => names.push(path) })
  removeFolder(folder)
  return names
}

test('accounts of artifacts are listed with their types', async (t) => {
  const plain = await startArtifacts(t)
  assert.deepEqual(await plain.credentials(), [
    { name: 'embedded-artifact', types: ['embedded/base64'] },
  ])
  const all = await startArtifacts(t, {
    settings: { ...gitSettings(), ...httpSettings({ name: 'web' }) },
  })
  assert.deepEqual(await all.credentials(), [
    { name: 'embedded-artifact', types: ['embedded/base64'] },
    { name: 'git', types: ['git/repo', 'git/file'] },
    { name: 'no-auth-http-account', types: ['http/file'] },
    { name: 'web', types: ['http/file'] },
  ])
})

test('artifacts that a provider deploys are offered and cannot be fetched', async (t) => {
  const type = {
    id: 'cloud',
    migrations: [],
    artifactTypes: ['cloud/thing'],
    open: () => ({ id: 'cloud', start() {}, close() {} }),
  }
  const service = await startArtifacts(t, { types: [type as unknown as ProviderType] })
  const account = { name: 'cloud', types: ['cloud/thing'] }
  assert.deepEqual((await service.credentials()) as unknown[], [
    { name: 'embedded-artifact', types: ['embedded/base64'] },
    account,
  ])
  const { status, message } = await service.fetch({ type: 'cloud/thing', artifactAccount: 'cloud' })
  assert.equal(status, 400)
  assert.match(message, /object that is deployed/)
})

test('a missing account is rejected with those that would do', async (t) => {
  const service = await startArtifacts(t, { settings: httpSettings() })
  const cases: [artifact: JsonObject, says: RegExp][] = [
    [{ type: 'http/file' }, /names none.*no-auth-http-account/],
    [{ type: 'http/file', artifactAccount: 'web' }, /"web" does not exist.*no-auth-http-account/],
    [
      { type: 'http/file', artifactAccount: 'embedded-artifact' },
      /does not fetch artifacts of type http\/file/,
    ],
    [{ type: 'git/repo', artifactAccount: 'git' }, /artifacts\.git-repo/],
    [{ type: 'embedded/base64' }, /"reference"/],
  ]
  for (const [artifact, says] of cases) {
    const { status, message } = await service.fetch(artifact)
    assert.equal(status, 400)
    assert.match(message, says)
  }
})

test('a file is fetched over HTTP, with the credentials of its account', async (t) => {
  const source = await startUpstream(t, {
    'GET /a.yml': new Reply(200, 'a: 1\n'),
    'GET /moved.yml': new Reply(302, undefined, { location: '/a.yml' }),
    'GET /closed': new Reply(403, 'no'),
  })
  const folder = createFolder('credentials')
  t.after(() => removeFolder(folder))
  writeFileSync(join(folder, 'login'), 'al:word\n')
  const web = { name: 'web', usernamePasswordFile: join(folder, 'login'), hosts: ['127.0.0.1'] }
  const service = await startArtifacts(t, {
    settings: httpSettings(web, { ...web, name: 'elsewhere', hosts: ['git.example'] }),
  })
  const ask = (path: string, artifactAccount: string) =>
    service.fetch({ type: 'http/file', artifactAccount, reference: `${source.url}${path}` })

  assert.deepEqual((await ask('/a.yml', 'no-auth-http-account')).bytes.toString(), 'a: 1\n')
  assert.equal((await ask('/moved.yml', 'web')).bytes.toString(), 'a: 1\n')
  assert.equal((await ask('/a.yml', 'elsewhere')).status, 200)
  const basic = `Basic ${Buffer.from('al:word').toString('base64')}`
  assert.deepEqual(
    source.requests.map(({ path, headers }) => [path, headers.authorization]),
    [
      ['/a.yml', undefined],
      ['/moved.yml', basic],
      ['/a.yml', basic],
      ['/a.yml', undefined],
    ],
  )
  const absent = await ask('/none', 'web')
  assert.equal(absent.status, 404)
  assert.match(absent.message, /\/none answered with 404/)
  const closed = await ask('/closed', 'web')
  assert.equal(closed.status, 502)
  assert.match(closed.message, /answered with 403.*credentials/)
})

test('artifacts are fetched from addresses that the restrictions allow', async (t) => {
  const service = await startArtifacts(t, {
    settings: { ...gitSettings(), ...httpSettings() },
    isLoopbackAllowed: false,
  })
  for (const [type, artifactAccount] of [
    ['http/file', 'no-auth-http-account'],
    ['git/repo', 'git'],
  ]) {
    const { status, message } = await service.fetch({
      type,
      artifactAccount,
      reference: 'http://127.0.0.1:9/x',
    })
    assert.equal(status, 400)
    assert.match(message, /must not call 127\.0\.0\.1:9.*allowedAddresses/)
  }
})

test('a repository is fetched as an archive of a branch, a tag or a commit', async (t) => {
  const repository = await startGitServer(t)
  const first = repository.commit({ 'deploy/base/app.yml': 'one', 'README.md': 'r' })
  repository.git('tag', 'v1')
  repository.commit({ 'deploy/base/app.yml': 'two', 'deploy/new.yml': 'n', link: '->README.md' })
  const service = await startArtifacts(t, { settings: gitSettings() })
  const ask = (version: string | null, subPath?: string) =>
    service.fetch({
      type: 'git/repo',
      artifactAccount: 'git',
      reference: repository.url,
      version,
      metadata: { subPath },
    })

  for (const [version, subPath, names] of [
    [
      null,
      undefined,
      ['README.md', 'deploy/', 'deploy/base/', 'deploy/base/app.yml', 'deploy/new.yml', 'link'],
    ],
    ['main', './deploy/base/', ['deploy/', 'deploy/base/', 'deploy/base/app.yml']],
    ['v1', undefined, ['README.md', 'deploy/', 'deploy/base/', 'deploy/base/app.yml']],
    [first.slice(0, 10), 'README.md', ['README.md']],
  ] as const) {
    const { status, bytes, message } = await ask(version, subPath)
    assert.equal(status, 200, message)
    assert.deepEqual(await namesIn(bytes), names, String(version))
  }
  for (const [version, subPath, status] of [
    ['nope', undefined, 404],
    ['main', 'nope', 404],
    ['--upload-pack=touch x', undefined, 400],
    ['main', '../x', 400],
  ] as const) {
    assert.equal((await ask(version, subPath)).status, status, `${version} ${subPath}`)
  }
})

test('one file of a repository is fetched as it is', async (t) => {
  const repository = await startGitServer(t)
  repository.commit({ 'deploy/app.yml': 'kind: Pod\n' })
  const service = await startArtifacts(t, { settings: gitSettings() })
  const file = { type: 'git/file', artifactAccount: 'git', reference: repository.url }
  assert.equal(
    (await service.fetch({ ...file, name: 'deploy/app.yml' })).bytes.toString(),
    'kind: Pod\n',
  )
  const byName = repository.url.replace('127.0.0.1', 'localhost')
  assert.equal(
    (await service.fetch({ ...file, reference: byName, name: 'deploy/app.yml' })).status,
    200,
  )
  assert.equal(
    (await service.fetch({ ...file, name: 'app', metadata: { subPath: 'deploy/app.yml' } })).status,
    200,
  )
  assert.equal((await service.fetch({ ...file, name: 'deploy/none.yml' })).status, 404)
  assert.equal((await service.fetch(file)).status, 400)
})

test('a private repository gets the token of its account', async (t) => {
  const expected = `Basic ${Buffer.from('x-access-token:t0ken').toString('base64')}`
  const repository = await startGitServer(t, expected)
  repository.commit({ a: 'a' })
  const service = await startArtifacts(t, {
    settings: gitSettings(
      { name: 'private', token: 't0ken', hosts: ['127.0.0.1'] },
      { name: 'other', token: 't0ken', hosts: ['x.example'] },
    ),
  })
  const artifact = { type: 'git/file', reference: repository.url, name: 'a' }
  const answer = await service.fetch({ ...artifact, artifactAccount: 'private' })
  assert.equal(answer.status, 200, answer.message)
  assert.ok(repository.authorizations.every((given) => given === expected))
  for (const artifactAccount of ['git', 'other']) {
    const { status, message } = await service.fetch({ ...artifact, artifactAccount })
    assert.equal(status, 502)
    assert.doesNotMatch(message, /t0ken/)
  }
  assert.ok(repository.authorizations.slice(-2).every((given) => given === undefined))
})

test('addresses that are no repository of another machine are rejected', async (t) => {
  const service = await startArtifacts(t, { settings: gitSettings() })
  for (const reference of [
    '/etc',
    'file:///etc',
    'ext::sh -c id',
    '--upload-pack=x',
    'git://git.example/a',
    'git@git.example:a',
  ]) {
    const { status, message } = await service.fetch({
      type: 'git/repo',
      artifactAccount: 'git',
      reference,
    })
    assert.equal(status, 400, reference)
    assert.match(message, /no address of a repository|sshPrivateKeyFilePath/)
  }
})
