/** What jobs need, as far as an orchestrator of one's own would read them otherwise than they look. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { GatewayError } from '../../src/errors.ts'
import { needsOfDefinition, needsOfJobs, needsOfStart } from '../../src/operations/job-needs.ts'

const refusal = (code: string) => (error: GatewayError) => error.code === code

test('names that only an evaluated key would show are refused, at any depth', () => {
  for (const job of [
    { type: 'deploy', clusters: [{ "${'account'}": 'prod' }] },
    { type: 'updateApplication', application: { name: 'web', "${'name'}": 'secret' } },
    { type: 'savePipeline', pipeline: { application: 'web', "${'application'}": 'secret' } },
  ]) {
    assert.throws(() => needsOfJobs([job]), refusal('PERMISSION_DENIED'), JSON.stringify(job))
  }
})

test('an expression that may become an object with names of its own is refused', () => {
  for (const job of [
    { type: 'deploy', clusters: "${#readJson('[]')}" },
    { type: 'deploy', clusters: ["${{'account': 'prod'}}"] },
    { type: 'deleteManifest', account: 'test', moniker: "${{'app': 'secret'}}" },
  ]) {
    assert.throws(() => needsOfJobs([job]), refusal('PERMISSION_DENIED'), JSON.stringify(job))
  }
  const harmless = {
    type: 'runJob',
    account: 'test',
    name: "${'x'}",
    stageEnabled: { type: 'expression', expression: '${true}' },
    tag: "v${'1'}",
    parameters: '${trigger.parameters}',
  }
  assert.deepEqual(
    needsOfJobs([harmless]).needs.map((need) => (need as { name: string }).name),
    ['test'],
  )
})

test('a definition has texts for its application and its id; a number counts as its text', () => {
  for (const fields of [{ application: ['secret'] }, { application: 'web', id: ['x'] }, { application: { name: 'secret' } }]) {
    assert.throws(() => needsOfDefinition(fields), refusal('BAD_ARGUMENT'), JSON.stringify(fields))
  }
  assert.throws(() => needsOfDefinition({ application: 'web', id: "${'x'}" }), refusal('PERMISSION_DENIED'))
  const { needs, definitions } = needsOfDefinition({ application: 7, id: 8 })
  assert.deepEqual(needs, [{ kind: 'application', name: '7', authorization: 'WRITE' }])
  assert.deepEqual(definitions, [{ id: '8', authorization: 'WRITE' }])
})

test('a start counts as a run of every definition that it names', () => {
  const config = { pipeline: { application: 'web', pipelineConfigId: 'inner' } }
  assert.deepEqual(
    needsOfStart({ id: 'outer', config }).definitions.map(({ id }) => id),
    ['outer', 'inner'],
  )
  assert.deepEqual(
    needsOfJobs([{ type: 'pipeline', pipelineId: 'child' }]).definitions.map(({ id }) => id),
    ['child'],
  )
})

test('plugins and tags are protected as under their own addresses', () => {
  const plugin = { kind: 'application', name: 'spinnakerplugins', authorization: 'WRITE' }
  for (const type of ['upsertPluginInfo', 'deletePluginInfo']) assert.deepEqual(needsOfJobs([{ type }]).needs, [plugin])
  const tags = { type: 'deleteEntityTags', id: 'aws:servergroup:a:b:prod:eu-west-1', tags: ['x'] }
  assert.deepEqual(needsOfJobs([tags]).needs, [{ kind: 'account', name: 'prod', authorization: 'WRITE' }])
  assert.deepEqual(needsOfJobs([{ type: 'destroyServerGroup', credentials: ['prod'] }]).needs, [
    { kind: 'account', name: 'prod', authorization: 'WRITE' },
  ])
})
