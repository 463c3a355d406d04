/** What the API document says of a definition is what the store accepts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { z } from 'zod'
import {
  ApplicationAttributes,
  Project,
  SnapshotModel,
} from '../../../packages/model/environments/application-models.ts'
import {
  NotificationSettings,
  PipelineModel,
  PipelineStage,
  PipelineTemplate,
  PipelineTrigger,
} from '../../../packages/model/environments/pipeline-models.ts'
import { type Fields, startStore } from './store.ts'

interface Kind {
  readonly model: z.ZodObject
  readonly path: string
  readonly valid: Fields
  /** Everything that is stored. */
  readonly list: string
}

const kinds: Readonly<Record<string, Kind>> = {
  pipeline: {
    model: PipelineModel,
    path: '/pipelines',
    valid: { application: 'demo', name: 'p' },
    list: '/pipelines',
  },
  strategy: {
    model: PipelineModel,
    path: '/strategies',
    valid: { application: 'demo', name: 'p' },
    list: '/strategies',
  },
  template: {
    model: PipelineTemplate,
    path: '/pipelineTemplates',
    valid: { id: 't' },
    list: '/pipelineTemplates',
  },
  project: { model: Project, path: '/v2/projects', valid: { name: 'p' }, list: '/v2/projects' },
  application: {
    model: ApplicationAttributes,
    path: '/v2/applications',
    valid: { name: 'demo', email: 'a@b' },
    list: '/v2/applications',
  },
  notifications: {
    model: NotificationSettings,
    path: '/notifications/application/demo',
    valid: {},
    list: '/notifications',
  },
  snapshot: {
    model: SnapshotModel,
    path: '/snapshots',
    valid: { application: 'demo', account: 'a' },
    list: '/snapshots/demo-a/history',
  },
}

const values: readonly unknown[] = ['text', 1.5, true, { a: 1 }, [null, null], [[1]]]
const isScalar = (value: unknown) => typeof value !== 'object'
const isObjects = (value: unknown) =>
  Array.isArray(value) && value.every((each) => typeof each === 'object' && !Array.isArray(each))
const isFlag = (value: unknown) => typeof value === 'number'
/** As Front50, which reads a value of one type from another, and looks into no stage. */
const acceptedInPipelines: typeof accepted = {
  ...Object.fromEntries(
    ['schema', 'type', 'updateTs', 'lastModifiedBy'].map((field) => [field, isScalar]),
  ),
  ...Object.fromEntries(
    ['stages', 'triggers', 'parameterConfig', 'expectedArtifacts', 'notifications'].map((field) => [
      field,
      isObjects,
    ]),
  ),
  ...Object.fromEntries(
    ['disabled', 'limitConcurrent', 'keepWaitingPipelines', 'strategy'].map((field) => [
      field,
      isFlag,
    ]),
  ),
  description: () => true,
}
const accepted: Readonly<Record<string, (value: unknown) => boolean>> = {
  updateTs: (value) => typeof value === 'number',
  createTs: (value) => typeof value === 'number',
  trafficGuards: isObjects,
  // An attribute of the same name may be another one.
  environments: () => true,
  cloudProviders: (value) =>
    Array.isArray(value) && value.every((each) => typeof each === 'string'),
}

for (const [name, { model, path, valid, list }] of Object.entries(kinds)) {
  // A record of notifications is any object.
  if (model !== NotificationSettings)
    test(`a ${name} with a field of a wrong type is not stored`, async (t) => {
      const store = await startStore(t)
      let refused = 0
      const alsoAccepted = model === PipelineModel ? acceptedInPipelines : accepted
      for (const [field, schema] of Object.entries(model.shape)) {
        for (const value of values) {
          if ((schema as z.ZodType).safeParse(value).success || alsoAccepted[field]?.(value))
            continue
          const { message } = await store.fails(400, 'POST', path, { ...valid, [field]: value })
          assert.match(String(message), new RegExp(field), JSON.stringify(value))
          refused++
        }
      }
      assert.ok(refused > Object.keys(model.shape).length / 2)
      assert.deepEqual(await store.ok('GET', list), [])
    })

  test(`a ${name} with nulls is stored as the document describes it`, async (t) => {
    const store = await startStore(t)
    const nulls = Object.entries(model.shape).flatMap(([field, schema]) =>
      (schema as z.ZodType).safeParse(null).success && !(field in valid) ? [[field, null]] : [],
    )
    assert.ok(nulls.length > 0)
    await store.ok('POST', path, { ...valid, ...Object.fromEntries(nulls) })
    const stored = await store.ok<unknown[]>('GET', list)
    assert.equal(stored.length, 1)
    assert.deepEqual(
      stored.map((each) => model.safeParse(each).error?.issues ?? []),
      [[]],
    )
  })
}

