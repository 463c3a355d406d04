import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  nextAllowedTime,
  parseWindow,
} from '../../../packages/engine/orchestration/allowed-times.ts'
import { startEngine, W } from './support.ts'

/** A Wednesday noon, UTC. */
const wednesday = Date.UTC(2031, 4, 7, 12)

const cases: [what: string, window: Record<string, unknown>, zone: string, opens: number][] = [
  ['any time when nothing is said', {}, 'UTC', wednesday],
  [
    'now when it is open',
    { whitelist: [{ startHour: 11, startMin: 0, endHour: 12, endMin: 0 }] },
    'UTC',
    wednesday,
  ],
  [
    'later on the same day',
    { whitelist: [{ startHour: 14, startMin: 30, endHour: 15, endMin: 0 }] },
    'UTC',
    Date.UTC(2031, 4, 7, 14, 30),
  ],
  [
    'on the next day',
    { whitelist: [{ startHour: 9, startMin: 0, endHour: 10, endMin: 0 }] },
    'UTC',
    Date.UTC(2031, 4, 8, 9),
  ],
  ['on the next Sunday', { days: [1], whitelist: [] }, 'UTC', Date.UTC(2031, 4, 11)],
  [
    'across midnight',
    { whitelist: [{ startHour: 22, startMin: 0, endHour: 13, endMin: 0 }] },
    'UTC',
    wednesday,
  ],
  [
    'by the clock of its zone',
    { whitelist: [{ startHour: 9, startMin: 0, endHour: 10, endMin: 0 }] },
    'America/New_York',
    Date.UTC(2031, 4, 7, 13),
  ],
]
for (const [what, window, zone, opens] of cases) {
  test(`an execution window opens ${what}`, () => {
    assert.equal(nextAllowedTime(parseWindow(window), wednesday, zone), opens)
  })
}

test('an execution window opens on the day that clocks change', () => {
  const lateOnSaturday = Date.UTC(2026, 2, 28, 22, 30)

  const opens = nextAllowedTime(parseWindow({ days: [1] }), lateOnSaturday, 'Europe/Berlin')

  assert.equal(opens, Date.UTC(2026, 2, 28, 23))
})

for (const [zone, opens] of [
  ['Europe/Berlin', Date.UTC(2026, 9, 25, 1, 30)],
  ['America/New_York', Date.UTC(2026, 10, 1, 6, 30)],
] as const) {
  test(`an execution window opens at the second of two equal times of ${zone}`, () => {
    const startHour = zone === 'Europe/Berlin' ? 2 : 1
    const window = parseWindow({
      days: [1],
      whitelist: [{ startHour, startMin: 30, endHour: 5, endMin: 0 }],
    })

    assert.equal(nextAllowedTime(window, opens - 12 * 3_600_000, zone), opens)
  })
}

test('a window with impossible days or times is refused', () => {
  assert.throws(() => parseWindow({ days: [9] }), /Days/)
  assert.throws(() => parseWindow({ whitelist: [{ startHour: 25, endHour: 26 }] }), /time of day/)
  assert.throws(() => parseWindow({ whitelist: [7] }), /time of day/)
})

const windowed = (startHour: number, endHour: number) => ({
  ...W('1', 0),
  restrictExecutionDuringTimeWindow: true,
  restrictedExecutionWindow: { whitelist: [{ startHour, startMin: 0, endHour, endMin: 0 }] },
})

test('orchestration-scenario 172: an open window lets its stage through', async (t) => {
  const { run, ends, stage } = await startEngine(t)
  const id = await run({ stages: [windowed(11, 13)] })

  await ends(id, 'SUCCEEDED')

  const window = await stage(id, '1<0')
  assert.equal(window.type, 'restrictExecutionDuringTimeWindow')
  assert.equal(window.status, 'SUCCEEDED')
})

test('orchestration-scenario 173: a closed window holds its stage back until it opens', async (t) => {
  const { run, clock, ends, stage, execution } = await startEngine(t)
  const id = await run({ stages: [windowed(14, 15)] })
  await clock.settled()

  const window = await stage(id, '1<0')
  assert.equal(window.status, 'RUNNING')
  assert.equal(window.scheduledTime, clock.now() + 2 * 3600 * 1000)
  clock.pass(3600)
  assert.equal((await execution(id)).status, 'RUNNING')
  clock.pass(3600)
  await ends(id, 'SUCCEEDED')
})

test('orchestration-scenario 173: the wait for a window can be skipped', async (t) => {
  const { run, ask, ends, stage } = await startEngine(t)
  const id = await run({ stages: [windowed(14, 15)] })
  const { id: stageId } = await stage(id, '1<0')

  await ask('PATCH', `/pipelines/${id}/stages/${stageId}`, { skipRemainingWait: true })

  await ends(id, 'SUCCEEDED')
})

test('a window with too many times of day fails', async (t) => {
  const { run, ends, stage } = await startEngine(t)
  const whitelist = Array.from({ length: 101 }, () => ({ startHour: 1, endHour: 2 }))
  const id = await run({
    stages: [{ ...windowed(14, 15), restrictedExecutionWindow: { whitelist } }],
  })

  await ends(id, 'TERMINAL')

  assert.match(
    JSON.stringify((await stage(id, '1<0')).context['exception']),
    /at most 100 times of day/,
  )
})
