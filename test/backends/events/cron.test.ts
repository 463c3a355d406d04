import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextTime } from '../../../packages/engine/events/cron/next-time.ts'
import { withoutSpread } from '../../../packages/engine/events/cron/spread.ts'
import { describeNever, validateCron } from '../../../packages/engine/events/cron/validation.ts'
import { createEventsBackend } from '../../../packages/engine/events/events.ts'
import { parseCron } from '../../../packages/model/schedules/cron-expression.ts'
import { startBackends } from '../../support/backends.ts'

function next(
  expression: string,
  after = '2026-01-01T00:00:00Z',
  timeZone = 'UTC',
): string | undefined {
  const time = nextTime(parseCron(expression), Date.parse(after), timeZone)
  return time === undefined ? undefined : new Date(time).toISOString().replace('.000Z', 'Z')
}

const valid: [expression: string, next: string | undefined][] = [
  ['0 0 10 ? * THU', '2026-01-01T10:00:00Z'],
  ['0 0/5 * * * ?', '2026-01-01T00:05:00Z'],
  ['0 0 10 L * ?', '2026-01-31T10:00:00Z'],
  ['0 0 10 LW * ?', '2026-01-30T10:00:00Z'],
  ['0 0 12 L-3 * ?', '2026-01-28T12:00:00Z'],
  ['0 0 10 ? * 6#3', '2026-01-16T10:00:00Z'],
  ['0 0 10 ? * 6L', '2026-01-30T10:00:00Z'],
  ['0 0 22-2 * * ?', '2026-01-01T01:00:00Z'],
  ['0 0 0 1W 1/1 ? *', '2026-02-02T00:00:00Z'],
  ['0 0 0 * * ? 2030', '2030-01-01T00:00:00Z'],
  ['0 0 12 ? * * 2020', undefined],
  ['0 0 0 31 2 ?', undefined],
  // Beyond the contract's table.
  ['* * * * * ?', '2026-01-01T00:00:01Z'],
  ['0 0 10 ? * fri#3', '2026-01-16T10:00:00Z'],
  ['0 0 10 ? * FRIL', '2026-01-30T10:00:00Z'],
  ['0 0 10 ? * L', '2026-01-03T10:00:00Z'],
  ['0 0 10 ? * MON-FRI', '2026-01-01T10:00:00Z'],
  ['0 0 10 ? * MONDAY,Thursday', '2026-01-01T10:00:00Z'],
  ['0 0 10 ? MARCH-APRIL FRIDAYL', '2026-03-27T10:00:00Z'],
  ['0 0 10 ? * TUESDAY#2', '2026-01-13T10:00:00Z'],
  ['0 0 10 ? * FRI-MON', '2026-01-02T10:00:00Z'],
  ['0 0 10 15W * ?', '2026-01-15T10:00:00Z'],
  ['0 0 10 31W * ?', '2026-01-30T10:00:00Z'],
  ['0 0 10 1W,15 * ?', '2026-01-01T10:00:00Z'],
  ['0 0 10 L-3W * ?', '2026-01-28T10:00:00Z'],
  ['0 0 10 L-28 2-3 ?', '2026-03-03T10:00:00Z'],
  ['0 0 10 L-28 2 ?', '2028-02-01T10:00:00Z'],
  ['0 0 0 29 2 ? *', '2028-02-29T00:00:00Z'],
  ['0 0 0 29 FEB ? 2096-2104', '2096-02-29T00:00:00Z'],
  ['0 0 10 ? * 6#5', '2026-01-30T10:00:00Z'],
  ['/20 /30 */12 * * ?', '2026-01-01T00:00:20Z'],
  ['0 0 8-18/4 ? * *', '2026-01-01T08:00:00Z'],
  ['0 0 0 1 JUL,DEC ?', '2026-07-01T00:00:00Z'],
  ['  0  0   10 ? *\tTHU  * and more', '2026-01-01T10:00:00Z'],
]

for (const [expression, expected] of valid) {
  test(`events-scenario 27: "${expression}" is valid and comes next at ${expected ?? 'no time'}`, () => {
    assert.equal(next(expression), expected)
    assert.match(validateCron(expression).description, /^[A-Z]/)
  })
}

