/** Causes of outputs: what is chosen, what is said of it, and that pieces and size make no difference. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Cause, type CauseKind, maxText } from '../../packages/base/causes/cause.ts'
import { CauseReader } from '../../packages/base/causes/reader.ts'
import { sameCauseKey } from '../../packages/base/causes/same-cause.ts'
import { type CauseScenario, readScenarios } from './scenario.ts'

const scenarios = readScenarios('scenarios.txt')

function causeOf(
  { lines, exitCode, isOutOfMemory, tool }: CauseScenario,
  pieceBytes = Number.POSITIVE_INFINITY,
): Cause | undefined {
  const reader = new CauseReader(tool === 'pod' ? { tool } : {})
  const bytes = Buffer.from(`${lines.join('\n')}\n`)
  for (let at = 0; at < bytes.length; at += pieceBytes)
    reader.feed(bytes.subarray(at, at + pieceBytes))
  return reader.end({ exitCode, isOutOfMemory })
}

/** Without marks of tools and of terminals, as far as the scenarios have them. */
const marks = /^(?:\[ERROR\]\s*|[│╰─▶×]+ *|E {2,}|➤ YN\d+: │ |#\d+ (?:\d+\.\d+ )?|\[[\d.]+\] )+/

function expectedText({ text, lines, line = 0 }: CauseScenario): string {
  return text ?? lines[line - 1]?.split('\r').at(-1)?.trim().replace(marks, '') ?? ''
}

test('cause-scenarios 1 to 130: the line that says why is found', (t) => {
  const faults: string[] = []
  const counts = { right: 0, wrong: 0, none: 0 }
  for (const scenario of scenarios) {
    const cause = causeOf(scenario)
    const { number, hasNone, line, kind, tool, place, tests } = scenario
    const isRight = hasNone ? cause === undefined : cause !== undefined && cause.line === line
    counts[isRight ? 'right' : cause === undefined ? 'none' : 'wrong']++
    const text = expectedText(scenario)
    const found = { text: cause?.text, kind: cause?.kind, tool: cause?.tool }
    const wanted = { text: text.length > maxText ? cause?.text : text, kind, tool }
    const isSame =
      hasNone ||
      (JSON.stringify(found) === JSON.stringify(wanted) &&
        (place === undefined || cause?.place === place) &&
        String(cause?.tests?.names ?? []) === String(tests))
    if (!isRight || !isSame) faults.push(`${number}: ${JSON.stringify({ ...cause, around: [] })}`)
  }
  t.diagnostic(JSON.stringify(counts))
  assert.equal(scenarios.length, 130)
  assert.ok(counts.right >= 0.9 * scenarios.length && counts.wrong <= 0.03 * scenarios.length)
  assert.deepEqual(faults, [])
})

test('a cause does not depend on the pieces in which its output arrives', () => {
  for (const scenario of scenarios.filter(({ number }) => number !== 126))
    assert.deepEqual(causeOf(scenario, 7), causeOf(scenario), `scenario ${scenario.number}`)
})

test('a cause has six lines around it, no secrets, and at most 4 KB', () => {
  const reader = new CauseReader({ mask: (text) => text.replaceAll('t0p', '***') })
  for (let line = 1; line <= 9; line++)
    reader.feed(`line ${line} token=abc t0p ${'y'.repeat(400)}\n`)
  reader.feed('Error: t0p is missing\nlast', 'stderr')
  const cause = reader.end({ exitCode: 1 })
  assert.equal(cause?.text, 'Error: *** is missing')
  assert.deepEqual(
    cause?.around.map(({ line }) => line),
    [5, 6, 7, 8, 9, 11],
  )
  assert.match(cause?.around[0]?.text ?? '', /^line 5 token=\*\*\* \*\*\* y+…$/)
  assert.ok(Buffer.byteLength(JSON.stringify(cause)) <= 4096)
})

test('of much output, the first and the last part count, and memory is bounded', () => {
  const reader = new CauseReader()
  reader.feed('starting\n')
  const filler = `${'progress of the work '.repeat(20)}\n`.repeat(500)
  for (let part = 0; part < 60; part++) {
    if (part === 8) reader.feed('Error: in the part that is not seen\n')
    reader.feed(filler)
  }
  reader.feed('Error: seed file missing\n')
  const cause = reader.end({ exitCode: 1 })
  assert.equal(cause?.text, 'Error: seed file missing')
  assert.equal(cause?.line, 30_003)
})

test('a command that ends with 0 has no cause', () => {
  const reader = new CauseReader()
  reader.feed('Error: tolerated\n')
  assert.equal(reader.end({ exitCode: 0 }), undefined)
})

test('causes are the same but for ids, times, addresses and numbers, and most within a pipeline', () => {
  const key = (text: string, kind: CauseKind = 'code', pipeline = 'a') =>
    sameCauseKey({ text, kind, tool: 'any', stream: 'stderr', around: [] }, pipeline)
  const same = [
    [
      'connect to db-replica-0 (10.0.3.7:5432) failed',
      'connect to db-replica-1 (10.0.4.8:5433) failed',
    ],
    ['pod web-6d5f8c7b9-x1y2z took 31 s', 'pod web-7c9d8b6f5-q8w2e took 4.5 min'],
    ['GET https://reg.lan/v2?token=1: 502', 'GET https://reg.lan/v2?token=2: 502'],
    ['/tmp/a1/vat.mjs: expected 119, got 100', '/srv/b/vat.mjs: expected 119, got 99'],
    ['3f20ea49fffc64f8 is no commit', '97365bfe234471ff is no commit'],
  ] as const
  for (const [one, other] of same) assert.equal(key(one), key(other))
  const different = [
    ['error TS2304: no name', 'error TS2322: no name'],
    ['process exited with exit code 1', 'process exited with exit code 137'],
    ['db-replica refuses connections', 'db-primary refuses connections'],
    ['creating VM: 403 Forbidden', 'creating VM: 404 Not found'],
  ] as const
  for (const [one, other] of different) assert.notEqual(key(one), key(other))
  assert.equal(key('db refuses', 'network', 'a'), key('db refuses', 'network', 'b'))
  assert.notEqual(key('db refuses', 'code', 'a'), key('db refuses', 'code', 'b'))
})
