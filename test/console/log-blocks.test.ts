/** Long output in pieces: what stays while more is written, what is cut off, and what a search finds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { splitByHits, toLogText, toPlain } from '../../console/src/model/log-blocks.ts'

const lines = (from: number, count: number) => Array.from({ length: count }, (_, at) => `line ${from + at}\n`).join('')
const joined = ({ blocks }: ReturnType<typeof toLogText>) => blocks.map(({ text }) => text).join('')

test('complete pieces stay the same while output is written', () => {
  const before = toLogText(lines(0, 450))
  const after = toLogText(`${lines(0, 450)}unfinis`, 0, before)
  const finished = toLogText(`${lines(0, 450)}unfinished\n${lines(450, 400)}`, 0, after)
  assert.deepEqual(
    before.blocks.map((block) => block.lines),
    [200, 200, 50],
  )
  assert.equal(after.blocks[1], before.blocks[1])
  assert.equal(finished.blocks[1], before.blocks[1])
  assert.equal(joined(finished), finished.text)
  assert.deepEqual(
    finished.blocks.map((block) => block.lines),
    [200, 200, 200, 200, 51],
  )
})

test('pieces after a cut stay the same', () => {
  const whole = lines(0, 1000)
  const before = toLogText(whole)
  const cut = whole.indexOf('line 300\n')
  const after = toLogText(`${whole.slice(cut)}${lines(1000, 10)}`, cut, before)
  assert.equal(joined(after), after.text)
  assert.ok(before.blocks.slice(2, -1).every((block) => after.blocks.includes(block)))
  assert.equal(new Set(after.blocks.map(({ from }) => from)).size, after.blocks.length)
})

test('pieces after earlier output stay the same', () => {
  const before = toLogText(`${lines(1000, 450)}unfinis`)
  const [earlier, later] = [lines(700, 300), `${lines(1000, 450)}unfinished\n`]
  const after = toLogText(earlier + later, -earlier.length, before)
  assert.equal(joined(after), after.text)
  assert.deepEqual(
    after.blocks.map(({ from }) => from),
    [-earlier.length, lines(700, 200).length - earlier.length, ...before.blocks.map(({ from }) => from)],
  )
  assert.ok(before.blocks.slice(0, -1).every((block) => after.blocks.includes(block)))
})

test('other output is taken apart anew', () => {
  const before = toLogText(lines(0, 450))
  const after = toLogText(lines(7, 450), 0, before)
  assert.equal(joined(after), after.text)
  assert.equal(toLogText('', 0, before).blocks.length, 0)
})

test('output without line ends is taken apart between characters', () => {
  const text = `a${'🚢'.repeat(100_000)}`
  const { blocks } = toLogText(text)
  assert.ok(blocks.length > 1)
  assert.equal(blocks.map((block) => block.text).join(''), text)
  assert.ok(blocks.every((block) => block.text.isWellFormed()))
})

test('control characters of output become visible', () => {
  assert.equal(toPlain('\u001b[31mred\u001b[0m\tx\u0007\u007f\u0085\r\nnext\r'), 'red\tx␇␡\ufffd\nnext')
})

test('a search takes no letter for a pattern, and either case', () => {
  assert.deepEqual(splitByHits('A.c abc a.C', 'a.c'), ['', 'A.c', ' abc ', 'a.C', ''])
  for (const query of ['\\', '^', '$', '-', '/', '[', '(', '{', '|', '?', 'İ', '🚢'])
    assert.deepEqual(splitByHits(`x${query}y`, query), ['x', query, 'y'], query)
})

test('pieces do not hold on to the outputs that they came from', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const heap = () => {
    collect()
    return process.memoryUsage().heapUsed / 1_048_576
  }
  const before = heap()
  let log = toLogText('x\n'.repeat(500_000))
  for (let count = 0; count < 100; count++) log = toLogText(`${log.text}${lines(count, 200)}`, 0, log)
  const heldMiB = heap() - before
  // The text is there as a whole and in pieces; with each former one there would be 110 MiB.
  assert.ok(heldMiB < 30, `${heldMiB} MiB`)
  assert.ok(log.blocks.length > 2500)
})
