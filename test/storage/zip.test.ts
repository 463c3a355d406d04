import assert from 'node:assert/strict'
import { test } from 'node:test'
import { strToU8, zipSync } from 'fflate'
import { zipEntries } from '../../packages/base/storage/zip.ts'

test('files of an archive are unpacked within a bound, whatever size it names', async () => {
  const archive = zipSync({
    'a/packed.txt': strToU8('x'.repeat(2000)),
    'plain.txt': [strToU8('plain'), { level: 0 }],
  })
  const entries = new Map([...zipEntries(archive)].map((entry) => [entry.name, entry]))
  assert.deepEqual([...entries.keys()], ['a/packed.txt', 'plain.txt'])
  const [packed, plain] = [entries.get('a/packed.txt'), entries.get('plain.txt')]
  assert.equal((await packed?.unpack(2000))?.toString(), 'x'.repeat(2000))
  assert.equal(await packed?.unpack(1999), undefined)
  assert.equal((await plain?.unpack(5))?.toString(), 'plain')
  assert.equal(await plain?.unpack(4), undefined)

  const lying = Buffer.from(archive)
  lying.writeUInt32LE(1, lying.indexOf('PK\x01\x02', 0, 'latin1') + 24)
  const [first] = zipEntries(lying)
  assert.equal(await first?.unpack(1999), undefined, 'the directory names one byte')
})

test('what is no archive, or a damaged one, is refused', async () => {
  assert.throws(
    () => [...zipEntries(strToU8('no archive at all, but a text'))],
    /no archive of the form ZIP/,
  )
  const archive = Buffer.from(zipSync({ 'a.txt': strToU8('x'.repeat(2000)) }))
  const directory = archive.indexOf('PK\x01\x02', 0, 'latin1')
  const damaged = Buffer.from(archive)
  damaged.fill(0, directory, directory + 4)
  assert.throws(() => [...zipEntries(damaged)], /its directory is damaged/)
  archive.fill(0xff, 35, directory)
  const [entry] = zipEntries(archive)
  await assert.rejects(async () => entry?.unpack(4000))
})
