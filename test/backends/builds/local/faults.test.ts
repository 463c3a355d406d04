/** Builds of this machine while the disk, the agent, Fairlead or a repository fails. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import pino from 'pino'
import { PortError } from '../../../../packages/base/port-error.ts'
import { BuildFiles } from '../../../../packages/builds/local/build-files.ts'
import {
  BuildStore,
  type LocalBuild,
  localBuildMigrations,
} from '../../../../packages/builds/local/build-store.ts'
import { type FinishParts, finishBuild } from '../../../../packages/builds/local/finish-build.ts'
import { JobCatalog, parseBuildFile } from '../../../../packages/builds/local/job-catalog.ts'
import type { JobDefinition } from '../../../../packages/builds/local/job-definition.ts'
import { LocalBuilds } from '../../../../packages/builds/local/local-builds.ts'
import { checkCommands } from '../../../../packages/builds/local/prepare-build.ts'
import { RepositoryReader } from '../../../../packages/builds/local/repository.ts'
import type { LocalBuildSettings } from '../../../../packages/builds/local/settings.ts'
import type { SecretValues } from '../../../../packages/ports/secrets.ts'
import { AccountVariables } from '../../../../packages/providers/local/outgoing/account-variables.ts'
import { startGitServer } from '../../../support/git-server.ts'
import { createFolder, removeFolder } from '../../../support/temporary-folder.ts'
import { waitFor } from '../../../support/wait-until.ts'

const log = pino({ level: 'silent' })
const megabyte = 1024 * 1024

function folderFor(t: TestContext): string {
  const folder = createFolder('build-faults')
  t.after(() => removeFolder(folder))
  return folder
}

function jobOf(text: string): JobDefinition {
  return parseBuildFile(`jobs: { main: ${text} }`, 'build.yml').jobs['main'] as JobDefinition
}

const queued: LocalBuild = {
  id: 'build-1',
  job: 'main',
  state: 'QUEUED',
  number: undefined,
  application: '',
  account: 'local',
  parameters: { API_TOKEN: 'hunter22' },
  user: 'ann',
  createdMs: 1,
}

test('files of a successful build are kept, or the build has failed', async () => {
  const end = (exitCode: number, fault: Error) => {
    const files = { keepFiles: () => Promise.reject(fault) } as unknown as BuildFiles
    const parts = { files, settings: {}, context: { log } } as unknown as FinishParts
    const state = {
      hasEnded: true,
      hasBegun: true,
      exitCode,
      reason: undefined,
      folder: '/nonexistent',
    }
    return finishBuild({ ...queued, item: 1 }, state, parts)
  }
  const fullDisk = Object.assign(new Error('no space'), { code: 'ENOSPC' })
  await assert.rejects(end(0, fullDisk), fullDisk, 'it is tried again')
  const { result, reason } = await end(0, new Error('tar: out: Permission denied'))
  assert.equal(result, 'FAILURE')
  assert.match(String(reason), /archived files cannot be read: tar: out: Permission denied/)
  assert.equal((await end(1, fullDisk)).result, 'FAILURE')
})

test('a secret in a command fails the build with the way to pass it', () => {
  for (const text of [
    '{ steps: [{ run: [deploy, secret:x] }] }',
    '{ steps: ["deploy secret:{x}"] }',
    '{ steps: [ls], services: { db: { shell: "db secret:{x}" } } }',
  ]) {
    assert.throws(
      () => checkCommands('main', jobOf(text)),
      /"main" has secret:x in the command.*"environment".*"\$NAME"/,
    )
  }
  checkCommands('main', jobOf('{ steps: [{ shell: "ls $X", environment: { X: secret:x } }] }'))
})

/** Builds whose agent is a stub, in a database that outlives them. */
function openBuilds(t: TestContext) {
  const db = new DatabaseSync(':memory:')
  for (const script of localBuildMigrations) db.exec(script)
  const store = new BuildStore(db)
  const agent = { isAway: false, started: [] as LocalBuild['parameters'][] }
  const builders = {
    ids: () => [],
    look: () => undefined,
    folderOf: () => '/nonexistent',
    remove: () => {},
    start: (id: string) => agent.started.push(store.byId(id)?.parameters ?? {}),
    logPart: async () =>
      agent.isAway ? Promise.reject(new Error('the agent is away')) : undefined,
  }
  const reveal = async <T>(value: T) => ({ value, secrets: [], versions: [] })
  const variables = new AccountVariables({
    accounts: [],
    dataDir: '/nonexistent',
    secrets: { reveal } as unknown as SecretValues,
  })
  const options = {
    context: { log, now: () => 1, ports: { secrets: { reveal } } },
    settings: {
      maxRunning: 1,
      logBytes: 1000,
      keptBuilds: 10,
      keptBytes: megabyte,
      timeLimitMs: 1000,
      readable: [],
    },
    machine: { builders, variables, confineFile: async (command: string[]) => command },
    catalog: {
      find: async (name: string) => ({
        name,
        account: 'local',
        definition: jobOf('{ parameters: { API_TOKEN: {} }, steps: [ls] }'),
      }),
    },
    repositories: { close: () => {} },
    store,
    files: new BuildFiles(folderFor(t)),
    caches: { open: () => undefined, trim: async () => {} },
    changed: () => {},
  }
  const open = () =>
    new LocalBuilds(options as unknown as ConstructorParameters<typeof LocalBuilds>[0])
  return { store, agent, open }
}

