/** What Spinnaker would keep is kept as it was sent, and every doubt about it is a finding. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DocumentFinding } from '../../../packages/base/findings/document-finding.ts'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import { eventsBackend } from '../../../packages/engine/events/events.ts'
import { createStageTypes } from '../../../packages/engine/orchestration/stages/registry.ts'
import { orchestrationBackend } from '../../../packages/engine/orchestration-backend.ts'
import type { Backend } from '../../../packages/ports/backend.ts'
import { defaults } from '../../support/backend-settings.ts'
import { type Backends, startBackends } from '../../support/backends.ts'
import type { Fields } from './store.ts'

const everything: readonly Backend[] = [definitionsBackend, orchestrationBackend, eventsBackend]

let saved = 0
async function save({ ask }: Backends, fields: Fields, path = '/pipelines') {
  saved++
  const body = { application: 'demo', name: `p${saved}`, id: `p${saved}`, ...fields }
  const answer = await ask('front50', 'POST', path, body)
  const list = path.includes('Templates') ? '/v2/pipelineTemplates' : path
  const stored = ((await ask('front50', 'GET', list)).body as Fields[]).find(
    ({ id }) => id === body.id,
  )
  return { ...answer, stored, id: body.id }
}

const kindOf = (path = '') =>
  path.includes('Templates') ? 'template' : path === '/strategies' ? 'strategy' : 'pipeline'

async function findingsOf(backends: Backends, body: Fields, path?: string) {
  const document = { application: 'demo', name: 'p', ...body }
  const { body: found } = await backends.ask('orca', 'POST', `/findings/${kindOf(path)}`, document)
  return (found as DocumentFinding[]).filter(({ place }) => place !== 'application')
}

const inTemplate = (pipeline: Fields): Fields => ({
  schema: 'v2',
  metadata: { scopes: ['global'] },
  pipeline,
})
const trigger = (type: string, fields: Fields = {}): Fields => ({
  triggers: [{ type: 'manual' }, { type, enabled: true, ...fields }],
})
const cron = (cronExpression: unknown, fields: Fields = {}): Fields =>
  trigger('cron', { id: 'c', cronExpression, ...fields })
const webhook = (pattern: unknown): Fields =>
  trigger('webhook', { source: 'ci', payloadConstraints: { ref: pattern } })
const wait = (refId: unknown, ...requisiteStageRefIds: unknown[]) => ({
  refId,
  requisiteStageRefIds,
  type: 'wait',
  name: `stage ${refId}`,
})

interface Case {
  readonly body: Fields
  readonly path?: string
  readonly place: string
  readonly says: RegExp
}

/** A strict store refuses them. */
const errors: Readonly<Record<string, Case>> = {
  'a misspelt type': {
    body: {
      stages: [
        { type: 'wait', waitTime: 1 },
        { type: 'wiat', name: 'Pause' },
      ],
    },
    place: 'stages[1].type',
    says: /^There is no stage type "wiat"\. The embedded engine runs these types, the nearest first: wait, .* more\..*plug-in.*services\.orca\.baseUrl/,
  },
  'a type in another case': {
    body: { stages: [{ type: 'Wait' }] },
    place: 'stages[0].type',
    says: /no stage type "Wait".* first: wait,/,
  },
  'an unknown alias': {
    body: { stages: [{ type: 'wait', alias: 'nap', waitTime: 1 }] },
    place: 'stages[0].type',
    says: /no stage type "nap"/,
  },
  'a type for a provider': {
    body: { stages: [{ type: 'wait', providerType: 'gce', waitTime: 1 }] },
    place: 'stages[0].type',
    says: /no stage type "wait_gce"/,
  },
  "a stage type of Spinnaker's services": {
    body: { stages: [{ type: 'deployCloudrunManifest' }] },
    place: 'stages[0].type',
    says: /does not run stages of the type "deployCloudrunManifest", which belong to Cloud Run: set services\.orca\.baseUrl/,
  },
  'a reference to a stage that does not exist': {
    body: { stages: [{ ...wait('1', '9'), waitTime: 1 }] },
    place: 'stages',
    says: /Stage "1" requires "9", but no stage has that refId/,
  },
  'references that are no list': {
    body: { stages: [{ ...wait('1'), requisiteStageRefIds: '2', waitTime: 1 }] },
    place: 'stages',
    says: /"requisiteStageRefIds" of stage 1 must be a list/,
  },
  'a reference that is an object': {
    body: { stages: [{ ...wait({}), waitTime: 1 }] },
    place: 'stages',
    says: /The "refId" of stage 1 must be text or a number/,
  },
  'two stages of one reference': {
    body: { stages: ['1', 1].map((refId) => ({ refId, type: 'wait', waitTime: 1 })) },
    place: 'stages',
    says: /Two stages have the refId "1"/,
  },
  'a circle through number and text': {
    body: { stages: [wait(1, '2'), wait('2', 1), wait('3', '2')] },
    place: 'stages',
    says: /^The stages .*circle/,
  },
  'a misspelt strategy of a deployment': {
    body: { stages: [{ type: 'deploy', clusters: [{ account: 'a', strategy: 'redblak' }] }] },
    place: 'stages[0].clusters[0].strategy',
    says: /must be one of redblack, .*; it is "redblak"/,
  },
  'a place of the status address that is none': {
    body: {
      stages: [{ type: 'webhook', url: 'https://a.example', statusUrlResolution: 'GetMethod' }],
    },
    place: 'stages[0].statusUrlResolution',
    says: /must be one of getMethod/,
  },
  'a required field under a misspelt name': {
    body: { stages: [{ type: 'pipeline', name: 'Child', pipelin: 'p1' }] },
    place: 'stages[0].pipelin',
    says: /"pipelin" is no field of this stage type\. Write "pipeline"\./,
  },
  'a strategy': {
    path: '/strategies',
    body: { stages: [{ type: 'nope' }] },
    place: 'stages[0].type',
    says: /no stage type "nope"/,
  },
  'a template': {
    path: '/v2/pipelineTemplates',
    body: inTemplate({ stages: [{ type: 'nope' }] }),
    place: 'pipeline.stages[0].type',
    says: /no stage type "nope"/,
  },
  'a trigger that is enabled perhaps': {
    body: trigger('webhook', { source: 'ci', enabled: 'ja' }),
    place: 'triggers[1].enabled',
    says: /never fires/,
  },
  'an unknown type of trigger': {
    body: trigger('webhok'),
    place: 'triggers[1].type',
    says: /"webhok" is not a type of trigger\. Use one of webhook,.* never fires/,
  },
  'a cron expression': {
    body: cron('every day'),
    place: 'triggers[1].cronExpression',
    says: /^Cron expression 'every day' is not valid: The expression has 2 fields/,
  },
  'a cron expression that is a number': {
    body: cron(7),
    place: 'triggers[1].cronExpression',
    says: /Cron expression '7'/,
  },
  'a date that never comes': {
    body: cron('0 0 10 31 2 ?'),
    place: 'triggers[1].cronExpression',
    says: /expression "0 0 10 31 2 \?" never comes true/,
  },
  'a cron expression of a template': {
    path: '/v2/pipelineTemplates',
    body: inTemplate(cron('0 0 10 * * 1')),
    place: 'pipeline.triggers[1].cronExpression',
    says: /write "\?" for one of them/,
  },
  'a source with a slash': {
    body: trigger('webhook', { source: 'a/b' }),
    place: 'triggers[1].source',
    says: /never fires. Write a-b/,
  },
  'a whole address as the source': {
    body: trigger('webhook', { source: 'https://gate.example/webhooks/webhook/ci' }),
    place: 'triggers[1].source',
    says: /never fires. Write ci\./,
  },
  'a poll without an address': {
    body: trigger('git', { source: 'git', poll: true, repository: '/srv/git/shop.git' }),
    place: 'triggers[1].repository',
    says: /^It polls, and "\/srv\/git\/shop\.git" is no address of a repository/,
  },
  'a status that no pipeline has': {
    body: trigger('pipeline', { pipeline: 'p', status: ['SUCCEEDED'] }),
    place: 'triggers[1].status',
    says: /"SUCCEEDED" is not a status to wait for/,
  },
  'a back-reference in a constraint': {
    body: webhook('(a)\\1'),
    place: 'triggers[1].payloadConstraints.ref',
    says: /can never match. Back-references are not supported/,
  },
  'a path of a constraint': {
    body: trigger('webhook', { source: 'ci', payloadConstraints: { '$.a[': 'x' } }),
    place: 'triggers[1].payloadConstraints.$.a[',
    says: /can never match: the path "\$\.a\[" ends too early/,
  },
  'a pattern for a branch': {
    body: trigger('git', { source: 'github', project: 'a', slug: 'b', branch: '*' }),
    place: 'triggers[1].branch',
    says: /can never match/,
  },
  'a pattern for an artifact': {
    body: { expectedArtifacts: [{ id: 'a', matchArtifact: { name: '(?>a)' } }] },
    place: 'expectedArtifacts[0].matchArtifact.name',
    says: /Atomic/,
  },
}