const invalid = [
  '0 0 10 * * 1',
  '0 0 10 * * *',
  '0 0 10 ? * ?',
  '? 0 0 1 1 ?',
  '0 0 10 * *',
  '0 61 * * * ?',
  '60 * * * * ?',
  '0 0 25 * * ?',
  '0 0 12 32 * ?',
  '0 0 12 * 13 ?',
  '0 0 12 ? * 8',
  '0 0/70 * * * ?',
  '0 0 12 1,L * ?',
  '0 0 12 ? * 2#6',
  '0 0 0 ? * FOO',
  'hello',
  '',
  '0 0 12 ? * 0',
  '0 0 12 0 * ?',
  '0 0 12 ? * 2L,3',
  '0 0 12 ? * MON#1,TUE',
  '0 0 12 ? * #2',
  '0 0 12 1, * ?',
  '0 0 12 1-2-3 * ?',
  '0 0 12 -1 * ?',
  '0 0 12 1.5 * ?',
  '0 0 12 32W * ?',
  '0 0 12 L-31 * ?',
  '0 0/0 * * * ?',
  '0 MON * * * ?',
  '0 0 0 * * ? 1969',
  '0 0 0 * * ? ?',
  '0 0 0 * * ? 2030-2020',
  '0 0 0 * toString ?',
  `0 ${'1,'.repeat(1000)}1 * * * ?`,
]

for (const expression of invalid) {
  test(`events-scenario 27: "${expression.slice(0, 40)}" is invalid`, () => {
    assert.throws(
      () => parseCron(expression),
      (error: Error) => error.message.length > 10 && !error.message.includes('undefined'),
    )
  })
}

test('events-scenario 28: a spread expression has numbers of its trigger', () => {
  assert.equal(withoutSpread('H * * * * ?', 'abcd'), '34 * * * * ?')
  assert.equal(withoutSpread('0 0 H * * ?', 'abcde'), '0 0 3 * * ?')
  assert.equal(withoutSpread('0 H/5 * ? * THU', 'abcd'), '0 34/5 * ? * THU')
  assert.equal(withoutSpread('0 0 10 ? * THU', 'abcd'), '0 0 10 ? * THU')
})

const berlin = 'Europe/Berlin'

test('a time skipped by daylight saving fires later, once', () => {
  // Berlin, 2026-03-29: 02:00 becomes 03:00.
  assert.equal(next('0 30 2 * * ?', '2026-03-28T12:00:00Z', berlin), '2026-03-29T01:30:00Z')
  assert.equal(next('0 30 2 * * ?', '2026-03-29T01:30:00Z', berlin), '2026-03-30T00:30:00Z')
  assert.equal(next('0 30 2,3 * * ?', '2026-03-29T01:30:00Z', berlin), '2026-03-30T00:30:00Z')
  assert.equal(next('0 0/30 * * * ?', '2026-03-29T00:30:00Z', berlin), '2026-03-29T01:00:00Z')
  assert.equal(next('* * * * * ?', '2026-03-29T00:59:59Z', berlin), '2026-03-29T01:00:00Z')
  assert.equal(next('59 59 * * * ?', '2026-03-29T00:59:59Z', berlin), '2026-03-29T01:59:59Z')
})

test('clocks set back repeat hourly expressions, not times of day', () => {
  // Berlin, 2026-10-25: 03:00 becomes 02:00, so 02:30 is 00:30Z and 01:30Z.
  assert.equal(next('0 30 2 * * ?', '2026-10-24T12:00:00Z', berlin), '2026-10-25T00:30:00Z')
  assert.equal(next('0 30 2 * * ?', '2026-10-25T00:30:00Z', berlin), '2026-10-26T01:30:00Z')
  assert.equal(next('0 30 2 * * ?', '2026-10-25T01:00:00Z', berlin), '2026-10-26T01:30:00Z')
  assert.equal(next('0 0/30 * * * ?', '2026-10-25T00:30:00Z', berlin), '2026-10-25T01:00:00Z')
  assert.equal(next('0 0/30 * * * ?', '2026-10-25T01:00:00Z', berlin), '2026-10-25T01:30:00Z')
  assert.equal(next('0 0/30 * * * ?', '2026-10-25T01:30:00Z', berlin), '2026-10-25T02:00:00Z')
  assert.equal(next('* * * * * ?', '2026-10-25T00:59:59Z', berlin), '2026-10-25T01:00:00Z')
  assert.equal(next('0 0/10 2-3 * * ?', '2026-10-25T00:50:00Z', berlin), '2026-10-25T02:00:00Z')
})

test('midnight in a zone west of Greenwich belongs to that zone', () => {
  assert.equal(
    next('0 0 0 1 1 ?', '2026-01-01T00:00:00Z', 'America/Los_Angeles'),
    '2026-01-01T08:00:00Z',
  )
})

