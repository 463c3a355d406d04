import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../packages/base/json/values.ts'
import { openGitAccess } from '../../../packages/base/outside/git-access.ts'
import { defaultOutsideSettings } from '../../../packages/base/outside/settings.ts'
import { PortError } from '../../../packages/base/port-error.ts'
import { createEventsBackend } from '../../../packages/engine/events/events.ts'
import { gitRefs } from '../../../packages/engine/events/polls/git-refs.ts'
import type { PollTurn } from '../../../packages/engine/events/polls/polled-source.ts'
import type { BackendContext } from '../../../packages/ports/backend.ts'
import { GitMirrors } from '../../../packages/providers/artifacts/git-mirrors.ts'
import { GitRefReader } from '../../../packages/providers/artifacts/git-refs.ts'
import { createInfrastructureBackend } from '../../../packages/providers/infrastructure/infrastructure.ts'
import { startBackends } from '../../support/backends.ts'
import { startGitServer } from '../../support/git-server.ts'
import { testProgram } from '../../support/program.ts'
import { startSshServer } from '../../support/ssh-server.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'
import { silence, startUpstream } from '../../support/upstream.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { createRecording } from './recording.ts'

interface PollTestOptions {
  readonly dataDir?: string
  readonly accounts?: readonly JsonObject[]
  readonly recording?: ReturnType<typeof createRecording>
  readonly pollMs?: number
}

async function startPolls(t: TestContext, pipelines: JsonObject[], options: PollTestOptions = {}) {
  const { accounts = [], recording = createRecording(pipelines), pollMs = 60 } = options
  const dataDir = options.dataDir ?? createFolder('polls')
  const events = createEventsBackend({ orchestratorMs: 10, buildMs: 1, cronMs: 5, pollMs })
  const backends = await startBackends(t, [events, createInfrastructureBackend([])], {
    others: (service, call) => recording.call(service, call),
    dataDir,
    settings: {
      infrastructure: {
        challengedEnvironments: [],
        primaryAccountTypes: [],
        providers: {},
        artifacts: { 'git-repo': accounts },
      },
      outside: allowed,
    },
  })
  t.after(() => removeFolder(dataDir))
  const db = new DatabaseSync(join(dataDir, 'backends.db'), { readOnly: true })
  t.after(() => db.close())
  const stored = (hash: string) =>
    db.prepare('SELECT 1 FROM events_poll_versions WHERE version = ?').get(hash) !== undefined
  return {
    backends,
    recording,
    dataDir,
    /** Once a poll has seen a commit, and has stored what it starts. */
    untilSeen: (hash: string) => waitUntil(() => stored(hash), `the commit ${hash} to be seen`),
    triggers: () => recording.starts.map(({ body }) => body['trigger'] as JsonObject),
    log: async () => (await backends.ask('echo', 'GET', '/events')).body as JsonObject[],
  }
}

function pipelineOf(id: string, ...triggers: JsonObject[]): JsonObject {
  return {
    application: 'demo',
    name: id,
    id,
    triggers: triggers.map((each) => ({ type: 'git', enabled: true, ...each })),
  }
}

const poll = { source: 'git', poll: true }

test('events-scenario 43: a polled push starts a pipeline once, and first sight none', async (t) => {
  const repository = await startGitServer(t)
  const first = repository.commit({ a: '1' })
  // What Fairlead has seen itself is not proven by a secret, which need not be readable.
  const waiting = {
    ...poll,
    repository: repository.url,
    branch: 'main',
    secret: 'secret:vault:away#key',
  }
  const tags = pipelineOf('tags', { ...poll, repository: repository.url, tags: 'v[0-9]+' })
  const { triggers, recording, untilSeen } = await startPolls(t, [
    pipelineOf('p', waiting),
    tags,
    pipelineOf('off', { ...waiting, enabled: false }),
  ])
  await untilSeen(first)

  const second = repository.commit({ a: '2' })
  await recording.untilStarts(1)
  repository.git('checkout', '--quiet', '-b', 'other')
  const third = repository.commit({ a: '3' })
  await untilSeen(third)
  repository.git('tag', '-a', '-m', 'one', 'v1', second)
  repository.git('tag', 'x1', third)
  await recording.untilStarts(2)

  assert.deepEqual(
    triggers().map(({ hash, branch, tag, action }) => ({ hash, branch, tag, action })),
    [
      { hash: second, branch: 'main', tag: undefined, action: 'push:push' },
      { hash: second, branch: 'refs/tags/v1', tag: 'v1', action: 'push:push' },
    ],
  )
  assert.equal(new Set(triggers().map(({ eventId }) => eventId)).size, 2)
})

