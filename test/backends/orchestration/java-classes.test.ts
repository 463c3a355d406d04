import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createExpressionMeter } from '../../../packages/engine/orchestration/expressions/evaluator.ts'
import { javaClasses } from '../../../packages/engine/orchestration/expressions/java/classes.ts'
import { objectScope } from '../../../packages/engine/orchestration/expressions/scopes.ts'
import { evaluateTree } from '../../../packages/engine/orchestration/expressions/template.ts'

/** A Tuesday. */
const now = Date.UTC(2031, 4, 6, 12, 30, 5, 70)
const failing = Symbol('the text stays and the summary has an ERROR')

function evaluate(expression: string): unknown {
  const text = `\${${expression}}`
  const { value, summary } = evaluateTree<unknown>(text, {
    scope: objectScope({ region: 'eu' }),
    now,
    meter: createExpressionMeter(),
  })
  const [fault] = Object.values(summary)
  if (fault === undefined) return value
  assert.equal(value, text)
  return failing
}

const format = (pattern: string) =>
  `new java.text.SimpleDateFormat("${pattern}").format(new java.util.Date())`
const zoned = 'T(java.time.ZonedDateTime).now(T(java.time.ZoneId).of("Europe/Berlin"))'

/** Expressions with the value that Java gives them at the moment above, in UTC. */
const values: readonly [expression: string, value: unknown][] = [
  ['new java.util.Date()', now],
  ["new java.util.Date() + ''", 'Tue May 06 12:30:05 UTC 2031'],
  ['new java.util.Date(0).toString()', 'Thu Jan 01 00:00:00 UTC 1970'],
  ['new java.util.Date().getTime()', now],
  ['new java.util.Date(0).before(new java.util.Date())', true],
  [format('MM-dd-yyyy'), '05-06-2031'],
  [format("yyyy-MM-dd'T'HH:mm:ss.SSSZ"), '2031-05-06T12:30:05.070+0000'],
  [format('EEE, d MMM yy h:mm a z'), 'Tue, 6 May 31 12:30 PM UTC'],
  [format('EEEE MMMM D YYYY w'), 'Tuesday May 126 2031 19'],
  [format('yyyyMMddHHmmss'), '20310506123005'],
  [format('q'), failing],
  [
    "new java.text.SimpleDateFormat('yyyy-MM-dd HH:mm').parse('2020-02-29 10:20').getTime()",
    Date.UTC(2020, 1, 29, 10, 20),
  ],
  ["new java.text.SimpleDateFormat('yyyyMMdd').parse('20200229').getTime()", Date.UTC(2020, 1, 29)],
  ["new java.text.SimpleDateFormat('yyyyMMdd').parse('2020-02-29')", failing],
  ['T(java.time.LocalDate).now()', '2031-05-06'],
  ['T(java.time.LocalDate).now().plusDays(5).toString()', '2031-05-11'],
  ['T(java.time.LocalDate).of(2031, 1, 31).plusMonths(1).toString()', '2031-02-28'],
  ['T(java.time.LocalDate).of(2031, 2, 29)', failing],
  ["T(java.time.LocalDate).parse('2031-05-01').isBefore(T(java.time.LocalDate).now())", true],
  ["T(java.time.LocalDate).parse('2031-05-06') == T(java.time.LocalDate).now()", true],
  ["T(java.time.LocalDate).parse('2031-05-01') < T(java.time.LocalDate).now()", true],
  ['T(java.time.LocalDate).now() < new java.util.Date()', failing],
  ['T(java.time.LocalDate).now().getDayOfWeek().toString()', 'TUESDAY'],
  ['T(java.time.LocalDate).now().dayOfWeek', 'TUESDAY'],
  ['T(java.time.LocalDate).now().getDayOfWeek().getValue()', 2],
  ['T(java.time.LocalDate).now().getDayOfWeek() == T(java.time.DayOfWeek).TUESDAY', true],
  [
    "T(java.time.LocalDate).now().format(T(java.time.format.DateTimeFormatter).ofPattern('dd/MM/yyyy'))",
    '06/05/2031',
  ],
  [
    "T(java.time.LocalDate).now().format(T(java.time.format.DateTimeFormatter).ofPattern('HH'))",
    failing,
  ],
  [
    "T(java.time.LocalDate).parse('06.05.2031', T(java.time.format.DateTimeFormatter).ofPattern('dd.MM.yyyy'))",
    '2031-05-06',
  ],
  ['T(java.time.LocalDate).now().atStartOfDay().toString()', '2031-05-06T00:00'],
  ['T(java.time.LocalDateTime).now()', '2031-05-06T12:30:05.070'],
  [
    'T(java.time.LocalDateTime).now().format(T(java.time.format.DateTimeFormatter).ISO_LOCAL_DATE)',
    '2031-05-06',
  ],
  ['T(java.time.LocalDateTime).of(2031, 5, 6, 7, 0).toString()', '2031-05-06T07:00'],
  [
    'T(java.time.LocalDateTime).now().getHour() >= 9 && T(java.time.LocalDateTime).now().getHour() < 17',
    true,
  ],
  [
    'T(java.time.LocalDateTime).now().truncatedTo(T(java.time.temporal.ChronoUnit).HOURS).toString()',
    '2031-05-06T12:00',
  ],
  ['T(java.time.Instant).now()', '2031-05-06T12:30:05.070Z'],
  ['T(java.time.Instant).now().toEpochMilli()', now],
  [
    'T(java.time.Instant).now().minus(1, T(java.time.temporal.ChronoUnit).DAYS).toString()',
    '2031-05-05T12:30:05.070Z',
  ],
  ['T(java.time.Instant).now().plusSeconds(55).getEpochSecond()', Math.floor(now / 1000) + 55],
  ["T(java.time.Instant).parse('2031-05-06T12:30:05Z').isBefore(T(java.time.Instant).now())", true],
  [
    "T(java.time.temporal.ChronoUnit).DAYS.between(T(java.time.LocalDate).parse('2031-04-30'), T(java.time.LocalDate).now())",
    6,
  ],
  [zoned, '2031-05-06T14:30:05.070+02:00[Europe/Berlin]'],
  [`${zoned}.getHour()`, 14],
  [
    `${zoned}.format(T(java.time.format.DateTimeFormatter).ofPattern('HH:mm XXX VV'))`,
    '14:30 +02:00 Europe/Berlin',
  ],
  [
    "T(java.time.ZonedDateTime).parse('2031-05-06T12:00:00+02:00[Europe/Berlin]').toInstant().toString()",
    '2031-05-06T10:00:00Z',
  ],
  [
    "T(java.time.ZonedDateTime).parse('2031-05-06T12:00:00+02:00[Europe/Berlin]').getZone().toString()",
    'Europe/Berlin',
  ],
  ["T(java.time.ZoneId).of('Mars/Base')", failing],
  ['T(java.time.DayOfWeek).of(1).plus(6).toString()', 'SUNDAY'],
  ['T(java.lang.Math).max(2, 5)', 5],
  ['T(Math).abs(-3)', 3],
  ['T(java.lang.Math).round(2.5)', 3],
  ['T(java.lang.Math).ceil(7 / 2.0).intValue()', 4],
  ['T(java.lang.Math).floorMod(-1, 3)', 2],
  ['T(java.lang.Integer).parseInt("42") + 1', 43],
  ['T(Integer).MAX_VALUE', 2147483647],
  ['T(Integer).parseInt("4294967296")', failing],
  ['new Integer("7") * 2', 14],
  ['new java.lang.Double("1.5")', 1.5],
  ['T(Long).toHexString(255)', 'ff'],
  ['T(Boolean).parseBoolean("TRUE")', true],
  ['T(java.util.UUID).randomUUID().toString().length()', 36],
  ["T(java.util.UUID).fromString('nope')", failing],
  ["T(java.net.URLEncoder).encode('a b&c/ü', 'UTF-8')", 'a+b%26c%2F%C3%BC'],
  ["T(String).join('-', {'a', 'b', 1})", 'a-b-1'],
  [
    "T(java.lang.String).format('%s-%03d-%.2f-%5s|%-4s|%,d', region, 7, 1.5, 'x', 'y', 1234567)",
    'eu-007-1.50-    x|y   |1,234,567',
  ],
  ["T(String).valueOf(5) + 'x'", '5x'],
  ["T(String).format('%d', 'x')", failing],
  ['new java.util.ArrayList()', []],
  ['new java.util.ArrayList({1, 2}).size()', 2],
  ['new java.util.Random().nextInt(1)', 0],
  ['new java.util.Random().nextInt(0)', failing],
  ["'eu-west-1'.charAt(3)", 'w'],
  ['T(java.lang.Math)', 'class java.lang.Math'],
  ['T(java.lang.Math).constructor', failing],
  ['T(java.lang.Math).getClass()', failing],
  ['T(java.lang.Math).toString().constructor', failing],
  ['new java.util.Date().constructor', failing],
  ["new java.util.Date()['value']", failing],
  ['new java.util.Date().getClass()', failing],
  ['new java.lang.Math()', failing],
  ['new java.lang.ProcessBuilder({"sh"}).start()', failing],
  ['T(java.util.Base64)', failing],
  ['T(constructor)', failing],
  ['T(java.lang.Math).__proto__', failing],
]

