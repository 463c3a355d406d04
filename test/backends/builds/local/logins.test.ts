/** What accounts give to builds: all to those of the branch of the configuration, and no login to others. */
import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { buildContainerImage } from '../../../../packages/builds/local/container-image.ts'
import { RunnerLog } from '../../../../packages/builds/local/runner-log.ts'
import { findProgram } from '../../../support/debian.ts'
import { startGitServer } from '../../../support/git-server.ts'
import { somePorts } from '../../../support/infrastructure.ts'
import {
  npmToken,
  packagePassword,
  proxyPassword,
  startPrivateRegistries,
} from '../../../support/private-registries.ts'
import { createFolder, removeFolder } from '../../../support/temporary-folder.ts'
import { secretValue, startLocalBuilds } from './support.ts'

const [busybox, buildah] = ['busybox', 'buildah'].map(findProgram)

const buildFile = `
jobs:
  main:
    steps:
      - 'env | sort; for name in GREETING SIGNED API_KEY HTTPS_PROXY PIP_INDEX_URL; do eval "echo $name is \\$$name."; done'
      - npm view left version
`

test('builds of other branches get no logins, unless the account says so', async (t) => {
  const registries = await startPrivateRegistries(t)
  const git = await startGitServer(t)
  git.commit({ '.fairlead/build.yml': buildFile })
  git.git('checkout', '--quiet', '-b', 'sly')
  git.commit({
    '.fairlead/build.yml':
      'jobs: { main: { environment: { A: secret:db-password }, steps: [env] } }',
  })
  git.git('branch', 'other', 'main')
  git.git('checkout', '--quiet', 'main')
  const ports = [await somePorts(t, 20), await somePorts(t, 20)]
  const given = {
    'ca-file': registries.authority,
    proxy: registries.proxy,
    registries: [
      { type: 'npm', url: `${registries.url}/npm/`, token: npmToken },
      {
        type: 'pip',
        url: `${registries.url}/pip/simple`,
        username: 'ci',
        password: packagePassword,
      },
    ],
    variables: { GREETING: 'hello', SIGNED: 'secret:db-password', API_KEY: 'key-of-the-api' },
  }
  const accounts = [
    { name: 'shut', ports: ports[0], ...given },
    { name: 'open', ports: ports[1], ...given, 'logins-for-all-branches': true },
  ]
  const repositories = accounts.map(({ name }) => ({
    name,
    account: name,
    repository: { url: git.url },
  }))
  const repository = { url: `${registries.direct}/shop.git`, account: 'git' }
  const jobs = [{ name: 'company', account: 'shut', repository, steps: ['cat README.md'] }]
  const login = { name: 'git', username: 'ci', password: packagePassword, hosts: ['127.0.0.1'] }
  const builds = await startLocalBuilds(t, {
    settings: { repositories, jobs },
    local: { accounts },
    artifacts: { 'git-repo.enabled': true, 'git-repo.accounts': [login] },
  })
  const build = async (job: string, query?: string) => {
    const { result, number } = await builds.build(job, query)
    const log = await builds.log(job, number)
    for (const text of [npmToken, packagePassword, proxyPassword, secretValue, 'key-of-the-api'])
      for (const form of [
        text,
        encodeURIComponent(text),
        Buffer.from(text).toString('base64').slice(0, -4),
      ])
        assert.ok(!log.includes(form), form)
    return { result, log }
  }

  const trusted = await build('shut/main')
  assert.equal(trusted.result, 'SUCCESS', trusted.log)
  assert.match(trusted.log, /^1\.0\.0$/m)
  assert.match(
    trusted.log,
    /^GREETING is hello\.\nSIGNED is \*{6}\.\nAPI_KEY is \*{6}\.\nHTTPS_PROXY is http:\/\/gate:\*{6}@127/m,
  )

  const before = registries.connects.length
  const other = await build('shut/main', 'branch=other')
  assert.equal(other.result, 'FAILURE', other.log)
  assert.match(
    other.log,
    /^GREETING is hello\.\nSIGNED is \.\nAPI_KEY is \.\nHTTPS_PROXY is http:\/\/127\.0\.0\.1:\d+\.\n/m,
  )
  assert.match(other.log, /^PIP_INDEX_URL is https:\/\/packages\.company\.example\/pip\/simple\.$/m)
  assert.equal(registries.connects.length, before, 'the proxy wants a login')

  const company = await build('company')
  assert.match(
    company.log,
    /^read me/m,
    'Fairlead itself fetches with the authorities of the account',
  )

  const sly = await build('shut/main', 'branch=sly')
  assert.match(
    sly.log,
    /secret:db-password is a login of the account shut, which builds of this branch do not get\. /,
  )

  const open = await build('open/main', 'branch=other')
  assert.equal(open.result, 'SUCCESS', open.log)
  assert.ok(registries.connects.length > before)
})

test('steps of a Dockerfile find the authorities', {
  skip: !(buildah && busybox) && 'buildah or busybox is not installed',
}, async (t) => {
  const work = createFolder('dockerfile')
  t.after(() => removeFolder(work))
  const [authorities, storage] = ['authorities.pem', 'storage.conf'].map((name) =>
    join(work, name),
  ) as [string, string]
  writeFileSync(authorities, 'of the company')
  writeFileSync(
    storage,
    `[storage]\ndriver = "vfs"\ngraphroot = "${work}/images"\nrunroot = "${work}/run"\n`,
  )
  const source = join(work, 'source')
  mkdirSync(source)
  copyFileSync(busybox ?? '', join(source, 'busybox'))
  const run = 'RUN ["/bin/busybox", "sh", "-c", "/bin/busybox grep company $SSL_CERT_FILE"]'
  writeFileSync(
    join(source, 'Dockerfile'),
    `FROM scratch\nCOPY busybox /bin/busybox\nARG SSL_CERT_FILE\n${run}\n`,
  )
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: work,
    CONTAINERS_STORAGE_CONF: storage,
    SSL_CERT_FILE: authorities,
  }
  const build = (variables: Readonly<Record<string, string>>) =>
    buildContainerImage(
      {
        kind: 'container-image',
        name: 'localhost/shop',
        tag: '1',
        file: undefined,
        context: '.',
        push: false,
      },
      { work, source, env: { ...env, ...variables }, log: new RunnerLog([]) },
    )
  await assert.rejects(build({}), /failed with exit code/)
  assert.deepEqual(await build({ NODE_EXTRA_CA_CERTS: authorities }), {
    name: 'localhost/shop',
    tag: '1',
  })
})