test('events-scenario 43: a push during a restart or a failure starts once', async (t) => {
  const repository = await startGitServer(t)
  const first = repository.commit({ a: '1' })
  const pipelines = [pipelineOf('p', { ...poll, repository: repository.url })]
  const before = await startPolls(t, pipelines)
  await before.untilSeen(first)
  await before.backends.stop()
  const second = repository.commit({ a: '2' })

  const recording = createRecording(pipelines)
  let reads = 0
  recording.answer = (service, { path }) => {
    // The first read finds what is to be polled; the next ones match the push.
    if (service !== 'front50' || !/triggerTypes=.*git/.test(path)) return undefined
    reads++
    return reads > 1 && reads <= 4 ? { status: 503, body: {} } : undefined
  }
  const after = await startPolls(t, pipelines, { dataDir: before.dataDir, recording })
  await recording.untilStarts(1)
  await after.untilSeen(second)
  await after.backends.stop()
  const again = await startPolls(t, pipelines, { dataDir: before.dataDir })
  const third = repository.commit({ a: '3' })
  await again.untilSeen(third)
  await again.recording.untilStarts(1)

  assert.ok(reads > 4)
  assert.deepEqual(
    after.triggers().map(({ hash }) => hash),
    [second],
  )
  assert.deepEqual(
    again.triggers().map(({ hash }) => hash),
    [third],
  )
})

test('events-scenario 44: a push that webhook and poll report starts once', async (t) => {
  const repository = await startGitServer(t)
  const first = repository.commit({ a: '1' })
  const { backends, recording, untilSeen, triggers, log } = await startPolls(t, [
    pipelineOf('p', { ...poll, repository: repository.url, secret: 's' }),
  ])
  await untilSeen(first)
  const report = (before: string, after: string) => {
    const body = { repository: repository.url, ref: 'refs/heads/main', before, after }
    const signature = `sha256=${createHmac('sha256', 's').update(JSON.stringify(body)).digest('hex')}`
    return backends.ask('echo', 'POST', '/webhooks/git/git', body, {
      'x-hub-signature-256': signature,
    })
  }

  // The repository does not have the commit yet when the webhook arrives: it comes before the poll in any case.
  repository.git('checkout', '--quiet', '--detach')
  const second = repository.commit({ a: '2' })
  await report(first, second)
  repository.git('branch', '-f', 'main', second)
  await untilSeen(second)
  repository.git('checkout', '--quiet', 'main')
  const third = repository.commit({ a: '3' })
  await untilSeen(third)
  await report(second, third)

  await recording.untilStarts(2)
  assert.deepEqual(
    triggers().map(({ hash }) => hash),
    [second, third],
  )
  assert.match(
    JSON.stringify(await log()),
    /The same push has started the trigger before, by a webhook.*by a poll|by a poll.*by a webhook/,
  )
})

test('events-scenario 42: paths of a polled push are those of its commits', async (t) => {
  const repository = await startGitServer(t)
  mkdirSync(join(repository.folder, 'src'), { recursive: true })
  const first = repository.commit({ 'src/a.ts': '1', 'notes/a.txt': '1' })
  const waiting = { ...poll, repository: repository.url }
  const { recording, dataDir, untilSeen } = await startPolls(t, [
    pipelineOf('source', { ...waiting, paths: ['src/**'] }),
    pipelineOf('notes', { ...waiting, paths: ['notes/'] }),
    pipelineOf('rest', { ...waiting, excludedPaths: ['**/*.ts'] }),
  ])
  await untilSeen(first)
  repository.commit({ 'src/a.ts': '2' })
  await untilSeen(repository.commit({ 'src/b.ts': '2' }))
  await recording.untilStarts(1)
  await untilSeen(repository.commit({ 'notes/a.txt': '2' }))
  await recording.untilStarts(3)

  const started = recording.starts.map(({ body }) => body['id'])
  assert.deepEqual([started[0], ...started.slice(1).toSorted()], ['source', 'notes', 'rest'])
  assert.ok(readdirSync(join(dataDir, 'git-mirrors')).length === 1)
})

test('a repository is polled over SSH with the key of an account', async (t) => {
  const server = await startSshServer(t)
  if (server === undefined) return
  const repository = await startGitServer(t)
  const first = repository.commit({ a: '1' })
  const account = {
    name: 'ssh',
    sshPrivateKeyFilePath: server.privateKeyFile,
    sshKnownHostsFilePath: server.knownHostsFile,
    hosts: ['127.0.0.1'],
  }
  const url = `${server.url}${repository.folder}/.git`
  const { recording, triggers, untilSeen } = await startPolls(
    t,
    [pipelineOf('p', { ...poll, repository: url, artifactAccount: 'ssh', paths: ['src/*'] })],
    // Each poll starts four programs.
    { accounts: [account], pollMs: 500 },
  )
  await untilSeen(first)
  const second = repository.commit({ 'src/a': '2' })
  await recording.untilStarts(1)

  assert.deepEqual(
    triggers().map(({ hash, pathsUnknown }) => ({ hash, pathsUnknown })),
    [{ hash: second, pathsUnknown: undefined }],
  )
})

