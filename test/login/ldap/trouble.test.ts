/** The directory in trouble: down, silent, not who it should be, without TLS, gone in between; and what the form says. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import test, { type TestContext } from 'node:test'
import { root, startDirectory } from '../../support/directory.ts'
import { freePort } from '../../support/free-port.ts'
import { basic } from '../support.ts'
import { gatewayUrl, pattern, search, startGatewayFor, startLdap } from './support.ts'

/** Accepts connections; says nothing, or ends them at once. Keeps what it was told. */
async function startFake(t: TestContext, behave: (socket: Socket) => void = () => {}) {
  const sockets: Socket[] = []
  const heard: Buffer[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('data', (chunk) => heard.push(Buffer.from(chunk))).on('error', () => {})
    behave(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as { port: number }
  return {
    host: `localhost:${port}`,
    sockets,
    heard: () => Buffer.concat(heard).toString('latin1'),
  }
}

const unavailable = `${gatewayUrl}/login?error=unavailable`

const behaviours: [
  name: string,
  scheme: string,
  more: Record<string, unknown>,
  behave: (socket: Socket) => void,
][] = [
  ['is silent', 'ldap', {}, () => {}],
  ['is silent while TLS is set up', 'ldaps', {}, () => {}],
  ['does not answer a wish for TLS', 'ldap', { startTls: true }, () => {}],
  [
    'is silent after it agreed to TLS',
    'ldap',
    { startTls: true },
    (socket) =>
      socket.once('data', (asked) =>
        socket.write(answerTo(asked, [0x78, 0x07, 0x0a, 0x01, 0x00, 0x04, 0x00, 0x04, 0x00])),
      ),
  ],
  [
    'refuses TLS',
    'ldap',
    { startTls: true },
    (socket) =>
      socket.once('data', (asked) =>
        socket.write(answerTo(asked, [0x78, 0x07, 0x0a, 0x01, 0x02, 0x04, 0x00, 0x04, 0x00])),
      ),
  ],
  ['hangs up', 'ldap', {}, (socket) => socket.destroy()],
  [
    'answers in another language',
    'ldap',
    {},
    (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'),
  ],
]

/** A message of the protocol with the number of the question. */
function answerTo(asked: string | Buffer, operation: number[]): Buffer {
  return Buffer.from([
    0x30,
    operation.length + 3,
    0x02,
    0x01,
    Buffer.from(asked)[4] ?? 1,
    ...operation,
  ])
}

for (const [name, scheme, more, behave] of behaviours) {
  test(`auth-scenario 156: a directory that ${name} fails in bounded time`, {
    timeout: 300_000,
  }, async (t) => {
    const fake = await startFake(t, behave)
    const url = `${scheme}://${fake.host}/${root}`
    const gateway = await startGatewayFor(t, {
      url,
      ...pattern,
      connectTimeout: '300ms',
      readTimeout: '300ms',
      ...more,
    })
    const browser = gateway.open()
    const login = browser.login('alice', 'pw of alice')
    assert.equal((await browser.visit('/health')).status, 200)
    assert.equal((await login).location, unavailable)
    assert.match((await browser.visit('/login?error=unavailable')).text, /does not answer/)
    assert.equal(await browser.user(), undefined)
    if (scheme === 'ldaps' || more['startTls']) assert.ok(!fake.heard().includes('pw of alice'))
    assert.ok(
      gateway.lines.some(
        ({ msg, server }) => /because of the directory/.test(String(msg)) && server !== undefined,
      ),
    )
  })
}

test('auth-scenario 156: an absent directory fails at once; sessions continue', async (t) => {
  const gateway = await startLdap(t, pattern)
  if (gateway === undefined) return
  const alice = gateway.open()
  await alice.login('alice', 'pw')
  await gateway.directory.stop()
  assert.equal((await gateway.open().login('bob', 'bobs word')).location, unavailable)
  assert.equal((await alice.user())?.['username'], 'alice')
  assert.equal(
    (await gateway.open().visit('/credentials', { headers: basic('bob', 'bobs word') })).status,
    503,
  )
  assert.equal(
    (await gateway.open().visit('/auth/user', { headers: basic('bob', 'bobs word') })).status,
    200,
  )
  for (let attempt = 0; attempt < 12; attempt++) {
    assert.equal(
      (await gateway.open().login('bob', 'bobs word')).location,
      unavailable,
      'nobody judged it, so it is no guess',
    )
  }
  await gateway.directory.start()
  assert.equal((await gateway.open().login('bob', 'bobs word')).location, `${gatewayUrl}/`)
})

test('auth-scenario 157: an untrusted certificate receives no password', async (t) => {
  const directory = await startDirectory(t)
  if (directory === undefined) return
  const byAddress = directory.secureUrl.replace('localhost', '127.0.0.1')
  for (const ldap of [
    { url: directory.secureUrl },
    { url: directory.url, startTls: true },
    // The right authority, and a name that is not in the certificate.
    { url: byAddress, caFile: directory.caFile },
  ]) {
    const gateway = await startGatewayFor(t, { ...pattern, ...ldap })
    assert.equal((await gateway.open().login('alice', 'pw')).location, unavailable)
    const line = gateway.lines.find(({ msg }) => /because of the directory/.test(String(msg)))
    assert.match(String(line?.['advice']), /certificate.*ldap\.caFile/, JSON.stringify(line))
  }
  assert.deepEqual(directory.asked('BIND'), [])
})

test('a configured authority makes the directory trusted', async (t) => {
  const directory = await startDirectory(t)
  if (directory === undefined) return
  for (const ldap of [{ url: directory.secureUrl }, { url: directory.url, startTls: true }]) {
    const gateway = await startGatewayFor(t, {
      ...search,
      ...ldap,
      caFile: directory.caFile,
      groupSearchBase: 'ou=groups',
    })
    const browser = gateway.open()
    assert.equal((await browser.login('bob', 'bobs word')).location, `${gatewayUrl}/`)
    assert.deepEqual((await browser.user())?.['roles'], ['dev', 'inner'])
  }
  assert.ok(directory.asked('STARTTLS').length > 0)
  const connections = new Set(directory.asked('BIND').map((line) => /conn=\d+/.exec(line)?.[0]))
  for (const connection of connections)
    assert.ok(directory.asked('TLS established').some((line) => line.includes(`${connection} `)))
})

test('a directory that demands TLS is reported', async (t) => {
  const gateway = await startLdap(t, pattern, { directory: { config: 'security simple_bind=128' } })
  if (gateway === undefined) return
  assert.equal((await gateway.open().login('alice', 'pw')).location, unavailable)
  assert.ok(gateway.lines.some(({ advice }) => /ldaps:\/\/ .*startTls/.test(String(advice))))
})

test('a rejected manager is a problem of the settings', async (t) => {
  const gateway = await startLdap(t, { ...search, managerPassword: 'wrong' })
  if (gateway === undefined) return
  assert.equal((await gateway.open().login('alice', 'pw')).location, unavailable)
  assert.ok(gateway.lines.some(({ advice }) => /refuses the manager/.test(String(advice))))
})

test('a missing search base is a problem of the settings', async (t) => {
  const gateway = await startLdap(t, { ...search, userSearchBase: 'ou=nowhere' })
  if (gateway === undefined) return
  assert.equal((await gateway.open().login('alice', 'pw')).location, unavailable)
  assert.ok(
    gateway.lines.some(({ advice }) => /base of the search does not exist/.test(String(advice))),
  )
})

test('the second server answers while the first is down', async (t) => {
  const directory = await startDirectory(t)
  if (directory === undefined) return
  const silent = await startFake(t)
  const dead = `ldap://localhost:${await freePort()}/${root}`
  let nowMs = Date.now()
  const ldap = {
    ...search,
    url: `ldap://${silent.host}/${root} ${dead} ${directory.url}`,
    readTimeout: '200ms',
  }
  const gateway = await startGatewayFor(t, ldap, { now: () => nowMs })
  const login = async () =>
    assert.equal((await gateway.open().login('alice', 'pw')).location, `${gatewayUrl}/`)
  await login()
  const tried = silent.sockets.length
  assert.ok(tried >= 1)
  await login()
  assert.equal(silent.sockets.length, tried)
  nowMs += 31_000
  await login()
  assert.ok(silent.sockets.length > tried)
})

test('the manager connection is reused and reopened', async (t) => {
  for (const transport of [{}, { startTls: true }]) {
    const directory = await startDirectory(t)
    if (directory === undefined) return
    const gateway = await startGatewayFor(t, {
      ...search,
      ...transport,
      url: directory.url,
      caFile: directory.caFile,
    })
    const login = async () =>
      assert.equal((await gateway.open().login('alice', 'pw')).location, `${gatewayUrl}/`)
    const managerBinds = () => directory.asked('BIND dn="cn=admin,dc=example,dc=org" method').length
    await login()
    await login()
    assert.equal(managerBinds(), 1)
    await directory.stop()
    await directory.start()
    await login()
    assert.equal(managerBinds(), 2)
  }
})

test('an idle manager connection is not reused', async (t) => {
  let nowMs = Date.now()
  const gateway = await startLdap(t, search, { now: () => nowMs })
  if (gateway === undefined) return
  await gateway.open().login('alice', 'pw')
  nowMs += 61_000
  assert.equal((await gateway.open().login('alice', 'pw')).location, `${gatewayUrl}/`)
  assert.equal(gateway.directory.asked('BIND dn="cn=admin,dc=example,dc=org" method').length, 2)
})

const message = (data: string) =>
  `80090308: LdapErr: DSID-0C090439, comment: AcceptSecurityContext error, data ${data}, v4563`
const entry = Buffer.from([0x64, 0x08, 0x04, 0x04, ...Buffer.from('cn=a'), 0x30, 0x00])
const done = [0x65, 0x07, 0x0a, 0x01, 0x00, 0x04, 0x00, 0x04, 0x00]
/** The control that says that more pages follow. */
const more = Buffer.concat([
  Buffer.from([0xa0, 0x24, 0x30, 0x22, 0x04, 0x16]),
  Buffer.from('1.2.840.113556.1.4.319'),
  Buffer.from([0x04, 0x08, 0x30, 0x06, 0x02, 0x01, 0x00, 0x04, 0x01, 0x78]),
])

/** What the directory sends in answer to a search, and what the log says of it. */
const endless: [
  what: string,
  begin: (id: number) => Buffer,
  goOn: (id: number) => Buffer,
  reason: RegExp,
][] = [
  [
    'entries without end',
    () => Buffer.alloc(0),
    (id) => Buffer.alloc(16 * 1000, messageOf(id, entry)),
    /more entries than allowed/,
  ],
  [
    'a list of attributes that is longer than its message',
    (id) => messageOf(id, [0x64, 0x08, 0x04, 0x04, ...Buffer.from('cn=a'), 0x30, 0x7f]),
    () => Buffer.alloc(0),
    /malformed message/,
  ],
  [
    'an entry without end',
    (id) => Buffer.from([0x30, 0x84, 0x3f, 0xff, 0xff, 0xff, 0x02, 0x01, id]),
    () => Buffer.alloc(64_000),
    /larger than allowed/,
  ],
  [
    'a message of unknown length',
    () => Buffer.from([0x30, 0x88]),
    () => Buffer.alloc(64_000),
    /without reasonable length/,
  ],
]

const reference = Buffer.from([0x73, 0x0a, 0x04, 0x08, ...Buffer.from('ldap://x')])

/** The number of a question. */
function idOf(asked: Buffer): number {
  const at = (asked[1] ?? 0) < 0x80 ? 4 : 4 + ((asked[1] ?? 0) & 0x7f)
  return asked.readUIntBE(at, asked[at - 1] ?? 1)
}

function messageOf(
  id: number,
  operation: Iterable<number>,
  controls: Iterable<number> = [],
): Buffer {
  const content = [0x02, 0x02, id >> 8, id & 0xff, ...operation, ...controls]
  return Buffer.from([0x30, content.length, ...content])
}

for (const [what, begin, goOn, reason] of endless) {
  test(`a directory that sends ${what} is cut off`, async (t) => {
    const fake = await startFake(t, (socket) =>
      socket.on('data', (asked: Buffer) => {
        const id = idOf(asked)
        if (asked.includes('objectClass')) {
          socket.write(begin(id))
          const send = () => {
            const more = goOn(id)
            while (more.length > 0 && socket.writable && socket.write(more));
          }
          socket.on('drain', send)
          send()
        } else socket.write(answerTo(asked, [0x61, ...done.slice(1)]))
      }),
    )
    const ldap = {
      url: `ldap://${fake.host}/${root}`,
      userSearchFilter: '(&(objectClass=person)(uid={0}))',
    }
    const gateway = await startGatewayFor(t, ldap)

    assert.equal((await gateway.open().login('alice', 'pw')).location, unavailable)
    assert.match(
      String(
        gateway.lines.findLast(({ msg }) => msg === 'a login failed because of the directory')?.[
          'reason'
        ],
      ),
      reason,
    )
    const sent = fake.sockets.map(({ bytesWritten }) => bytesWritten)
    assert.ok(Math.max(...sent) < 64 * 1024 * 1024, `${sent} bytes`)
  })
}

test('a directory that announces further pages without end is cut off', async (t) => {
  let pages = 0
  const fake = await startFake(t, (socket) =>
    socket.on('data', (asked: Buffer) => {
      pages++
      const id = idOf(asked)
      socket.write(Buffer.concat([messageOf(id, reference), messageOf(id, done, more)]))
    }),
  )
  const gateway = await startGatewayFor(t, {
    url: `ldap://${fake.host}/${root}`,
    userSearchFilter: '(uid={0})',
  })

  assert.equal((await gateway.open().login('alice', 'pw')).location, unavailable)
  assert.ok(pages < 3000, `${pages} pages`)
})

/** Entries that answer a bind as Active Directory does. */
const answersOfActiveDirectory = [
  'overlay retcode',
  `retcode-parent "ou=codes,${root}"`,
  ...['52e', '530', '532', '533', '701', '773', '775'].map(
    (data) => `retcode-item "cn=u${data}" 49 op=bind text="${message(data)}"`,
  ),
  'retcode-item "cn=elsewhere" 10 op=bind ref="ldap://other.example/"',
  'retcode-item "cn=busy" 51 op=bind',
].join('\n')

test('account states are logged and shown to the user only', async (t) => {
  const gateway = await startLdap(
    t,
    { userDnPattern: 'cn={0},ou=codes' },
    { directory: { config: answersOfActiveDirectory } },
  )
  if (gateway === undefined) return
  const rows: [user: string, location: string, page: RegExp, reason: RegExp][] = [
    ['u52e', '/login?error', /User name or password is wrong/, /password is wrong \(data 52e\)/],
    ['u530', '/login?error=restricted', /may not sign in/, /time of day \(data 530\)/],
    ['u701', '/login?error=restricted', /may not sign in/, /account has expired \(data 701\)/],
    ['u532', '/login?error=expired', /password has expired/, /password has expired \(data 532\)/],
    ['u533', '/login?error=restricted', /may not sign in/, /account is disabled \(data 533\)/],
    ['u773', '/login?error=expired', /password has expired/, /has to be changed .* \(data 773\)/],
    ['u775', '/login?error', /User name or password is wrong/, /account is locked .* \(data 775\)/],
    [
      'elsewhere',
      '/login?error',
      /User name or password is wrong/,
      /another server, which is not followed/,
    ],
  ]
  for (const [user, location, page, reason] of rows) {
    const browser = gateway.open()
    assert.equal((await browser.login(user, 'pw')).location, gatewayUrl + location)
    assert.match((await browser.visit(location)).text, page)
    assert.equal(await browser.user(), undefined)
    const line = gateway.lines.findLast(({ msg }) => msg === 'the directory refused a login')
    assert.match(String(line?.['reason']), reason)
  }
  assert.ok(
    gateway.lines.every((line) => !JSON.stringify(line).includes('u52e')),
    'a name that was typed may be a password',
  )
  assert.equal((await gateway.open().login('busy', 'pw')).location, unavailable)
})

test('referrals are not followed, and the log says what to do', async (t) => {
  const other = await startFake(t)
  const branch = `ou=branch,${root}`
  const ldif = `dn: ${branch}
objectClass: referral
objectClass: extensibleObject
ou: branch
ref: ldap://${other.host}/${branch}`
  const unknown = { msg: 'the directory refused a login', reason: /the user is unknown/ }
  const referred = {
    msg: 'a login failed because of the directory',
    reason: /^a referral to another server$/,
  }
  const rows: [
    name: string,
    settings: Record<string, unknown>,
    user: string,
    location: string,
    said?: typeof unknown,
  ][] = [
    ['users beside a referral log in', search, 'alice', gatewayUrl],
    ['a user behind a referral is unknown', search, 'nobody', `${gatewayUrl}/login?error`, unknown],
    [
      'a search base behind a referral',
      { ...search, userSearchBase: 'ou=branch' },
      'alice',
      unavailable,
      referred,
    ],
    [
      'a name behind a referral',
      { userDnPattern: 'uid={0},ou=branch' },
      'alice',
      `${gatewayUrl}/login?error`,
      unknown,
    ],
    [
      'groups behind a referral',
      { ...pattern, groupSearchBase: 'ou=branch' },
      'alice',
      unavailable,
      referred,
    ],
  ]
  for (const [name, settings, user, location, said] of rows) {
    await t.test(name, async (row) => {
      const gateway = await startLdap(row, settings, { directory: { ldif } })
      if (gateway === undefined) return
      const browser = gateway.open()
      assert.equal(((await browser.login(user, 'pw')).location ?? '').replace(/\/$/, ''), location)
      assert.equal((await browser.user())?.['username'], said === undefined ? user : undefined)
      const line = gateway.lines.findLast(({ msg }) => msg === said?.msg)
      if (said !== undefined) assert.match(String(line?.['reason']), said.reason)
      if (said === referred)
        assert.match(
          String(line?.['advice']),
          /refers to another server.*write the address .* in ldap\.url/,
        )
    })
  }
  assert.equal(other.sockets.length, 0, 'no connection leads to the other server')
})
