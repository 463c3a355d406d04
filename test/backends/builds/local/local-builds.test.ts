import assert from 'node:assert/strict'
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { JsonObject } from '../../../../packages/base/json/values.ts'
import { startGitServer } from '../../../support/git-server.ts'
import { createFolder, removeFolder } from '../../../support/temporary-folder.ts'
import { waitFor, waitUntil } from '../../../support/wait-until.ts'
import { secretValue, startLocalBuilds } from './support.ts'

const buildFile = `
jobs:
  main:
    description: Builds the shop.
    parameters:
      TIER: { description: Where it goes., choices: [a, b] }
      WORD: { default: none }
    environment: { DB_PASSWORD: 'secret:db-password' }
    services:
      db: { run: ['${process.execPath}', service.mjs] }
    steps:
      - echo "tier $TIER word $WORD branch $GIT_BRANCH number $BUILD_NUMBER password $DB_PASSWORD"
      - run: [sh, -c, 'echo "asked $(cat answer)" && printf "word=%s\\npassword=%s\\n" "$WORD" "$DB_PASSWORD" > out/build.properties']
        name: Ask the service
        in: .
        environment: { EXTRA: extra }
      - test ! -e kept/seen || echo "cache was kept"; mkdir -p kept; touch kept/seen
    cache: [kept]
    archive: ['out/**', README.md]
    tests: { junit: ['reports/*.xml'] }
    publish: { image: shop, version: '1.{number}-{commit}', from: dist }
  failing:
    steps: [ 'echo before; echo "Error: seed file is missing"; exit 3', 'echo never', { shell: 'echo cleanup', always: true } ]
  slow:
    time-limit-minutes: 0.02
    steps: [ 'echo begins; sleep 60' ]
`
const files = {
  '.fairlead/build.yml': buildFile,
  'service.mjs':
    "import { createServer } from 'node:net'; createServer((s) => s.end()).listen(process.env.PORT, '127.0.0.1')",
  answer: 'yes',
  'out/old.txt': 'old',
  'README.md': 'read me',
  'dist/fairlead-image.yml': 'command: [sh, -c, "exit 0"]\n',
  'reports/one.xml':
    '<testsuite><testcase name="a"/><testcase name="b"><skipped/></testcase><testcase name="c>"><system-out><![CDATA[<failure/>]]></system-out></testcase></testsuite>',
}

