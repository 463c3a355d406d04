/** Beside an embedded engine and event service, the store refuses what they could not run. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import { eventsBackend } from '../../../packages/engine/events/events.ts'
import { orchestrationBackend } from '../../../packages/engine/orchestration/orchestration.ts'
import { createStageTypes } from '../../../packages/engine/orchestration/stages/registry.ts'
import type { Backend } from '../../../packages/ports/backend.ts'
import { defaults } from '../../support/backend-settings.ts'
import { type Backends, startBackends } from '../../support/backends.ts'
import type { Fields } from './store.ts'

const everything: readonly Backend[] = [definitionsBackend, orchestrationBackend, eventsBackend]

let saved = 0
function save({ ask }: Backends, fields: Fields, path = '/pipelines') {
  saved++
  return ask('front50', 'POST', path, { application: 'demo', name: `p${saved}`, ...fields })
}

const inTemplate = (pipeline: Fields): Fields => ({
  id: `t${saved}`,
  schema: 'v2',
  metadata: { scopes: ['global'] },
  pipeline,
})
const cron = (cronExpression: unknown, fields: Fields = {}): Fields => ({
  triggers: [{ type: 'manual' }, { type: 'cron', enabled: true, cronExpression, ...fields }],
})

test('a save rejects stages and triggers that can never run', async (t) => {
  const lines: Fields[] = []
  const backends = await startBackends(t, everything, { log: (line) => lines.push(line) })

  const refused: { what: string; body: Fields; path?: string; says: RegExp }[] = [
    {
      what: 'a misspelt type',
      body: { stages: [{ type: 'wait' }, { type: 'wiat', name: 'Pause' }] },
      says: /^Stage "Pause" has the unknown type "wiat"\. The embedded engine runs these types, the nearest first: wait, .* more\..*services\.orca\.baseUrl.*"disabled": true/,
    },
    {
      what: 'a type in another case',
      body: { stages: [{ type: 'Wait' }] },
      says: /Stage 1 has the unknown type "Wait".* first: wait,/,
    },
    {
      what: 'an unknown alias',
      body: { stages: [{ type: 'wait', alias: 'nap' }] },
      says: /unknown type "nap"/,
    },
    {
      what: 'a type for a provider',
      body: { stages: [{ type: 'wait', providerType: 'gce' }] },
      says: /unknown type "wait_gce"/,
    },
    {
      what: 'a reference to a stage that does not exist',
      body: { stages: [{ refId: '1', type: 'wait', requisiteStageRefIds: ['9'] }] },
      says: /Stage "1" requires "9", but no stage has that refId/,
    },
    {
      what: 'references that are no list',
      body: { stages: [{ refId: '1', type: 'wait', requisiteStageRefIds: '2' }] },
      says: /stages\.0\.requisiteStageRefIds: it must be a list, not text/,
    },
    {
      what: 'a reference that is an object',
      body: { stages: [{ refId: {}, type: 'wait' }] },
      says: /stages\.0\.refId: it must be text or a number/,
    },
    {
      what: 'two stages of one reference',
      body: { stages: ['1', 1].map((refId) => ({ refId, type: 'wait' })) },
      says: /Two stages have the refId "1"/,
    },
    {
      what: 'a trigger that is enabled perhaps',
      body: { triggers: [{ type: 'webhook', enabled: 'ja' }] },
      says: /triggers\.0\.enabled: it must be true or false/,
    },
    {
      what: 'many unknown types',
      body: { stages: Array.from({ length: 12 }, () => ({ type: 'x'.repeat(200_000) })) },
      says: /^.{0,3000}2 more stages have unknown types\..{0,1500}$/,
    },
    {
      what: 'a misspelt strategy of a deployment',
      body: { stages: [{ type: 'deploy', clusters: [{ account: 'a', strategy: 'redblak' }] }] },
      says: /"clusters\[0\]\.strategy" must be one of redblack, .*; it is "redblak"/,
    },
    {
      what: 'a required field under a misspelt name',
      body: { stages: [{ type: 'pipeline', name: 'Child', pipelin: 'p1' }] },
      says: /^Stage "Child": "pipelin" is no field of this stage type\. Write "pipeline"\./,
    },
    {
      what: 'a strategy',
      path: '/strategies',
      body: { stages: [{ type: 'nope' }] },
      says: /unknown type "nope"/,
    },
    {
      what: 'a template',
      path: '/v2/pipelineTemplates',
      body: inTemplate({ stages: [{ type: 'nope' }] }),
      says: /unknown type "nope"/,
    },
    {
      what: 'a cron expression',
      body: cron('every day'),
      says: /^Trigger 2 \(cron\): Cron expression 'every day' is not valid: The expression has 2 fields; .* Correct it, or disable/,
    },
    {
      what: 'a poll without an address',
      body: {
        triggers: [{ type: 'git', enabled: true, poll: true, repository: '/srv/git/shop.git' }],
      },
      says: /^Trigger 1 \(git\): it polls, and "\/srv\/git\/shop\.git" is no address of a repository/,
    },
    {
      what: 'a cron expression that is a number',
      body: cron(7),
      says: /Trigger 2 \(cron\): Cron expression '7'/,
    },
    {
      what: 'a cron expression of a template',
      path: '/v2/pipelineTemplates',
      body: inTemplate(cron('0 0 10 * * 1')),
      says: /Trigger 2 \(cron\).*write "\?" for one of them/,
    },
  ]
  for (const { what, body, path, says } of refused) {
    await t.test(`refused: ${what}`, async () => {
      const answer = await save(backends, body, path)
      assert.equal(answer.status, 400)
      assert.match((answer.body as Fields)['message'] as string, says)
    })
  }

  const accepted: { what: string; body: Fields; path?: string }[] = [
    {
      what: 'every type of the engine',
      body: {
        stages: [...createStageTypes({ ...defaults, preconfigured: [] }).keys()].map((type) => ({
          type,
        })),
      },
    },
    {
      what: 'a type that its alias implements',
      body: { stages: [{ type: 'myJudgment', alias: 'manualJudgment' }] },
    },
    {
      what: 'a strategy of another platform',
      body: { stages: [{ type: 'deploy', clusters: [{ strategy: 'monitored' }] }] },
    },
    {
      what: 'a misspelt field that is not required',
      body: { stages: [{ type: 'wait', waitTme: 3 }] },
    },
    { what: 'a stage without a type', body: { stages: [{ refId: '1' }] } },
    { what: 'a type that is an expression', body: { stages: [{ type: '${ parameters.type }' }] } },
    {
      what: 'unknown types of a disabled pipeline',
      body: { disabled: true, stages: [{ type: 'nope' }] },
    },
    {
      what: 'an instance of a template',
      body: {
        type: 'templatedPipeline',
        schema: '1',
        stages: [{ id: 'x', inject: { first: true } }],
      },
    },
    {
      what: 'every status that a pipeline may be waited for',
      body: {
        triggers: [
          {
            type: 'pipeline',
            enabled: true,
            pipeline: 'p',
            status: ['successful', 'failed', 'canceled', 'suspended'],
          },
        ],
      },
    },
    { what: 'a usable cron expression', body: cron('H 0 10 ? * MON-FRI') },
    { what: 'a disabled cron trigger', body: cron('bad', { enabled: false }) },
    { what: 'a cron expression that is an expression', body: cron('${ templateVariables.cron }') },
    { what: 'a cron trigger without an expression', body: cron(undefined) },
  ]
  for (const { what, body, path } of accepted) {
    await t.test(`accepted: ${what}`, async () => {
      const answer = await save(backends, body, path)
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
    })
  }

  await t.test("a stage type of Spinnaker's services is saved and logged", async () => {
    lines.length = 0
    const types = ['wercker', 'concourse', 'wercker_gce', 'wait', 'wercker']
    const answer = await save(backends, { stages: types.map((type) => ({ type })) })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    const warning = lines.find(({ msg }) =>
      /stages that the embedded engine cannot run/.test(String(msg)),
    )
    assert.deepEqual(warning?.['types'], ['wercker', 'concourse', 'wercker_gce'])
  })

  await t.test('a plan of unknown types is refused', async () => {
    const answer = await backends.ask('orca', 'POST', '/plan', {
      application: 'demo',
      name: 'p',
      stages: [{ type: 'nope' }],
    })
    assert.equal(answer.status, 400)
    assert.match((answer.body as Fields)['message'] as string, /unknown type "nope"/)
  })

  await t.test('a batch reports them with the other faults', async () => {
    const pipeline = (name: string, type: string) => ({
      application: 'demo',
      name,
      stages: [{ type }],
    })
    const { body } = await backends.ask('front50', 'POST', '/pipelines/batchUpdate', [
      pipeline('good', 'wait'),
      pipeline('wrong', 'nope'),
    ])
    const { successful_pipelines: good, failed_pipelines: bad } = body as Record<string, Fields[]>
    assert.deepEqual(good, ['good'])
    assert.match(String(bad?.[0]?.['errorMsg']), /unknown type "nope"/)
  })
})

test('beside external services, types and cron expressions are theirs', async (t) => {
  const backends = await startBackends(t, [definitionsBackend])
  const answer = await save(backends, { stages: [{ type: 'ourOwn' }], ...cron('bad') })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
})

test("a duplicate name is rejected with its pipeline's id", async (t) => {
  const backends = await startBackends(t, everything)
  for (const [path, kind] of [
    ['/pipelines', 'pipeline'],
    ['/strategies', 'strategy'],
  ] as const) {
    await save(backends, { name: 'main', id: 'an-id' }, path)
    const { status, body } = await save(backends, { name: 'main' }, path)
    assert.equal(status, 400)
    assert.equal(
      (body as Fields)['message'],
      `A ${kind} named "main" exists already in the application "demo". ` +
        'To update it, send its "id", "an-id"; to save another one, choose another name.',
    )
  }
})

test('the engine names faults that do not keep a pipeline from being saved', async (t) => {
  const { ask } = await startBackends(t, everything)
  const stages = [
    { type: 'wait', name: 'Pause', waitTme: 3 },
    { name: 'Later' },
    { type: 'deploy', name: 'Deploy', clusters: [{ application: 'demo', command: '${1 + }' }] },
    { type: 'manualJudgment', name: 'Ask', judgmentInputs: [{ value: 'a', color: 'red' }] },
  ]
  const { body } = await ask('orca', 'POST', '/definitions/warnings', {
    application: 'nowhere',
    name: 'p',
    stages,
  })
  assert.deepEqual(
    (body as string[]).map((each) =>
      each.replace(/: (?:Expected|The expression|Unexpected|An? ).*$/, ''),
    ),
    [
      'The application "nowhere" does not exist.',
      'Stage "Pause": "waitTme" is no field of this stage type. Write "waitTime".',
      'Stage "Later" has no "type"; a start is rejected until it has one.',
      'Stage "Deploy": "${1 + }" is no expression and stays as it is',
      'Stage "Deploy": "clusters[0].credentials" is missing. The account.',
      'Stage "Deploy": "clusters[0].regions" is missing. Regions, zones or namespaces. The stage works on each of them.',
    ],
    JSON.stringify(body, undefined, 1),
  )
  const good = {
    application: 'nowhere',
    stages: [{ type: 'wait', waitTime: '${parameters.seconds}' }],
  }
  const { body: rest } = await ask('orca', 'POST', '/definitions/warnings', good)
  assert.deepEqual(rest, ['The application "nowhere" does not exist.'])
  const old = {
    type: 'templatedPipeline',
    config: { schema: '1', pipeline: { template: { source: 'spinnaker://t' } } },
  }
  const { body: ofOld } = await ask('orca', 'POST', '/definitions/warnings', {
    application: 'nowhere',
    ...old,
  })
  assert.match(
    String((ofOld as string[])[1]),
    /instance of a version-1 template.+POST \/v2\/pipelineTemplates\/create/,
  )
})