test('a build that is prepared once more still has its parameters', async (t) => {
  const { store, agent, open } = openBuilds(t)
  const { item } = store.add(queued)
  const builds = open()
  builds.start()
  const ended = await waitFor(() => {
    const build = store.item(item)
    return build?.state === 'ENDED' ? build : undefined
  }, 'the end of the build')
  await builds.close()
  assert.deepEqual(
    agent.started,
    [{ API_TOKEN: 'hunter22' }],
    'as stored when the runner is started',
  )
  assert.deepEqual(ended.parameters, { API_TOKEN: '******' })
})

test('a stopped build is never launched, and keeps its log until the agent answers', async (t) => {
  const { store, agent, open } = openBuilds(t)
  const build = store.add(queued)
  agent.isAway = true
  const before = open()
  await before.abort(build, 'The build was stopped.')
  assert.equal(store.item(build.item)?.state, 'RUNNING')
  await before.close()
  agent.isAway = false
  const after = open()
  after.start()
  const ended = await waitFor(() => {
    const found = store.item(build.item)
    return found?.state === 'ENDED' ? found : undefined
  }, 'the end of the build')
  await after.close()
  assert.deepEqual(
    [ended.result, ended.reason, agent.started],
    ['ABORTED', 'The build was stopped.', []],
  )
})

test('a log that breaks off is not kept as a whole one', async (t) => {
  const files = new BuildFiles(folderFor(t))
  const read = async (offset: number) =>
    offset === 0
      ? { output: 'half', offset: 0, nextOffset: 4, endOffset: 8, lostBytes: 0 }
      : undefined
  await assert.rejects(
    files.keepLog('build-1', read, { maxBytes: 100, lastLine: 'SUCCESS' }),
    /byte 4 of 8/,
  )
  assert.equal(files.logOf('build-1', 100), undefined)
})

test('no key of a repository takes the place of another job', async (t) => {
  const folder = folderFor(t)
  const [outer, inner] = [await startGitServer(t), await startGitServer(t)]
  outer.commit({
    '.fairlead/build.yml':
      'jobs: { bank/deploy: { steps: [ls] }, bank/new: { steps: [ls] }, site/deploy: { steps: [ls] }, own: { steps: [ls] } }',
  })
  inner.commit({ '.fairlead/build.yml': 'jobs: { deploy: { steps: [ls] } }' })
  const owned = (name: string, application: string, url: string) => ({
    ...{ name, application, account: 'local', repository: { url }, file: '.fairlead/build.yml' },
  })
  const sources = [owned('all', 'mine', outer.folder), owned('all/bank', 'bank', inner.folder)]
  const jobs = [owned('all/site/deploy', 'site', inner.folder)]
  const settings = { jobs, sources, refreshMs: 60_000 } as unknown as LocalBuildSettings
  const repositories = new RepositoryReader({ accounts: [], maxBytes: megabyte, sandbox: 'auto' })
  const catalog = new JobCatalog({ settings, repositories, folder: join(folder, 'reading'), log })
  const expected = { 'all/bank/deploy': 'bank', 'all/own': 'mine', 'all/site/deploy': 'site' }

  for (const [name, application] of Object.entries(expected))
    assert.equal((await catalog.find(name))?.application, application)
  assert.equal(await catalog.find('all/bank/new'), undefined)
  const listed = (await catalog.jobs()).map(({ name, application }) => [name, application])
  assert.deepEqual(listed, Object.entries(expected))
})

test('repositories are bounded on disk, and read again for a new job', async (t) => {
  const folder = folderFor(t)
  const git = await startGitServer(t)
  const declares = (name: string) => ({
    '.fairlead/build.yml': `jobs: { ${name}: { steps: [ls] } }`,
  })
  git.commit(declares('test'))
  const source = (name: string, url: string) => ({
    name,
    application: undefined,
    account: 'local',
    repository: { url },
    file: '.fairlead/build.yml',
  })
  const sources = [source('web', git.folder), source('gone', join(folder, 'gone'))]
  const settings = { jobs: [], sources, refreshMs: 60_000 } as unknown as LocalBuildSettings
  const repositories = new RepositoryReader({ accounts: [], maxBytes: megabyte, sandbox: 'auto' })
  const catalog = new JobCatalog({ settings, repositories, folder: join(folder, 'reading'), log })
  assert.equal((await catalog.jobs()).length, 1)
  git.commit(declares('main'))
  assert.equal((await catalog.find('web/main'))?.name, 'web/main')
  assert.equal(await catalog.find('web/other'), undefined)
  assert.match(
    catalog.describeAbsence('web/other'),
    /"web\/other" does not exist\. Its repository declares web\/main \(read \d+ s/,
  )
  assert.equal(await catalog.find('gone/main'), undefined)
  assert.match(
    catalog.describeAbsence('gone/main'),
    /because its repository cannot be read: .*gone.*builds\.local\.repositories/s,
  )
  assert.match(catalog.describeAbsence('main'), /builds\.local\.jobs/)

  git.commit({ big: randomBytes(2 * megabyte).toString('latin1') })
  const places = { bare: join(folder, 'bare'), home: join(folder, 'home') }
  await assert.rejects(
    repositories.fetch({ url: git.folder }, undefined, places),
    (error: unknown) =>
      error instanceof PortError &&
      error.status === 413 &&
      /builds\.local\.disk-mb, 1 MiB/.test(error.message),
  )
})
