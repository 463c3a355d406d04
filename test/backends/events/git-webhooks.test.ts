import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import type { JsonObject } from '../../../packages/base/json/values.ts'
import { createEventsBackend } from '../../../packages/engine/events/events.ts'
import type { BackendSettings } from '../../../packages/ports/backend.ts'
import type { ServiceAnswer } from '../../../packages/ports/service-call.ts'
import { defaults } from '../../support/backend-settings.ts'
import { startBackends } from '../../support/backends.ts'
import { blocksOf, readGuide } from '../../support/guide.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'
import { createRecording } from './recording.ts'

const nowMs = Date.parse('2026-01-01T12:00:00Z')

async function startEvents(
  t: TestContext,
  triggers: JsonObject[],
  settings: Partial<BackendSettings> = {},
) {
  const all = triggers.map((trigger, index) => ({
    type: 'git',
    enabled: true,
    id: `t${index}`,
    ...trigger,
  }))
  const recording = createRecording([
    { application: 'demo', name: 'build', id: 'p1', triggers: all },
  ])
  const events = createEventsBackend({ orchestratorMs: 10, buildMs: 1, cronMs: 1_000 })
  const others = (
    service: Parameters<typeof recording.call>[0],
    call: Parameters<typeof recording.call>[1],
  ) => recording.call(service, call)
  const { ask, url } = await startBackends(t, [events], { others, settings, now: () => nowMs })
  const send = async (source: string, body: JsonObject, headers: Record<string, string> = {}) =>
    (await ask('echo', 'POST', `/webhooks/git/${source}`, body, headers)) as ServiceAnswer & {
      body: JsonObject
    }
  /** What became of the latest event, for each trigger: `started`, or the reason. */
  const latest = async () => {
    const [event = {}] = (await ask('echo', 'GET', '/events?limit=1')).body as JsonObject[]
    return (event['triggers'] as JsonObject[]).map(({ executionId, reason }) =>
      executionId === undefined ? reason : 'started',
    )
  }
  const outcome = async (...sent: Parameters<typeof send>) => {
    assert.equal((await send(...sent)).status, 200)
    return (await latest())[0]
  }
  return { recording, send, latest, outcome, url }
}

const [before, after] = [
  '28e1879d029cb852e4844d9c718537df08844e03',
  'bffeb74224043ba2feb48d137756c8a9331c449a',
]

/** As the documentation of Gitea and Forgejo shows it. */
const giteaPush = {
  ref: 'refs/heads/develop',
  before,
  after,
  compare_url: `http://localhost:3000/gitea/webhooks/compare/${before}...${after}`,
  commits: [
    {
      id: after,
      message: 'Webhooks Yay!',
      author: { name: 'Gitea', email: 'someone@gitea.io', username: 'gitea' },
      added: ['src/new.ts'],
      removed: [],
      modified: ['README.md'],
    },
  ],
  total_commits: 1,
  repository: {
    id: 140,
    owner: { id: 1, login: 'gitea', username: 'gitea' },
    name: 'webhooks',
    full_name: 'gitea/webhooks',
    html_url: 'http://localhost:3000/gitea/webhooks',
    ssh_url: 'ssh://gitea@localhost:2222/gitea/webhooks.git',
    clone_url: 'http://localhost:3000/gitea/webhooks.git',
  },
}
const gitlabPush = {
  object_kind: 'push',
  ref: 'refs/heads/develop',
  before,
  after,
  project: {
    namespace: 'gitea',
    name: 'webhooks',
    git_http_url: 'https://gitlab.example/gitea/webhooks.git',
  },
  commits: [{ id: after, added: [], modified: ['README.md'], removed: ['old.txt'] }],
  total_commits_count: 1,
}
const githubPush = {
  ...giteaPush,
  repository: { ...giteaPush.repository, owner: { name: 'gitea', login: 'gitea' } },
}
const place = { project: 'gitea', slug: 'webhooks' }

