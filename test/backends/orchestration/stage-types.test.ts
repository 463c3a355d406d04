import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import { createStageTypes } from '../../../packages/engine/orchestration/stages/registry.ts'
import { stageDescriptions } from '../../../packages/model/stage-types/all.ts'
import { findFieldProblems } from '../../../packages/model/stage-types/check-stage.ts'
import { stageFields } from '../../../packages/model/stage-types/common.ts'
import type { Field, StageDescription } from '../../../packages/model/stage-types/description.ts'
import { defaults } from '../../support/backend-settings.ts'
import { at, startEngine, W } from './support.ts'

test('every stage type of the engine is described, and no other', () => {
  assert.deepEqual(
    [...createStageTypes({ ...defaults, preconfigured: [] }).keys()].toSorted(),
    [...stageDescriptions.keys()].toSorted(),
  )
})

/** What the engine writes into contexts itself, and what users steer a running stage with. */
const notes = new Set(
  [
    'skipRemainingWait judgmentStatus judgmentInput lastModifiedBy parameterValues preconditionType startTime',
    'artifacts ami bake.requests buildInfo chosenServerGroups completionDetails deploy.jobs deploy.server.groups deploymentDetails',
    'exception executionName instanceIdsToDisable jobStatus kato.last.task.id kato.tasks launchTimes',
    'previousState propertyFileContents restartDetails restore.capacity rollback.capacity rollbacks source.given',
    'source.lookups status target.lookups targetReferences terminatedAt waitBeforeMonitorSince webhook [conditionKey]',
    'dynamicParameters failedManifests manifest.location manifest.name manifests.failures manifests.remarks manifests.required optionalArtifacts',
    'canaryPipelineExecutionId canaryScore',
    'check outputs.manifestNamesByNamespace outputs.manifests parameters previousAttempts rollback.moniker stableManifests verification',
    'promotion soak canaryStep source.mayBeMissing keptServerGroups [strategyKey] [effectsKey] notice volumes rollback.stopsFirst',
  ].flatMap((line) => line.split(' ')),
)

test('every key of the context that a stage type reads is described', () => {
  const described = new Set(
    [...stageDescriptions.values()]
      .flatMap(({ fields }) => fields)
      .concat(stageFields)
      .flatMap(namesOf),
  )
  const root = resolve(import.meta.dirname, '../../../packages/engine/orchestration/stages')
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  )
  const read = files.flatMap((file) =>
    keysRead(readFileSync(join(root, file), 'utf8')).map((key) => ({ file, key })),
  )
  // Most fields are read by the descriptions themselves.
  assert.ok(read.length > 40, 'the keys are found')
  assert.deepEqual(
    read.filter(({ key }) => !described.has(key) && !notes.has(key)),
    [],
  )
})

function namesOf({ name, otherNames = [], fields = [] }: Field): string[] {
  return [name, ...otherNames, ...fields.flatMap(namesOf)]
}

function keysRead(text: string): string[] {
  const indexed = text.matchAll(
    /\b(?:context|settings|jitter|inherited|cluster|given|rollback|validation|source)\[\s*'([\w.-]+)'\s*\]/g,
  )
  const asked = text.matchAll(/\bread\('([\w.-]+)'\)/g)
  const taken = text.matchAll(
    /const \{([^}]*)\} = (?:stage\.context|context\.stage\.context|settings|inheritedContext\(stage\))\n/g,
  )
  const parts = [...taken].flatMap(([, names = '']) =>
    names.split(',').map((each) => each.trim().split(/[:\s]/)[0] ?? ''),
  )
  return [
    ...[...indexed, ...asked].map(([, key = '']) => key),
    ...parts
      .filter((each) => each !== '' && !each.startsWith('...'))
      .map((each) => each.replaceAll("'", '')),
  ]
}

