/** Changes whose process dies before their end is recorded, and clients that do not wait for it. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { findInterrupted } from '../../packages/gateway/audit/audit-log.ts'
import type { AuditEvent, AuditRecord } from '../../packages/gateway/audit/event.ts'
import { openSqliteSink, readAuditFile } from '../../packages/gateway/audit/sqlite-sink.ts'
import { verifyChain } from '../../packages/gateway/audit/verify.ts'
import { runGateway } from '../support/gateway.ts'
import { createHome, startServe } from '../support/serve.ts'
import { Reply, silence, startUpstream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait-until.ts'
import { askEvents, temporaryFolder } from './support.ts'

function recordsIn(dataDir: string): AuditRecord[] {
  return [...readAuditFile(join(dataDir, 'audit.db'))].map(
    (line) => JSON.parse(line) as AuditRecord,
  )
}

/** Kills a gateway while a service works on a change, and starts another on its data. @returns what the log holds then */
async function killDuringChange(
  t: TestContext,
  required: boolean,
): Promise<{ records: AuditRecord[]; url: string }> {
  const orca = await startUpstream(t, ({ method }) => (method === 'PUT' ? silence : {}))
  const settings = { audit: { required }, services: { orca: { baseUrl: orca.url } } }
  const home = createHome(t)
  const first = startServe(t, settings, { home })
  const asked = fetch(`${await first.listening}/pipelines/p1/cancel`, { method: 'PUT' }).catch(
    (error: unknown) => error,
  )
  await waitUntil(() => orca.requests.some(({ method }) => method === 'PUT'), 'the change')
  first.signal('SIGKILL')
  await first.exited
  assert.ok((await asked) instanceof Error)

  const url = await startServe(t, settings, { home }).listening
  const dataDir = join(home, 'data')
  if (required)
    await waitUntil(() => recordsIn(dataDir).length > 1, 'the record of the interruption')
  assert.deepEqual((await verifyChain(readAuditFile(join(dataDir, 'audit.db')))).breaks, [])
  return { records: recordsIn(dataDir), url }
}

test('with audit.required, a killed change is recorded as interrupted', async (t) => {
  const { records, url } = await killDuringChange(t, true)
  const [begun, interrupted] = records
  assert.deepEqual(
    [begun?.decision, interrupted?.decision, records.length],
    ['begun', 'interrupted', 2],
  )
  for (const name of ['change', 'requestId', 'operation', 'user', 'address'] as const)
    assert.equal(interrupted?.[name], begun?.[name])
  assert.equal(interrupted?.reason, `begun at ${begun?.at}, and its end was not recorded`)
  const { events } = await askEvents(url, 'decision=interrupted')
  assert.deepEqual(events, [interrupted])
})

test('without audit.required, a killed change leaves no record', async (t) => {
  const { records } = await killDuringChange(t, false)
  assert.deepEqual(records, [])
})

test('an interrupted change is recorded once across restarts', async (t) => {
  const file = join(temporaryFolder(t), 'audit.db')
  const sink = openSqliteSink(file)
  t.after(() => sink.close())
  const begun: AuditEvent = {
    kind: 'change',
    decision: 'begun',
    atMs: 1000,
    change: 'other-1',
    user: 'alice',
  }
  await sink.append([
    begun,
    { ...begun, change: 'other-2' },
    { ...begun, decision: 'allowed', change: 'other-2' },
  ])
  await sink.append([
    { ...begun, change: 'own-1' },
    { kind: 'change', decision: 'allowed', atMs: 2000 },
  ])

  const found = await findInterrupted(sink, { own: 'own', nowMs: 5000 })
  assert.deepEqual(
    found.map(({ change, decision, atMs }) => [change, decision, atMs]),
    [['other-1', 'interrupted', 5000]],
  )
  await sink.append(found)
  assert.deepEqual(await findInterrupted(sink, { own: 'own', nowMs: 6000 }), [])
})

for (const required of [false, true]) {
  test(`a change without its client is still recorded${required ? ' as done' : ''}`, async (t) => {
    const orca = await startUpstream(t, ({ method }) => (method === 'GET' ? {} : silence))
    const keel = await startUpstream(t, ({ method }) => (method === 'GET' ? {} : silence))
    const gateway = await runGateway(t, {
      audit: { required },
      services: { orca: { baseUrl: orca.url }, keel: { enabled: true, baseUrl: keel.url } },
    })
    for (const [path, method, upstream] of [
      ['/pipelines/p1/cancel', 'PUT', orca],
      ['/managed/graphql', 'POST', keel],
    ] as const) {
      const client = new AbortController()
      const headers = { 'content-type': 'application/json' }
      const asked = fetch(gateway.url + path, {
        method,
        headers,
        body: '{}',
        signal: client.signal,
      }).catch(() => undefined)
      await waitUntil(
        () => upstream.requests.some((request) => request.method === method),
        'the change',
      )
      client.abort()
      await asked
      upstream.release(new Reply(200, {}))
    }
    const ends = () => recordsIn(gateway.dataDir).filter(({ decision }) => decision !== 'begun')
    await waitUntil(() => ends().length === 2, 'the records')
    assert.deepEqual(
      ends().map(({ kind }) => kind),
      ['change', 'change'],
    )
    if (required) assert.ok(ends().every(({ change }) => change !== undefined))
  })
}