test('events-scenario 43: a push is started once although Fairlead is killed', async (t) => {
  const repository = await startGitServer(t)
  const first = repository.commit({ a: '1' })
  const pipeline = pipelineOf('p', { ...poll, repository: repository.url })
  const dataDir = createFolder('polls')
  const seeing = await startPolls(t, [pipeline], { dataDir })
  await seeing.untilSeen(first)
  await seeing.backends.stop()
  const second = repository.commit({ a: '2' })
  const started: unknown[] = []
  const upstream = await startUpstream(t, ({ method, path, body }) => {
    if (method === 'GET') return path === '/front50/pipelines' ? [pipeline] : pipeline
    started.push((JSON.parse(body) as JsonObject)['executionId'])
    return silence
  })
  const killed = await startProcess(t, dataDir, upstream.url)
  await waitUntil(() => started.length === 1, 'the start')
  await killed.kill()
  const resuming = await startPolls(t, [pipeline], { dataDir })
  await resuming.recording.untilStarts(1)
  await resuming.untilSeen(second)
  await resuming.untilSeen(repository.commit({ a: '3' }))
  await resuming.recording.untilStarts(2)

  const ids = resuming.recording.starts.map(({ body }) => body['executionId'])
  assert.equal(ids.length, 2)
  assert.equal(ids[0], started[0])
})

const allowed = { ...defaultOutsideSettings, allowed: ['127.0.0.1/32'] }

test('refs are read from both forms of advertisement, and from nothing else', async (t) => {
  const commit = 'a'.repeat(40)
  const service = '001e# service=git-upload-pack\n0000'
  const answers: Record<string, string> = {
    '/old': `${service}003d${commit} refs/heads/main\n0000`,
    '/new': `${service}000eversion 2\n0000`,
    '/own': '000eversion 2\n0000',
    '/page': '<html>',
    '/lines': `003d${commit} refs/heads/main\n0000`,
  }
  const server = await startUpstream(t, ({ method, path }) =>
    method === 'POST'
      ? `003d${commit} refs/heads/main\n0000`
      : answers[path.split('/info/refs')[0] ?? ''],
  )
  const reader = new GitRefReader(allowed)
  const read = (path: string) =>
    reader.read({ url: `${server.url}${path}`, account: { name: 'none' } })
  for (const path of ['/old', '/new', '/own'])
    assert.deepEqual(await read(path), { 'refs/heads/main': commit }, path)
  for (const path of ['/page', '/lines'])
    await assert.rejects(read(path), { status: 502, message: /did not answer as Git does/ })
})

test('an address in which programs find different hosts is refused', async (t) => {
  const folder = createFolder('access')
  t.after(() => removeFolder(folder))
  const account = { name: 'shop', token: 'secret' }
  const open = (url: string) => openGitAccess(url, { account, outside: allowed, folder })
  for (const url of [
    'https://github.com\\@10.0.0.5/x.git',
    'https://github.com\u0001@10.0.0.5/x',
    'git@host:a\\b',
  ]) {
    await assert.rejects(open(url), { status: 400, message: /is no address of a repository/ })
    await assert.rejects(new GitRefReader(allowed).read({ url, account }), { status: 400 })
  }
  assert.equal((await open('http://127.1:80#@10.0.0.5/x')).url, 'http://127.0.0.1/#@10.0.0.5/x')
})

test('more changes than one turn holds start once each', async (t) => {
  const repository = await startGitServer(t)
  const first = repository.commit({ a: '1' })
  const { recording, untilSeen, triggers } = await startPolls(t, [
    pipelineOf('p', { ...poll, repository: repository.url }),
  ])
  await untilSeen(first)
  const branches = Array.from({ length: 60 }, (_, index) => `refs/heads/b${index}`)
  const lines = [
    '# pack-refs with: peeled fully-peeled sorted ',
    ...branches.toSorted().map((name) => `${first} ${name}`),
    '',
  ]
  writeFileSync(join(repository.folder, '.git', 'packed-refs'), lines.join('\n'))
  await recording.untilStarts(60)
  const last = repository.commit({ a: '2' })
  await untilSeen(last)
  await recording.untilStarts(61)
  assert.equal(new Set(triggers().map(({ branch }) => branch)).size, 61)
})