test('descriptions are complete sentences and consistent', () => {
  const checkFields = (type: string, fields: readonly Field[], path = ''): void => {
    const names = fields.map(({ name }) => name)
    assert.equal(
      new Set(names).size,
      names.length,
      `the fields of ${type} ${path} have different names`,
    )
    for (const field of fields) {
      const place = `${type} ${path}${field.name}`
      assert.match(field.help, /^.+[.]$/, `the help of ${place} is a sentence`)
      assert.ok(!field.onlyChoices || (field.choices ?? []).length > 1, place)
      assert.ok(field.kind !== 'choice' || field.choices !== undefined, place)
      assert.ok(
        !(field.required && field.default !== undefined),
        `${place} is required or has a default`,
      )
      checkFields(type, field.fields ?? [], `${path}${field.name}.`)
    }
  }
  checkFields('every stage', stageFields)
  for (const { type, label, description, fields } of stageDescriptions.values()) {
    assert.match(description, /^[A-Z].*[.]$/, type)
    assert.ok(label.length <= 45, `the label of ${type} is short`)
    checkFields(type, fields)
  }
})

const canaryWith = (canaryConfig: object) => ({ canaryConfig: { scopes: [], ...canaryConfig } })
const problems: [type: string, stage: Record<string, unknown>, expected: string[]][] = [
  ['wait', { waitTime: 'soon' }, ['"waitTime" must be a number, not "soon".']],
  ['wait', { waitTime: '30' }, []],
  ['wait', { waitTime: '${parameters.pause}' }, []],
  [
    'wait',
    { waitTime: null, stageTimeoutMs: [] },
    ['"stageTimeoutMs" must be a number, not a list.'],
  ],
  ['webhook', {}, ['"url" is missing. The address.']],
  ['webhook', { stageEnabled: { type: 'expression', expression: 'false' } }, []],
  ['webhook', { '${key}': 'http://a' }, []],
  [
    'webhook',
    { url: 'http://a', method: 'PROPFIND', customHeaders: [] },
    ['"customHeaders" must be an object, not a list.'],
  ],
  [
    'resizeServerGroup',
    { credentials: 'a', region: 'r', action: 'grow' },
    ['"action" must be one of scale_'],
  ],
  [
    'resizeServerGroup',
    { account: 'a', zone: 'z', capacity: { desired: 'x' } },
    ['"capacity.desired" must be a number, not "x".'],
  ],
  ['disableServerGroup', {}, ['"credentials" is missing. The account.', '"regions" is missing. ']],
  [
    'deploy',
    { clusters: [{ account: 'a', region: 'r', capacity: 3 }] },
    ['"clusters[0].capacity" must be an object, not 3.'],
  ],
  ['deploy', { clusters: [1] }, ['"clusters" must be a list of objects; entry 1 is 1.']],
  ['deploy', { clusters: ['${cluster}'] }, []],
  [
    'checkPreconditions',
    { preconditions: [{ type: 'expressions' }, {}] },
    [
      '"preconditions[0].type" must be one of expression, ',
      '"preconditions[1].type" is missing. What is checked.',
    ],
  ],
  [
    'kayentaCanary',
    canaryWith({
      lifetimeDuration: 'PT1H30M',
      lookbackMins: 5,
      scoreThresholds: { pass: '95', marginal: 95 },
    }),
    [],
  ],
  [
    'kayentaCanary',
    canaryWith({
      lifetimeDuration: '${parameters.time}',
      scoreThresholds: { pass: '${parameters.pass}' },
    }),
    [],
  ],
  [
    'kayentaCanary',
    canaryWith({ scoreThresholds: { pass: 101, marginal: -1 } }),
    [
      '"canaryConfig.scoreThresholds.pass" must be from 0 to 100; it is 101.',
      '"canaryConfig.scoreThresholds.marginal" must be from 0',
    ],
  ],
  [
    'kayentaCanary',
    canaryWith({ scoreThresholds: { pass: 60, marginal: '90' } }),
    [
      '"canaryConfig.scoreThresholds.marginal" must not be above "canaryConfig.scoreThresholds.pass"; they are 90 and 60.',
    ],
  ],
  [
    'kayentaCanary',
    canaryWith({
      lifetimeDuration: '1 hour',
      lifetimeHours: 0,
      canaryAnalysisIntervalMins: -1,
      lookbackMins: -5,
    }),
    [
      '"canaryConfig.lifetimeDuration" must be a duration such as PT1H30M, not "1 hour".',
      '"canaryConfig.lifetimeHours" must be above 0; it is 0.',
      '"canaryConfig.canaryAnalysisIntervalMins" must be at least 0; it is -1.',
      '"canaryConfig.lookbackMins" must be at least 0; it is -5.',
    ],
  ],
  [
    'createServerGroup',
    {
      credentials: 'a',
      region: 'r',
      canary: { steps: [{ analysis: { canaryConfig: { lifetimeDuration: 'PT0S' } } }] },
    },
    ['"canary.steps[0].analysis.canaryConfig.lifetimeDuration" must be above 0; it is "PT0S".'],
  ],
]
for (const [type, stage, expected] of problems) {
  test(`${type} with ${JSON.stringify(stage)} has ${expected.length} problems`, () => {
    const found = findFieldProblems(
      stage,
      stageDescriptions.get(type) as StageDescription,
      'plan',
    ).map(({ message }) => message)
    assert.equal(found.length, expected.length, found.join('\n'))
    for (const [index, text] of expected.entries())
      assert.equal(found[index]?.startsWith(text), true, found[index] ?? '')
  })
}

