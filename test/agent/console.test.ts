import assert from 'node:assert/strict'
import fs, { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type ConsolePart, readConsole, readConsolePart, rotateConsole } from '../../src/agent/console.ts'

const mebibyte = 1024 * 1024

function openFile(t: TestContext): { file: string; write: (text: string | Buffer) => void } {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-console-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'console')
  return { file, write: (text) => appendFileSync(file, text) }
}

function partOf(file: string, offset: number, maxBytes = mebibyte): ConsolePart {
  return readConsolePart(file, { offset }, maxBytes) as ConsolePart
}

test('a follower gets every byte once across rotations', (t) => {
  const { file, write } = openFile(t)
  let [written, read, offset] = ['', '', 0]
  for (let round = 0; round < 40; round++) {
    const line = `line ${round} ${'é€😀'.repeat(round)}\n`
    written += line
    write(line)
    if (round % 3 === 2) rotateConsole(file, 2_000)
    const part = partOf(file, offset)
    assert.equal(part.lostBytes, 0)
    assert.equal(part.offset, offset)
    read += part.output
    offset = part.nextOffset
  }
  assert.equal(read, written)
  assert.equal(offset, Buffer.byteLength(written))
  assert.deepEqual(partOf(file, offset), { output: '', offset, nextOffset: offset, endOffset: offset, lostBytes: 0 })
})

/** Acts after each write of a rotation. @param act Takes its bytes */
function onWrite(t: TestContext, act: (bytes: number) => void): void {
  const write = fs.writeSync as (descriptor: number, ...rest: unknown[]) => number
  t.mock.method(fs, 'writeSync', (descriptor: number, ...rest: unknown[]) => {
    const written = write(descriptor, ...rest)
    act(written)
    return written
  })
  syncBuiltinESMExports()
  t.after(() => {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  })
}

test('bytes that arrive during a rotation are kept', (t) => {
  const { file, write } = openFile(t)
  write('a'.repeat(1_000))
  const late = ['first\n', 'second\n', 'third\n']
  onWrite(t, () => {
    const line = late.shift()
    if (line !== undefined) fs.appendFileSync(file, line)
  })
  rotateConsole(file, 1_000)
  write('after\n')
  const part = partOf(file, 519)
  assert.equal(part.output, `${'a'.repeat(481)}first\nsecond\nthird\nafter\n`)
  assert.deepEqual([part.offset, part.lostBytes, part.endOffset], [519, 0, 1_025])
})

test('bytes that arrive during a rotation count for the bound', (t) => {
  const { file, write } = openFile(t)
  write('a'.repeat(1_000))
  let bursts = 10
  onWrite(t, () => {
    if (bursts-- > 0) fs.appendFileSync(file, String(bursts).repeat(300))
  })
  const dropped = rotateConsole(file, 1_000)
  assert.equal(fs.statSync(`${file}.1`).size, 500)
  assert.equal(fs.statSync(file).size, 0)
  const part = partOf(file, 3_500)
  assert.equal(part.output, `${'1'.repeat(200)}${'0'.repeat(300)}`)
  assert.deepEqual([dropped, part.lostBytes, part.endOffset], [3_500, 0, 4_000])
})

test('a process that writes without pause cannot hold up a rotation', (t) => {
  const { file, write } = openFile(t)
  write('a'.repeat(1_000))
  onWrite(t, () => fs.appendFileSync(file, 'b'.repeat(300)))
  rotateConsole(file, 1_000)
  t.mock.restoreAll()
  syncBuiltinESMExports()
  assert.equal(fs.statSync(`${file}.1`).size, 500)
  write('after\n')
  const { endOffset } = partOf(file, 0)
  assert.equal(partOf(file, endOffset - 6).output, 'after\n')
})