const descriptions: [expression: string, description: string][] = [
  ['0 0 10 ? * THU', 'At 10:00 AM, only on Thursday'],
  ['0 0/5 * * * ?', 'Every 5 minutes'],
  ['0 0 * * * ?', 'Every hour'],
  ['0 30 * * * ?', 'At 30 minutes past the hour'],
  ['* * * * * ?', 'Every second'],
  ['0 * * * * ?', 'Every minute'],
  ['0/15 * * * * ?', 'Every 15 seconds'],
  ['0 0 0/6 * * ?', 'On the hour, every 6 hours'],
  ['0 0 0/2 * * ?', 'On the hour, every 2 hours'],
  [
    '0 0/10 9-17 ? * MON-FRI',
    'Every 10 minutes, between 09:00 AM and 05:59 PM, Monday through Friday',
  ],
  ['0 0 22-2 * * ?', 'Every hour, between 10:00 PM and 02:00 AM'],
  ['5 4 3 1,15 * ?', 'At 03:04:05 AM, on day 1 and 15 of the month'],
  ['0 0 10 L * ?', 'At 10:00 AM, on the last day of the month'],
  ['0 0 10 LW * ?', 'At 10:00 AM, on the last weekday of the month'],
  ['0 0 12 L-3 * ?', 'At 12:00 PM, 3 days before the last day of the month'],
  [
    '0 0 10 15W JAN-MAR ?',
    'At 10:00 AM, on the weekday nearest day 15 of the month, January through March',
  ],
  ['0 0 10 ? * 6#3 2030', 'At 10:00 AM, on the third Friday of the month, only in 2030'],
  ['0 0 10 ? * MONDAY', 'At 10:00 AM, only on Monday'],
  ['0 0 10 ? * 6L', 'At 10:00 AM, on the last Friday of the month'],
  ['0 0 10 L-3W * ?', 'No description available'],
]

for (const [expression, description] of descriptions) {
  test(`"${expression}" is described as "${description}"`, () => {
    assert.equal(validateCron(expression).description, description)
  })
}

test('events-scenario 25: validation returns a description or the reason of failure', async (t) => {
  const now = () => Date.parse('2026-10-21T12:00:00Z')
  const backends = await startBackends(t, [createEventsBackend()], {
    now,
    settings: { timeZone: 'Europe/Berlin' },
  })
  const validate = (expression: string) =>
    backends.ask(
      'echo',
      'GET',
      `/validateCronExpression?cronExpression=${encodeURIComponent(expression)}`,
    )
  assert.deepEqual(await validate('0 0 10 ? * THU'), {
    status: 200,
    body: {
      response: 'Cron expression is valid',
      description: 'At 10:00 AM, only on Thursday',
      // Clocks are set back on the 25th.
      nextTimes: ['2026-10-22T08:00:00Z', '2026-10-29T09:00:00Z', '2026-11-05T09:00:00Z'].map(
        (at) => Date.parse(at),
      ),
      timeZone: 'Europe/Berlin',
    },
  })
  const timesOf = async (expression: string) =>
    ((await validate(expression)).body as Record<string, unknown>)['nextTimes']
  assert.deepEqual([await timesOf('H 0 10 ? * 1'), await timesOf('0 0 10 30 2 ?')], [[], []])
  assert.deepEqual(await timesOf('0 0 10 1 1 ? 2027'), [Date.parse('2027-01-01T09:00:00Z')])
  for (const [expression, reason] of [
    ['0 0 10 * * 1', /0 0 10 \* \* 1.*together/],
    ['hello', /hello.*at least 6/],
  ] as const) {
    const answer = await validate(expression)
    assert.equal(answer.status, 400)
    assert.match(String((answer.body as Record<string, unknown>)['message']), reason)
  }
  assert.equal((await backends.ask('echo', 'GET', '/validateCronExpression')).status, 400)
})

for (const [expression, isNever] of [
  ['0 0 0 30 2 ?', true],
  ['0 0 0 31 APRIL ?', true],
  ['0 0 0 1 1 ? 2020', true],
  ['H 0 0 29 2 ? 2027', true],
  ['0 0 0 29 2 ?', false],
  ['0 0 0 ? * MON#5', false],
  ['no expression', false],
] as const) {
  test(`"${expression}" ${isNever ? 'never comes' : 'is not said never to come'}`, () => {
    const found = describeNever(expression, { nowMs: Date.UTC(2026, 0, 1), timeZone: 'UTC' })
    assert.equal(/never comes true/.test(found ?? ''), isNever)
  })
}
