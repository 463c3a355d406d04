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
  Pipeline,
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
    model: Pipeline,
    path: '/pipelines',
    valid: { application: 'demo', name: 'p' },
    list: '/pipelines',
  },
  strategy: {
    model: Pipeline,
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
const accepted: Readonly<Record<string, (value: unknown) => boolean>> = {
  updateTs: (value) => typeof value === 'number',
  createTs: (value) => typeof value === 'number',
  cloudProviders: (value) =>
    Array.isArray(value) && value.every((each) => typeof each === 'string'),
}

for (const [name, { model, path, valid, list }] of Object.entries(kinds)) {
  test(`a ${name} with a field of a wrong type is not stored`, async (t) => {
    const store = await startStore(t)
    let refused = 0
    for (const [field, schema] of Object.entries(model.shape)) {
      for (const value of values) {
        if ((schema as z.ZodType).safeParse(value).success || accepted[field]?.(value)) continue
        const { message } = await store.fails(400, 'POST', path, { ...valid, [field]: value })
        assert.match(String(message), new RegExp(field), JSON.stringify(value))
        refused++
      }
    }
    assert.ok(refused > Object.keys(model.shape).length)
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
  [Pipeline, (fields) => fields],
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

for (const [path, list] of [
  ['/pipelines', '/pipelines'],
  ['/strategies', '/strategies'],
] as const) {
  test(`what ${path} stores is what the document describes, in whatever form it was sent`, async (t) => {
    const store = await startStore(t)
    let [stored, refused] = [0, 0]
    for (const [model, wrap] of members) {
      for (const field of Object.keys(model.shape).filter(
        (name) => name !== 'application' && name !== 'id',
      )) {
        for (const value of sentForms) {
          const answer = await store.ask('POST', path, {
            application: 'demo',
            id: 'P',
            name: 'p',
            ...wrap({ [field]: value }),
          })
          if (answer.status === 200) stored++
          else refused++
          const found = await store.ok<Fields[]>('GET', list)
          for (const each of found)
            assert.deepEqual(
              Pipeline.safeParse(each).error?.issues ?? [],
              [],
              `${field} ${JSON.stringify(value)}`,
            )
        }
      }
    }
    assert.ok(stored > 50 && refused > 50, `${stored} stored, ${refused} refused`)
  })
}

test('forms of older clients are stored as text and as flags', async (t) => {
  const store = await startStore(t)
  const stages = [
    { type: 'wait', refId: 1, requisiteStageRefIds: [] },
    { type: 'wait', refId: 2, requisiteStageRefIds: [1] },
  ]
  const triggers = [
    { type: 'cron', enabled: 'False', cronExpression: 5 },
    { type: 'webhook', source: 'ci', enabled: 'true' },
  ]
  const flags = { disabled: 'true', limitConcurrent: 'False' }
  for (const path of ['/pipelines', '/strategies']) {
    await store.ok('POST', path, { application: 'demo', name: 'p', ...flags, stages, triggers })
    const [stored] = await store.ok<
      { [field: string]: unknown; stages: Fields[]; triggers: Fields[] }[]
    >('GET', path)
    assert.deepEqual([stored?.['disabled'], stored?.['limitConcurrent']], [true, false])
    assert.deepEqual(
      stored?.stages.map((stage) => [stage['refId'], stage['requisiteStageRefIds']]),
      [
        ['1', []],
        ['2', ['1']],
      ],
    )
    assert.deepEqual(
      stored.triggers.map(({ enabled, cronExpression }) => [enabled, cronExpression]),
      [
        [false, '5'],
        [true, undefined],
      ],
    )
  }
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
