/** Lists that change while they are read, where their rows lead, and names in them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findRevision, toRevisions } from '../../console/src/editor/describe-changes.ts'
import { auditSentence } from '../../console/src/model/audit-sentence.ts'
import { holdRows } from '../../console/src/model/held-rows.ts'
import { securityGroupsOf } from '../../console/src/model/infrastructure.ts'
import { cutMiddle, showDisguised, showHidden } from '../../console/src/model/names.ts'
import {
  describeTrigger,
  matchesPipeline,
  tagsOfPipelines,
} from '../../console/src/model/pipelines.ts'
import { contentOf, searchOfRuns } from '../../console/src/model/runs.ts'
import { toEvents } from '../../console/src/model/server-groups.ts'
import { levelsOf } from '../../console/src/model/stage-links.ts'

const keyOf = (row: string) => row.charAt(0)
/** What is shown, with `-` after what is gone, and how many wait. */
function hold(shown: string[] | undefined, current: string[]): [string, number] {
  const { rows, waiting } = holdRows(shown, current, keyOf)
  return [rows.map(({ item, isGone }) => item + (isGone ? '-' : '')).join(' '), waiting]
}

test('rows under the eyes keep their places, with new values', () => {
  assert.deepEqual(hold(undefined, ['b', 'a']), ['b a', 0], 'nobody reads')
  assert.deepEqual(hold(['a1', 'b1'], ['c1', 'a2', 'b1']), ['a2 b1', 1], 'one more on top waits')
  assert.deepEqual(
    hold(['a1', 'b1'], ['c1', 'b2', 'd1']),
    ['a1- b2 d1', 1],
    'below the last nothing moves',
  )
  assert.deepEqual(hold(['a', 'b', 'c'], ['c', 'b', 'a']), ['a b c', 0], 'another order waits, too')
  assert.deepEqual(hold(['a'], ['b', 'c']), ['a-', 2])
  assert.deepEqual(hold(['a'], []), ['a-', 0])
  assert.deepEqual(hold([], ['b']), ['b', 0])
})

const saved = {
  at: '2026-11-22T16:12:45.868Z',
  decision: 'allowed',
  kind: 'change',
  operation: 'savePipelineUsingPOST',
  resource: { application: 'web', id: 'p1', name: 'release' },
} as const

test('a record of the audit log is a sentence that leads to what it changed', () => {
  const text = (record: Parameters<typeof auditSentence>[0]) =>
    auditSentence(record)
      .map((part) =>
        typeof part === 'string' ? part : part.link === undefined ? part.text : `[${part.text}]`,
      )
      .join('')
  const web = { application: 'web' }
  const denied = {
    decision: 'refused',
    error: 'PERMISSION_DENIED',
    reason: 'lacks WRITE on the application web',
  }
  const start = {
    operation: 'invokePipelineConfigUsingPOST1',
    resource: { ...web, pipelineNameOrId: 'release', started: '01AB8QK2' },
  }
  const cases: readonly [object, string][] = [
    [{}, 'saved [release] of [web]'],
    [{ operation: 'putLocalImage', resource: { name: 'shop:1' } }, 'registered the image shop:1'],
    [{ operation: 'planManifestsUsingPOST', resource: web }, 'planned manifests of [web]'],
    [start, 'started [release] of [web] ([run 8QK2])'],
    [denied, 'was refused to save [release] of [web]: lacks WRITE on the application web'],
    [
      { operation: 'restartStageUsingPUT', application: 'web', resource: { id: '01AB8QK2' } },
      'restarted a stage of [run 8QK2] of [web]',
    ],
    [
      { operation: 'taskUsingPOST', resource: { ...web, jobs: 'destroyServerGroup' } },
      'destroyed server group of [web]',
    ],
    [
      { operation: 'getAllThingsUsingGET', resource: undefined, decision: 'failed' },
      'could not read all things',
    ],
    [{ decision: 'interrupted' }, 'began to save [release] of [web]; the outcome is unknown'],
    [{ kind: 'login', login: 'form', repeated: 3 }, 'signed in by form (and 3 more like it)'],
  ]
  for (const [change, sentence] of cases) assert.equal(text({ ...saved, ...change }), sentence)
  const pipeline = auditSentence(saved).find((part) => typeof part !== 'string')
  const addresses = { editPipeline: (...where: unknown[]) => JSON.stringify(where) }
  assert.deepEqual(JSON.parse(pipeline?.link?.(addresses as never) ?? ''), [
    'web',
    'p1',
    { tab: 'history', until: String(Date.parse(saved.at)) },
  ])
})

test('a revision is found by the time of its save', () => {
  const revisions = toRevisions([{ updateTs: '300' }, { updateTs: '200' }, { updateTs: '100' }])
  const found = (untilMs: number | undefined) => findRevision(revisions, untilMs)?.id
  assert.deepEqual([found(undefined), found(250), found(99)], ['300', '200', undefined])
})

test('a name hides and reorders nothing', () => {
  assert.equal(showHidden('a\u202eb\u0007c\r\nd\n'), 'a␣202eb␣0007c ↵ d')
  assert.equal(
    showDisguised('Start \u2066x\u202e?\n  second line'),
    'Start ␣2066x␣202e?\n  second line',
  )
  assert.equal(showDisguised('👩\u200d🚢'), '👩\u200d🚢')
  assert.equal([...cutMiddle('x'.repeat(10_000), 80)].length, 80)
})