for (const [expression, value] of values) {
  test(`the value of \${${expression}}`, () => assert.deepEqual(evaluate(expression), value))
}

test('dates within a longer text are written as Java writes them', () => {
  const text = `app-\${${format('yyyyMMdd')}}-\${T(java.time.LocalDate).now()}`

  const { value } = evaluateTree(text, { scope: objectScope({}), now })

  assert.equal(value, 'app-20310506-2031-05-06')
})

test('a class that is not there is refused with those that are', () => {
  for (const name of ['java.time.Duration', 'java.util.HashMap', 'java.lang.System']) {
    const options = { scope: objectScope({}), now, meter: createExpressionMeter() }
    const { summary } = evaluateTree(`\${T(${name}).of(1)}`, options)
    const text = JSON.stringify(summary)
    assert.ok(text.includes(`\\"${name}\\" is not available in expressions`), text)
    assert.match(
      text,
      /lists as \{1, 2\} and maps as \{key: 'value'\}, or use one of String, .*java\.time\.LocalDate/,
    )
  }
})

test('no class has a member that reaches the host', () => {
  const members = javaClasses.flatMap(({ statics, methods, constants }) =>
    [statics, methods, constants].flatMap((each) => Object.keys(each ?? {})),
  )

  assert.ok(members.length > 200)
  for (const name of ['getClass', 'constructor', '__proto__', 'forName', 'exec', 'prototype'])
    assert.ok(!members.includes(name), name)
})
