/** Output as lines: what stays while more is written, groups, times and colours, and what a search finds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { toPlain, toSpans } from '../../console/src/model/ansi.ts'
import {
  groupsFrom,
  lineAtByte,
  splitByHits,
  toLogText,
  withNext,
} from '../../console/src/model/log-lines.ts'
import { openChromium } from '../support/chromium.ts'

const esc = '\u001b'
const lines = (from: number, count: number) =>
  Array.from({ length: count }, (_, at) => `line ${from + at}\n`).join('')

test('lines stay the same while output is written', () => {
  const before = toLogText(`${lines(0, 450)}unfinis`)
  const after = toLogText(`${lines(0, 450)}unfinished\n${lines(451, 10)}`, 0, 1, before)
  assert.ok(before.lines.slice(0, -1).every((line, at) => line === after.lines[at]))
  assert.deepEqual(
    [449, 450, 451].map((at) => [after.lines[at]?.number, after.lines[at]?.text]),
    [
      [450, 'line 449'],
      [451, 'unfinished'],
      [452, 'line 451'],
    ],
  )
  assert.equal(toLogText(lines(7, 450), 0, 1, before).lines[0]?.text, 'line 7')
  assert.equal(toLogText('', 0, 1, before).lines.length, 0)
})

test('a line is found by its bytes', () => {
  const log = toLogText('für alle\n🚢 zwei\ndrei', 100, 7)
  assert.deepEqual(
    log.lines.map(({ number, byte }) => [number, byte]),
    [
      [7, 100],
      [8, 110],
      [9, 120],
    ],
  )
  assert.equal(lineAtByte(log, 113)?.number, 8)
  assert.equal(lineAtByte(log, 123)?.number, 9)
  assert.equal(lineAtByte(log, 99), undefined)
  assert.equal(lineAtByte(log, 124), undefined)
})

test('groups of build servers fold with what is in them, and have their length', () => {
  const log = toLogText(
    [
      '2026-01-01T10:00:00.0Z ##[group]Restore',
      '2026-01-01T10:00:07.5Z one',
      '2026-01-01T10:00:08.0Z ##[endgroup]',
      `section_start:100:all\r${esc}[0KAll`,
      `section_start:101:inner[collapsed=true]\r${esc}[0KInner`,
      'two',
      `section_end:104:inner\r${esc}[0K`,
      `section_end:109:all\r${esc}[0K`,
      '::group::Tests',
      '::error::three',
      '::endgroup::',
      '::group::Open',
      'last',
    ].join('\n'),
  )
  const opened = log.lines.flatMap(({ text, opens }) =>
    opens === undefined ? [] : { title: text, ...opens },
  )
  assert.deepEqual(
    opened.map(({ title, isFolded, startMs = 0, endMs = 0 }) => [title, isFolded, endMs - startMs]),
    [
      ['Restore', true, 8000],
      ['All', false, 9000],
      ['Inner', true, 3000],
      // What fails or still runs is shown.
      ['Tests', false, 0],
      ['Open', false, 0],
    ],
  )
  const shown = log.lines.filter(
    ({ within }) => !groupsFrom(within).some((group) => group.isFolded),
  )
  assert.deepEqual(
    shown.map(({ number, text }) => `${number} ${text}`),
    ['1 Restore', '4 All', '5 Inner', '9 Tests', '10 ::error::three', '12 Open', '13 last'],
  )
  assert.equal(log.lines[1]?.time, '2026-01-01T10:00:07.5Z')
  assert.equal(toLogText('10 %\r50 %\rdone\r\n').lines[0]?.text, 'done')
})

test('colours of terminals', () => {
  assert.deepEqual(toSpans(`a ${esc}[1mb${esc}[0m c`), [
    { text: 'a ', style: undefined },
    { text: 'b', style: { fontWeight: 600 } },
    { text: ' c', style: undefined },
  ])
  assert.deepEqual(toSpans(`${esc}[44mx`)[0]?.style?.['background'], '#2472c8')
  assert.equal(toPlain(`${esc}[31mred${esc}[0m\tx\u0007\u007f\u0085`), 'red\tx␇␡\ufffd')
})

test('every colour can be read in both themes', async (t) => {
  const browser = await openChromium(t)
  if (browser === undefined) return
  const page = await browser.newPage()
  const styleOf = (codes: string) => toSpans(`${esc}[${codes}mx`)[0]?.style ?? {}
  const texts = Array.from({ length: 256 }, (_, index) => styleOf(`38;5;${index}`)['color'])
  const grounds = Array.from({ length: 256 }, (_, index) => styleOf(`48;5;${index}`))
  const onGrounds = grounds.flatMap(({ color, background }) => [color, background])
  for (const [scheme, ground] of [
    ['light', '#eceff3'],
    ['dark', '#1f2833'],
  ] as const) {
    const colours = JSON.stringify([scheme, [ground, ...texts, ...onGrounds]])
    const [output, ...drawn] = await page.evaluate<number[][]>(`(${drawnColours})(${colours})`)
    for (const [index, text] of drawn.slice(0, 256).entries())
      assert.ok(contrast(text, output) >= 4.5, `${index} ${scheme}`)
    const pairs = drawn.slice(256)
    for (const index of grounds.keys())
      assert.ok(contrast(pairs[2 * index], pairs[2 * index + 1]) >= 4.5, `on ${index} ${scheme}`)
  }
})

/** Red, green and blue of colours, as the browser draws them. */
const drawnColours = `([scheme, colours]) => {
  document.documentElement.style.colorScheme = scheme
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
  return colours.map((colour) => {
    document.body.style.color = colour
    canvas.fillStyle = getComputedStyle(document.body).color
    canvas.fillRect(0, 0, 1, 1)
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3)
  })
}`

