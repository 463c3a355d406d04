/** Subjects of bodies that an orchestrator would read otherwise than they look. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { GatewayError } from '../../../packages/base/errors.ts'
import { parseJson } from '../../../packages/base/json/json.ts'
import type { JsonObject } from '../../../packages/base/json/values.ts'
import { checkCarriedDocuments } from '../../../packages/gateway/operations/access/job-form.ts'
import { subjectsMentionedIn } from '../../../packages/gateway/operations/access/mentions.ts'
import type { DemandSubject } from '../../../packages/gateway/operations/access/subject.ts'
import {
  subjectsOfDefinition,
  subjectsOfJobs,
  subjectsOfStart,
  subjectsOfTask,
} from '../../../packages/gateway/operations/access/subjects.ts'

const refusal = (code: string) => (error: GatewayError) => error.code === code
const isHidden = (subjects: DemandSubject[]) => subjects.some(({ kind }) => kind === 'hidden')
const needsIn = (subjects: DemandSubject[]) =>
  subjects.flatMap((subject) => (subject.kind === 'need' ? [subject.need] : []))
const idsIn = (subjects: DemandSubject[]) =>
  subjects.flatMap((subject) => (subject.kind === 'owned' ? [subject.id] : []))
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')

test('names behind evaluated keys are hidden at any depth', () => {
  for (const job of [
    { type: 'deploy', clusters: [{ "${'account'}": 'prod' }] },
    { type: 'updateApplication', application: { name: 'web', "${'name'}": 'secret' } },
    { type: 'savePipeline', pipeline: { application: 'web', "${'application'}": 'secret' } },
  ]) {
    assert.ok(isHidden(subjectsOfJobs([job])), JSON.stringify(job))
  }
})

test('an expression that may become an object is hidden', () => {
  for (const job of [
    { type: 'deploy', clusters: "${#readJson('[]')}" },
    { type: 'deploy', clusters: ["${{'account': 'prod'}}"] },
    { type: 'deleteManifest', account: 'test', moniker: "${{'app': 'secret'}}" },
  ]) {
    assert.ok(isHidden(subjectsOfJobs([job])), JSON.stringify(job))
  }
  const harmless = {
    type: 'runJob',
    account: 'test',
    name: "${'x'}",
    stageEnabled: { type: 'expression', expression: '${true}' },
    tag: "v${'1'}",
    parameters: '${trigger.parameters}',
  }
  assert.deepEqual(subjectsOfJobs([harmless]), [
    { kind: 'need', need: { kind: 'account', name: 'test', authorization: 'WRITE' } },
  ])
})

test('application and id of a definition are texts', () => {
  for (const fields of [
    { application: ['secret'] },
    { application: 'web', id: ['x'] },
    { application: { name: 'secret' } },
  ]) {
    assert.throws(
      () => subjectsOfDefinition(fields),
      refusal('BAD_ARGUMENT'),
      JSON.stringify(fields),
    )
  }
  assert.ok(isHidden(subjectsOfDefinition({ application: 'web', id: "${'x'}" })))
  const subjects = subjectsOfDefinition({ application: 7, id: 8 })
  assert.deepEqual(needsIn(subjects), [{ kind: 'application', name: '7', authorization: 'WRITE' }])
  assert.deepEqual(idsIn(subjects), ['8'])
})

test('a start needs every definition that it names', () => {
  const config = { pipeline: { application: 'web', pipelineConfigId: 'inner' } }
  assert.deepEqual(idsIn(subjectsOfStart({ id: 'outer', config })), ['outer', 'inner'])
  assert.deepEqual(idsIn(subjectsOfJobs([{ type: 'pipeline', pipelineId: 'child' }])), ['child'])
})

test('plugins and tags are protected as under their own addresses', () => {
  const plugin = {
    kind: 'application',
    name: 'spinnakerplugins',
    authorization: 'WRITE',
    whenUnknown: 'admin',
  }
  for (const type of ['upsertPluginInfo', 'deletePluginInfo'])
    assert.deepEqual(needsIn(subjectsOfJobs([{ type }])), [plugin])
  const tags = { type: 'deleteEntityTags', id: 'aws:servergroup:a:b:prod:eu-west-1', tags: ['x'] }
  const prod = { kind: 'account', name: 'prod', authorization: 'WRITE' }
  const owned = { kind: 'owned', what: 'entity-tags', id: tags.id, authorization: 'WRITE' }
  assert.deepEqual(subjectsOfJobs([tags]), [owned])
  assert.ok(isHidden(subjectsOfJobs([{ ...tags, id: `aws:\${'x'}:a:b:c` }])))
  assert.deepEqual(
    needsIn(subjectsOfJobs([{ type: 'destroyServerGroup', credentials: ['prod'] }])),
    [prod],
  )
})

test('manifests that are deleted by labels belong to the application in their labels', () => {
  const job = (selectors: unknown[]) => ({
    type: 'deleteManifest',
    account: 'prod',
    labelSelectors: { selectors },
  })
  const byName = { kind: 'EQUALS', key: 'app.kubernetes.io/name', values: ['web'] }
  const others = { kind: 'NOT_EQUALS', key: 'app.kubernetes.io/name', values: ['web'] }
  const tier = { kind: 'EQUALS', key: 'tier', values: ['back'] }
  const web = (authorization: string) => ({ kind: 'application', name: 'web', authorization })
  assert.deepEqual(needsIn(subjectsOfJobs([job([byName, tier])])).slice(1), [web('WRITE')])
  assert.deepEqual(needsIn(subjectsMentionedIn(job([byName]))), [web('READ')])
  for (const selectors of [[], [tier], [others]]) {
    const [subject] = subjectsMentionedIn({ job: [job(selectors)] })
    assert.deepEqual(
      [subject?.kind, subject?.kind === 'deployed' && subject.account],
      ['deployed', undefined],
    )
  }
})

test('what jobs name is judged by its owner, also for users', () => {
  const place = { account: 'prod', region: 'east' }
  const named: JsonObject[] = [
    { type: 'destroyServerGroup', serverGroupName: 'shop-main-v000' },
    { type: 'shrinkCluster', cluster: ' shop' },
    { type: 'deleteLoadBalancer', loadBalancerName: 'shop-front' },
    { type: 'deleteSecurityGroup', name: 'shop-inner' },
    { type: 'upsertLoadBalancers', loadBalancers: [{ name: 'shop-front' }] },
    { type: 'deleteManifest', mode: 'dynamic', app: 'shop', cluster: 'deployment front' },
  ]
  const shop = { kind: 'application', name: 'shop', authorization: 'WRITE' }
  for (const job of named)
    assert.deepEqual(
      needsIn(subjectsOfJobs([{ ...place, ...job }])).slice(-1),
      [shop],
      job['type'] as string,
    )
  for (const name of ["sh${'op'}-v000", "${'shop'}"]) {
    assert.ok(isHidden(subjectsOfJobs([{ type: 'deleteLoadBalancer', name }])), name)
    assert.ok(isHidden(subjectsMentionedIn({ serverGroupName: name })), name)
  }
  const deployed = subjectsOfJobs([
    { type: 'scaleManifest', ...place, manifestName: 'deployment front' },
  ]).at(-1)
  assert.partialDeepStrictEqual(deployed, {
    kind: 'deployed',
    what: 'manifest',
    id: 'deployment front',
    authorization: 'WRITE',
  })
  const moniker = { app: 'web', cluster: 'front-end' }
  assert.deepEqual(needsIn(subjectsOfJobs([{ type: 'deployManifest', moniker }])), [
    { ...shop, name: 'web' },
  ])
})

test('every id is found at any depth and in documents', () => {
  const mentioned: [unknown, string, string][] = [
    [{ trigger: { parentPipelineId: 'x' } }, 'execution', 'x'],
    [{ trigger: { trigger: { parentExecution: { id: 'x' } } } }, 'execution', 'x'],
    [{ stages: [{ type: 'monitorPipeline', executionIds: ['x'] }] }, 'execution', 'x'],
    [{ stages: [{ type: 'dependsOnExecution', executionId: 'x' }] }, 'execution', 'x'],
    [{ triggers: [{ type: 'pipeline', pipeline: 'x' }] }, 'definition', 'x'],
    [{ stages: [{ type: 'findArtifactFromExecution', pipeline: 'x' }] }, 'definition', 'x'],
    [{ config: { pipeline: { pipelineConfigId: 'x' } } }, 'definition', 'x'],
    [
      { job: [{ type: 'savePipeline', pipeline: encoded({ stages: [{ executionId: 'x' }] }) }] },
      'execution',
      'x',
    ],
    [{ job: [{ type: 'reorderPipelines', idsToIndices: encoded({ x: 0 }) }] }, 'definition', 'x'],
    [{ template: { reference: 'spinnaker://x:latest' } }, 'template', 'x:latest'],
    [{ config: { pipeline: { template: { source: 'spinnaker://x' } } } }, 'template', 'x'],
    [{ stages: [{ canaryConfig: { canaryConfigId: 'x' } }] }, 'canary-config', 'x'],
  ]
  for (const [body, what, id] of mentioned) {
    const found = subjectsMentionedIn(body).flatMap((one) =>
      one.kind === 'owned' ? [`${one.what} ${one.id}`] : [],
    )
    assert.ok(found.includes(`${what} ${id}`), JSON.stringify(body))
  }
  const own = {
    parameters: { application: 'shop' },
    manifests: [{ application: 'shop' }],
    variables: { pipeline: 'x' },
  }
  assert.deepEqual(subjectsMentionedIn({ stages: [own] }), [])
})

test('the documents of a body are bounded together', () => {
  const document = encoded(Array(49_999).fill(0))
  const carry = (count: number) => ({
    job: Array.from({ length: count }, () => ({ type: 'x', pipeline: document })),
  })
  checkCarriedDocuments({ ...carry(4), application: 'web' })
  assert.throws(() => checkCarriedDocuments(carry(5)), refusal('BODY_TOO_LARGE'))
  const nested = { pipelineTemplate: encoded({ stages: [{ pipelines: encoded(carry(5).job) }] }) }
  assert.throws(() => checkCarriedDocuments(nested), refusal('BODY_TOO_LARGE'))
  const deep = Buffer.from('['.repeat(2000)).toString('base64')
  assert.throws(() => checkCarriedDocuments({ idsToIndices: deep }), refusal('UNREADABLE_BODY'))
})

test('a document counts wherever it is read', () => {
  const mentions = encoded({ executionId: 'x' })
  const large = encoded(Array(250_000).fill(0))
  const carriers: [owner: object, key: string][] = [
    [{ type: 'savePipeline' }, 'pipeline'],
    [{ type: 'savePipeline' }, 'pipelines'],
    [{ type: 'createV2PipelineTemplate' }, 'pipelineTemplate'],
    [{ type: 'reorderPipelines' }, 'idsToIndices'],
    [{ type: 'reorderPipelines' }, 'application'],
    [{ type: 'x', alias: ' ReorderPipelines' }, 'application'],
  ]
  for (const [owner, key] of carriers) {
    const found = subjectsMentionedIn({ job: [{ ...owner, [key]: mentions }] })
    assert.ok(idsIn(found).includes('x'), key)
    assert.throws(
      () => checkCarriedDocuments({ job: [{ ...owner, [key]: large }] }),
      refusal('BODY_TOO_LARGE'),
      key,
    )
  }
  const name = { job: [{ type: 'deploy', application: large }] }
  checkCarriedDocuments(name)
  assert.deepEqual(idsIn(subjectsMentionedIn(name)), [])
})

test('jobs that name very many accounts are judged', () => {
  const credentials = Array.from({ length: 150_000 }, (_, index) => `account-${index}`)
  assert.equal(needsIn(subjectsOfJobs([{ type: 'x', credentials }])).length, credentials.length)
  assert.equal(subjectsMentionedIn({ executionIds: credentials }).length, credentials.length)
})

test('a number names nothing unless it has one form only', () => {
  const numbers = { keepsNumerals: true }
  const parse = (text: string) => parseJson(text, numbers) as Record<string, unknown>
  for (const text of ['{"application":1.0}', '{"application":1e3}', '{"application":-0}']) {
    assert.throws(() => subjectsOfTask(parse(text)), refusal('BAD_ARGUMENT'), text)
  }
  assert.deepEqual(needsIn(subjectsOfTask(parse('{"application":12345678901234567890}'))), [
    needsIn(subjectsOfTask({ application: '12345678901234567890' }))[0],
  ])
  const carried = Buffer.from('{"application":1.0}').toString('base64')
  assert.throws(
    () => subjectsOfJobs([{ type: 'savePipeline', pipeline: carried }]),
    refusal('BAD_ARGUMENT'),
  )
})