test('builds of a repository run its steps, and leave files, tests and an image', async (t) => {
  const authorization = `Basic ${Buffer.from('x-access-token:token-1').toString('base64')}`
  const git = await startGitServer(t, authorization)
  const commit = git.commit(files)
  git.git('checkout', '--quiet', '-b', 'other')
  git.commit({ ...files, answer: 'no' })
  git.git('checkout', '--quiet', 'main')
  const builds = await startLocalBuilds(t, {
    settings: {
      repositories: [
        {
          name: 'web',
          application: 'web',
          repository: { url: git.url, account: 'git' },
          images: ['shop'],
        },
      ],
      'refresh-seconds': 0,
    },
    artifacts: {
      'git-repo.enabled': true,
      'git-repo.accounts': [{ name: 'git', token: 'token-1', hosts: ['127.0.0.1'] }],
    },
  })

  assert.deepEqual((await builds.ask('GET', '/masters')).body, ['local'])
  assert.deepEqual((await builds.ask('GET', '/jobs/local')).body, [
    'web/failing',
    'web/main',
    'web/slow',
  ])
  const job = (await builds.ask('GET', '/jobs/local/web/main')).body as JsonObject
  assert.equal(job['buildable'], true)
  const parameters = job['parameterDefinitionList'] as JsonObject[]
  assert.deepEqual(
    parameters.map(({ name, defaultValue, choices }) => [name, defaultValue, choices]),
    [
      ['TIER', 'a', ['a', 'b']],
      ['WORD', 'none', undefined],
    ],
  )
  const refused = await builds.ask('PUT', '/masters/local/jobs/web/main?TIER=z')
  assert.equal(refused.status, 400)
  assert.match(String((refused.body as JsonObject)['message']), /"z".*TIER.*a, b/)
  assert.equal((await builds.ask('PUT', '/masters/local/jobs/web/main?NOPE=z')).status, 400)

  const build = await builds.build('web/main', 'TIER=b&WORD=hello')
  const log = await builds.log('web/main', 1)
  assert.equal(build['result'], 'SUCCESS', log)
  assert.match(log, /tier b word hello branch main number 1 password \*{6}\n/)
  assert.match(log, /asked yes/)
  assert.ok(!log.includes(secretValue))
  assert.deepEqual(build['testResults'], [
    { failCount: 0, skipCount: 1, totalCount: 3, urlName: 'testReport' },
  ])
  const [scm] = build['scm'] as JsonObject[]
  assert.deepEqual([scm?.['branch'], scm?.['sha1'], scm?.['message']], ['main', commit, 'change'])
  const artifacts = (await builds.ask('GET', '/builds/artifacts/1/local/web/main'))
    .body as JsonObject[]
  const reference = `shop:1.1-${commit.slice(0, 7)}`
  assert.deepEqual(
    artifacts.map(({ type, reference: place }) => [type, place]),
    [
      ['local/image', reference],
      ['local/build-file', 'README.md'],
      ['local/build-file', 'out/build.properties'],
      ['local/build-file', 'out/old.txt'],
    ],
  )
  const fetched = await builds.infra.ask('PUT', '/artifacts/fetch', artifacts.at(-1))
  assert.deepEqual([fetched.status, fetched.body], [200, 'old'], 'an archived file is an artifact')
  assert.equal(
    (await builds.ask('GET', '/builds/file/1/local/web/main?path=out/../../x')).status,
    400,
  )
  assert.equal((await builds.ask('GET', '/builds/file/1/local/web/main?path=out/none')).status, 404)
  const properties = await builds.ask('GET', '/builds/properties/1/build.properties/local/web/main')
  assert.deepEqual(properties.body, { word: 'hello', password: '******' })
  assert.equal(
    (await builds.ask('GET', '/builds/properties/1/other.yml/local/web/main')).status,
    404,
  )
  const image = await builds.infra.read(`/local/images/shop/${reference.slice(5)}`)
  assert.equal(((image['attributes'] as JsonObject)['labels'] as JsonObject)['commit'], commit)

  const second = await builds.build('web/main', 'branch=other')
  const secondLog = await builds.log('web/main', 2)
  assert.equal(second['result'], 'SUCCESS', secondLog)
  assert.match(secondLog, /asked no/)
  assert.ok(!secondLog.includes('\ncache was kept'), 'another branch has another cache')
  await builds.build('web/main', 'branch=main')
  assert.match(await builds.log('web/main', 3), /\ncache was kept/)
  const [other] = second['scm'] as JsonObject[]
  assert.equal(other?.['branch'], 'other')
  const { body: changes } = await builds.ask(
    'GET',
    '/builds/changes/local/web/main?after=1&until=2',
  )
  const { branch: _branch, name: _name, remoteUrl: _url, ...change } = other ?? {}
  assert.deepEqual(changes, [change], 'commits that the second build has and the first one has not')

  const [failed, late] = await Promise.all([builds.build('web/failing'), builds.build('web/slow')])
  assert.equal(failed['result'], 'FAILURE')
  assert.match(await builds.log('web/failing', 1), /before\n[\s\S]*exit code 3[\s\S]*cleanup/)
  const { text, kind, line } = failed['cause'] as JsonObject
  assert.deepEqual([text, kind], ['Error: seed file is missing', 'configuration'])
  const lines = (await builds.log('web/failing', 1)).split('\n')
  assert.equal(lines[Number(line) - 1], text)
  assert.ok(!(await builds.log('web/failing', 1)).includes('never'))
  assert.equal(late['result'], 'FAILURE')
  assert.match(await builds.log('web/slow', 1), /time limit/)
  assert.deepEqual(builds.infra.builders().ids('build'), [])
  assert.ok(git.authorizations.some((sent) => sent === authorization))
  for (const name of ['backends.db', 'backends.db-wal']) {
    const content = readFileSync(join(builds.infra.dataDir, name))
    assert.ok(
      !content.includes(secretValue) && !content.includes('token-1'),
      `${name} has no secret`,
    )
  }
})

