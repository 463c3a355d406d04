/** Client certificates on the main port, alone and beside a login with a browser. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { connect } from 'node:tls'
import { createAuthority, type Issued } from '../../support/authority.ts'
import { type GatewaySettings, runGateway } from '../../support/gateway.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { ask, createFiles, createIssuers, sslSettings, userOf } from './support.ts'

const { authority, server } = await createIssuers()
const svc = await authority.issue({ subject: 'CN=svc' })
const stranger = await (await createAuthority('CN=CA-2')).issue({ subject: 'CN=svc' })
const selfMade = await (async () => {
  const own = await createAuthority('CN=svc')
  return { ...(await own.issue({ subject: 'CN=svc' })), cert: own.certificate }
})()

function settingsWith(
  files: ReturnType<typeof createFiles>,
  clientAuth: string,
  more: GatewaySettings = {},
): GatewaySettings {
  const ssl = { ...sslSettings(files, server, [authority]), 'client-auth': clientAuth }
  return { x509: { enabled: true }, server: { ssl }, ...more }
}

test('auth-scenario 173: alone on the main port, a missing certificate is 403', async (t) => {
  const { url } = await runGateway(t, settingsWith(createFiles(t), 'want'))

  const refused = await ask(`${url}/credentials`)
  assert.equal(refused.status, 403)
  const body = JSON.parse(refused.text) as Record<string, unknown>
  assert.deepEqual([body['status'], body['error'], body['path']], [403, 'Forbidden', undefined])
  assert.equal(refused.headers['set-cookie'], undefined)
  const nobody = await ask(`${url}/auth/user`)
  assert.deepEqual([nobody.status, nobody.text], [200, ''])
  assert.equal((await userOf(url, { client: svc }))['username'], 'svc')
  assert.equal((await ask(`${url}/login`, { client: svc })).status, 404)
})

test('with `want`, an untrusted certificate is as good as none', async (t) => {
  const messages: unknown[] = []
  const { url } = await runGateway(t, settingsWith(createFiles(t), 'want'), {
    log: (line) => messages.push(line),
  })

  for (const client of [stranger, server]) {
    assert.deepEqual(await userOf(url, { client }), {})
    assert.equal((await ask(`${url}/credentials`, { client })).status, 403)
  }
  assert.match(JSON.stringify(messages), /TLS refused the certificate: /)
  await assert.rejects(
    userOf(url, { client: selfMade }),
    'a key that does not fit does not even connect',
  )
})

test('with `need`, nobody connects without a trusted certificate', async (t) => {
  const { url } = await runGateway(t, settingsWith(createFiles(t), 'need'))

  assert.equal((await userOf(url, { client: svc }))['username'], 'svc')
  await assert.rejects(ask(`${url}/health`))
  await assert.rejects(ask(`${url}/health`, { client: stranger }))
})

interface TlsVisit {
  readonly user: string
  readonly isReused: boolean
  /** To resume on another connection. */
  readonly session: Buffer
}

