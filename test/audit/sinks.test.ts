/** What holds for every sink, and what for files alone: rotation, and lines that a crash has cut off. */
import assert from 'node:assert/strict'
import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { formatCanonical } from '../../packages/gateway/audit/chain.ts'
import type { AuditEvent, AuditSink } from '../../packages/gateway/audit/event.ts'
import { listAuditFiles, openFileSink } from '../../packages/gateway/audit/file-sink.ts'
import { linesOf } from '../../packages/gateway/audit/lines.ts'
import { createOutputSink } from '../../packages/gateway/audit/open-sink.ts'
import { openSqliteSink, readAuditFile } from '../../packages/gateway/audit/sqlite-sink.ts'
import { verifyChain } from '../../packages/gateway/audit/verify.ts'
import { startServe } from '../support/serve.ts'
import { eventsOf, temporaryFolder } from './support.ts'

interface Place {
  open(): Promise<AuditSink>
  lines(): AsyncIterable<string> | Iterable<string>
}

const hourMs = 3_600_000

function fileOptions(folder: string, maxBytes = 1500) {
  return { file: join(folder, 'audit.log'), maxBytes, maxAgeMs: 24 * hourMs }
}

async function* linesOfAll(file: string): AsyncGenerator<string> {
  for (const one of listAuditFiles(file)) yield* linesOf(one)
}

const places: Record<string, (t: TestContext) => Promise<Place>> = {
  SQLite: async (t) => {
    const file = join(temporaryFolder(t), 'audit.db')
    return { open: async () => openSqliteSink(file), lines: () => readAuditFile(file) }
  },
  files: async (t) => {
    const options = fileOptions(temporaryFolder(t))
    return { open: () => openFileSink(options), lines: () => linesOfAll(options.file) }
  },
}

for (const [name, openPlace] of Object.entries(places)) {
  test(`${name}: the chain survives restarts and is read in pages`, async (t) => {
    const place = await openPlace(t)
    const first = await place.open()
    for (const event of eventsOf(4)) await first.append([event])
    await first.close()
    const sink = await place.open()
    t.after(() => sink.close())
    await sink.append(eventsOf(8, 'bob', 100_000))

    assert.deepEqual((await verifyChain(place.lines())).breaks, [])
    const seen: number[] = []
    for (let before: number | undefined; ; ) {
      const page = await sink.find?.({ limit: 5, before })
      seen.push(...(page?.records ?? []).map(({ sequence }) => sequence))
      before = page?.next
      if (before === undefined) break
    }
    assert.deepEqual(seen, [12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1])
    const found = async (query: object) =>
      (await sink.find?.({ limit: 50, ...query }))?.records.map(({ sequence }) => sequence)
    assert.deepEqual(
      [await found({ user: 'alice' }), await found({ user: 'ALICE' })],
      [
        [4, 3, 2, 1],
        [4, 3, 2, 1],
      ],
    )
    assert.deepEqual(await found({ user: 'älice' }), [])
    assert.deepEqual(await found({ operation: 'operation1', application: 'web' }), [8, 4])
    assert.deepEqual(await found({ decision: 'refused' }), [9, 5, 1])
    assert.deepEqual(await found({ fromMs: 1000, toMs: 101_000 }), [5, 4, 3, 2])
    assert.deepEqual(await found({ kind: 'change', user: 'bob' }), [12, 11, 10, 9, 8, 7, 6, 5])
    assert.deepEqual(
      [await found({ kind: 'login' }), await found({ address: '10.0.0.1' })],
      [[], []],
    )
    assert.deepEqual(await found({ user: "x' OR 1=1 --" }), [])
  })

  test(`${name}: an application is found in every spelling, and among several`, async (t) => {
    const place = await openPlace(t)
    const sink = await place.open()
    t.after(() => sink.close())
    const [event] = eventsOf(1)
    const spellings = ['web', 'WEB', ' Web ', 'shop, weB', 'website', 'web-shop', undefined]
    for (const application of spellings)
      await sink.append([{ ...event, application } as AuditEvent])
    const found = async (application: string) =>
      (await sink.find?.({ limit: 50, application }))?.records.map(({ sequence }) => sequence)
    assert.deepEqual(
      [await found('web'), await found('WEB '), await found('shop')],
      [[4, 3, 2, 1], [4, 3, 2, 1], [4]],
    )
    assert.deepEqual([await found(''), await found('null')], [[], []])
  })

  test(`${name}: old records are removed, the last one never`, async (t) => {
    const place = await openPlace(t)
    const sink = await place.open()
    t.after(() => sink.close())
    for (const event of eventsOf(30)) await sink.append([event])
    await sink.removeBefore(10_000)
    const kept = (await sink.find?.({ limit: 100 }))?.records.map(({ sequence }) => sequence) ?? []
    assert.ok((kept.at(-1) ?? 0) > 1 && (kept.at(-1) ?? 0) <= 11, String(kept))
    await sink.removeBefore(1_000_000)
    await sink.append(eventsOf(1))
    const { breaks, last } = await verifyChain(place.lines())
    assert.deepEqual([breaks, last?.sequence], [[], 31])
  })
}