/** Every field of a pipeline, a stage and a trigger that the document describes. */
const members: readonly [model: z.ZodObject, wrap: (fields: Fields) => Fields][] = [
  [PipelineModel, (fields) => fields],
  [PipelineStage, (fields) => ({ stages: [{ type: 'wait', refId: '1', ...fields }] })],
  [PipelineTrigger, (fields) => ({ triggers: [{ type: 'manual', ...fields }] })],
]
const sentForms: readonly unknown[] = [
  'text',
  'true',
  'FALSE',
  '7',
  1,
  1.5,
  true,
  { a: 1 },
  ['1'],
  [2],
  [null],
  [[1]],
]

for (const path of ['/pipelines', '/strategies'] as const) {
  test(`what ${path} takes is stored as it was sent`, async (t) => {
    const store = await startStore(t)
    let [stored, refused] = [0, 0]
    for (const [model, wrap] of members) {
      const isInner = model !== PipelineModel
      for (const field of Object.keys(model.shape).filter(
        (name) =>
          !['application', 'id', 'name', 'updateTs', 'lastModifiedBy', 'triggers'].includes(name) ||
          (isInner && name !== 'id'),
      )) {
        for (const value of sentForms) {
          const sent = wrap({ [field]: value })
          const body = { application: 'demo', id: 'P', name: 'p', ...sent }
          const answer = await store.ask('POST', path, body)
          if (isInner) assert.equal(answer.status, 200, `${field} ${JSON.stringify(value)}`)
          if (answer.status !== 200) {
            refused++
            continue
          }
          stored++
          const [found] = await store.ok<Fields[]>('GET', path)
          for (const [name, part] of Object.entries(sent).filter(
            ([key]) => key !== 'index' && key !== 'strategy',
          ))
            assert.deepEqual(found?.[name], part, `${field} ${JSON.stringify(value)}`)
        }
      }
    }
    assert.ok(stored > 100 && refused > 30, `${stored} stored, ${refused} refused`)
  })
}

test('flags and numbers of older clients are read as what they mean', async (t) => {
  const store = await startStore(t)
  const triggers = [{ type: 'webhook', source: 'ci', enabled: 'TRUE' }]
  for (const [name, disabled] of [
    ['text', 'true'],
    ['number', 1],
    ['on', 'False'],
  ] as const)
    await store.ok('POST', '/pipelines', { application: 'demo', name, disabled, triggers })
  const enabled = await store.ok<Fields[]>(
    'GET',
    '/pipelines?enabledPipelines=true&enabledTriggers=true',
  )
  assert.deepEqual(
    enabled.map(({ name }) => name),
    ['on'],
  )
})

test('names that are empty are refused', async (t) => {
  const store = await startStore(t)
  for (const [path, body, status] of [
    ['/pipelines', { application: 'demo', name: ' ' }, 422],
    ['/strategies', { application: 'demo', name: '' }, 422],
    ['/v2/projects', { name: ' ' }, 422],
    ['/v2/applications', { name: '', email: 'a@b' }, 400],
    ['/pipelineTemplates', { id: '' }, 422],
    ['/pipelineTemplates', { id: 't', metadata: { name: ' ' } }, 400],
  ] as const) {
    const { message } = await store.fails(status, 'POST', path, body)
    assert.ok(String(message) !== '', path)
  }
  await store.ok('POST', '/pipelineTemplates', { id: 'web', metadata: { name: 'web' } })
  for (const path of ['/pipelineTemplates', '/v2/pipelineTemplates'])
    await store.fails(400, 'PUT', `${path}/web`, { id: 'web', metadata: { name: ' ' } })
})
