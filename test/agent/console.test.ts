import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openConsole, readConsolePart } from '../../packages/agent/console.ts'
import type { ConsolePart } from '../../packages/base/net/agent-protocol.ts'

const mebibyte = 1024 * 1024

interface TestConsole {
  readonly file: string
  readonly write: (text: string | Buffer) => void
  /** What the pump does with a full file. */
  readonly rotate: () => void
}

function openFile(t: TestContext): TestConsole {
  const folder = openFolder(t)
  const file = join(folder, 'console')
  const names = ['console.0000000000000000']
  const latest = () => join(folder, names.at(-1) as string)
  return {
    file,
    write: (text) => appendFileSync(latest(), text),
    rotate() {
      const offset = Number(latest().slice(-16)) + statSync(latest()).size
      names.push(`console.${String(offset).padStart(16, '0')}`)
      appendFileSync(latest(), '')
      const old = names.at(-3)
      if (old !== undefined) rmSync(join(folder, old))
    },
  }
}

function openFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-console-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return folder
}

function partOf(file: string, offset: number, maxBytes = mebibyte): ConsolePart {
  return readConsolePart(file, { offset }, maxBytes) as ConsolePart
}

function newest(file: string, bytes: number): string | undefined {
  return readConsolePart(file, { tail: Number.MAX_SAFE_INTEGER }, bytes)?.output
}

test('a follower gets every byte once across rotations', (t) => {
  const { file, write, rotate } = openFile(t)
  let [written, read, offset] = ['', '', 0]
  for (let round = 0; round < 40; round++) {
    const line = `line ${round} ${'é€😀'.repeat(round)}\n`
    written += line
    write(line)
    if (round % 3 === 2) rotate()
    const part = partOf(file, offset)
    assert.equal(part.lostBytes, 0)
    assert.equal(part.offset, offset)
    read += part.output
    offset = part.nextOffset
  }
  assert.equal(read, written)
  assert.equal(offset, Buffer.byteLength(written))
  assert.deepEqual(partOf(file, offset), {
    output: '',
    offset,
    nextOffset: offset,
    endOffset: offset,
    lostBytes: 0,
  })
})

test('a follower that is late learns how much was dropped', (t) => {
  const { file, write, rotate } = openFile(t)
  const bytes = Buffer.from('€'.repeat(100))
  for (let round = 0; round < 10; round++) {
    write(bytes.subarray(0, 200))
    rotate()
    write(bytes.subarray(200))
  }
  const part = partOf(file, 30)
  assert.equal(part.endOffset, 3_000)
  // 400 bytes are kept; the first of them ends a character that was cut.
  assert.deepEqual([part.offset, part.lostBytes, part.nextOffset], [2_601, 2_571, 3_000])
  assert.equal(part.output, '€'.repeat(133))
})

test('an offset beyond the end reads from the beginning', (t) => {
  const { file, write } = openFile(t)
  write('new\n')
  assert.deepEqual(partOf(file, 500), {
    output: 'new\n',
    offset: 0,
    nextOffset: 4,
    endOffset: 4,
    lostBytes: 0,
  })
})

test('a part ends before a character that is not whole', (t) => {
  const { file, write } = openFile(t)
  const bytes = Buffer.from('ab€')
  write(bytes.subarray(0, 4))
  assert.deepEqual(
    [partOf(file, 0).output, partOf(file, 0).nextOffset, partOf(file, 0).endOffset],
    ['ab', 2, 4],
  )
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
      line: text.slice(0, end - expected.length).split('\n').length,
    })
  })
}

test('last lines reach across pieces and rotated files', (t) => {
  const { file, write, rotate } = openFile(t)
  const lines = Array.from({ length: 30_000 }, (_each, index) => `line ${index}\n`)
  write(lines.slice(0, 20_000).join(''))
  rotate()
  write(lines.slice(20_000).join(''))
  assert.equal(
    readConsolePart(file, { tail: 15_000 }, mebibyte)?.output,
    lines.slice(-15_000).join(''),
  )
  const bounded = readConsolePart(file, { tail: 15_000 }, 1_000) as ConsolePart
  assert.equal(bounded.nextOffset - bounded.offset, 1_000)
})

