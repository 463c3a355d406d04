import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startEngine, W } from './support.ts'

test('orchestration-scenario 1: a run is answered with its reference and ends with all its times', async (t) => {
  const { ask, clock, execution, ends } = await startEngine(t)

  const answer = await ask('POST', '/orchestrate', { application: 'app', name: 'p', stages: [W('1', 1)] }, 'ann')

  assert.equal(answer.status, 200)
  const id = (answer.body as { ref: string }).ref.replace('/pipelines/', '')
  assert.deepEqual(answer.body, { ref: `/pipelines/${id}` })
  assert.match(id, /^[0-9A-HJKMNP-TV-Z]{26}$/)
  assert.equal((await execution(id)).status, 'RUNNING')
  clock.pass(1)
  const done = await ends(id, 'SUCCEEDED')
  assert.equal(done.type, 'PIPELINE')
  assert.ok(done.buildTime <= done.startTime!)
  assert.equal(done.endTime! - done.startTime!, 1000)
  assert.equal(done.authentication.user, 'ann')
  assert.equal(done.canceled, false)
  assert.equal(done.stages[0]!.tasks.length, 1)
  const task = done.stages[0]!.tasks[0]!
  assert.equal(task.name, 'wait')
  assert.equal(task.status, 'SUCCEEDED')
  assert.deepEqual([task.stageStart, task.stageEnd], [true, true])
  assert.equal('engine' in task, false)
})