test('builds wait in a fair queue, are stopped, and go on after a restart', async (t) => {
  const [dataDir, folder] = [createFolder('builds-data'), createFolder('builds')]
  t.after(() => {
    removeFolder(dataDir)
    removeFolder(folder)
  })
  const gate = join(folder, 'go')
  const job = (name: string, application: string) => ({
    name,
    application,
    environment: { GATE: gate },
    steps: ['echo waits; until [ -e "$GATE" ]; do sleep 0.05; done; echo done'],
  })
  const settings = (owner: string) => ({
    jobs: [job('one', 'a'), job('two', 'b'), job('moved', owner)],
    'max-running': 1,
    readable: [folder],
  })
  const before = await startLocalBuilds(t, { settings: settings('c'), dataDir })
  const headers = { 'x-spinnaker-execution-id': 'E1', 'content-type': 'text/plain' }
  const first = await before.ask('PUT', '/masters/local/jobs/one', 1000, headers)
  assert.deepEqual(await before.ask('PUT', '/masters/local/jobs/one', 1000, headers), first)
  assert.equal(await before.numberOf(String(first.body)), 1)
  const later = [await before.start('one'), await before.start('one'), await before.start('two')]
  assert.equal(
    ((await before.ask('GET', `/builds/queue/local/${later[0]}`)).body as JsonObject)['number'],
    null,
  )
  assert.equal((await before.ask('GET', '/builds/queue/local/99')).status, 404)
  assert.deepEqual(await before.ask('PUT', `/masters/local/jobs/one/stop/${later[1]}/0`), {
    status: 200,
    body: true,
  })
  assert.deepEqual([(await before.ended('one', 2))['result']], ['ABORTED'])
  await waitFor(
    async () => (await before.log('one', 1)).includes('waits') || undefined,
    'the live log',
  )
  const [id = ''] = before.infra.builders().ids('build')
  const plan = join(dataDir, 'builds', 'kept', id, 'content')
  await waitFor(
    () => !existsSync(plan) || undefined,
    'the removal of what the runner has begun with',
  )
  const moved = await before.start('moved')
  await before.infra.stop()

  const after = await startLocalBuilds(t, { settings: settings('d'), dataDir })
  const running = (await after.ask('GET', '/builds/status/1/local/one')).body as JsonObject
  assert.deepEqual([running['building'], running['result']], [true, undefined])
  writeFileSync(gate, '')
  assert.equal((await after.ended('one', 1))['result'], 'SUCCESS')
  assert.match(await after.log('one', 1), /waits\ndone\nSUCCESS/)
  const last = await after.ended('one', await after.numberOf(String(later[0])))
  const other = await after.ended('two', await after.numberOf(String(later[2])))
  assert.ok(
    Number(other['timestamp']) <= Number(last['timestamp']),
    'the other application had its turn first',
  )
  const foreign = await after.ended('moved', await after.numberOf(moved))
  assert.equal(foreign['result'], 'FAILURE')
  assert.match(
    await after.log('moved', foreign['number']),
    /has another application or account since the build was started/,
  )
  const all = (await after.ask('GET', '/builds/all/local/one')).body as JsonObject[]
  assert.deepEqual(
    all.map(({ number }) => number),
    [3, 2, 1],
  )
})

const needsRoot = process.getuid?.() === 0 ? false : 'only root can become another user'