/** Asks who is logged in, on a connection of its own; shows the certificate unless the session is resumed. */
async function visit(
  url: string,
  version: 'TLSv1.2' | 'TLSv1.3',
  { client, session }: { client?: Issued | undefined; session?: Buffer | undefined },
): Promise<TlsVisit> {
  const { hostname: host, port } = new URL(url)
  const socket = connect({
    ...{
      host,
      port: Number(port),
      rejectUnauthorized: false,
      minVersion: version,
      maxVersion: version,
    },
    ...(client && { cert: client.cert, key: client.key }),
    ...(session && { session }),
  })
  let ticket: Buffer = Buffer.alloc(0)
  socket.on('session', (given: Buffer) => {
    ticket = given
  })
  socket.write(`GET /auth/user HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  await once(socket, 'end')
  return {
    user: /"username":"([^"]*)"/.exec(text)?.[1] ?? '',
    isReused: socket.isSessionReused(),
    session: ticket,
  }
}

for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
  test(`a resumed session of ${version} counts as its first handshake did`, async (t) => {
    const { url } = await runGateway(t, settingsWith(createFiles(t), 'want'))
    for (const [client, user] of [
      [svc, 'svc'],
      [stranger, ''],
      [undefined, ''],
    ] as const) {
      const first = await visit(url, version, { client })
      assert.equal(first.user, user)
      for (const shown of [client, undefined, svc]) {
        const again = await visit(url, version, { client: shown, session: first.session })
        assert.equal(
          again.user,
          again.isReused ? user : shown === svc ? 'svc' : '',
          `shows ${shown?.serialNumber}`,
        )
      }
    }
  })

  test(`a session of ${version} does not outlive its authority`, async (t) => {
    const files = createFiles(t)
    const { url } = await runGateway(t, settingsWith(files, 'want'))
    const before = await visit(url, version, { client: svc })
    const resumed = await visit(url, version, { session: before.session })
    assert.deepEqual([before.user, resumed.user, resumed.isReused], ['svc', 'svc', true])

    const other = await createAuthority('O=Acme, CN=CA-3')
    const successor = await other.issue({ subject: 'CN=successor' })
    files.write('ca.pem', other.certificate)
    await waitUntil(
      async () => (await visit(url, version, { client: successor })).user === 'successor',
      'the new authority',
    )
    const after = await visit(url, version, { session: before.session })
    assert.deepEqual([after.user, after.isReused], ['', false])
  })
}

test('on one port, certificates and the form both work', async (t) => {
  const { url } = await runGateway(
    t,
    settingsWith(createFiles(t), 'want', { security: { basicform: { enabled: true } } }),
  )

  assert.equal((await userOf(url, { client: svc }))['username'], 'svc')
  for (const client of [undefined, stranger]) {
    const { status, headers } = await ask(`${url}/credentials`, {
      client,
      headers: { accept: 'text/html' },
    })
    assert.deepEqual([status, headers.location], [302, `${url}/login`])
  }
})

test('a certificate without a name leaves the other login', async (t) => {
  const { url } = await runGateway(
    t,
    settingsWith(createFiles(t), 'want', { security: { basicform: { enabled: true } } }),
  )
  const client = await authority.issue({ subject: 'O=Acme' })

  assert.equal(
    (await ask(`${url}/credentials`, { client, headers: { accept: 'text/html' } })).status,
    302,
  )
  const program = await ask(`${url}/credentials`, { client })
  assert.equal(program.status, 401)
  assert.match(
    program.text,
    /The client certificate is not accepted: the certificate names no user\./,
  )
})

test('a look-alike name is rejected and logged', async (t) => {
  const messages: unknown[] = []
  const { url } = await runGateway(t, settingsWith(createFiles(t), 'want'), {
    log: (line) => messages.push(line),
  })
  const names = [
    '\\ svc',
    'svc\\ ',
    '\uff53vc',
    'svc\u200b',
    'svc\u202e',
    'anonymous',
    '__unrestricted_user__',
  ]

  for (const name of names) {
    const client = await authority.issue({ subject: `CN=${name}` })
    assert.deepEqual(await userOf(url, { client }), {}, JSON.stringify(name))
    assert.equal((await ask(`${url}/credentials`, { client })).status, 403)
  }
  for (const reason of [/blank/, /U\+FF53/, /U\+200B/, /U\+202E/, /is reserved/])
    assert.match(JSON.stringify(messages), reason)
})

test('a name inside another part is not the user', async (t) => {
  const settings = settingsWith(createFiles(t), 'want')
  const x509 = { enabled: true, 'subject-principal-regex': 'CN=(.*?)(?:,|$)' }
  const { url } = await runGateway(t, { ...settings, x509, login: { caseInsensitiveNames: true } })
  const client = await authority.issue({ subject: String.raw`CN=mallory, O=x\, CN=admin\, y` })
  const quoted = await authority.issue({ subject: String.raw`CN=Doe\, John, O=Acme` })

  assert.equal((await userOf(url, { client }))['username'], 'mallory')
  assert.equal(
    (await userOf(url, { client: quoted }))['username'],
    '"Doe, John"',
    'as Java writes it',
  )
})

test('logins by certificate that nothing could use do not start', async (t) => {
  await assert.rejects(
    runGateway(t, { x509: { enabled: true } }),
    /x509\.enabled: nothing asks for client certificates/,
  )
  const settings = settingsWith(createFiles(t), 'want')
  const x509 = (more: object) => ({ ...settings, x509: { enabled: true, ...more } })
  await assert.rejects(
    runGateway(t, x509({ 'subject-principal-regex': 'CN=.*' })),
    /exactly one group/,
  )
  await assert.rejects(runGateway(t, x509({ 'role-oid': 'roles' })), /dotted numbers/)
  await assert.rejects(
    runGateway(t, x509({ roleOID: '1.2.3', requireRoles: 'a' })),
    /x509\.requireRoles/,
  )
  await assert.rejects(
    runGateway(t, { ...settings, anonymous: { enabled: true } }),
    /anonymous access and x509\.enabled exclude/,
  )
})
