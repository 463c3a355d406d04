/** A search of a console: lines across its parts, with their places and numbers. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConsoleWish } from '../../../packages/base/net/agent-protocol.ts'
import { findLines } from '../../../packages/providers/infrastructure/applications.ts'

function reader(whole: string | Uint8Array, partBytes: number) {
  const bytes = Buffer.from(whole as Uint8Array)
  const read = async (wish: ConsoleWish) => {
    const offset = 'offset' in wish ? wish.offset : 0
    const nextOffset = Math.min(bytes.length, offset + partBytes)
    return {
      output: bytes.subarray(offset, nextOffset).toString(),
      offset,
      nextOffset,
      endOffset: bytes.length,
    }
  }
  return async (text: string) => findLines(await read({ offset: 0 }), text, read)
}

test('lines are found in letters of either case, also where a part ends within one', async () => {
  for (const partBytes of [4, 7, 1000]) {
    const find = reader('one\nTwo two\nthree\nlast two', partBytes)
    assert.deepEqual(await find('two'), {
      output: '',
      matches: [
        { offset: 4, line: 2 },
        { offset: 18, line: 4 },
      ],
    })
    assert.deepEqual(await find('four'), { output: '', matches: [] })
  }
})

test('colours are no part of the text', async () => {
  const find = reader('one\n\u001b[31mline\u001b[0m 12\n', 1000)
  assert.deepEqual((await find('line 12')).matches, [{ offset: 4, line: 2 }])
})

test('no more than a thousand lines are answered', async () => {
  const found = await reader('für alle\n'.repeat(1200), 900)('alle')
  assert.equal(found.matches?.length, 1000)
  assert.deepEqual(found.matches?.at(-1), { offset: 9990, line: 1000 })
  assert.equal(found.hasMoreMatches, true)
})

test('bytes that are no text do not shift the lines of later parts', async () => {
  const find = reader(Uint8Array.of(0xff, 10, 97, 10, 98, 10), 4)
  assert.deepEqual((await find('b')).matches, [{ offset: 4, line: 3 }])
})

test('output without offsets is answered as it is', async () => {
  const view = { output: [{ name: 'web', output: 'one' }] }
  assert.deepEqual(await findLines(view, 'one', async () => undefined), view)
})