test('a rotation that fails counts what is lost', (t) => {
  const { file, write } = openFile(t)
  write('a'.repeat(1_000))
  rotateConsole(file, 1_000)
  write('b'.repeat(1_000))
  let failures = 1
  onWrite(t, (bytes) => {
    if (bytes > 100 && failures-- > 0) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' })
  })
  assert.throws(() => rotateConsole(file, 1_000), /no space/)
  write('next\n')
  const part = partOf(file, 1_200)
  assert.deepEqual([part.output, part.offset, part.lostBytes, part.endOffset], ['next\n', 2_000, 800, 2_005])
})

test('a follower that is late learns how much was dropped', (t) => {
  const { file, write } = openFile(t)
  for (let round = 0; round < 10; round++) {
    write('€'.repeat(100))
    rotateConsole(file, 400)
  }
  const part = partOf(file, 30)
  assert.equal(part.endOffset, 3_000)
  // 200 bytes are kept; the first two of them end a character that was cut.
  assert.deepEqual([part.offset, part.lostBytes, part.nextOffset], [2_802, 2_772, 3_000])
  assert.equal(part.output, '€'.repeat(66))
})

test('an offset beyond the end reads from the beginning', (t) => {
  const { file, write } = openFile(t)
  write('new\n')
  assert.deepEqual(partOf(file, 500), { output: 'new\n', offset: 0, nextOffset: 4, endOffset: 4, lostBytes: 0 })
})

test('a part ends before a character that is not whole', (t) => {
  const { file, write } = openFile(t)
  const bytes = Buffer.from('ab€')
  write(bytes.subarray(0, 4))
  assert.deepEqual([partOf(file, 0).output, partOf(file, 0).nextOffset, partOf(file, 0).endOffset], ['ab', 2, 4])
  write(bytes.subarray(4))
  assert.equal(partOf(file, 2).output, '€')
  assert.deepEqual([partOf(file, 0, 3).output, partOf(file, 0, 3).nextOffset], ['ab', 2])
  write(Buffer.from([0xff, 0x80]))
  assert.equal(partOf(file, 5).nextOffset, 7)
})

for (const [text, tail, expected] of [
  ['one\ntwo\nthree\n', 1, 'three\n'],
  ['one\ntwo\nthree\n', 2, 'two\nthree\n'],
  ['one\ntwo\nthree', 2, 'two\nthree'],
  ['one\ntwo\n', 9, 'one\ntwo\n'],
  ['one\n\n\n', 2, '\n\n'],
  ['one\n', 0, ''],
  ['\n', 1, '\n'],
  ['', 5, ''],
] as const) {
  test(`the last ${tail} lines of ${JSON.stringify(text)} are ${JSON.stringify(expected)}`, (t) => {
    const { file, write } = openFile(t)
    write(text)
    const part = readConsolePart(file, { tail }, mebibyte)
    const end = Buffer.byteLength(text)
    assert.deepEqual(part, {
      output: expected,
      offset: end - expected.length,
      nextOffset: end,
      endOffset: end,
      lostBytes: 0,
    })
  })
}

test('last lines reach across pieces and rotated files', (t) => {
  const { file, write } = openFile(t)
  const lines = Array.from({ length: 30_000 }, (_each, index) => `line ${index}\n`)
  write(lines.slice(0, 20_000).join(''))
  rotateConsole(file, mebibyte / 4)
  write(lines.slice(20_000).join(''))
  assert.equal(readConsolePart(file, { tail: 15_000 }, mebibyte)?.output, lines.slice(-15_000).join(''))
  const bounded = readConsolePart(file, { tail: 15_000 }, 1_000) as ConsolePart
  assert.equal(bounded.nextOffset - bounded.offset, 1_000)
})

test('a console of an earlier version has offsets', (t) => {
  const { file, write } = openFile(t)
  writeFileSync(`${file}.1`, 'older\n')
  write('newer\n')
  assert.equal(partOf(file, 0).output, 'older\nnewer\n')
  assert.equal(readConsole(file, 8), 'r\nnewer\n')
  assert.equal(readConsolePart(join(file, 'none'), { offset: 0 }, 1), undefined)
})
