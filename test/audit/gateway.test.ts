/** The audit log of a whole gateway: which requests it tells about, what it tells, and that it never tells a secret. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import type { AuditRecord } from '../../packages/gateway/audit/event.ts'
import { readAuditFile } from '../../packages/gateway/audit/sqlite-sink.ts'
import { verifyChain } from '../../packages/gateway/audit/verify.ts'
import { basic, startGuarded } from '../login/support.ts'
import { startGateway } from '../support/gateway.ts'
import { Reply, startUpstream } from '../support/upstream.ts'
import { askEvents } from './support.ts'

const admin = basic('admin', 'secret')
const known = {
  name: 'admin',
  admin: true,
  accounts: [],
  roles: [],
  applications: [],
  serviceAccounts: [],
}

async function startAudited(
  t: TestContext,
  settings: Record<string, unknown> = {},
  more: Record<string, unknown> = {},
) {
  const fiat = await startUpstream(t, ({ path }) => (path.startsWith('/authorize/') ? known : {}))
  const orca = await startUpstream(t, {
    'PUT /pipelines/p1/cancel': new Reply(200),
    'PUT /pipelines/p2/cancel': new Reply(500, { message: 'no' }),
    'POST /ops': { ref: '/tasks/1' },
  })
  const services = {
    fiat: { enabled: true, baseUrl: fiat.url },
    orca: { baseUrl: orca.url },
    ...more,
  }
  const guarded = await startGuarded(t, { services, ...settings })
  return {
    ...guarded,
    fiat,
    orca,
    events: async (query = '') => (await askEvents(guarded.url, query, admin)).events,
  }
}

async function startGuardedWithKeel(
  t: TestContext,
  keelUrl: string,
  audit: Record<string, unknown> = {},
) {
  const fiat = await startUpstream(t, ({ path }) => (path.startsWith('/authorize/') ? known : {}))
  const services = {
    fiat: { enabled: true, baseUrl: fiat.url },
    keel: { enabled: true, baseUrl: keelUrl },
  }
  return startGuarded(t, { services, audit })
}

function shown(events: readonly AuditRecord[]) {
  return events
    .map(({ kind, decision, user, operation, status }) => [kind, decision, user, operation, status])
    .reverse()
}

test('logins, logouts, changes and refusals are recorded in order', async (t) => {
  const { open, events, dataDir } = await startAudited(t)
  const browser = open()
  await browser.visit('/auth/user')
  await browser.login('admin', 'wrong')
  await browser.login('admin', 'secret')
  await browser.visit('/version')
  assert.equal(
    (await browser.visit('/pipelines/p1/cancel?reason=x', { method: 'PUT' })).status,
    200,
  )
  await browser.visit('/pipelines/p2/cancel', { method: 'PUT' })
  await browser.visit('/auth/logout')
  await browser.visit('/pipelines/p1/cancel', { method: 'PUT' })

  const found = await events()
  assert.deepEqual(shown(found), [
    ['login', 'refused', 'admin', undefined, 302],
    ['login', 'allowed', 'admin', undefined, 302],
    ['change', 'allowed', 'admin', 'cancelPipelineUsingPUT1', 200],
    ['change', 'failed', 'admin', 'cancelPipelineUsingPUT1', 500],
    ['logout', 'allowed', 'admin', 'logout', 302],
    ['change', 'refused', undefined, 'cancelPipelineUsingPUT1', 302],
  ])
  assert.deepEqual([found.at(-1)?.login, found.at(-1)?.reason], ['form', 'refused'])
  const change = found.at(-3) as AuditRecord
  assert.deepEqual(change.resource, { id: 'p1', reason: 'x' })
  assert.deepEqual(change.upstream?.at(-1), { service: 'orca', status: 200 })
  assert.equal(change.login, 'form')
  assert.equal(change.address, '127.0.0.1')
  assert.equal(change.method, 'PUT')
  assert.match(change.requestId ?? '', /^[\w-]{36}$/)
  assert.deepEqual((await verifyChain(readAuditFile(join(dataDir, 'audit.db')))).breaks, [])
})

test('administrators verify the log over HTTP', async (t) => {
  const { url, dataDir, events } = await startAudited(t)
  const verify = async (query = '') => {
    const answer = await fetch(`${url}/audit/verification?${query}`, { headers: admin })
    return {
      status: answer.status,
      body: (await answer.json()) as Record<string, unknown> & { breaks: unknown[] },
    }
  }
  for (let time = 0; time < 3; time++)
    await fetch(`${url}/pipelines/p1/cancel`, { method: 'PUT', headers: admin })
  const [newest, older] = await events()

  const sound = await verify(`expect=${older?.hash}`)
  assert.equal(sound.status, 200)
  assert.deepEqual(sound.body, {
    sound: true,
    records: newest?.sequence,
    first: 1,
    last: { sequence: newest?.sequence, hash: newest?.hash },
    lost: 0,
    breaks: [],
    hasExpected: true,
  })
  const missing = (await verify(`expect=${'0'.repeat(64)}`)).body
  assert.deepEqual([missing['sound'], missing['hasExpected'], missing.breaks], [false, false, []])
  assert.equal((await verify('expect=nonsense')).status, 400)

  const db = new DatabaseSync(join(dataDir, 'audit.db'))
  db.exec(
    `UPDATE events_1 SET record = replace(record, 'p1', 'p2') WHERE sequence = ${older?.sequence}`,
  )
  db.close()
  const { body } = await verify()
  assert.equal(body['sound'], false)
  assert.deepEqual(body.breaks, [
    {
      line: older?.sequence,
      problem: `was altered: the hash of record ${older?.sequence} does not fit its content`,
    },
  ])
})

test('rejected credentials are recorded with their method', async (t) => {
  const { url, events } = await startAudited(t, { 'api-tokens': { enabled: true } })
  await fetch(`${url}/version`, { headers: { 'x-spinnaker-token': 'spk_nonsense' } })
  await fetch(`${url}/pipelines/p1/cancel`, {
    method: 'PUT',
    headers: { 'x-spinnaker-token': 'spk_nonsense' },
  })
  const [change, refusal] = await events()
  assert.deepEqual(
    shown([refusal as AuditRecord, change as AuditRecord])
      .reverse()[0]
      ?.slice(0, 2),
    ['refusal', 'refused'],
  )
  assert.deepEqual(
    [refusal?.login, refusal?.status, refusal?.error],
    ['token', 401, 'CREDENTIALS_REFUSED'],
  )
  assert.deepEqual(
    [change?.kind, change?.decision, change?.operation],
    ['change', 'refused', 'cancelPipelineUsingPUT1'],
  )
})

test('token use is recorded per change and once a minute', async (t) => {
  let nowMs = Date.now()
  const fiat = await startUpstream(t, ({ path }) => (path.startsWith('/authorize/') ? known : {}))
  const orca = await startUpstream(t, { 'PUT /pipelines/p1/cancel': new Reply(200) })
  const services = { fiat: { enabled: true, baseUrl: fiat.url }, orca: { baseUrl: orca.url } }
  const { url } = await startGuarded(
    t,
    { services, 'api-tokens': { enabled: true } },
    { now: () => nowMs },
  )
  const headers = { ...admin, 'content-type': 'application/json' }
  const created = await fetch(`${url}/auth/apiTokens`, {
    method: 'POST',
    headers,
    body: '{"name":"ci"}',
  })
  const { token, id } = (await created.json()) as { token: string; id: string }
  const withToken = { headers: { 'x-spinnaker-token': token } }
  for (let time = 0; time < 5; time++) await fetch(`${url}/version`, withToken)
  nowMs += 61_000
  for (let time = 0; time < 5; time++) await fetch(`${url}/version`, withToken)
  // The clock is set back.
  nowMs -= 3_600_000
  for (let time = 0; time < 5; time++) await fetch(`${url}/version`, withToken)
  for (let time = 0; time < 2; time++)
    await fetch(`${url}/pipelines/p1/cancel`, { method: 'PUT', ...withToken })

  const events = (await askEvents(url, '', admin)).events.filter((event) => event.token === id)
  assert.deepEqual(
    events.map(({ kind }) => kind),
    ['change', 'change', 'token', 'token', 'token'],
  )
  assert.ok(!JSON.stringify(events).includes(token))
})

test('reads are told where the operator wants it', async (t) => {
  const { url, events } = await startAudited(t, { audit: { reads: true } })
  await fetch(`${url}/version`, { headers: admin })
  const [read] = await events()
  assert.deepEqual(
    [read?.kind, read?.operation, read?.user],
    ['read', 'getVersionUsingGET', 'admin'],
  )
})

test('the log holds names only, and no credentials', async (t) => {
  const { url, open, dataDir, events } = await startAudited(t, {
    'api-tokens': { enabled: true },
    audit: { reads: true },
  })
  const canary = 'c4n4ry'
  const headers = {
    ...admin,
    'content-type': 'application/json',
    'x-spinnaker-application': `${canary}header`,
  }
  await fetch(`${url}/applications/web/tasks?password=${canary}query`, {
    method: 'POST',
    headers,
    body: `{"job":["${canary}body"]}`,
  })
  await fetch(`${url}/pipelines/p1/cancel?force=${canary}force`, { method: 'PUT', headers })
  await fetch(`${url}/version?token=${canary}read`, {
    headers: { 'x-spinnaker-token': `spk_${canary}token` },
  })
  await fetch(`${url}/version`, {
    headers: { authorization: `Bearer ${canary}bearer`, cookie: `SESSION=${canary}cookie` },
  })
  await open().login(`${canary}user`, `${canary}password`)
  await open().visit('/version', { headers: basic(`${canary}name`, `${canary}basic`) })
  const browser = open()
  await browser.login('admin', 'secret')

  assert.ok((await events()).length >= 4)
  const files = readdirSync(dataDir).filter((name) => name.startsWith('audit.db'))
  const content = files.map((name) => readFileSync(join(dataDir, name)).toString('latin1')).join('')
  assert.ok(content.includes('cancelPipelineUsingPUT1'))
  assert.ok(
    !content.includes(canary),
    content.slice(content.indexOf(canary) - 300, content.indexOf(canary) + 60),
  )
  assert.ok(!content.includes(browser.session as string))
})

test('a change names its object from path, query or body', async (t) => {
  const { url, events } = await startAudited(t, { audit: { required: true } })
  const headers = { ...admin, 'content-type': 'application/json' }
  const body = JSON.stringify({
    application: 'web',
    description: 'c4n4ry',
    job: [{ type: 'destroyServerGroup', password: 'c4n4ry' }],
  })
  await fetch(`${url}/tasks`, { method: 'POST', headers, body })
  await fetch(`${url}/tasks/cancel?ids=1&ids=2&reason=too+late`, { method: 'PUT', headers })
  await fetch(`${url}/auth/sessions?username=alice`, { method: 'DELETE', headers })

  const found = (await events()).filter(({ decision }) => decision !== 'begun').reverse()
  const started = found[0]?.resource?.['started']
  assert.ok(started)
  assert.deepEqual(
    found.map(({ operation, application, resource }) => [operation, application, resource]),
    [
      ['taskUsingPOST1', 'web', { application: 'web', jobs: 'destroyServerGroup', started }],
      ['cancelTasksUsingPUT', undefined, { ids: '1, 2', reason: 'too late' }],
      ['endOtherSessionsUsingDELETE', undefined, { username: 'alice' }],
    ],
  )
  const begun = (await events('decision=begun')).reverse()
  assert.deepEqual(
    begun.map(({ resource }) => resource),
    found.map(({ resource: { started: _, ...named } = {} }) => named),
  )
  assert.ok(!JSON.stringify([found, begun]).includes('c4n4ry'))
})

test('a query cannot hide which application was changed', async (t) => {
  const { url, events, orca } = await startAudited(t)
  orca.answer({
    'GET /pipelines/p1': { application: 'web' },
    'PUT /pipelines/p1/cancel': new Reply(200),
  })
  await fetch(`${url}/pipelines/p1/cancel?application=decoy`, { method: 'PUT', headers: admin })
  assert.deepEqual(
    (await events()).map(({ application }) => application),
    ['web'],
  )
})

test('a GET that changes something is a change', async (t) => {
  const swabbie = await startUpstream(t, () => ({}))
  const { url, events } = await startAudited(
    t,
    {},
    { swabbie: { enabled: true, baseUrl: swabbie.url } },
  )
  await fetch(`${url}/cleanup/resources/web/r1/optOut`, { headers: admin })
  assert.deepEqual(shown(await events()), [['change', 'allowed', 'admin', 'optOutUsingGET', 200]])
})

test('administrators page through the log by its filters, others may not', async (t) => {
  const { url, orca, fiat } = await startAudited(t)
  orca.answer(({ method }) => (method === 'PUT' ? new Reply(200) : {}))
  for (let index = 0; index < 7; index++) {
    await fetch(`${url}/pipelines/p${index}/cancel`, { method: 'PUT', headers: admin })
  }
  const seen: (string | undefined)[] = []
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const page = await askEvents(
      url,
      `limit=3&operation=cancelPipelineUsingPUT1${cursor && `&cursor=${cursor}`}`,
      admin,
    )
    seen.push(...page.events.map(({ resource }) => resource?.['id']))
    cursor = page.next
  }
  assert.deepEqual(seen, ['p6', 'p5', 'p4', 'p3', 'p2', 'p1', 'p0'])
  assert.equal((await askEvents(url, 'user=nobody', admin)).events.length, 0)
  assert.equal((await askEvents(url, 'kind=login', admin)).events.length, 0)
  assert.equal((await askEvents(url, 'kind=change&address=127.0.0.1', admin)).events.length, 7)
  assert.equal((await askEvents(url, 'from=2100-01-01T00:00:00Z', admin)).events.length, 0)
  assert.equal(
    (await askEvents(url, 'to=2100-01-01T00:00:00Z&decision=allowed', admin)).events.length,
    7,
  )
  for (const query of ['from=yesterday', 'cursor=x', 'limit=0', 'limit=5000', 'decision=maybe']) {
    assert.equal(
      (await fetch(`${url}/audit/events?${query}`, { headers: admin })).status,
      400,
      query,
    )
  }
  const unknownKind = (await (
    await fetch(`${url}/audit/events?kind=x`, { headers: admin })
  ).json()) as { message: string }
  assert.match(
    unknownKind.message,
    /^The query parameter "kind" must be one of change, read, .*, not "x"\.$/,
  )
  assert.equal((await fetch(`${url}/audit/events`)).status, 401)
  fiat.answer({})
  const stranger = await startAudited(t)
  stranger.fiat.answer(({ path }) =>
    path.startsWith('/authorize/') ? { ...known, admin: false } : {},
  )
  assert.equal((await fetch(`${stranger.url}/audit/events`, { headers: admin })).status, 403)
})

test('a streamed response to a change arrives after its record', async (t) => {
  const keel = await startUpstream(t, {})
  const { url, dataDir } = await startGuardedWithKeel(t, keel.url)
  const headers = { ...admin, 'content-type': 'application/json' }
  const big = JSON.stringify({ text: 'x'.repeat(300_000) })
  for (const [index, [status, body]] of (
    [
      [200, big],
      [201, '{}'],
      [204, undefined],
      [200, big],
    ] as const
  ).entries()) {
    keel.answer({
      'POST /graphql': new Reply(status, body, { 'content-type': 'application/json' }),
    })
    const answer = await fetch(`${url}/managed/graphql`, { method: 'POST', headers, body: '{}' })
    const records = [...readAuditFile(join(dataDir, 'audit.db'))]
    assert.equal(records.length, index + 1)
    assert.match(records.at(-1) ?? '', /"operation":"graphqlUsingPOST"/)
    assert.ok(answer.ok)
    assert.equal(await answer.text(), body ?? '')
  }
})

test('with a required log, an unrecorded response is withheld', async (t) => {
  const keel = await startUpstream(t, {})
  const { url, dataDir } = await startGuardedWithKeel(t, keel.url, { required: true })
  const headers = { ...admin, 'content-type': 'application/json' }
  const blocker = new DatabaseSync(join(dataDir, 'audit.db'))
  keel.answer(({ path }) => {
    if (path !== '/graphql') return {}
    blocker.exec('BEGIN IMMEDIATE')
    return { data: 'x'.repeat(100_000) }
  })
  const answer = await fetch(`${url}/managed/graphql`, { method: 'POST', headers, body: '{}' })
  blocker.close()
  assert.equal(answer.status, 503)
  assert.equal(((await answer.json()) as { code: string }).code, 'AUDIT_UNAVAILABLE')
  const { events } = await askEvents(url, '', admin)
  assert.deepEqual([events[0]?.decision, events[0]?.operation], ['begun', 'graphqlUsingPOST'])
})

for (const [required, status] of [
  [true, 503],
  [false, 200],
] as const) {
  test(`a log that cannot be written ${required ? 'refuses changes and logins before anything is done' : 'is loud, and the change goes on'}`, async (t) => {
    const lines: Record<string, unknown>[] = []
    const fiat = await startUpstream(t, ({ path }) => (path.startsWith('/authorize/') ? known : {}))
    const orca = await startUpstream(t, { 'PUT /pipelines/p1/cancel': new Reply(200) })
    const services = { fiat: { enabled: true, baseUrl: fiat.url }, orca: { baseUrl: orca.url } }
    const guarded = await startGuarded(
      t,
      { services, audit: { required } },
      { log: (line) => lines.push(line) },
    )
    const { url, dataDir } = guarded
    const cancel = () => fetch(`${url}/pipelines/p1/cancel`, { method: 'PUT', headers: admin })
    assert.equal((await cancel()).status, 200)
    const cancels = () => orca.requests.filter(({ method }) => method === 'PUT').length
    const before = cancels()
    const blocker = new DatabaseSync(join(dataDir, 'audit.db'))
    blocker.exec('BEGIN IMMEDIATE')

    const answer = await cancel()
    assert.equal(answer.status, status)
    assert.equal(cancels(), required ? before : before + 1)
    const browser = guarded.open()
    assert.equal((await browser.login('admin', 'secret')).status, required ? 503 : 302)
    assert.equal(browser.session === undefined, required)
    assert.equal((await fetch(`${url}/version`, { headers: admin })).status, 200)

    assert.ok(
      lines.some(
        ({ level, msg }) =>
          level === 50 && msg === 'the audit log cannot be written: events are lost until it can',
      ),
    )
    const metrics = await (await fetch(`${url}/metrics`, { headers: admin })).text()
    assert.match(metrics, /^fairlead_audit_failures_total [1-9]/m)
    blocker.exec('ROLLBACK')
    blocker.close()
    assert.equal((await cancel()).status, 200)
    const { events } = await askEvents(url, '', admin)
    assert.ok(events.some(({ kind, lost }) => kind === 'audit' && (lost ?? 0) > 0))
    assert.deepEqual((await verifyChain(readAuditFile(join(dataDir, 'audit.db')))).breaks, [])
    if (required) assert.ok(events.some(({ decision }) => decision === 'begun'))
  })
}

test('nothing is kept where the log is switched off', async (t) => {
  const { url, dataDir } = await startAudited(t, { audit: { enabled: false } })
  await fetch(`${url}/pipelines/p1/cancel`, { method: 'PUT', headers: admin })
  assert.equal((await fetch(`${url}/audit/events`, { headers: admin })).status, 404)
  assert.ok(!existsSync(join(dataDir, 'audit.db')))
})

test('without any login everybody may read the log, as everything else', async (t) => {
  const url = await startGateway(t, {})
  await fetch(`${url}/auth/roles/sync`, { method: 'POST' })
  const [event] = (await askEvents(url)).events
  assert.deepEqual([event?.user, event?.operation], ['anonymous', 'syncUsingPOST'])
})
