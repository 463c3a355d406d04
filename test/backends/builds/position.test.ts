import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dueBuilds, nextPosition, type Position } from '../../../packages/builds/polls/position.ts'

const rules = { handlesFirstBuilds: true, lookBackMs: 600, nowMs: 10_000 }

function build(
  number: number,
  {
    building = false,
    endMs = 9_900,
    result = 'SUCCESS',
    attempt = undefined as number | undefined,
  } = {},
) {
  return { number, building, result, attempt, timestamp: String(endMs - 100), duration: 100 }
}

/** Without the marks. */
function placeOf(...parts: Parameters<typeof nextPosition>): Omit<Position, 'marks'> {
  const { marks: _marks, ...place } = nextPosition(...parts)
  return place
}

function dueOf(known: Position | undefined, ...builds: ReturnType<typeof build>[]): unknown[] {
  return dueBuilds(known, builds, rules).map(({ number }) => number)
}

const upTo7: Position = { upTo: 7, sent: [], open: [], marks: [] }

test('of an unknown job, builds that have just ended are reported', () => {
  assert.deepEqual(
    dueOf(undefined, build(3), build(2, { building: true }), build(1, { endMs: 9_000 })),
    [3],
  )
  assert.deepEqual(dueBuilds(undefined, [build(3)], { ...rules, handlesFirstBuilds: false }), [])
})

test('a running build holds the position below it', () => {
  const running = nextPosition(upTo7, [build(10), build(9, { building: true }), build(8), build(7)])
  const { marks, ...place } = running
  assert.deepEqual(place, { upTo: 8, sent: [10], open: [9] })
  assert.deepEqual(
    marks.map(([number]) => number),
    [7, 8, 10],
  )
  assert.deepEqual(dueOf(running, build(10), build(9), build(8)), [9])
  assert.deepEqual(placeOf(running, [build(10), build(9), build(8)]), {
    upTo: 10,
    sent: [],
    open: [],
  })
  // A list of changes alone need not name it.
  assert.deepEqual(placeOf(running, [build(11)]), { upTo: 8, sent: [10, 11], open: [9] })
})

test('what has not been sent holds the position too', () => {
  const [unsent, later] = [build(8), build(9)]
  assert.deepEqual(placeOf(upTo7, [later, unsent], [unsent]), { upTo: 7, sent: [9], open: [] })
  assert.deepEqual(placeOf(undefined, [later, unsent, build(7)], [later]), {
    upTo: 8,
    sent: [],
    open: [],
  })
})

test('a job that was created anew begins with its first build', () => {
  assert.deepEqual(dueOf(upTo7, build(2), build(1)), [1, 2])
  assert.deepEqual(placeOf(upTo7, [build(2), build(1)]), { upTo: 2, sent: [], open: [] })
  assert.deepEqual(dueOf(upTo7, build(5)), [], 'an old build that was run again')
})

test('builds that never end do not fill the memory', () => {
  const many = Array.from({ length: 700 }, (_each, index) => build(index + 9))
  const { upTo, sent } = nextPosition({ ...upTo7, open: [8] }, many)
  assert.deepEqual([upTo, sent.length], [208, 500])
})

test('a build that failed and was run again is reported once more', () => {
  const failed = nextPosition(upTo7, [build(9), build(8, { result: 'FAILURE' })])
  assert.deepEqual(dueOf(failed, build(9), build(8, { result: 'FAILURE' })), [])
  const rerun = nextPosition(failed, [build(9), build(8, { building: true })])
  assert.deepEqual([rerun.upTo, rerun.open], [9, [8]], 'it holds up nothing')
  assert.deepEqual(dueOf(rerun, build(10), build(8)), [8, 10])
  const unsent = nextPosition(rerun, [build(10), build(8)], [build(8)])
  assert.deepEqual([unsent.upTo, dueOf(unsent, build(10), build(8))], [10, [8]])
  const sent = nextPosition(unsent, [build(10), build(8)])
  assert.deepEqual([sent.open, dueOf(sent, build(10), build(8))], [[], []])
  const second = build(8, { attempt: 2 })
  assert.deepEqual(dueOf(sent, second), [8])
  assert.deepEqual(dueOf(nextPosition(sent, [second]), second), [])
})

test('a first build that runs again does not make its job a new one', () => {
  const rerun = nextPosition({ upTo: 3, sent: [], open: [], marks: [[1, 'FAILURE']] }, [
    build(3),
    build(1, { building: true }),
  ])
  assert.deepEqual(dueOf(rerun, build(1)), [1])
  assert.equal(nextPosition(rerun, [build(1)]).upTo, 3)
})
