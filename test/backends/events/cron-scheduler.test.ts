import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { type JsonObject, objectsOf } from '../../../packages/base/json/values.ts'
import { createEventsBackend } from '../../../packages/engine/events/events.ts'
import type { BackendSettings } from '../../../packages/ports/backend.ts'
import { startBackends } from '../../support/backends.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { createRecording, type Recording } from './recording.ts'

const noon = Date.parse('2026-01-01T12:00:00Z')

interface Clock {
  nowMs: number
}

interface CronTest {
  events(): Promise<JsonObject[]>
  recording: Recording
  clock: Clock
  stop(): Promise<void>
}

async function startCron(
  t: TestContext,
  pipelines: JsonObject[],
  options: { dataDir?: string; clock?: Clock; settings?: Partial<BackendSettings> } = {},
): Promise<CronTest> {
  const recording = createRecording(pipelines)
  const clock = options.clock ?? { nowMs: noon }
  const events = createEventsBackend({ orchestratorMs: 10, buildMs: 1, cronMs: 2 })
  const backends = await startBackends(t, [events], {
    others: (service, call) => recording.call(service, call),
    now: () => clock.nowMs,
    dataDir: options.dataDir,
    ...(options.settings !== undefined && { settings: options.settings }),
  })
  await waitUntil(() => recording.reads > 0, 'the definitions to be read')
  await settle()
  const list = async () => (await backends.ask('echo', 'GET', '/events')).body as JsonObject[]
  return { recording, clock, stop: backends.stop, events: list }
}

/** Long enough for several looks of the scheduler. */
function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 30))
}

/** Moves the clock and checks how many starts there are then, in all. */
async function moveTo({ recording, clock }: CronTest, time: string, starts: number): Promise<void> {
  clock.nowMs = Date.parse(`2026-01-01T${time}Z`)
  await recording.untilStarts(starts)
  await settle()
  assert.equal(recording.starts.length, starts)
}

function pipelineWith(...triggers: JsonObject[]): JsonObject {
  return {
    application: 'demo',
    name: 'nightly',
    id: 'p1',
    triggers: triggers.map((trigger, index) => ({
      type: 'cron',
      enabled: true,
      id: `t${index}`,
      ...trigger,
    })),
  }
}

const everyFive = { cronExpression: '0 0/5 * * * ?' }

test('events-scenario 23: a cron trigger fires each time until disabled', async (t) => {
  const kept = { parameters: { a: '1' }, onOverlap: 'skip' }
  const cron = await startCron(t, [pipelineWith({ ...everyFive, ...kept })])
  await moveTo(cron, '12:04:59', 0)
  await moveTo(cron, '12:05:00', 1)
  await moveTo(cron, '12:05:59', 1)
  await moveTo(cron, '12:10:01', 2)
  const [first, second] = cron.recording.starts.map(
    ({ body }) => JSON.parse(JSON.stringify(body['trigger'])) as JsonObject,
  )
  const { eventId, ...fields } = first!
  assert.deepEqual(fields, {
    type: 'cron',
    id: 't0',
    enabled: true,
    cronExpression: '0 0/5 * * * ?',
    ...kept,
  })
  assert.match(String(eventId), /^[0-9a-f-]{36}$/)
  assert.notEqual(eventId, second!['eventId'])
  assert.equal(cron.recording.starts[0]!.headers['x-spinnaker-user'], 'anonymous')

  for (const changed of [
    pipelineWith({ ...everyFive, enabled: false }),
    { ...pipelineWith(everyFive), disabled: true },
  ]) {
    cron.recording.pipelines[0] = changed
    await moveTo(cron, '12:15:00', 2)
  }
})

test('events-scenario 24: an invalid or unreachable cron expression does not disturb others', async (t) => {
  const broken = pipelineWith(
    { cronExpression: 'bad' },
    { cronExpression: 7 },
    {},
    { cronExpression: '0 0 12 ? * * 2020' },
  )
  const cron = await startCron(t, [{ ...broken, id: 'p0' }, pipelineWith(everyFive)])
  await moveTo(cron, '12:05:00', 1)
})

test('a time missed during downtime is skipped', async (t) => {
  const cron = await startCron(t, [pipelineWith(everyFive)])
  await moveTo(cron, '13:02:00', 0)
  await moveTo(cron, '13:05:00', 1)
})