test('builds run as the user of their account, with a log of any size', {
  skip: needsRoot,
}, async (t) => {
  const folder = createFolder('builds')
  t.after(() => removeFolder(folder))
  const git = await startGitServer(t)
  git.commit({ 'a file': 'content' })
  const megabytes = 5
  const fastLog = `head -c ${megabytes * 1024 * 1024} /dev/zero | tr '\\0' x | fold -w 127; echo "the end"`
  writeFileSync(
    join(folder, 'buildah'),
    '#!/bin/sh\necho "buildah $*"\nfor f; do case $last in --digestfile) echo sha256:1 >"$f";; esac; last=$f; done\n',
    { mode: 0o755 },
  )
  chmodSync(folder, 0o755)
  const builds = await startLocalBuilds(t, {
    local: { accounts: [{ name: 'local', user: 'nobody' }] },
    settings: {
      'log-size': '6MB',
      readable: [folder],
      'kept-builds': 1,
      jobs: [
        // Git refuses repositories of other users unless it is told to trust them.
        {
          name: 'whoami',
          repository: { url: git.folder },
          cache: ['kept'],
          steps: [
            'id -un; cat "a file"; git remote get-url origin; mkdir -p kept; touch kept/x; echo "$PATH" > ../path',
          ],
        },
        { name: 'loud', environment: { DB_PASSWORD: 'secret:db-password' }, steps: [fastLog] },
        {
          name: 'flood',
          steps: [fastLog.replace(String(megabytes * 1024 * 1024), String(20 * 1024 * 1024))],
        },
        // Without buildah, which the machine may have.
        {
          name: 'container',
          environment: { PATH: join(folder, 'none') },
          steps: [{ 'container-image': { name: 'registry.example.com/shop' } }],
        },
        {
          name: 'fake',
          environment: { PATH: `${folder}:/usr/bin:/bin` },
          steps: [{ 'container-image': { name: 'registry.example.com/shop', tag: 'v{number}' } }],
        },
        { name: 'off', enabled: false, steps: ['true'] },
        { name: 'elsewhere', account: 'nope', steps: ['true'] },
      ],
    },
  })
  const whoami = await builds.build('whoami')
  const whoamiLog = await builds.log('whoami', 1)
  assert.equal(whoami['result'], 'SUCCESS', whoamiLog)
  assert.match(whoamiLog, /nobody\ncontent/)

  const [loud, flood, container, fake] = await Promise.all(
    ['loud', 'flood', 'container', 'fake'].map((job) => builds.build(job)),
  )
  assert.equal(loud?.['result'], 'SUCCESS')
  const keptLog = (job: string) => {
    const [id] = new DatabaseSync(join(builds.infra.dataDir, 'backends.db'))
      .prepare('SELECT id FROM builds_local_builds WHERE job = ?')
      .all(job)
    return join(builds.infra.dataDir, 'builds', 'kept', String(id?.['id']), 'log')
  }
  const lines = readFileSync(keptLog('loud'), 'utf8').split('\n')
  assert.equal(
    lines.filter((line) => /^x{127}$/.test(line)).length,
    Math.floor((megabytes * 1024 * 1024) / 127),
  )
  assert.match(await builds.log('loud', 1), /the end\nSUCCESS\n$/)
  assert.equal(flood?.['result'], 'SUCCESS')
  const flooded = statSync(keptLog('flood')).size
  assert.ok(flooded > 2.9 * 1024 * 1024 && flooded < 6.1 * 1024 * 1024, `${flooded} bytes`)
  assert.match(readFileSync(keptLog('flood'), 'utf8').slice(0, 200), /dropped.*log-size/)

  assert.equal(container?.['result'], 'FAILURE')
  assert.match(await builds.log('container', 1), /needs buildah, which is not installed/)
  assert.equal(fake?.['result'], 'SUCCESS', await builds.log('fake', 1))
  const [artifact] = (fake?.['artifacts'] ?? []) as JsonObject[]
  assert.deepEqual(
    [artifact?.['type'], artifact?.['reference'], artifact?.['metadata']],
    ['docker/image', 'registry.example.com/shop:v1', { digest: 'sha256:1' }],
  )

  for (const [job, says] of [
    ['off', /disabled|switched off/],
    ['elsewhere', /no account|does not exist/],
  ] as const) {
    const { status, body } = await builds.ask('PUT', `/masters/local/jobs/${job}`)
    assert.equal(status, 400)
    assert.match(String((body as JsonObject)['message']), says)
  }
  await builds.build('whoami')
  const kept = async () =>
    ((await builds.ask('GET', '/builds/all/local/whoami')).body as JsonObject[]).map(
      ({ number }) => number,
    )
  await waitUntil(async () => (await kept()).join() === '2', 'the removal of the build before')
})