const hex = (algorithm: string, secret: string, body: JsonObject) =>
  createHmac(algorithm, secret).update(JSON.stringify(body)).digest('hex')

/** GitLab's signing tokens. */
function standard(secret: string, body: JsonObject, timeMs = nowMs): Record<string, string> {
  const [id, timestamp] = [`f5e5f430-${timeMs}`, String(timeMs / 1000)]
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const signed = createHmac('sha256', key)
    .update(`${id}.${timestamp}.${JSON.stringify(body)}`)
    .digest('base64')
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,AAAA v1,${signed}`,
  }
}

const whsec = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const wrong = 'The signature is wrong. Set the same secret at the sender and in the trigger.'
const missing =
  'The trigger has a secret, and the sender does not sign. Set the same secret at the sender.'

/** Every signature that hosts document, right, wrong and absent. */
const proofs: [
  source: string,
  secret: string,
  body: JsonObject,
  headers: Record<string, string>,
  outcome: string,
][] = [
  ['gitea', 's', giteaPush, { 'X-Gitea-Signature': hex('sha256', 's', giteaPush) }, 'started'],
  ['gitea', 's', giteaPush, { 'X-Gitea-Signature': hex('sha256', 'x', giteaPush) }, wrong],
  [
    'gitea',
    's',
    giteaPush,
    { 'X-Gitea-Signature': '', 'X-Hub-Signature-256': 'sha256=', 'X-Hub-Signature': 'sha1=' },
    missing,
  ],
  [
    'gitea',
    's',
    giteaPush,
    {
      'X-Gitea-Signature': hex('sha256', 's', giteaPush),
      'X-Hub-Signature-256': `sha256=${hex('sha256', 'x', giteaPush)}`,
    },
    wrong,
  ],
  [
    'forgejo',
    's',
    giteaPush,
    {
      'X-Forgejo-Signature': hex('sha256', 's', giteaPush),
      'X-Gitea-Signature': hex('sha256', 's', giteaPush),
    },
    'started',
  ],
  ['gogs', 's', giteaPush, { 'X-Gogs-Signature': hex('sha256', 's', giteaPush) }, 'started'],
  [
    'github',
    's',
    githubPush,
    { 'X-Hub-Signature-256': `sha256=${hex('sha256', 's', githubPush)}` },
    'started',
  ],
  [
    'github',
    's',
    githubPush,
    {
      'X-Hub-Signature-256': `sha256=${hex('sha256', 's', githubPush)}`,
      'X-Hub-Signature': `sha1=${hex('sha1', 'x', githubPush)}`,
    },
    wrong,
  ],
  ['gitlab', 's', gitlabPush, { 'X-Gitlab-Token': 's' }, 'started'],
  ['gitlab', whsec, gitlabPush, standard(whsec, gitlabPush), 'started'],
  [
    'gitlab',
    whsec,
    gitlabPush,
    { ...standard(whsec, gitlabPush, nowMs - 1000), 'X-Gitlab-Token': 'another' },
    'started',
  ],
  ['gitlab', whsec, gitlabPush, { 'X-Gitlab-Token': 'another' }, wrong],
  ['gitlab', whsec, gitlabPush, standard(whsec, gitlabPush, nowMs - 6 * 60_000), wrong],
  ['gitlab', whsec, gitlabPush, standard(whsec, { ...gitlabPush, after: before }), wrong],
]

test('events-scenario 40: signatures of all code hosts prove the sender', async (t) => {
  for (const secret of ['s', whsec]) {
    const rows = proofs.filter((row) => row[1] === secret)
    const sources = [...new Set(rows.map(([source]) => source))]
    const { send, latest } = await startEvents(
      t,
      sources.map((source) => ({ ...place, source, secret })),
    )
    for (const [source, , body, headers, expected] of rows) {
      await send(source, body, headers)
      assert.deepEqual(await latest(), [expected], `${source} ${JSON.stringify(headers)}`)
    }
  }
})

test('the common secret is that of triggers without one', async (t) => {
  const triggers = { ...defaults.triggers, gitSecret: 'common' }
  const { outcome } = await startEvents(t, [{ ...place, source: 'gitea' }], { triggers })
  assert.equal(await outcome('gitea', giteaPush), missing)
  assert.equal(
    await outcome('gitea', giteaPush, { 'X-Gitea-Signature': hex('sha256', 'common', giteaPush) }),
    'started',
  )
})

test('events-scenario 41: a delivery that is sent again starts nothing twice', async (t) => {
  const { outcome, recording } = await startEvents(t, [{ ...place, source: 'forgejo' }])
  const [first, second] = [{ 'X-Forgejo-Delivery': 'd1' }, { 'X-Forgejo-Delivery': 'd2' }]
  assert.equal(await outcome('forgejo', giteaPush, first), 'started')
  assert.equal(
    await outcome('forgejo', giteaPush, first),
    'The same delivery has started the trigger before.',
  )
  assert.equal(await outcome('forgejo', giteaPush, second), 'started')
  await recording.untilStarts(2)
})

test('pings and tests of any host start nothing', async (t) => {
  const { send } = await startEvents(t, [])
  const { repository } = giteaPush
  const comment = { action: 'created', comment: {}, repository }
  const gitlabRun = { project: gitlabPush.project, object_attributes: { ref: 'main', sha: after } }
  const test = /^It is a ping, a test/
  const sent: [
    source: string,
    reason: RegExp,
    body: JsonObject,
    headers?: Record<string, string>,
  ][] = [
    ['gitea', test, { ...giteaPush, after: before }, { 'X-Gitea-Event': 'push' }],
    ['gitea', test, { ref: 'develop', ref_type: 'branch', sha: after, repository }],
    ['gogs', /^The event "issues" starts nothing/, comment, { 'X-Gogs-Event': 'issues' }],
    ['github', /^The event "issue_comment"/, comment, { 'X-GitHub-Event': 'issue_comment' }],
    ['bitbucket', test, { test: true }, { 'X-Event-Key': 'diagnostics:ping' }],
    [
      'bitbucket',
      /^The event "pullrequest:created"/,
      { repository: { full_name: 'a/b' } },
      { 'X-Event-Key': 'pullrequest:created' },
    ],
    [
      'gitlab',
      /^The event "Pipeline Hook"/,
      { ...gitlabRun, object_kind: 'pipeline' },
      { 'X-Gitlab-Event': 'Pipeline Hook' },
    ],
  ]
  for (const [source, expected, body, headers] of sent) {
    const { reason, ...answer } = (await send(source, body, headers)).body
    assert.deepEqual(answer, { eventProcessed: false, eventId: null }, JSON.stringify(body))
    assert.match(String(reason), expected)
  }
})

test('the answer says why nothing starts, and to known senders what triggers wait for', async (t) => {
  const { send } = await startEvents(t, [{ ...place, source: 'gitea', branch: 'main' }])
  const none = 'No trigger of a pipeline waits for this.'
  const sent: [source: string, user: string, body: JsonObject, expected: unknown][] = [
    ['gogs', 'alice', giteaPush, none],
    ['gogs', 'anonymous', giteaPush, undefined],
    ['gitea', 'anonymous', giteaPush, undefined],
    ['gitlab', 'anonymous', giteaPush, /^The body names nothing/],
  ]
  for (const [source, user, body, expected] of sent) {
    const { reason } = (await send(source, body, { 'x-spinnaker-user': user })).body
    if (expected instanceof RegExp) assert.match(String(reason), expected)
    else assert.equal(reason, expected)
  }
})

test('a merge request of GitLab starts the commit and the branch that it brings', async (t) => {
  const { outcome, recording } = await startEvents(t, [
    { ...place, source: 'gitlab', branch: 'feature' },
  ])
  const request = { last_commit: { id: after }, source_branch: 'feature', iid: 7, state: 'opened' }
  const { project } = gitlabPush
  const body = { object_kind: 'merge_request', project, object_attributes: request }
  assert.equal(await outcome('gitlab', body), 'started')
  await recording.untilStarts(1)
  const [started] = recording.starts.map((start) => start.body['trigger'] as JsonObject)
  const { hash, action, properties } = started ?? {}
  assert.deepEqual([hash, action], [after, 'merge_request'])
  assert.deepEqual(properties, { number: 7, state: 'opened' })
})

test('a branch of a fork starts only triggers that list the action', async (t) => {
  const ofFork = {
    action: 'opened',
    repository: githubPush.repository,
    pull_request: {
      head: { sha: after, ref: 'main', repo: { full_name: 'mallory/webhooks' } },
      base: { repo: { full_name: 'gitea/webhooks' } },
    },
  }
  const request = { last_commit: { id: after }, source_branch: 'main', source_project_id: 2 }
  const { project } = gitlabPush
  const attributes = { ...request, target_project_id: 1 }
  const toMerge = { object_kind: 'merge_request', project, object_attributes: attributes }
  for (const [source, body, action] of [
    ['github', ofFork, 'pull_request:opened'],
    ['gitea', ofFork, 'pull_request:opened'],
    ['gitlab', toMerge, 'merge_request'],
  ] as const) {
    const any = await startEvents(t, [{ ...place, source, branch: 'main' }])
    assert.match(String(await any.outcome(source, body)), /of a fork.*events/)
    const listed = await startEvents(t, [{ ...place, source, branch: 'main', events: [action] }])
    assert.equal(await listed.outcome(source, body), 'started')
  }
})

test('the deletion of a branch starts what waits for it alone', async (t) => {
  const deleted = { after: '0'.repeat(40), deleted: true }
  const pushes = { gitea: giteaPush, github: githubPush, gitlab: gitlabPush }
  for (const [source, body] of Object.entries(pushes)) {
    const any = await startEvents(t, [{ ...place, source }])
    assert.match(
      String(await any.outcome(source, { ...body, ...deleted })),
      /"branch:delete" is not among/,
    )
    const waiting = await startEvents(t, [{ ...place, source, events: ['branch:delete'] }])
    assert.equal(await waiting.outcome(source, { ...body, ...deleted }), 'started')
    assert.match(String(await waiting.outcome(source, body)), /is not among/)
  }
})

test('a pushed tag with a message starts the commit that it leads to', async (t) => {
  const { send, recording } = await startEvents(
    t,
    ['gitea', 'github', 'gitlab'].map((source) => ({ ...place, source })),
  )
  const [tagged, zeros] = ['c'.repeat(40), '0'.repeat(40)]
  const tag = {
    ref: 'refs/tags/v1',
    before: zeros,
    head_commit: { id: tagged },
    checkout_sha: tagged,
  }
  const pushes = { gitea: giteaPush, github: githubPush, gitlab: gitlabPush }
  for (const [source, body] of Object.entries(pushes)) {
    await send(source, { ...body, ...tag })
    await send(source, { ...body, ...tag, before: after, after: zeros })
    await send(source, { ...body, ...tag, head_commit: null, checkout_sha: null })
  }
  await recording.untilStarts(6)
  const [first] = recording.starts.map(({ body }) => body['trigger'] as JsonObject)
  assert.deepEqual(first?.['authors'], [
    { name: 'Gitea', email: 'someone@gitea.io', login: 'gitea' },
  ])
  const hashes = recording.starts.map(({ body }) => (body['trigger'] as JsonObject)['hash'])
  assert.deepEqual(hashes, [tagged, after, tagged, after, tagged, after])
})

test('each ref of a push to Bitbucket starts once, and deleted ones nothing', async (t) => {
  const { send, recording } = await startEvents(t, [
    { ...place, source: 'bitbucket' },
    { ...place, source: 'stash' },
  ])
  const refs = ['a', 'b', 'c'].map((name, index) => ({
    ref: { id: `refs/heads/${name}` },
    refId: `refs/heads/${name}`,
    toHash: String(index).repeat(40),
  }))
  const repository = { slug: 'webhooks', project: { key: 'gitea' } }
  const changes = [
    { new: null },
    { new: { type: 'branch', name: 'd', target: { hash: 'd' } } },
    { new: { type: 'tag', name: 'e', target: { hash: 'e' } } },
  ]
  const cloud = {
    repository: { full_name: 'webhooks', project: { key: 'gitea' } },
    push: { changes },
  }
  for (const [id, name, body] of [
    ['1', 'repo:refs_changed', { repository, changes: refs }],
    ['2', 'repo:push', cloud],
    ['2', 'repo:push', cloud],
  ] as const)
    assert.equal(
      (await send('bitbucket', body, { 'X-Event-Key': name, 'X-Request-UUID': id })).status,
      200,
    )
  await send('stash', { repository, refChanges: refs })
  await recording.untilStarts(6)
  const started = recording.starts.map(({ body }) => body['trigger'] as JsonObject)
  assert.deepEqual(started.map(({ branch }) => branch).join(' '), 'b c d refs/tags/e b c')
  assert.equal(new Set(started.map(({ eventId }) => eventId)).size, 6)
})

const truncated = 'The changed files are unknown: the host lists only 1 commits.'

/** Fields of a trigger, what is pushed, and what becomes of it. */
const conditions: [trigger: JsonObject, push: JsonObject, outcome: string | RegExp][] = [
  [{ paths: ['src/**'] }, {}, 'started'],
  [{ paths: ['*.md'] }, {}, 'started'],
  [{ paths: ['**/*.ts', 'none'] }, {}, 'started'],
  [{ paths: ['*.ts'] }, {}, /None of the 2 changed files/],
  [{ paths: ['src'] }, {}, /None of the 2/],
  [{ paths: ['**/'.repeat(400)] }, {}, /None of the 2/],
  [{ excludedPaths: ['README.md'] }, {}, 'started'],
  [{ excludedPaths: ['README.md', 'src/'] }, {}, /None of the 2/],
  [{ paths: ['docs/**'] }, { total_commits: 30 }, 'started'],
  [{ tags: 'v.*' }, {}, 'The trigger waits for tags alone.'],
  [{ tags: 'v.*' }, { ref: 'refs/tags/v1' }, 'started'],
  [{ tags: 'v.*' }, { ref: 'refs/tags/x1' }, 'The tag "x1" does not match "v.*".'],
  [{ tags: 'v.*', branch: 'develop' }, {}, 'started'],
  [{ branch: 'main' }, {}, 'The branch "develop" does not match "main".'],
]

test('events-scenario 42: paths, branches and tags decide which pushes start a pipeline', async (t) => {
  const { recording, send, latest } = await startEvents(t, [{}])
  for (const [fields, push, expected] of conditions) {
    const trigger = { type: 'git', enabled: true, ...place, source: 'gitea', ...fields }
    recording.pipelines[0] = { application: 'demo', name: 'build', id: 'p1', triggers: [trigger] }
    await send('gitea', { ...giteaPush, ...push })
    const [outcome] = (await latest()) as string[]
    const text = JSON.stringify([fields, push, outcome])
    if (typeof expected === 'string') assert.equal(outcome, expected, text)
    else assert.match(String(outcome), expected, text)
  }
  await recording.untilStarts(conditions.filter(([, , outcome]) => outcome === 'started').length)
  const started = recording.starts.map(({ body }) => body['trigger'] as JsonObject)
  assert.deepEqual(
    started.map(({ pathsUnknown }) => pathsUnknown).filter((reason) => reason !== undefined),
    [truncated],
  )
  assert.deepEqual(
    started.map(({ tag }) => tag).filter((tag) => tag !== undefined),
    ['v1'],
  )
})

test('a hook of a plain repository starts triggers of its address', async (t) => {
  const repository = 'git@git.example.com:shop/web.git'
  const { outcome, send, recording } = await startEvents(t, [
    { source: 'git', repository, paths: ['src/**'] },
  ])
  const push = {
    repository: 'ssh://git.example.com/shop/web',
    ref: 'refs/heads/main',
    before,
    after,
  }
  assert.equal(await outcome('git', { ...push, paths: ['src/a.ts'] }), 'started')
  assert.match(String(await outcome('git', { ...push, paths: ['a.ts'] })), /None of the 1/)
  for (const bad of [{ ref: 'main' }, { after: 'HEAD' }, { repository: '' }])
    assert.equal((await send('git', { ...push, ...bad })).status, 400)
  await recording.untilStarts(1)
  const { hash, branch } = recording.starts[0]!.body['trigger'] as JsonObject
  assert.deepEqual({ hash, branch }, { hash: after, branch: 'main' })
})

test('a webhook wakes a polling trigger only with a secret', async (t) => {
  const polled = { source: 'gitea', poll: true, repository: 'https://LOCALHOST/gitea/webhooks' }
  const { send, latest } = await startEvents(t, [polled, { ...polled, secret: 's' }])
  await send('gitea', giteaPush)
  assert.deepEqual(await latest(), [
    'The trigger polls its repository, and has no secret for webhooks. Set one to be notified sooner.',
    missing,
  ])
  await send('gitea', giteaPush, { 'X-Gitea-Signature': hex('sha256', 's', giteaPush) })
  assert.equal((await latest())[1], 'started')
})

test('the hook of the guide reports pushes to a plain repository', async (t) => {
  const trigger = {
    source: 'git',
    repository: 'https://git.example.com/srv/git/shop',
    secret: 'hook "secret"',
    paths: ['src/**'],
  }
  const { recording, latest, url } = await startEvents(t, [trigger])
  const folder = createFolder('hook')
  t.after(() => removeFolder(folder))
  const [bare, work] = [join(folder, 'shop.git'), join(folder, 'work')]
  writeFileSync(join(folder, 'hook-secret'), 'hook "secret"\n')
  const env = { PATH: process.env['PATH'], HOME: folder, GIT_CONFIG_NOSYSTEM: '1' }
  const git = (...args: string[]) => promisify(execFile)('git', ['-C', work, ...args], { env })
  mkdirSync(join(work, 'src'), { recursive: true })
  const author = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com']
  const push = async (...names: string[]) => {
    for (const name of names) writeFileSync(join(work, name), name)
    await git('add', '--all')
    await git(...author, 'commit', '--quiet', '--allow-empty', '--message=change')
    const { stderr } = await git('push', '--quiet', bare, 'main')
    assert.equal(stderr, '')
    return (await git('rev-parse', 'HEAD')).stdout.trim()
  }

  await git('init', '--quiet', '--initial-branch=main', '.')
  await git('init', '--quiet', '--bare', bare)
  const [install = ''] = blocksOf(readGuide('triggers'), 'sh')
  const adapted = install
    .replaceAll('/srv/git/shop.git ', `${bare} `)
    .replace('/srv/git/shop.git/hooks', `${bare}/hooks`)
    .replace('https://cd.example.com', url('echo'))
    .replace('/srv/git/hook-secret', join(folder, 'hook-secret'))
  await promisify(execFile)('sh', ['-e', '-c', adapted], {
    cwd: resolve(import.meta.dirname, '../../..'),
    env,
  })
  const first = await push('a "file".txt')
  await push('b "ä".txt')
  assert.deepEqual(await latest(), [
    'None of the 1 changed files matches the paths of the trigger.',
  ])
  const third = await push('src/ü.ts')
  await git(...author, 'tag', '--annotate', '--message=one', 'v1')
  await git('push', '--quiet', bare, 'v1')

  await recording.untilStarts(3)
  const started = recording.starts.map(({ body }) => body['trigger'] as JsonObject)
  assert.deepEqual(
    started.map(({ hash, branch }) => [hash, branch]),
    [
      [first, 'main'],
      [third, 'main'],
      [third, 'refs/tags/v1'],
    ],
  )
})