for (const [name, openPlace] of Object.entries(places)) {
  test(`${name}: a log beyond its size loses its oldest records`, async (t) => {
    const place = await openPlace(t)
    const sink = await place.open()
    t.after(() => sink.close())
    for (let batch = 0; batch < 10; batch++)
      await sink.append(eventsOf(100, 'alice', batch * 100_000))
    assert.equal(await sink.removeBeyond(100_000_000), false)
    const bytes = 200_000
    assert.equal(await sink.removeBeyond(bytes), true)
    const lines: string[] = []
    for await (const line of place.lines()) lines.push(line)
    const kept = lines.reduce((sum, line) => sum + line.length, 0)
    assert.ok(kept < bytes && kept > bytes / 4, `${kept} bytes`)
    await sink.append(eventsOf(1))
    const { breaks, last } = await verifyChain(place.lines())
    assert.deepEqual([breaks, last?.sequence], [[], 1001])
    assert.equal(await sink.removeBeyond(bytes), false)
  })

  test(`${name}: records since a moment are read back`, async (t) => {
    const place = await openPlace(t)
    const sink = await place.open()
    t.after(() => sink.close())
    for (const event of eventsOf(20)) await sink.append([event])
    const found: number[] = []
    for await (const { sequence } of sink.since?.(15_000) ?? []) found.push(sequence)
    assert.deepEqual(found.sort(), [16, 17, 18, 19, 20])
  })
}

test('SQLite: a search through many records lets requests pass', async (t) => {
  const sink = openSqliteSink(join(temporaryFolder(t), 'audit.db'))
  t.after(() => sink.close())
  await sink.append(eventsOf(1, 'first'))
  await sink.append(eventsOf(6000))
  let turns = 0
  let isOver = false
  const count = () => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)

  const page = await sink.find?.({ address: '203.0.113.1', limit: 5 })
  isOver = true

  assert.deepEqual(page?.records, [])
  assert.ok(turns >= 2, `${turns} turns`)
  assert.equal((await sink.find?.({ user: 'FIRST', limit: 5 }))?.records.length, 1)
  assert.equal((await sink.find?.({ user: 'first', before: 1, limit: 5 }))?.records.length, 0)
})

test('SQLite: a column that contradicts its record is found', async (t) => {
  const file = join(temporaryFolder(t), 'audit.db')
  const sink = openSqliteSink(file)
  await sink.append(eventsOf(3))
  await sink.close()
  const db = new DatabaseSync(file)
  db.exec("UPDATE events_1 SET user = 'nobody' WHERE sequence = 2")
  db.close()
  const [first] = (await verifyChain(readAuditFile(file))).breaks
  assert.equal(first?.line, 2)
  assert.match(first?.problem ?? '', /^was altered/)
})

test('SQLite: a file that is no database is rejected', async (t) => {
  const file = join(temporaryFolder(t), 'audit.db')
  appendFileSync(file, 'no database, although long enough to look like one. '.repeat(30))
  assert.throws(() => openSqliteSink(file), /audit\.db cannot be used: .*Move it away/)
  assert.match(readFileSync(file, 'utf8'), /^no database/)
})

test('files: rotation by size and age keeps the chain', async (t) => {
  const folder = temporaryFolder(t)
  const sink = await openFileSink(fileOptions(folder))
  t.after(() => sink.close())
  for (const event of eventsOf(8)) await sink.append([event])
  const bySize = readdirSync(folder).length
  assert.ok(bySize >= 2, String(bySize))
  await sink.append(eventsOf(1, 'alice', 25 * hourMs))
  assert.equal(readdirSync(folder).length, bySize + 1)
  assert.deepEqual((await verifyChain(linesOfAll(join(folder, 'audit.log')))).breaks, [])
})

test('files: a partial record is dropped and the chain continues', async (t) => {
  const options = fileOptions(temporaryFolder(t), 1_000_000)
  const first = await openFileSink(options)
  await first.append(eventsOf(3))
  await first.close()
  appendFileSync(options.file, readFileSync(options.file, 'utf8').slice(0, 77))
  const sink = await openFileSink(options)
  t.after(() => sink.close())
  await sink.append(eventsOf(1))
  const { breaks, records } = await verifyChain(linesOf(options.file))
  assert.deepEqual([breaks, records], [[], 4])
})

test('standard output: audit lines are not mixed with log lines', async (t) => {
  const gateway = startServe(t, { audit: { sink: 'stdout' } })
  const url = await gateway.listening
  const ask = async () =>
    (await fetch(`${url}/auth/deleteSessionCache`, { method: 'POST' })).arrayBuffer()
  for (let round = 0; round < 10; round++) await Promise.all(Array.from({ length: 20 }, ask))
  gateway.signal('SIGTERM')
  await gateway.exited
  const lines = gateway.log().filter((line) => 'sequence' in line)
  const { breaks, records } = await verifyChain(lines.map(formatCanonical))
  assert.deepEqual([breaks, records], [[], 200])
})

test('standard output: each record is a line of the chain', async () => {
  const output = new PassThrough()
  let text = ''
  output.on('data', (chunk) => (text += String(chunk)))
  const sink = createOutputSink(output)
  await sink.append(eventsOf(2))
  await sink.append(eventsOf(1))
  const lines = text.trimEnd().split('\n')
  const { breaks, records } = await verifyChain(lines)
  assert.deepEqual([breaks, records], [[], 3])
})