test('starts and plans name the stage and the field', async (t) => {
  const { ask, execution, backends } = await startEngine(t, { backends: [definitionsBackend] })
  const stages = [
    W('1', 0),
    { refId: '2', type: 'wait', name: 'Pause', waitTime: 'soon' },
    { refId: '3', type: 'dependsOnExecution' },
  ]
  const definition = { application: 'app', name: 'p', stages }
  const wrong = 'Stage "Pause": "waitTime" must be a number, not "soon".'
  const missing = 'stages[2].executionId: "executionId" is missing. Id of the execution.'

  const saved = await backends.ask('front50', 'POST', '/pipelines', definition)
  assert.equal(saved.status, 200)

  const plan = await ask('POST', '/orchestrate', { ...definition, plan: true })
  assert.deepEqual([plan.status, at(plan.body, 'errors')], [400, [wrong, missing]])

  const start = await ask('POST', '/orchestrate', definition)
  assert.equal(start.status, 400)
  assert.ok(
    JSON.stringify(start.body).includes('\\"waitTime\\" must be a number'),
    JSON.stringify(start.body),
  )
  const failed = (await ask('GET', '/applications/app/pipelines/search?statuses=TERMINAL'))
    .body as { id: string }[]
  assert.equal((await execution(failed[0]!.id)).cancellationReason, `Failed on startup: ${wrong}`)

  assert.equal(
    (await ask('POST', '/orchestrate', { ...definition, stages: [W('1', 0)], plan: true })).status,
    200,
  )
})

test('GET /capabilities/stageTypes lists the types with those of the configuration', async (t) => {
  const preconfigured = [
    {
      type: 'announce',
      label: 'Announce',
      description: 'Tells the team.',
      enabled: true,
      url: 'https://chat.example/${parameterValues.room}',
      parameters: [
        { name: 'room', type: 'string' as const, description: 'The room.', defaultValue: 'ops' },
      ],
    },
  ]
  const { ask } = await startEngine(t, { outside: { preconfigured } })
  const { body } = await ask('GET', '/capabilities/stageTypes')
  assert.deepEqual([at(body, 'engine'), at(body, 'verified')], ['embedded', true])
  const types = at(body, 'stageTypes') as { type: string; fields: { name: string }[] }[]
  assert.deepEqual(
    types.map(({ type }) => type).toSorted(),
    [...stageDescriptions.keys(), 'announce'].toSorted(),
  )
  const announce = types.find(({ type }) => type === 'announce')
  assert.deepEqual(at(announce, 'fields', 0, 'fields', 0), {
    name: 'room',
    kind: 'text',
    default: 'ops',
    help: 'The room.',
    required: false,
    expression: true,
    onlyChoices: false,
  })
  assert.ok(!announce?.fields.some(({ name }) => name === 'url'), 'what is fixed is no field')
  const wait = types.find(({ type }) => type === 'wait')
  assert.deepEqual(
    [at(wait, 'skippable'), at(wait, 'skipKey'), at(wait, 'restartable'), at(wait, 'runsHere')],
    [true, 'skipRemainingWait', true, true],
  )
  const command = types.find(({ type }) => type === 'runCommand')
  assert.deepEqual([at(command, 'runsHere'), at(wait, 'reason')], [false, undefined])
  assert.match(String(at(command, 'reason')), /switched off\. Set bakery\.local\.enabled: true/)
})