test('pipelines are found by the state of their last run, and by tag', () => {
  const pipeline = (id: string, tags?: unknown, disabled = false) => ({
    id,
    name: id,
    application: 'web',
    tags,
    disabled,
  })
  const pipelines = [
    pipeline('build', [
      { name: 'team', value: 'shop' },
      { name: 'nightly' },
      { value: 'x' },
      'team',
    ]),
    pipeline('deploy', 'team: shop'),
    pipeline('none', null, true),
  ]
  const run = (pipelineConfigId: string, status: string, buildTime: number) => ({
    id: `${pipelineConfigId}${buildTime}`,
    application: 'web',
    type: 'PIPELINE',
    pipelineConfigId,
    status,
    buildTime,
    stages: [],
  })
  const runs = [
    run('build', 'TERMINAL', 1),
    run('build', 'PAUSED', 2),
    run('deploy', 'SUCCEEDED', 3),
    run('gone', 'TERMINAL', 4),
  ]
  const found = (filter: { q?: string; status?: string; tag?: string }) =>
    pipelines.filter((one) => matchesPipeline(one, { q: '', ...filter }, runs)).map(({ id }) => id)
  assert.deepEqual(tagsOfPipelines(pipelines), ['nightly', 'team: shop'])
  assert.deepEqual(found({ tag: 'team: shop' }), ['build'])
  assert.deepEqual(found({ status: 'RUNNING' }), ['build'], 'a paused run has not ended')
  assert.deepEqual(found({ status: 'TERMINAL' }), [], 'an older run does not count')
  assert.deepEqual(found({ status: 'SUCCEEDED', q: 'DEP' }), ['deploy'])
  assert.deepEqual(
    [found({ status: 'NEVER' }), found({ status: 'DISABLED' }), found({ q: '' })].map(String),
    ['none', 'none', 'build,deploy,none'],
  )
})

test('events of any provider have a time and a text, newest first', () => {
  const events = [
    { startTime: 1, description: 'Launching', cause: 'capacity', statusCode: 'Successful' },
    { createdAt: '1970-01-01T00:00:03Z', message: 'steady state' },
    { at: 'soon' },
    'text',
  ]
  const instance = { id: 'i-1', name: 'i-1', events: [{ at: 2000, text: 'started' }] }
  assert.deepEqual(
    toEvents(events, [instance]).map(({ atMs, text, cause, state, instance }) => [
      atMs,
      text,
      cause,
      state,
      instance,
    ]),
    [
      [3000, 'steady state', undefined, undefined, undefined],
      [2000, 'started', undefined, undefined, 'i-1'],
      [1, 'Launching', 'capacity', 'Successful', undefined],
      [undefined, '', undefined, undefined, undefined],
    ],
  )
  assert.deepEqual(toEvents(undefined), [])
})

test('a security group belongs to the application that its record or its name says', () => {
  const groups = [
    { name: 'web-a' },
    { name: 'x', moniker: { app: 'web' } },
    { name: 'web-b', application: 'cart' },
    { id: 'y' },
  ]
  assert.deepEqual(
    securityGroupsOf({ dev: { local: { east: groups } }, prod: null }).map(
      ({ name, application }) => `${name} ${application}`,
    ),
    ['web-a web', 'x web', 'web-b cart'],
  )
})

test('the address of a list of runs is a search', () => {
  const hour = 3_600_000
  const page = { startIndex: 0, size: 50, expand: false }
  assert.deepEqual(
    searchOfRuns(
      { status: 'failed', from: '24h', q: 'web', version: '2.4', start: '-1' },
      30 * hour,
    ),
    {
      ...{
        ...page,
        statuses: 'TERMINAL',
        text: 'web 2.4',
        triggerTimeStartBoundary: String(6 * hour),
      },
    },
  )
  assert.deepEqual(
    searchOfRuns({ status: 'stopped', to: '2000', before: '1000', start: '50', from: 'never' }, 0),
    {
      ...{
        ...page,
        startIndex: 50,
        statuses: 'STOPPED,FAILED_CONTINUE',
        triggerTimeEndBoundary: '1000',
      },
    },
  )
})

test('a run is of a version, a commit and its parameters', () => {
  const trigger = {
    hash: 'abcdef0123',
    branch: 'main',
    parameters: { region: 'eu', fast: true, list: [1] },
  }
  assert.deepEqual(contentOf({ trigger } as never), ['main', 'abcdef01', 'region eu', 'fast true'])
})

test('triggers are told in words, and stages by steps', () => {
  const words = (trigger: object) =>
    describeTrigger(trigger as never, (id) => (id === 'p1' ? 'build' : undefined))
  assert.equal(
    words({ type: 'git', project: 'acme', slug: 'shop', branch: 'main' }),
    'A push to acme/shop on main',
  )
  assert.equal(
    words({ type: 'pipeline', pipeline: 'p1', status: ['successful'] }),
    'When build succeeds',
  )
  assert.equal(words({ type: 'jenkins', job: 'web', master: 'ci' }), 'A build of web on ci')
  assert.equal(words({ type: 'webhook', source: 'ci' }), 'A webhook to ci')
  const stage = (refId: string, ...requisiteStageRefIds: string[]) => ({
    refId,
    requisiteStageRefIds,
  })
  const levels = levelsOf([
    stage('3', '1', '2'),
    stage('1'),
    stage('2', '1'),
    stage('4', '1'),
    stage('5', '5'),
  ])
  assert.deepEqual(
    levels.map((stages) => stages.map(({ refId }) => refId)),
    [['1'], ['2', '4'], ['3'], ['5']],
  )
})
