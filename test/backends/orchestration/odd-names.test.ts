/** Names that objects of JavaScript have from birth, and numbers that its own cannot hold, in what users write. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseJson } from '../../../packages/base/json/json.ts'
import { createRegexMeter } from '../../../packages/base/regex/bounded-regex.ts'
import { checkClusterSize } from '../../../packages/engine/orchestration/stages/check-preconditions.ts'
import type { TaskContext } from '../../../packages/engine/orchestration/stages/stage-type.ts'
import { withDefaultParameters } from '../../../packages/engine/orchestration/submission/trigger.ts'
import { matchesTrigger } from '../../../packages/engine/orchestration/trigger-match.ts'
import { at, startEngine, V } from './support.ts'

test('a parameter may be named like a member of all objects', () => {
  const declared = ['constructor', 'toString'].map((name) => ({ name, default: 'x' }))

  assert.deepEqual(withDefaultParameters({}, declared), { constructor: 'x', toString: 'x' })
})

test('a comparison named like a member of all objects is unknown', async () => {
  const settings = {
    comparison: 'constructor',
    expected: 1,
    cluster: 'shop',
    credentials: 'dev',
    regions: ['east'],
  }
  const stage = { context: { ...settings, cloudProvider: 'local', moniker: { app: 'shop' } } }
  const context = {
    stage,
    execution: { application: 'shop' },
    read: () => undefined,
    call: async () => ({ status: 404 }),
  }

  await assert.rejects(
    checkClusterSize(context as unknown as TaskContext),
    /The comparison "constructor" is unknown/,
  )
})

test('numbers beyond 2^53 are compared by their digits', () => {
  const trigger = parseJson('{"number":9007199254740993}')
  const match = (pattern: string) => matchesTrigger(trigger, parseJson(pattern), createRegexMeter())

  assert.equal(match('{"number":9007199254740993}'), true)
  assert.equal(match('{"number":9007199254740992}'), false)
})

test('numbers beyond 2^53 keep their digits in methods and restarts', async (t) => {
  const engine = await startEngine(t)
  const number = '9007199254740993'
  const note = parseJson(number)
  const id = await engine.run({
    stages: [{ ...V('1', { whole: `\${(${number}L).longValue()}` }), note }],
  })
  await engine.ends(id, 'SUCCEEDED')
  const stage = await engine.stage(id, '1')
  assert.equal(String(stage.outputs['whole']), number)

  const { body } = await engine.ask('PUT', `/pipelines/${id}/stages/${stage.id}/restart`, {})

  assert.equal(String(at(body, 'stages', '0', 'context', 'note')), number)
})

test('a stage whose variables are no list can be restarted', async (t) => {
  const engine = await startEngine(t)
  const id = await engine.run({
    stages: [{ refId: '1', type: 'evaluateVariables', variables: '${parameters.none}' }],
  })
  await engine.ends(id, 'TERMINAL')
  const { id: stageId } = await engine.stage(id, '1')

  const answer = await engine.ask('PUT', `/pipelines/${id}/stages/${stageId}/restart`, {})

  assert.equal(answer.status, 200)
})

for (const key of ['application', 'id']) {
  test(`a start whose ${key} has half of a character is refused`, async (t) => {
    const { ask } = await startEngine(t)

    const answer = await ask('POST', '/orchestrate', {
      application: 'app',
      name: 'p',
      stages: [],
      [key]: 'x\ud800',
    })

    assert.equal(answer.status, 400)
    assert.match(String(at(answer.body, 'message')), /half of a character/)
  })
}

test('a stage asks no service for a path above its own', async (t) => {
  const engine = await startEngine(t)

  const { execution } = await engine.taskEnds(
    await engine.task({
      type: 'deletePipeline',
      pipeline: { application: '..', name: 'applications' },
    }),
    'TERMINAL',
  )

  assert.match(JSON.stringify(execution.stages[0]), /cannot be used as a name in a path/)
})