function contrast(...colours: readonly (readonly number[] | undefined)[]): number {
  const light = (part = 0) =>
    part <= 10 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4
  const [a = 0, b = 0] = colours
    .map(
      ([red, green, blue] = []) =>
        0.2126 * light(red) + 0.7152 * light(green) + 0.0722 * light(blue),
    )
    .toSorted((one, other) => other - one)
  return (a + 0.05) / (b + 0.05)
}

test('a search takes no letter for a pattern, and either case', () => {
  assert.deepEqual(splitByHits('A.c abc a.C', 'a.c'), ['', 'A.c', ' abc ', 'a.C', ''])
  for (const query of ['\\', '^', '$', '-', '/', '[', '(', '{', '|', '?', 'İ', '🚢'])
    assert.deepEqual(splitByHits(`x${query}y`, query), ['x', query, 'y'], query)
})

test('a part of output that overlaps the text adds only the rest', () => {
  const before = { text: 'für alle\n', startByte: 10, nextByte: 20 }
  const after = (text: string, startByte: number) =>
    withNext(before, { text, startByte, nextByte: startByte + Buffer.byteLength(text) })
  assert.equal(after('mehr\n', 20)?.text, 'für alle\nmehr\n')
  assert.equal(after('für alle\n', 10)?.text, 'für alle\n')
  assert.deepEqual(after('ür alle\nmehr\n', 11), {
    text: 'für alle\nmehr\n',
    startByte: 10,
    nextByte: 25,
  })
  assert.equal(after('neu\n', 0), undefined, 'a new program has written less')
})

test('lines do not hold on to the outputs that they came from', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const heap = () => {
    collect()
    return process.memoryUsage().heapUsed / 1_048_576
  }
  let log = toLogText('a line that is cut out\n'.repeat(100_000))
  const before = heap()
  for (let count = 0; count < 100; count++)
    log = toLogText(`${log.text}${'another line that is cut out\n'.repeat(20)}`, 0, 1, log)
  // With each former text there would be 230 MiB more.
  assert.ok(heap() - before < 10, `${heap() - before} MiB`)
  assert.equal(log.lines.length, 102_000)
})
