/** Sinks in trouble, in a whole gateway: what is refused, what goes on, what is told, and that all is well again by itself. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { suite, type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import type { AuditRecord } from '../../packages/gateway/audit/event.ts'
import { listAuditFiles } from '../../packages/gateway/audit/file-sink.ts'
import { linesOf } from '../../packages/gateway/audit/lines.ts'
import { readAuditFile } from '../../packages/gateway/audit/sqlite-sink.ts'
import { verifyChain } from '../../packages/gateway/audit/verify.ts'
import { basic, startGuarded } from '../login/support.ts'
import { Reply, startUpstream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait-until.ts'
import { temporaryFolder } from './support.ts'

const admin = basic('admin', 'secret')

interface Place {
  readonly settings: Record<string, unknown>
  break(): Promise<void> | void
  repair(): Promise<void> | void
  lines(): AsyncIterable<string> | Iterable<string>
}

async function* linesOfAll(file: string): AsyncGenerator<string> {
  for (const one of listAuditFiles(file)) yield* linesOf(one)
}

function filePlace(t: TestContext): Place & { file: string } {
  const file = join(temporaryFolder(t), 'log', 'audit.log')
  const folder = dirname(file)
  return {
    file,
    settings: { audit: { sink: 'file', file } },
    // Nobody can write below what is no directory, not even root.
    break: () => {
      renameSync(folder, `${folder}.away`)
      writeFileSync(folder, '')
    },
    repair: () => {
      rmSync(folder)
      renameSync(`${folder}.away`, folder)
    },
    lines: () => linesOfAll(file),
  }
}

const places: Record<string, (t: TestContext) => Place> = {
  'the folder of the file is gone and cannot be made': (t) => filePlace(t),
}

async function startIn(t: TestContext, { settings }: Place, required: boolean) {
  const lines: Record<string, unknown>[] = []
  const known = {
    name: 'admin',
    admin: true,
    accounts: [],
    roles: [],
    applications: [],
    serviceAccounts: [],
  }
  const fiat = await startUpstream(t, ({ path }) => (path.startsWith('/authorize/') ? known : {}))
  const orca = await startUpstream(t, ({ method }) => (method === 'PUT' ? new Reply(200) : {}))
  const services = { fiat: { enabled: true, baseUrl: fiat.url }, orca: { baseUrl: orca.url } }
  const audit = { ...(settings['audit'] as object), required }
  const gateway = await startGuarded(
    t,
    { ...settings, services, audit },
    { log: (line) => lines.push(line) },
  )
  const ask = async (path: string, method = 'GET') => {
    const answer = await fetch(gateway.url + path, { method, headers: admin })
    return { status: answer.status, text: await answer.text(), headers: answer.headers }
  }
  return {
    ...gateway,
    lines,
    ask,
    cancel: () => ask('/pipelines/p1/cancel', 'PUT'),
    cancelled: () => orca.requests.filter(({ method }) => method === 'PUT').length,
    told: (level: number) =>
      lines.filter((line) => line['level'] === level && /audit log/.test(String(line['msg'])))
        .length,
  }
}

suite('a sink in trouble', { concurrency: 4 }, () => {
  for (const [what, openPlace] of Object.entries(places)) {
    test(`${what}: with audit.required, changes fail until the sink recovers`, async (t) => {
      const place = openPlace(t)
      const gateway = await startIn(t, place, true)
      assert.equal((await gateway.cancel()).status, 200)
      await place.break()

      for (let time = 0; time < 3; time++) {
        const { status, text, headers } = await gateway.cancel()
        assert.deepEqual([status, headers.get('retry-after')], [503, '10'], text)
        const { code, message } = JSON.parse(text) as { code: string; message: string }
        assert.equal(code, 'AUDIT_UNAVAILABLE')
        assert.match(message, /nothing was changed\. Try again later/)
      }
      assert.equal(gateway.cancelled(), 1)
      assert.equal((await gateway.ask('/version')).status, 200)
      await place.repair()
      await waitUntil(async () => (await gateway.cancel()).status === 200, 'the audit log')
      assert.deepEqual((await verifyChain(place.lines())).breaks, [])
    })

    test(`${what}: without audit.required, changes succeed and losses are reported`, async (t) => {
      const place = openPlace(t)
      const gateway = await startIn(t, place, false)
      assert.equal((await gateway.cancel()).status, 200)
      await place.break()

      for (let time = 0; time < 3; time++) assert.equal((await gateway.cancel()).status, 200)
      assert.equal(gateway.cancelled(), 4)
      assert.equal(gateway.told(50), 1)
      assert.match((await gateway.ask('/metrics')).text, /^fairlead_audit_failures_total [1-9]/m)
      const { troubles } = JSON.parse((await gateway.ask('/health/readiness')).text) as {
        troubles: string[]
      }
      assert.match(
        troubles[0] ?? '',
        /^the audit log cannot be written: \d+ events are missing so far$/,
      )
      assert.deepEqual(JSON.parse(await (await fetch(`${gateway.url}/readyz`)).text()), {
        status: 'UP',
      })

      await place.repair()
      await waitUntil(async () => {
        await gateway.cancel()
        return gateway.told(40) === 1
      }, 'the audit log')
      assert.deepEqual(JSON.parse((await gateway.ask('/health/readiness')).text), { status: 'UP' })
      const records: AuditRecord[] = []
      for await (const line of place.lines()) records.push(JSON.parse(line) as AuditRecord)
      const missing = records.reduce((sum, { lost = 0 }) => sum + lost, 0)
      assert.ok(missing >= 3, `${missing} are told to be missing`)
      assert.deepEqual((await verifyChain(place.lines())).breaks, [])
    })
  }
})

for (const [what, take] of [
  ['removed with its folder', (file: string) => rmSync(dirname(file), { recursive: true })],
  ['moved away by another program', (file: string) => renameSync(file, `${file}.1`)],
  ['cut off by another program', (file: string) => writeFileSync(file, '')],
] as const) {
  test(`a file that is ${what} is replaced, visibly in the chain`, async (t) => {
    const place = filePlace(t)
    const gateway = await startIn(t, place, true)
    assert.equal((await gateway.cancel()).status, 200)
    take(place.file)
    assert.equal((await gateway.cancel()).status, 200)

    const records = readFileSync(place.file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as AuditRecord)
    assert.deepEqual(
      records.map(({ kind, sequence }) => [kind, sequence]),
      [
        ['audit', 3],
        ['change', 4],
        ['change', 5],
      ],
    )
    assert.match(records[0]?.reason ?? '', /moved, removed or truncated/)
    assert.equal((await verifyChain(linesOf(place.file))).first, 3)
  })
}

test('a full file keeps its complete records', async (t) => {
  const file = join(temporaryFolder(t), 'audit.log')
  const writer = resolve(import.meta.dirname, 'limited-writer.ts')
  // The cache of compiled modules would be a file of this process, too.
  const options = { env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' } }
  const { stdout } = await promisify(execFile)(
    'prlimit',
    ['--fsize=20000', process.execPath, writer, file],
    options,
  ).catch((error: unknown) => {
    if ((error as { code?: unknown }).code === 'ENOENT') return { stdout: '' }
    throw error
  })
  if (stdout === '') return t.skip('prlimit is not installed')
  assert.match(stdout, /EFBIG/)
  const written = Number(/(\d+) written/.exec(stdout)?.[1])
  const { breaks, records, incomplete } = await verifyChain(linesOf(file))
  assert.deepEqual([breaks, records, incomplete], [[], written, false])
})

test('a path that is no regular file prevents the start', async (t) => {
  const place = filePlace(t)
  mkdirSync(place.file, { recursive: true })
  await assert.rejects(
    startIn(t, place, false),
    /audit\.log cannot be used: it is no regular file\. Set audit\.file/,
  )
  await assert.rejects(
    startIn(t, { ...place, settings: { audit: { sink: 'file', file: '/dev/full' } } }, false),
    /no regular file|cannot be used/,
  )
})

test('a second gateway on one file is rejected', async (t) => {
  const place = filePlace(t)
  const first = await startIn(t, place, false)
  await assert.rejects(
    startIn(t, place, false),
    /another process holds .*\.lock\. Set audit\.file to another one/,
  )
  await first.stop()
  await startIn(t, place, false)
})

test('a locked database is reported after a bounded wait', async (t) => {
  const place: Place = {
    settings: { audit: {} },
    break: () => {},
    repair: () => {},
    lines: () => [],
  }
  const gateway = await startIn(t, place, false)
  const file = join(gateway.dataDir, 'audit.db')
  const blocker = new DatabaseSync(file)
  blocker.exec('BEGIN IMMEDIATE')
  assert.equal((await gateway.cancel()).status, 200)
  blocker.exec('ROLLBACK')
  blocker.close()
  assert.equal((await gateway.cancel()).status, 200)
  const records = [...readAuditFile(file)].map((line) => JSON.parse(line) as AuditRecord)
  assert.deepEqual(
    records.map(({ kind, lost }) => [kind, lost]),
    [
      ['audit', 1],
      ['change', undefined],
    ],
  )
})