test('the newest bytes come from both files', (t) => {
  const { file, write, rotate } = openFile(t)
  write('older\n')
  rotate()
  write('newer\n')
  assert.equal(partOf(file, 0).output, 'older\nnewer\n')
  assert.equal(newest(file, 8), 'r\nnewer\n')
  assert.equal(readConsolePart(join(file, 'none'), { offset: 0 }, 1), undefined)
})

/** Writes as a program does that does not look whether anybody reads. */
async function print(file: string, maxBytes: number, pieces: Iterable<string>): Promise<void> {
  const { descriptors, drained } = await openConsole(file, maxBytes)
  const [output = -1] = descriptors
  for (const piece of pieces) writeSync(output, piece)
  for (const descriptor of descriptors) closeSync(descriptor)
  await drained
}

function sizeOf(folder: string): number {
  return readdirSync(folder).reduce(
    (sum, name) => sum + (statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0),
    0,
  )
}

test('a program that prints without pause never exceeds the bound', async (t) => {
  const folder = openFolder(t)
  const file = join(folder, 'console')
  const lines = Array.from({ length: 100_000 }, (_each, index) => `line ${index}\n`)
  const sizes: number[] = []
  function* measured() {
    for (let at = 0; at < lines.length; at += 1_000) {
      yield lines.slice(at, at + 1_000).join('')
      sizes.push(sizeOf(folder))
    }
  }
  await print(file, 64 * 1024, measured())

  assert.ok(Math.max(...sizes, sizeOf(folder)) <= 64 * 1024, String(Math.max(...sizes)))
  const all = lines.join('')
  const part = partOf(file, 0)
  assert.deepEqual([part.endOffset, part.nextOffset], [all.length, all.length])
  assert.equal(part.output, all.slice(part.offset))
  assert.ok(part.output.length > 16 * 1024, `${part.output.length} bytes are kept`)
})

test('output of the next run follows that of the one before', async (t) => {
  const file = join(openFolder(t), 'console')
  await print(file, 4_000, ['first\n'.repeat(300)])
  await print(file, 4_000, ['second\n'])
  const { output, endOffset } = partOf(file, 0)
  assert.equal(endOffset, 1_807)
  assert.ok(output.endsWith('first\nsecond\n'))
})

test('standard output can be opened by its path', async (t) => {
  const file = join(openFolder(t), 'console')
  const { descriptors, drained } = await openConsole(file, 4_000)
  execFileSync('sh', ['-c', 'echo one >/dev/stdout; echo two >/dev/stderr'], {
    stdio: ['ignore', ...descriptors],
  })
  for (const descriptor of descriptors) closeSync(descriptor)
  await drained
  assert.equal(newest(file, 100), 'one\ntwo\n')
})

test('a program on a full disk goes on, and its output is dropped', async (t) => {
  const disk = openFolder(t)
  const mounted =
    process.getuid?.() === 0 &&
    spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk]).status === 0
  if (!mounted) return t.skip('only root may mount a small disk')
  try {
    await print(join(disk, 'console'), mebibyte, ['x'.repeat(mebibyte)])
    for (const name of readdirSync(disk)) rmSync(join(disk, name))
    await print(join(disk, 'console'), mebibyte, ['room again\n'])
    assert.equal(newest(join(disk, 'console'), 100), 'room again\n')
  } finally {
    execFileSync('umount', [disk])
  }
})

test('a program whose console has lost its folder goes on', async (t) => {
  const folder = join(openFolder(t), 'instance')
  mkdirSync(folder)
  const { descriptors, drained } = await openConsole(join(folder, 'console'), 4_000)
  rmSync(folder, { recursive: true, maxRetries: 20, retryDelay: 50 })
  execFileSync('head', ['-c', String(mebibyte), '/dev/zero'], {
    stdio: ['ignore', ...descriptors],
    timeout: 120_000,
  })
  for (const descriptor of descriptors) closeSync(descriptor)
  assert.equal(await drained, undefined)
})