/** They may be unfinished, or meant. */
const warnings: Readonly<Record<string, Case>> = {
  'a stage without a type': {
    body: { stages: [{ refId: '1' }] },
    place: 'stages[0].type',
    says: /no "type"; a start is rejected/,
  },
  'a misspelt field that is not required': {
    body: { stages: [{ type: 'wait', waitTime: 1, skipWaitTxet: 'x' }] },
    place: 'stages[0].skipWaitTxet',
    says: /Write "skipWaitText"/,
  },
  'a missing field': {
    body: { stages: [{ type: 'deploy', clusters: [{ region: 'eu' }] }] },
    place: 'stages[0].clusters[0].credentials',
    says: /is missing/,
  },
  ...Object.fromEntries(
    ['statusUrlJsonPath', 'statusJsonPath', 'progressJsonPath'].map((field) => [
      field,
      {
        body: { stages: [{ type: 'webhook', url: 'https://a.example', [field]: '$.a[' }] },
        place: `stages[0].${field}`,
        says: /The path "\$\.a\[" ends too early\. The stage fails/,
      },
    ]),
  ),
  ...Object.fromEntries(
    (
      [
        [{ type: 'deploy', clusters: [] }, 'clusters', /add one/],
        [
          { type: 'deploy', clusters: [{ capacity: { desired: 1 } }] },
          'clusters[0].imageId',
          /nothing before it yields one/,
        ],
        [
          { type: 'createServerGroup', imageId: 'a', capacity: { min: 1, max: 2, desired: 5 } },
          'capacity.desired',
          /at least 1 and at most 2/,
        ],
        [
          { type: 'createServerGroup', imageId: 'a', capacity: { min: 3, max: 2 } },
          'capacity.max',
          /at least 3/,
        ],
        [
          {
            type: 'bake',
            cloudProviderType: 'local',
            package: 'a',
            baseOs: 'b',
            extendedAttributes: { directory: 'c' },
          },
          'extendedAttributes.directory',
          /whole path/,
        ],
        [{ type: 'webhook', url: 'a.example' }, 'url', /https/],
        [{ type: 'deployManifest', source: 'artifact' }, 'manifestArtifactId', /which artifact/],
        [{ type: 'deployManifest', manifests: [] }, 'manifests', /no manifest/],
        [{ type: 'runCommand' }, 'command', /./],
      ] as const
    ).map(([stage, field, says]) => [
      `${JSON.stringify(stage)}`,
      { body: { stages: [stage] }, place: `stages[0].${field}`, says },
    ]),
  ),
  'a pipeline to follow that does not exist': {
    body: trigger('pipeline', { pipeline: 'gone', status: ['failed'] }),
    place: 'triggers[1].pipeline',
    says: /No pipeline has the id "gone", so the trigger never fires/,
  },
  'a pipeline to start that does not exist': {
    body: { stages: [{ type: 'pipeline', application: 'demo', pipeline: 'gone' }] },
    place: 'stages[0].pipeline',
    says: /No pipeline has the id "gone", so the stage fails/,
  },
  'an artifact that nothing expects': {
    body: { stages: [{ type: 'deployManifest', manifestArtifactId: 'a1' }] },
    place: 'stages[0].manifestArtifactId',
    says: /expects an artifact with the id "a1"/,
  },
  'a trigger for an artifact that nothing expects': {
    body: trigger('webhook', { source: 'ci', expectedArtifactIds: ['a1'] }),
    place: 'triggers[1].expectedArtifactIds',
    says: /expects no artifact with the id "a1", so the trigger never fires/,
  },
  'a pipeline in a wrapper': {
    body: { pipeline: { stages: [{ type: 'wait', waitTime: 1 }] } },
    place: 'pipeline',
    says: /stages are in "pipeline", where nothing reads them/,
  },
  'a stage of an execution': {
    body: { stages: [{ type: 'wait', refId: '1', context: { waitTime: 1 }, tasks: [] }] },
    place: 'stages[0].context',
    says: /a stage of an execution/,
  },
  'an execution': {
    body: { status: 'SUCCEEDED', trigger: { type: 'manual' }, stages: [] },
    place: 'trigger',
    says: /It is an execution: the record of one run/,
  },
  'parameters beside the pipeline of a template': {
    path: '/v2/pipelineTemplates',
    body: { ...inTemplate({ stages: [] }), parameterConfig: [{ name: 'a' }] },
    place: 'parameterConfig',
    says: /A template has its "parameterConfig" in "pipeline"/,
  },
  'variables that are a map': {
    path: '/v2/pipelineTemplates',
    body: { ...inTemplate({ stages: [] }), variables: { a: 1 } },
    place: 'variables',
    says: /It is no list/,
  },
  'an expression in a trigger': {
    body: cron('${parameters.time}'),
    place: 'triggers[1].cronExpression',
    says: /Expressions of triggers are not evaluated/,
  },
  'a repository by its address': {
    body: trigger('git', { source: 'github', project: 'https://github.com/shop', slug: 'web' }),
    place: 'triggers[1].slug',
    says: /owner as "project" and its name as "slug"/,
  },
  'options that are texts': {
    body: { parameterConfig: [{ name: 'a', options: ['x'] }] },
    place: 'parameterConfig[0].options',
    says: /list of objects/,
  },
  ...Object.fromEntries(
    (
      [
        [{ comments: '${#stages("a")}' }, 'comments', /no function "#stages".* #stage\./],
        [{ comments: '${T(java.lang.System).exit(1)}' }, 'comments', /"java\.lang\.System"/],
        [{ comments: '${parameters.my-name}' }, 'comments', /parameters\['my-name'\]/],
        [{ comments: "${#stage('Bild').status}" }, 'comments', /No stage is named "Bild"/],
        [
          { stageEnabled: { type: 'expression', expression: "#judgment('wait') == 'a'" } },
          'stageEnabled.expression',
          /is never true: No manual judgment is named "wait"/,
        ],
        [
          { stageEnabled: { type: 'expression', expression: 'parameters.a = 1' } },
          'stageEnabled.expression',
          /is never true: Unexpected "="/,
        ],
        [
          { stageEnabled: { type: 'spel', expression: 'false' } },
          'stageEnabled.type',
          /the stage always runs/,
        ],
        [
          {
            type: 'checkPreconditions',
            preconditions: [{ type: 'expression', context: { expression: 'a b' } }],
          },
          'preconditions[0].context.expression',
          /is never true/,
        ],
        [
          {
            type: 'evaluateVariables',
            variables: [
              { key: 'a', value: '1' },
              { key: 'b', value: '${a}' },
            ],
          },
          'variables[1].value',
          /reads "a" of the same stage.* "v4"/,
        ],
      ] as const
    ).map(([fields, field, says]) => [
      JSON.stringify(fields),
      {
        body: { stages: [{ type: 'wait', waitTime: 1, ...fields }] },
        place: `stages[0].${field}`,
        says,
      },
    ]),
  ),
  'what is no expression': {
    body: { stages: [{ type: 'wait', waitTime: 1, comments: '${1 + }' }] },
    place: 'stages[0].comments',
    says: /"\$\{1 \+ \}" is no expression and stays as it is/,
  },
  ...Object.fromEntries(
    [
      ['webhook', {}, 'source'],
      ['pipeline', { status: ['failed'] }, 'pipeline'],
      ['cron', { id: 'c' }, 'cronExpression'],
      ['git', { project: 'a', slug: 'b' }, 'source'],
      ['git', { source: 'github' }, 'repository'],
    ].map(([type, fields, field]) => [
      `${type} without ${field}`,
      {
        body: trigger(type as string, fields as Fields),
        place: `triggers[1].${field}`,
        says: /never fires/,
      },
    ]),
  ),
}

test('what can never work is kept as it was sent, with a finding; a strict store refuses it', async (t) => {
  const backends = await startBackends(t, everything)
  const strict = await startBackends(t, everything, { settings: { findings: { strict: true } } })
  for (const [severity, cases] of Object.entries({ error: errors, warning: warnings }))
    for (const [what, { body, path, place, says }] of Object.entries(cases))
      await t.test(`${severity}: ${what}`, async () => {
        const { status, body: answer, stored } = await save(backends, body, path)
        assert.equal(status, 200, JSON.stringify(answer))
        for (const [name, part] of Object.entries(body)) assert.deepEqual(stored?.[name], part)
        const found = await findingsOf(backends, body, path)
        const finding = found.find((each) => each.place === place)
        assert.equal(finding?.severity, severity, JSON.stringify(found))
        assert.match(String(finding?.message), says)
        const refused = await save(strict, body, path)
        assert.equal(refused.status, severity === 'error' ? 400 : 200, JSON.stringify(refused.body))
        if (severity === 'error')
          assert.match(
            String((refused.body as Fields)['message']),
            new RegExp(says.source.replace(/^\^/, '')),
          )
      })
  const off = await save(strict, { disabled: true, stages: [{ type: 'nope' }] })
  assert.equal(off.status, 200, 'a disabled pipeline does not run')
})

test('what works has no finding', async (t) => {
  const backends = await startBackends(t, everything)
  const { id: first } = await save(backends, {})
  const fine: Readonly<Record<string, Fields>> = {
    'a type that its alias implements': {
      stages: [{ type: 'myJudgment', alias: 'manualJudgment' }],
    },
    'numbers as references': {
      stages: [wait(1), wait(2, 1)].map((each) => ({ ...each, waitTime: 1 })),
    },
    'a diamond': {
      stages: [wait('1'), wait('2', '1'), wait('3', '1'), wait('4', '2', '3')].map((each) => ({
        ...each,
        waitTime: '1',
      })),
    },
    'stages that expressions ask for': {
      stages: [
        { type: 'manualJudgment', name: 'Ask', comments: "${#stage('Ask').status}" },
        { type: 'wait', waitTime: 1, comments: "${#stageExists('a') ? #stage('a').status : ''}" },
        {
          type: 'wait',
          waitTime: 1,
          stageEnabled: { type: 'expression', expression: "#judgment('Ask') == 'a'" },
        },
      ].map((stage, at) => ({ ...stage, refId: String(at) })),
    },
    'a comment of JSON': { stages: [{ type: 'wait', waitTime: 1, _comment: 'Why.' }] },
    'a type that is an expression': { stages: [{ type: '${ parameters.type }' }] },
    'an instance of a template': {
      type: 'templatedPipeline',
      schema: 'v2',
      stages: [],
      template: { reference: '${ templateVariables.x }' },
    },
    'every status that a pipeline may be waited for': trigger('pipeline', {
      pipeline: first,
      status: ['successful', 'failed', 'canceled', 'suspended'],
    }),
    'a usable cron expression': cron('H 0 10 ? * MON-FRI'),
    'a cron expression that is an expression': cron('${ templateVariables.cron }'),
    'a disabled trigger': cron('bad', { enabled: false }),
    'patterns that can match': {
      triggers: [webhook('^(?!x).*$'), webhook(''), webhook('${ trigger.x }(')].flatMap(
        ({ triggers }) => triggers as Fields[],
      ),
    },
    'paths and names of constraints': trigger('webhook', {
      source: 'ci',
      payloadConstraints: { 'content type': 'a', '$.a[0].b': 'c', '$.c[?(@.d == 1)]': 'e' },
    }),
    'a text of an artifact that is no pattern': {
      expectedArtifacts: [{ id: 'a', matchArtifact: { name: '*:latest' } }],
    },
    'an empty option as the editor of Spinnaker writes it': {
      parameterConfig: [{ name: 'a', hasOptions: false, options: [{ value: '' }] }],
    },
  }
  for (const [what, body] of Object.entries(fine)) {
    assert.equal((await save(backends, body)).status, 200, what)
    assert.deepEqual(await findingsOf(backends, body), [], what)
  }
  const types = [...createStageTypes({ ...defaults, preconfigured: [] }).keys()]
  const ofTypes = await findingsOf(backends, { stages: types.map((type) => ({ type })) })
  assert.deepEqual(
    ofTypes.filter(({ place }) => place.endsWith('.type')),
    [],
  )
})

test('a plan refuses what keeps a definition from running, and shows the other findings', async (t) => {
  const backends = await startBackends(t, everything)
  const plan = (fields: Fields) =>
    backends.ask('orca', 'POST', '/plan', { application: 'demo', name: 'p', ...fields })
  const { status, body } = await plan({ stages: [{ type: 'nope' }] })
  assert.equal(status, 400)
  assert.match(String((body as Fields)['message']), /no stage type "nope"/)
  const planned = await plan({ stages: [{ type: 'wait', waitTime: 1 }], ...trigger('webhook') })
  assert.equal(planned.status, 200, JSON.stringify(planned.body))
  const { findings } = planned.body as { findings: DocumentFinding[] }
  assert.deepEqual(
    findings.map(({ place }) => place),
    ['application', 'triggers[1].source'],
  )
})

test('the findings of an application are those of all that it has', async (t) => {
  const backends = await startBackends(t, everything)
  await backends.ask('front50', 'POST', '/v2/applications', { name: 'demo', email: 'a@b' })
  const { id } = await save(backends, { ...cron('bad'), stages: [{ type: 'nope', name: 'Odd' }] })
  await save(backends, { stages: [{ type: 'wait', waitTime: 1 }] })
  const { body } = await backends.ask('orca', 'GET', '/findings/applications/demo')
  const [found, ...others] = body as { kind: string; id: string; findings: DocumentFinding[] }[]
  assert.deepEqual(others, [])
  assert.deepEqual([found?.kind, found?.id], ['pipeline', id])
  assert.deepEqual(
    found?.findings.map(({ place, stage }) => [place, stage]),
    [
      ['stages[0].type', 'Odd'],
      ['triggers[1].cronExpression', undefined],
    ],
  )
})

test('beside external services, types and cron expressions are theirs', async (t) => {
  const settings = { findings: { strict: true } }
  const backends = await startBackends(t, [definitionsBackend], { settings })
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
    const { status, body } = await save(backends, { name: 'main', id: undefined }, path)
    assert.equal(status, 400)
    assert.equal(
      (body as Fields)['message'],
      `A ${kind} named "main" exists already in the application "demo". ` +
        'To update it, send its "id", "an-id"; to save another one, choose another name.',
    )
  }
})

test('variables of an instance are compared with those of its template', async (t) => {
  const backends = await startBackends(t, everything)
  const variables = [
    { name: 'image', type: 'string' },
    { name: 'replicas', type: 'int', defaultValue: 1 },
  ]
  const { id } = await save(backends, { ...inTemplate({}), variables }, '/v2/pipelineTemplates')
  const found = await findingsOf(backends, {
    type: 'templatedPipeline',
    schema: 'v2',
    template: { reference: `spinnaker://${id}` },
    variables: { replicas: 'many', imag: 'web:1' },
  })
  assert.deepEqual(
    found.map(({ severity, place }) => `${severity} ${place}`),
    ['error variables', 'error variables', 'warning variables.imag'],
  )
  const says = found.map(({ message }) => message).join(' ')
  assert.match(says, /"image" has no value.*"replicas" must be of type int.*Use one of image/)
})