test('files that cannot be read are not read again in the same turn', async () => {
  let reads = 0
  const changedPaths = async () => {
    reads++
    throw new PortError(502, 'The repository is away.')
  }
  const context = {
    ports: { infrastructure: { versions: { changedPaths } } },
  } as unknown as BackendContext
  const trigger = {
    ...poll,
    type: 'git',
    repository: 'https://git.example.com/shop/web',
    paths: ['src/**'],
  }
  const turn: PollTurn = { waiting: [trigger] }
  const reasons: unknown[] = []
  for (const name of ['refs/heads/a', 'refs/heads/b']) {
    const change = { name, before: 'a'.repeat(40), after: 'b'.repeat(40) }
    reasons.push(
      (await gitRefs.toEvents(trigger, change, context, turn))[0]?.content['pathsUnknown'],
    )
  }
  assert.deepEqual(reasons, Array(2).fill('The changed files are unknown: The repository is away.'))
  assert.equal(reads, 1)
})

test('a mirror that grows too large is given up, and an unused one removed', async (t) => {
  const repository = await startGitServer(t)
  const before = repository.commit({ a: '1' })
  const after = repository.commit({ a: randomBytes(200_000).toString('base64') })
  // It never sends the end of a pack.
  const server = createServer(async (request, response) => {
    const { method = 'GET', url = '', headers } = request
    const body = method === 'POST' ? await buffer(request) : null
    const sent = Object.fromEntries(
      Object.entries(headers).filter(([name]) => /^(?:git-protocol|content-)/.test(name)),
    )
    const answer = await fetch(new URL(url, repository.url), {
      method,
      body,
      headers: sent as Record<string, string>,
    })
    const bytes = Buffer.from(await answer.arrayBuffer())
    response.writeHead(answer.status, {
      'content-type': String(answer.headers.get('content-type')),
    })
    if (bytes.length < 100_000) response.end(bytes)
    else response.write(bytes.subarray(0, -100))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const folder = createFolder('mirrors')
  t.after(() => {
    server.closeAllConnections()
    server.close()
    removeFolder(folder)
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/shop.git`
  for (const [name, days] of [
    ['old.git', 8],
    ['recent.git', 6],
  ] as const) {
    mkdirSync(join(folder, name))
    const usedS = Date.now() / 1000 - days * 24 * 60 * 60
    utimesSync(join(folder, name), usedS, usedS)
  }
  const mirrors = new GitMirrors(allowed, folder, 10_000)
  await mirrors.removeUnused()
  assert.deepEqual(readdirSync(folder), ['recent.git'])
  const push = { ref: 'refs/heads/main', before, after }
  await assert.rejects(mirrors.changedPaths({ url, account: { name: 'none' } }, push), {
    status: 502,
    message: /sends more than/,
  })
  assert.deepEqual(readdirSync(folder), ['recent.git'])
})

async function startProcess(t: TestContext, dataDir: string, upstream: string) {
  const program = testProgram('backends/events/polling-process')
  const child = spawn(process.execPath, [program, dataDir, upstream], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }
  t.after(kill)
  await once(createInterface(child.stdout), 'line')
  return { kill }
}

test('events-scenario 45: a failing poll is reported and holds up no other', async (t) => {
  const [closed, open] = [
    await startGitServer(t, `Basic ${Buffer.from('al:word').toString('base64')}`),
    await startGitServer(t),
  ]
  const [first, other] = [closed.commit({ a: '1' }), open.commit({ a: 'x' })]
  const account = { name: 'shop', username: 'al', password: 'word', hosts: ['127.0.0.1'] }
  const { untilSeen, log, backends } = await startPolls(
    t,
    [
      pipelineOf('none', { ...poll, repository: closed.url }),
      pipelineOf('wrong', { ...poll, repository: closed.url, artifactAccount: 'nope' }),
      pipelineOf('right', { ...poll, repository: closed.url, artifactAccount: 'shop' }),
      pipelineOf('open', { ...poll, repository: open.url }),
      pipelineOf('ssh', { ...poll, repository: 'git@127.0.0.1:shop/web' }),
    ],
    { accounts: [account] },
  )
  await untilSeen(first)
  await untilSeen(other)
  await waitUntil(async () => (await log()).length >= 3, 'three failures')

  const text = JSON.stringify(await log())
  assert.match(text, /answered with 401\. Choose an artifact account for Git/)
  assert.match(text, /account \\"nope\\" is none of artifacts\.git-repo\.accounts: there are shop/)
  assert.match(text, /SSH needs a key: name an account of artifacts\.git-repo/)
  assert.ok(!text.includes('word'))
  const { status } = await backends.ask('clouddriver', 'POST', '/artifacts/git/refs', {
    repository: open.url,
  })
  assert.equal(status, 404)
  assert.ok(existsSync(closed.folder))
})
