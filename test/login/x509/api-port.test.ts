/** Client certificates on a port of their own: scenarios K of the login. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAuthority, utf8String } from '../../support/authority.ts'
import { runGateway } from '../../support/gateway.ts'
import { InTurn, Reply, startUpstream } from '../../support/upstream.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { ask, createFiles, createIssuers, runWithApiPort, sslSettings, userOf } from './support.ts'

const { authority, server } = await createIssuers()
const svc = await authority.issue({ subject: 'C=DE, O=Acme, CN=svc' })
const hourMs = 3_600_000
const roleOid = '1.2.840.10070.8.1'

function viewOf(name: string, roles: string[] = []) {
  const roleViews = roles.map((role) => ({ name: role, source: 'LDAP' }))
  return {
    name,
    admin: false,
    accounts: [],
    applications: [],
    serviceAccounts: [],
    roles: roleViews,
  }
}

test('auth-scenario 162: a certificate logs in by its common name', async (t) => {
  const { apiUrl } = await runWithApiPort(t, sslSettings(createFiles(t), server, [authority]))

  const { status, headers, text } = await ask(`${apiUrl}/auth/user`, {
    client: svc,
    ca: authority.certificate,
  })

  assert.equal(status, 200)
  const user = JSON.parse(text) as Record<string, unknown>
  assert.deepEqual([user['username'], user['email'], user['roles']], ['svc', 'svc', ['svc']])
  assert.equal(headers['set-cookie'], undefined)
  assert.match(String(headers['strict-transport-security']), /max-age=31536000/)
})

test('auth-scenario 163: an e-mail alternative name wins over the common name', async (t) => {
  const { apiUrl } = await runWithApiPort(t, sslSettings(createFiles(t), server, [authority]))
  const client = await authority.issue({ subject: 'CN=svc', emails: ['s@x.io', 'other@x.io'] })

  assert.equal((await userOf(apiUrl, { client }))['username'], 's@x.io')
})

test('auth-scenario 164: a configured pattern finds the e-mail address', async (t) => {
  const x509 = { 'subject-principal-regex': 'EMAILADDRESS=(.*?)(?:,|$)' }
  const { apiUrl } = await runWithApiPort(t, sslSettings(createFiles(t), server, [authority]), {
    x509,
  })
  const client = await authority.issue({ subject: 'C=DE, CN=svc, 1.2.840.113549.1.9.1=s@x.io' })

  assert.equal((await userOf(apiUrl, { client }))['username'], 's@x.io')
})

const now = Date.now()
const foreign = await createAuthority('O=Acme, CN=CA-2')
const impostor = await createAuthority('O=Acme, CN=CA-1')
const refused = {
  'no certificate': undefined,
  'a certificate of a foreign authority': await foreign.issue({ subject: 'CN=svc' }),
  'a certificate of an authority that bears the same name': await impostor.issue({
    subject: 'CN=svc',
  }),
  'an expired certificate': await authority.issue({
    subject: 'CN=svc',
    notBefore: now - 3 * hourMs,
    notAfter: now - hourMs,
  }),
  'a certificate that is not valid yet': await authority.issue({
    subject: 'CN=svc',
    notBefore: now + hourMs,
  }),
  'a certificate that is meant for servers': server,
}

for (const [what, client] of Object.entries(refused)) {
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    test(`auth-scenario 165: with ${what} the connection fails without an HTTP answer (${maxVersion})`, async (t) => {
      const clouddriver = await startUpstream(t)
      const services = { clouddriver: { baseUrl: clouddriver.url } }
      const { apiUrl } = await runWithApiPort(t, sslSettings(createFiles(t), server, [authority]), {
        services,
      })

      await assert.rejects(ask(`${apiUrl}/credentials`, { client, maxVersion }))
      assert.deepEqual(clouddriver.requests, [])
    })
  }
}

test('auth-scenario 165: a certificate on the revocation list is rejected', async (t) => {
  const files = createFiles(t)
  const revoked = await authority.issue({ subject: 'CN=gone' })
  const crlFile = files.write('ca.crl', await authority.revoke([revoked]))
  const { apiUrl } = await runWithApiPort(t, {
    ...sslSettings(files, server, [authority]),
    crlFile,
  })

  await assert.rejects(ask(`${apiUrl}/auth/user`, { client: revoked }))
  assert.equal((await userOf(apiUrl, { client: svc }))['username'], 'svc')
})

test('auth-scenario 165: a certificate on the block list is rejected', async (t) => {
  const files = createFiles(t)
  const blocked = await authority.issue({ subject: 'CN=gone' })
  const list = files.write(
    'blocked.txt',
    `# lost laptop\ncn = ca-1 , o=ACME:::${BigInt(`0x${blocked.serialNumber}`)}\n`,
  )
  const ssl = { ...sslSettings(files, server, [authority]), crlFile: `blocklist:${list}` }
  const { apiUrl } = await runWithApiPort(t, ssl)

  await assert.rejects(ask(`${apiUrl}/auth/user`, { client: blocked }))
  assert.equal((await userOf(apiUrl, { client: svc }))['username'], 'svc')
})

test('a block list that is switched off blocks nobody', async (t) => {
  const files = createFiles(t)
  const list = files.write('blocked.txt', `CN=CA-1, O=Acme:::${BigInt(`0x${svc.serialNumber}`)}\n`)
  const ssl = { ...sslSettings(files, server, [authority]), crlFile: `blocklist:${list}` }
  const { apiUrl } = await runWithApiPort(t, ssl, { ssl: { blocklist: { enabled: false } } })

  assert.equal((await userOf(apiUrl, { client: svc }))['username'], 'svc')
})

test('an intermediate authority needs its chain', async (t) => {
  const { apiUrl } = await runWithApiPort(t, sslSettings(createFiles(t), server, [authority]))
  const intermediate = await authority.issueAuthority('O=Acme, CN=Team CA')
  const client = await intermediate.issue({ subject: 'CN=deep' })
  const withoutChain = {
    ...client,
    cert: client.cert.slice(0, client.cert.indexOf('-----END CERTIFICATE-----') + 25),
  }

  assert.equal((await userOf(apiUrl, { client }))['username'], 'deep')
  await assert.rejects(ask(`${apiUrl}/auth/user`, { client: withoutChain }))
})

test('an intermediate authority alone is not trusted', async (t) => {
  const team = await authority.issueAuthority('O=Acme, CN=Team CA')
  const client = await team.issue({ subject: 'CN=deep' })
  const leaf = client.cert.slice(0, client.cert.indexOf('-----END CERTIFICATE-----') + 25)

  await assert.rejects(
    runWithApiPort(t, sslSettings(createFiles(t), server, [team])),
    /add CN=CA-1, O=Acme/,
  )
  const { apiUrl } = await runWithApiPort(t, sslSettings(createFiles(t), server, [team, authority]))
  assert.equal((await userOf(apiUrl, { client: { ...client, cert: leaf } }))['username'], 'deep')
})

test('auth-scenario 166: a certificate that names no user is refused with 403', async (t) => {
  const x509 = { 'subject-principal-regex': 'UID=(.*?)(?:,|$)' }
  const { apiUrl } = await runWithApiPort(t, sslSettings(createFiles(t), server, [authority]), {
    x509,
  })

  const { status, text } = await ask(`${apiUrl}/credentials`, {
    client: await authority.issue({ subject: 'C=DE, O=Acme' }),
  })

  assert.equal(status, 403)
  assert.equal((JSON.parse(text) as { code: string }).code, 'CERTIFICATE_REQUIRED')
  const named = await ask(`${apiUrl}/credentials`, { client: svc })
  assert.equal(
    named.status,
    403,
    'a pattern that finds nothing does not fall back to the common name',
  )
})

test('auth-scenario 167: roles come from certificate and permission service', async (t) => {
  const fiat = await startUpstream(t, {
    'GET /authorize/svc': viewOf('svc', ['c']),
    'PUT /roles/svc': undefined,
  })
  const services = { fiat: { enabled: true, baseUrl: fiat.url } }
  const x509 = { 'role-oid': roleOid }
  const { apiUrl } = await runWithApiPort(t, sslSettings(createFiles(t), server, [authority]), {
    services,
    x509,
  })
  const client = await authority.issue({
    subject: 'CN=svc',
    extensions: { [roleOid]: utf8String('a\nB\n') },
  })

  const { text } = await ask(`${apiUrl}/auth/rawUser`, { client })

  assert.deepEqual((JSON.parse(text) as { roles: string[] }).roles, ['svc', 'a', 'b', 'c'])
  const reported = fiat.background.find(({ method }) => method === 'PUT')
  assert.deepEqual(JSON.parse(reported?.body ?? ''), ['svc', 'a', 'b'])
})

test('without a role extension the login is reported without roles', async (t) => {
  const fiat = await startUpstream(t, {
    'GET /authorize/svc': viewOf('svc'),
    'POST /roles/svc': undefined,
  })
  const services = { fiat: { enabled: true, baseUrl: fiat.url } }
  const { apiUrl } = await runWithApiPort(t, sslSettings(createFiles(t), server, [authority]), {
    services,
  })

  assert.equal((await userOf(apiUrl, { client: svc }))['username'], 'svc')
  assert.deepEqual(
    fiat.background
      .filter(({ path }) => path === '/roles/svc')
      .map(({ method, body }) => [method, body]),
    [['POST', '']],
  )
})

test('auth-scenario 168: a required role is enforced', async (t) => {
  const x509 = { 'required-roles': ['Z'], 'role-oid': roleOid }
  const { apiUrl } = await runWithApiPort(t, sslSettings(createFiles(t), server, [authority]), {
    x509,
  })
  const member = await authority.issue({
    subject: 'CN=m',
    extensions: { [roleOid]: utf8String('z') },
  })

  assert.equal((await ask(`${apiUrl}/credentials`, { client: svc })).status, 403)
  assert.equal((await userOf(apiUrl, { client: member }))['username'], 'm')
})

for (const [debounce, calls] of [
  [true, 1],
  [false, 10],
] as const) {
  test(`auth-scenario 169: ten requests are ${calls} login calls with the debounce ${debounce ? 'on' : 'off'}`, async (t) => {
    const fiat = await startUpstream(t, {
      'GET /authorize/svc': viewOf('svc'),
      'POST /roles/svc': undefined,
    })
    const services = { fiat: { enabled: true, baseUrl: fiat.url } }
    const x509 = { loginDebounce: { enabled: debounce } }
    const { apiUrl } = await runWithApiPort(t, sslSettings(createFiles(t), server, [authority]), {
      services,
      x509,
    })

    const users = await Promise.all(
      Array.from({ length: 10 }, () => userOf(apiUrl, { client: svc })),
    )

    assert.ok(users.every(({ username }) => username === 'svc'))
    assert.equal(fiat.background.filter(({ method }) => method === 'POST').length, calls)
  })
}

test('the debounce ends with its window or the user', async (t) => {
  const clock = { now: Date.now() }
  const fiat = await startUpstream(t, {
    'GET /authorize/svc': viewOf('svc'),
    'POST /roles/svc': undefined,
  })
  const services = { fiat: { enabled: true, baseUrl: fiat.url } }
  const x509 = { loginDebounce: { enabled: true, debounceWindowSeconds: 60 } }
  const ssl = sslSettings(createFiles(t), server, [authority])
  const { apiUrl } = await runWithApiPort(t, ssl, { services, x509 }, { now: () => clock.now })
  const reports = () => fiat.background.filter(({ method }) => method === 'POST').length

  await userOf(apiUrl, { client: svc })
  clock.now += 59_000
  await userOf(apiUrl, { client: svc })
  assert.equal(reports(), 1)
  clock.now += 2000
  await userOf(apiUrl, { client: svc })
  assert.equal(reports(), 2)

  fiat.answer({
    'GET /authorize/svc': new InTurn(new Reply(404), viewOf('svc')),
    'POST /roles/svc': undefined,
  })
  clock.now += 30_000
  assert.equal((await userOf(apiUrl, { client: svc }))['username'], 'svc')
  assert.equal(reports(), 1)
})

test('auth-scenario 170: unreported logins are 503 without legacyFallback', async (t) => {
  const statuses = [false, true].map(async (legacyFallback) => {
    const fiat = await startUpstream(t, () => new Reply(500))
    const clouddriver = await startUpstream(t, { 'GET /credentials': [] })
    const services = {
      fiat: { enabled: true, baseUrl: fiat.url, legacyFallback },
      clouddriver: { baseUrl: clouddriver.url },
    }
    const retry = { maxBackoffMillis: 1 }
    const ssl = sslSettings(createFiles(t), server, [authority])
    const { apiUrl } = await runWithApiPort(t, ssl, {
      services: { ...services, fiat: { ...services.fiat, retry } },
    })
    const { status } = await ask(`${apiUrl}/credentials`, { client: svc })
    return [status, fiat.background.filter(({ method }) => method === 'POST').length]
  })

  assert.deepEqual(await Promise.all(statuses), [
    [503, 5],
    [200, 5],
  ])
})

test('auth-scenario 171: beside OAuth 2.0 each port has its login', async (t) => {
  const clouddriver = await startUpstream(t, { 'GET /networks': {} })
  const oauth2 = {
    client: {
      clientId: 'gw',
      clientSecret: 's',
      userAuthorizationUri: 'http://idp.test/a',
      accessTokenUri: 'http://idp.test/t',
    },
    resource: { userInfoUri: 'http://idp.test/u' },
  }
  const { url, apiUrl } = await runWithApiPort(
    t,
    sslSettings(createFiles(t), server, [authority]),
    {
      services: { clouddriver: { baseUrl: clouddriver.url } },
      security: { oauth2 },
    },
  )

  const main = await ask(`${url}/credentials`, { client: svc, headers: { accept: 'text/html' } })
  assert.deepEqual([main.status, main.headers.location], [302, `${url}/login`])
  const api = await ask(`${apiUrl}/networks`, { client: svc })
  assert.equal(api.status, 200)
  assert.equal(
    clouddriver.requests.find(({ path }) => path === '/networks')?.headers['x-spinnaker-user'],
    'svc',
  )
  assert.equal(
    (await ask(`${apiUrl}/login`, { client: svc })).status,
    404,
    'the login with a browser is elsewhere',
  )
})

test('auth-scenario 172: a header of a client that claims a certificate is ignored', async (t) => {
  const ssl = sslSettings(createFiles(t), server, [authority])
  const { url } = await runWithApiPort(t, ssl, { security: { basicform: { enabled: true } } })
  const pem = encodeURIComponent(svc.cert)

  for (const name of [
    'x-ssl-client-cert',
    'ssl-client-cert',
    'x-client-cert',
    'x-forwarded-tls-client-cert',
  ]) {
    assert.equal((await ask(`${url}/credentials`, { headers: { [name]: pem } })).status, 401, name)
  }
  const { status } = await ask(`${url}/credentials`, {
    headers: { 'x-forwarded-client-cert': `Cert="${pem}"` },
  })
  assert.equal(status, 401)
})

test('auth-scenario 174: a session cookie on the port for certificates is ignored', async (t) => {
  const { url, apiUrl } = await runWithApiPort(
    t,
    sslSettings(createFiles(t), server, [authority]),
    {
      security: { basicform: { enabled: true } },
      spring: { security: { user: { name: 'alice', password: 'pw' } } },
    },
  )
  const form = await fetchForm(url)

  assert.equal((await userOf(url, { headers: { cookie: form } }))['username'], 'alice')
  assert.equal(
    (await userOf(apiUrl, { client: svc, headers: { cookie: form } }))['username'],
    'svc',
  )
  await ask(`${apiUrl}/auth/logout`, { client: svc, headers: { cookie: form } })
  assert.equal(
    (await userOf(url, { headers: { cookie: form } }))['username'],
    'alice',
    'it was not ended either',
  )
})

/** Logs in on the main port. @returns the cookie */
async function fetchForm(url: string): Promise<string> {
  const { request } = await import('node:https')
  const body = 'username=alice&password=pw'
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return new Promise((resolve, reject) => {
    const outgoing = request(
      `${url}/login`,
      { method: 'POST', headers, rejectUnauthorized: false, agent: false },
      (incoming) => {
        incoming.resume()
        resolve(String(incoming.headers['set-cookie']?.[0]).split(';')[0] as string)
      },
    )
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

test('a revocation applies to open connections', async (t) => {
  const files = createFiles(t)
  const list = files.write('blocked.txt', '# nobody\n')
  const ssl = { ...sslSettings(files, server, [authority]), crlFile: `blocklist:${list}` }
  const clock = { now: Date.now() }
  const { apiUrl } = await runWithApiPort(t, ssl, {}, { now: () => clock.now })
  const { Agent, get } = await import('node:https')
  const agent = new Agent({
    keepAlive: true,
    maxSockets: 1,
    cert: svc.cert,
    key: svc.key,
    rejectUnauthorized: false,
  })
  t.after(() => agent.destroy())
  const status = () =>
    new Promise<number | undefined>((resolve, reject) => {
      get(`${apiUrl}/version`, { agent }, (incoming) =>
        incoming.resume().on('end', () => resolve(incoming.statusCode)),
      ).on('error', reject)
    })

  assert.equal(await status(), 200)
  files.write('blocked.txt', `CN=CA-1,O=Acme:::${BigInt(`0x${svc.serialNumber}`)}\n`)
  let last = await status()
  await waitUntil(async () => {
    last = await status()
    return last !== 200
  }, 'the revocation')
  assert.equal(last, 403)
  await assert.rejects(ask(`${apiUrl}/version`, { client: svc }), 'and a new connection fails')
})

test('a certificate that expires while a connection lasts no longer counts', async (t) => {
  const clock = { now: Date.now() }
  const { apiUrl } = await runWithApiPort(
    t,
    sslSettings(createFiles(t), server, [authority]),
    {},
    { now: () => clock.now },
  )

  assert.equal((await ask(`${apiUrl}/version`, { client: svc })).status, 200)
  clock.now += 25 * hourMs
  assert.equal((await ask(`${apiUrl}/version`, { client: svc })).status, 403)
})

test('an expired revocation list applies to open connections', async (t) => {
  const clock = { now: Date.now() }
  const files = createFiles(t)
  const crlFile = files.write(
    'ca.crl',
    await authority.revoke([], { nextUpdate: Date.now() + hourMs }),
  )
  const ssl = { ...sslSettings(files, server, [authority]), crlFile }
  const lines: Record<string, unknown>[] = []
  const { apiUrl } = await runWithApiPort(
    t,
    ssl,
    {},
    { now: () => clock.now, log: (line) => lines.push(line) },
  )

  assert.equal((await ask(`${apiUrl}/version`, { client: svc })).status, 200)
  clock.now += 2 * hourMs
  assert.equal((await ask(`${apiUrl}/version`, { client: svc })).status, 403)
  assert.ok(
    lines.some(({ reason }) => reason === 'the revocation list of the issuer is out of date'),
  )
})

test('each listener says at the start which login methods guard it', async (t) => {
  const lines: string[] = []
  const files = createFiles(t)
  const { url, apiUrl } = await runWithApiPort(
    t,
    sslSettings(files, server, [authority]),
    { security: { basicform: { enabled: true } } },
    { log: (line) => lines.push(String(line['msg'])) },
  )

  assert.ok(lines.includes(`listening on ${url}, guarded by login: token, form`), lines.join('\n'))
  assert.ok(
    lines.includes(`listening on ${apiUrl}, guarded by login: token, x509`),
    lines.join('\n'),
  )
})

test('a certificate port needs the login by certificate', async (t) => {
  const ssl = sslSettings(createFiles(t), server, [authority])
  await assert.rejects(
    runGateway(t, { server: { ssl }, default: { apiPort: 8085 }, anonymous: { enabled: false } }),
    /x509\.enabled: true/,
  )
})