test('slightly late times fire once together', async (t) => {
  const cron = await startCron(t, [pipelineWith({ cronExpression: '* * * * * ?' })])
  await moveTo(cron, '12:00:20', 1)
  await moveTo(cron, '12:00:21', 2)
})

test('a restart within the second of firing does not fire again', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'fairlead-cron-'))
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  const before = await startCron(t, [pipelineWith(everyFive)], { dataDir })
  await moveTo(before, '12:05:00', 1)
  await before.stop()
  // The clock was a second ahead and has been corrected meanwhile.
  const after = await startCron(t, [pipelineWith(everyFive)], {
    dataDir,
    clock: { nowMs: before.clock.nowMs - 1_000 },
  })
  await moveTo(after, '12:05:00', 0)
  await moveTo(after, '12:10:00', 1)
})

test('a cron trigger fires by the new time after the clock was set back', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'fairlead-cron-'))
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  const before = await startCron(t, [pipelineWith(everyFive)], { dataDir })
  await moveTo(before, '12:05:00', 1)
  await moveTo(before, '08:01:00', 1)
  await moveTo(before, '08:05:00', 2)
  await before.stop()
  const after = await startCron(t, [pipelineWith(everyFive)], {
    dataDir,
    clock: { nowMs: Date.parse('2026-01-01T04:01:00Z') },
  })
  await moveTo(after, '04:05:00', 1)
})

test('an unreadable definition store leaves the schedule unchanged', async (t) => {
  const cron = await startCron(t, [pipelineWith(everyFive)])
  cron.recording.answer = (service) =>
    service === 'front50' ? { status: 500, body: {} } : undefined
  await moveTo(cron, '12:05:00', 1)
})

test('a changed expression applies at once', async (t) => {
  const cron = await startCron(t, [pipelineWith(everyFive)])
  cron.recording.pipelines[0] = pipelineWith({ cronExpression: '0 0/7 * * * ?' })
  await moveTo(cron, '12:05:00', 0)
})

test('a cron trigger rests in a quiet period', async (t) => {
  const quietPeriod = {
    enabled: true,
    startMs: noon,
    endMs: noon + 7 * 60_000,
    triggerTypes: ['cron'],
  }
  const quiet = { ...pipelineWith(everyFive), respectQuietPeriod: true }
  const cron = await startCron(t, [quiet], { settings: { quietPeriod } })
  await moveTo(cron, '12:05:00', 0)
  await moveTo(cron, '12:10:00', 1)
  const [second, first] = (await cron.events()).map(({ triggers }) => objectsOf(triggers)[0])
  assert.equal(first?.['reason'], 'The quiet period suppresses triggers of the type cron.')
  assert.equal(second?.['executionId'], cron.recording.starts[0]?.body['executionId'])
})

test('a pipeline that was deleted does not fire', async (t) => {
  const cron = await startCron(t, [pipelineWith(everyFive)])
  cron.recording.pipelines.length = 0
  await moveTo(cron, '12:05:00', 0)
})

test('a start that fails neither repeats others nor is retried without a pause', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'fairlead-cron-'))
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  const cron = await startCron(
    t,
    [pipelineWith(everyFive), { ...pipelineWith(everyFive), id: 'p2' }],
    { dataDir },
  )
  const db = new DatabaseSync(join(dataDir, 'backends.db'))
  db.exec(`CREATE TRIGGER full BEFORE INSERT ON events_cron WHEN NEW.trigger_key LIKE '%p2%'
           BEGIN SELECT RAISE(ABORT, 'disk full'); END`)
  db.close()
  let tries = 0
  const { call } = cron.recording
  cron.recording.call = async (service, request) => {
    if (request.path === '/pipelines/p2/get') tries++
    if (request.path === '/pipelines/p1/get') await settle()
    return call(service, request)
  }

  const begunMs = performance.now()
  await moveTo(cron, '12:05:00', 1)

  await settle()
  assert.equal(cron.recording.starts.length, 1)
  assert.equal(cron.recording.starts[0]!.body['id'], 'p1')
  // The scheduler looks every 2 ms, and a timer may be 1 ms early.
  const passedMs = performance.now() - begunMs
  assert.ok(tries <= passedMs + 2, `${tries} tries within ${passedMs} ms`)
})