test('starts and stops need WRITE on the account, EXECUTE on the application, and room', async (t) => {
  const accounts = [{ name: 'local', authorizations: ['READ', 'WRITE'] }]
  const application = (...authorizations: string[]) => [{ name: 'web', authorizations }]
  const builds = await startLocalBuilds(t, {
    views: {
      ann: { name: 'ann', accounts, applications: application('READ', 'EXECUTE') },
      bob: { name: 'bob', accounts, applications: application('READ') },
      eve: { name: 'eve', accounts: [], applications: application('READ', 'EXECUTE') },
      zed: { name: 'zed', accounts, applications: [] },
    },
    settings: {
      jobs: [
        { name: 'app', application: 'web', steps: ['sleep 600'] },
        { name: 'free', steps: ['true'] },
      ],
      'max-running': 1,
      'max-queued': 2,
    },
  })
  const as = (user: string, method: string, path: string, body?: unknown, execution = '') =>
    builds.ask(method, path, body, {
      'x-spinnaker-user': user,
      'x-spinnaker-execution-id': execution,
    })
  const start = (user: string, execution: string, job = 'app') =>
    as(user, 'PUT', `/masters/local/jobs/${job}`, undefined, execution)
  assert.equal((await start('bob', '1')).status, 403)
  assert.equal((await start('eve', '2')).status, 403)
  const begun = await start('ann', '3')
  assert.equal(begun.status, 200)
  await builds.numberOf(String(begun.body))
  assert.equal((await start('ann', '4')).status, 200)
  const statusAndMessage = ({ status, body }: { status: number; body: unknown }) =>
    `${status} ${String((body as JsonObject)['message'])}`
  assert.match(
    statusAndMessage(await start('ann', '5')),
    /^429 .*web.*\(builds\.local\.max-queued-per-application\)/,
  )
  assert.equal((await start('ann', '6', 'free')).status, 200, 'others have room')
  assert.match(
    statusAndMessage(await start('ann', '7', 'free')),
    /^429 .*\(builds\.local\.max-queued\)/,
  )

  const seen = async (user: string) => [
    (await as(user, 'GET', '/jobs/local')).body,
    ((await as(user, 'GET', '/builds/all/local/app')).body as JsonObject[]).length,
    (await as(user, 'GET', '/builds/status/1/local/app')).status,
    (await as(user, 'GET', '/ci/builds/app-1/output')).status,
    (await as(user, 'GET', '/builds/output/1/local/app')).status,
    (await as(user, 'GET', '/builds/file/1/local/app?path=a')).status,
    (await as(user, 'GET', '/builds/properties/1/a/local/app')).status,
  ]
  assert.deepEqual(await seen('bob'), [['app', 'free'], 1, 200, 200, 200, 404, 404])
  assert.deepEqual(await seen('zed'), [['free'], 0, 403, 403, 403, 403, 403])
  const file = {
    type: 'local/build-file',
    location: 'local',
    name: 'app',
    version: '1',
    reference: 'a',
  }
  assert.equal((await builds.infra.ask('PUT', '/artifacts/fetch', file, 'zed')).status, 403)
  assert.equal((await builds.infra.ask('PUT', '/artifacts/fetch', file, 'bob')).status, 404)
  for (const user of ['bob', 'eve', 'zed']) {
    assert.equal(
      (await as(user, 'PUT', '/masters/local/jobs/stop/1/1?jobName=app')).status,
      403,
      user,
    )
    assert.equal(
      (await as(user, 'PUT', '/masters/local/jobs/stop/2/0?jobName=app')).status,
      403,
      user,
    )
    const description = { description: 'mine' }
    assert.equal(
      (await as(user, 'PATCH', '/masters/local/jobs/app/update/1', description)).status,
      403,
      user,
    )
  }
  assert.equal((await as('ann', 'PUT', '/masters/local/jobs/stop/2/0?jobName=free')).status, 200)
  const item = (await as('ann', 'GET', '/builds/queue/local/2')).body as JsonObject
  assert.equal(item['number'], null, 'the item is of another job')
  assert.equal((await as('ann', 'PUT', '/masters/local/jobs/stop/2/0?jobName=app')).status, 200)
  assert.equal((await builds.ended('app', 2))['result'], 'ABORTED')

  assert.equal((await as('ann', 'PUT', '/masters/local/jobs/stop/1/1?jobName=app')).status, 200)
  assert.equal((await builds.ended('app', 1))['result'], 'ABORTED')
  assert.match(await builds.log('app', 1), /The build was stopped/)

  const forbidden = await startLocalBuilds(t, {
    bakery: { 'local.enabled': false },
    settings: { jobs: [{ name: 'app', steps: ['true'] }] },
  })
  const { status, body } = await forbidden.ask('PUT', '/masters/local/jobs/app')
  assert.equal(status, 400)
  assert.match(String((body as JsonObject)['message']), /bakery\.local\.enabled/)
})

test('a start needs the role of the artifact account that fetches the checkout', async (t) => {
  const view = { accounts: [{ name: 'local', authorizations: ['READ', 'WRITE'] }] }
  const applications = [{ name: 'web', authorizations: ['EXECUTE'] }]
  const repository = (account: string) => ({ url: 'http://127.0.0.1:1/web.git', account })
  const builds = await startLocalBuilds(t, {
    views: {
      ann: { ...view, name: 'ann', applications, roles: [{ name: 'bank' }] },
      bob: { ...view, name: 'bob', applications },
    },
    settings: {
      jobs: ['open', 'vault'].map((name) => ({
        name,
        repository: repository(name),
        steps: ['true'],
      })),
    },
    artifacts: {
      'git-repo.enabled': true,
      'git-repo.accounts': [{ name: 'open' }, { name: 'vault', permissions: { READ: ['bank'] } }],
    },
  })
  for (const [user, job, status] of [
    ['ann', 'vault', 200],
    ['bob', 'vault', 403],
    ['bob', 'open', 200],
  ] as const) {
    const headers = { 'x-spinnaker-user': user, 'x-spinnaker-execution-id': `${user} ${job}` }
    const started = await builds.ask('PUT', `/masters/local/jobs/${job}`, undefined, headers)
    assert.equal(started.status, status, `${user} ${job} ${JSON.stringify(started.body)}`)
  }
})
