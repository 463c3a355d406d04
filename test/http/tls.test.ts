/** TLS at the listener: files of all kinds, what is offered, files that change, mistakes that are told at the start. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { connect as connectPlain, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect } from 'node:tls'
import { ConfigError, loadConfig } from '../../packages/app/config/config.ts'
import { formatJavaName, nameKey, parseName } from '../../packages/base/names/distinguished-name.ts'
import { readCertificate } from '../../packages/base/tls/certificate.ts'
import { clientCertificateOf } from '../../packages/base/tls/client-certificate.ts'
import { type Der, readChildren } from '../../packages/base/tls/der.ts'
import { parseBlocklist } from '../../packages/base/tls/revocation.ts'
import { ask, createFiles, createIssuers, type Files } from '../login/x509/support.ts'
import { createAuthority } from '../support/authority.ts'
import { freePort } from '../support/free-port.ts'
import { runGateway } from '../support/gateway.ts'
import { waitUntil } from '../support/wait-until.ts'
import {
  elaborateCertificate,
  elaborateName,
  javaKeyStore,
  javaStore,
  keytoolStore,
  opensslStore,
  outdatedTrustStore,
  tripleDesStore,
  trustStore,
} from './key-stores.ts'

const { authority, server } = await createIssuers()

function pemSettings(files: Files, issued = server) {
  return {
    certificate: files.write('gate.pem', issued.cert),
    'certificate-private-key': files.write('gate.key', issued.key),
  }
}

/** Owner of the certificate that a port shows. */
function shownBy(
  url: string,
  options: { maxVersion?: 'TLSv1.2'; minVersion?: 'TLSv1.3' } = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(
      { port: Number(new URL(url).port), host: '127.0.0.1', rejectUnauthorized: false, ...options },
      () => {
        resolve(String(socket.getPeerX509Certificate()?.subject))
        socket.destroy()
      },
    )
    socket.on('error', reject)
  })
}

test('the main port serves TLS from PEM files', async (t) => {
  const { url } = await runGateway(t, { server: { ssl: pemSettings(createFiles(t)) } })

  const { status, headers } = await ask(`${url}/health`, { ca: authority.certificate })

  assert.match(url, /^https:/)
  assert.equal(status, 200)
  assert.equal(headers['strict-transport-security'], 'max-age=31536000 ; includeSubDomains')
})

test('redirects on a TLS port lead to https', async (t) => {
  const { url } = await runGateway(t, {
    server: { ssl: pemSettings(createFiles(t)) },
    security: { basicform: { enabled: true } },
  })

  const { headers } = await ask(`${url}/credentials`, { headers: { accept: 'text/html' } })

  assert.equal(headers.location, `${url}/login`)
  assert.match(String(headers['set-cookie']), /; Secure/)
})

/** The same key store as some tools write it: no length before what is constructed, long octet strings in pieces. */
function inOpenLengths(store: string): string {
  const end = Buffer.alloc(2)
  const piece = (bytes: Buffer) => Buffer.concat([Buffer.of(0x04, 0x81, bytes.length), bytes])
  const rewrite = (bytes: Buffer): Buffer => {
    const parts: Buffer[] = []
    for (let rest = bytes; rest.length > 0; ) {
      const { tag, content, bytes: value } = readFirst(rest)
      rest = rest.subarray(value.length)
      const isLong = content.length > 200 && (tag === 0x04 || tag === 0x80)
      const pieces = () =>
        Array.from({ length: Math.ceil(content.length / 128) }, (_, at) =>
          piece(content.subarray(at * 128, at * 128 + 128)),
        )
      if (isLong) parts.push(Buffer.of(tag | 0x20, 0x80), ...pieces(), end)
      else if ((tag & 0x20) !== 0) parts.push(Buffer.of(tag, 0x80), rewrite(content), end)
      else parts.push(value)
    }
    return Buffer.concat(parts)
  }
  return rewrite(Buffer.from(store, 'base64')).toString('base64')
}

/** The first of several values. */
function readFirst(bytes: Buffer): Der {
  const [first] = readChildren({ tag: 0x30, content: bytes, bytes })
  return first as Der
}

const stores = [
  ['as keytool writes it', keytoolStore, {}, 'O=Acme\nCN=localhost'],
  ['as openssl writes it', opensslStore, {}, 'O=Acme\nCN=localhost'],
  ['encrypted with triple DES', tripleDesStore, {}, 'O=Acme\nCN=localhost'],
  ['by the alias of an entry', keytoolStore, { 'key-alias': 'Other' }, 'CN=other'],
  ['in BER with open lengths', inOpenLengths(opensslStore), {}, 'O=Acme\nCN=localhost'],
  ['in the older format of Java', javaKeyStore, {}, 'CN=localhost'],
] as const

for (const [what, store, settings, owner] of stores) {
  test(`the main port reads a key store, ${what}`, async (t) => {
    const file = createFiles(t).write('gate.jks', Buffer.from(store, 'base64'))
    const ssl = {
      enabled: true,
      'key-store': file,
      'key-store-type': 'jks',
      'key-store-password': 'changeit',
      ...settings,
    }
    const { url } = await runGateway(t, { server: { ssl } })

    assert.equal(await shownBy(url), owner)
    assert.equal((await ask(`${url}/health`)).status, 200)
  })
}

test('authorities are read from a trust store without keys', async (t) => {
  const files = createFiles(t)
  const ssl = {
    ...pemSettings(files),
    'client-auth': 'WANT',
    'trust-store': files.write('trust.p12', Buffer.from(trustStore, 'base64')),
    'trust-store-password': 'changeit',
  }
  const { url } = await runGateway(t, { server: { ssl } })

  assert.equal((await ask(`${url}/health`)).status, 200)
})

test('changed certificates are reloaded; broken ones are not', async (t) => {
  const files = createFiles(t)
  const messages: string[] = []
  const { url } = await runGateway(
    t,
    { server: { ssl: pemSettings(files) } },
    { log: ({ msg }) => messages.push(String(msg)) },
  )
  const until = (done: () => boolean | Promise<boolean>) =>
    waitUntil(done, () => `the files:\n${messages.join('\n')}`)

  files.write('gate.pem', 'half a certif')
  await until(() =>
    messages.some((message) =>
      message.includes('cannot be used; what was read before stays in force'),
    ),
  )
  assert.equal(await shownBy(url), 'CN=localhost')

  pemSettings(files, await authority.issue({ subject: 'CN=renewed', usage: 'server' }))
  await until(async () => (await shownBy(url)) === 'CN=renewed')
})

test('TLS 1.2 and 1.3 are offered, older ones never', async (t) => {
  const files = createFiles(t)
  const both = await runGateway(t, { server: { ssl: pemSettings(files) } })
  const newest = await runGateway(t, {
    server: { ssl: pemSettings(files) },
    default: { tlsVersions: ['TLSv1.3'] },
  })

  assert.equal(await shownBy(both.url, { maxVersion: 'TLSv1.2' }), 'CN=localhost')
  assert.equal(await shownBy(both.url, { minVersion: 'TLSv1.3' }), 'CN=localhost')
  assert.equal(await shownBy(newest.url), 'CN=localhost')
  await assert.rejects(shownBy(newest.url, { maxVersion: 'TLSv1.2' }))
})

test('cipher suites have the names of Java', async (t) => {
  const files = createFiles(t)
  const cipherSuites = 'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_KRB5_WITH_DES_CBC_SHA'
  const settings = {
    server: { ssl: pemSettings(files) },
    default: { cipherSuites, tlsVersions: 'TLSv1.2' },
  }
  const { url } = await runGateway(t, settings)

  const name = await new Promise((resolve, reject) => {
    const socket = connect(
      { port: Number(new URL(url).port), host: '127.0.0.1', rejectUnauthorized: false },
      () => {
        resolve(socket.getCipher().standardName)
        socket.destroy()
      },
    )
    socket.on('error', reject)
  })
  assert.equal(name, 'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256')
})

test('unfinished handshakes of an address are bounded', async (t) => {
  const http = { maxConnectionsPerAddress: 1 }
  const { url } = await runGateway(t, { server: { ssl: pemSettings(createFiles(t)) }, http })
  const port = Number(new URL(url).port)
  const open = async () => {
    const socket = connectPlain(port, '127.0.0.1')
    t.after(() => socket.destroy())
    socket.on('error', () => {})
    await once(socket, 'connect')
    return socket
  }
  const silent = [await open(), await open()]
  const third = await open()
  await once(third.resume(), 'close')

  assert.ok(silent.every((socket) => !socket.closed))
  silent[0]?.destroy()
  const answersWith = async (status: number) =>
    (await ask(`${url}/health`).catch(() => undefined))?.status === status
  await waitUntil(() => answersWith(503), 'an answer that says why')
  silent[1]?.destroy()
  await waitUntil(() => answersWith(200), 'a free place')
})

test('plain HTTP on a TLS port gets no answer', async (t) => {
  const { url } = await runGateway(t, { server: { ssl: pemSettings(createFiles(t)) } })

  await assert.rejects(fetch(url.replace('https:', 'http:')))
  assert.equal((await ask(`${url}/health`)).status, 200)
})

test('the extra plain port is guarded as configured', async (t) => {
  const files = createFiles(t)
  for (const [legacyServerPortAuth, status] of [
    [true, 401],
    [false, 200],
  ] as const) {
    const legacyServerPort = await freePort()
    const { url } = await runGateway(t, {
      server: { ssl: pemSettings(files) },
      security: { basicform: { enabled: true } },
      default: { legacyServerPort, legacyServerPortAuth },
    })
    const legacy = `http://127.0.0.1:${legacyServerPort}`

    assert.equal((await fetch(`${legacy}/version`)).status, status)
    assert.equal((await ask(`${url}/version`)).status, 401, 'the main port stays guarded')
    assert.equal((await fetch(`${legacy}/login`)).status, status === 401 ? 200 : 404)
  }
})

test('stopping closes every port, also those with open connections', async (t) => {
  const legacyServerPort = await freePort()
  const ssl = pemSettings(createFiles(t))
  const running = await runGateway(t, { server: { ssl }, default: { legacyServerPort } })
  const legacy = `http://127.0.0.1:${legacyServerPort}/health`
  assert.equal((await fetch(legacy)).status, 200)

  await running.stop()

  await assert.rejects(fetch(legacy))
  await assert.rejects(ask(`${running.url}/health`))
})

async function problemsOf(
  t: TestContext,
  files: Files,
  settings: Record<string, unknown>,
): Promise<string[]> {
  try {
    await loadConfig({
      cwd: files.dir,
      homeDir: files.dir,
      systemDir: files.dir,
      env: {},
      settings,
    })
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.problems.map(({ key, message }) => `${key}: ${message}`)
  }
  t.diagnostic('the configuration was accepted')
  return []
}

const mistakes: [
  what: string,
  settings: (files: Files) => Record<string, unknown>,
  expected: RegExp,
][] = [
  [
    'a port for certificates without TLS',
    (files) => ({
      'default.apiPort': 8085,
      'x509.enabled': true,
      'server.ssl.trust-certificate': files.write('ca.pem', authority.certificate),
    }),
    /^x509\.enabled: nothing asks for client certificates/,
  ],
  [
    'TLS without a certificate',
    () => ({ 'server.ssl.enabled': true }),
    /^server\.ssl\.enabled: TLS needs a certificate/,
  ],
  [
    'a file that does not exist',
    (files) => ({
      'server.ssl.certificate': `${files.dir}/x.pem`,
      'server.ssl.certificate-private-key': `${files.dir}/x.key`,
    }),
    /^server\.ssl\.certificate: the file .*x\.pem does not exist/,
  ],
  [
    'a private key of another certificate',
    (files) => ({
      'server.ssl.certificate': files.write('a.pem', authority.certificate),
      'server.ssl.certificate-private-key': files.write('a.key', server.key),
    }),
    /^server\.ssl\.certificate-private-key: the private key does not belong to the certificate/,
  ],
  [
    'a key store in JCEKS',
    (files) => ({
      'server.ssl.key-store': files.write('gate.jks', Buffer.from('cececece00000002', 'hex')),
    }),
    /^server\.ssl\.key-store: .*only Java reads.*keytool -importkeystore -srckeystore .*gate\.jks -destkeystore .*gate\.jks\.p12 -deststoretype PKCS12/,
  ],
  [
    'a JKS key store with another password',
    (files) => ({
      'server.ssl.key-store': files.write('gate.jks', Buffer.from(javaStore, 'base64')),
      'server.ssl.key-store-password': 'other',
    }),
    /^server\.ssl\.key-store: .*cannot be opened as JKS key store: the password does not open it/,
  ],
  [
    'a truncated JKS key store',
    (files) => ({
      'server.ssl.key-store': files.write(
        'gate.jks',
        Buffer.from(javaStore, 'base64').subarray(0, 300),
      ),
      'server.ssl.key-store-password': 'changeit',
    }),
    /^server\.ssl\.key-store: .*cannot be opened as JKS key store/,
  ],
  [
    'a wrong password',
    (files) => ({
      'server.ssl.key-store': files.write('gate.p12', Buffer.from(opensslStore, 'base64')),
      'server.ssl.key-store-password': 'nope',
    }),
    /^server\.ssl\.key-store: .*the password does not open it/,
  ],
  [
    'an alias that is not there',
    (files) => ({
      'server.ssl.key-store': files.write('gate.p12', Buffer.from(opensslStore, 'base64')),
      'server.ssl.key-store-password': 'changeit',
      'server.ssl.key-alias': 'nobody',
    }),
    /^server\.ssl\.key-store: .*no private key with the alias "nobody"/,
  ],
  [
    'an outdated trust store',
    (files) => ({
      ...prefixed(pemSettings(files)),
      'server.ssl.client-auth': 'need',
      'server.ssl.trust-store': files.write('t.p12', Buffer.from(outdatedTrustStore, 'base64')),
      'server.ssl.trust-store-password': 'changeit',
    }),
    /^server\.ssl\.trust-store: .*encrypted the way that old tools did.*keytool -importkeystore/,
  ],
  [
    'client certificates without authorities',
    (files) => ({ ...prefixed(pemSettings(files)), 'server.ssl.client-auth': 'want' }),
    /^server\.ssl\.client-auth: client certificates need the authorities/,
  ],
  [
    'a block list with a line that is none',
    (files) => ({
      ...prefixed(pemSettings(files)),
      'server.ssl.client-auth': 'want',
      'server.ssl.trust-certificate': files.write('ca.pem', authority.certificate),
      'server.ssl.crlFile': `blocklist:${files.write('b.txt', '# fine\nCN=CA-1:12\n')}`,
    }),
    /^server\.ssl\.crlFile: .*line 2 is not of the form/,
  ],
  [
    'a revocation list that is none',
    (files) => ({
      ...prefixed(pemSettings(files)),
      'server.ssl.client-auth': 'want',
      'server.ssl.trust-certificate': files.write('ca.pem', authority.certificate),
      'server.ssl.crlFile': files.write('a.crl', server.cert),
    }),
    /^server\.ssl\.crlFile: the file .*a\.crl cannot be used/,
  ],
  [
    'a bundle of Spring',
    () => ({ 'server.ssl.bundle': 'web' }),
    /^server\.ssl\.bundle: bundles are not supported/,
  ],
  [
    'cipher suites of which none exists',
    (files) => ({
      ...prefixed(pemSettings(files)),
      'default.cipherSuites': 'TLS_NULL_WITH_NULL_NULL',
    }),
    /^default\.cipherSuites: none of these/,
  ],
  [
    'nothing but outdated versions',
    (files) => ({ ...prefixed(pemSettings(files)), 'default.tlsVersions': 'TLSv1.1' }),
    /^default\.tlsVersions: TLSv1\.2 and TLSv1\.3 are offered/,
  ],
]

function prefixed(settings: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [`server.ssl.${key}`, value]),
  )
}

for (const [what, settings, expected] of mistakes) {
  test(`${what} is refused at the start, with what to do`, async (t) => {
    const files = createFiles(t)
    const problems = await problemsOf(t, files, settings(files))

    assert.equal(problems.length, 1, problems.join('\n'))
    assert.match(problems[0] ?? '', expected)
  })
}

test('all unusable stores are reported at once, with a command that can be pasted', async (t) => {
  const files = createFiles(t)
  const store = files.write('my gate.jks', Buffer.from('cececece00000002', 'hex'))
  const problems = await problemsOf(t, files, {
    'server.ssl.key-store': `file:${store}`,
    'server.ssl.client-auth': 'want',
    'server.ssl.trust-store': files.write('trust.jks', Buffer.from('cececece00000002', 'hex')),
  })

  assert.equal(problems.length, 2, problems.join('\n'))
  assert.ok(
    problems[0]?.endsWith(
      `keytool -importkeystore -srckeystore '${store}' -destkeystore '${store}.p12' -deststoretype PKCS12`,
    ),
    problems.join('\n'),
  )
  assert.match(
    problems[1] ?? '',
    /^server\.ssl\.trust-store: .*only Java reads.*-srckeystore \S*trust\.jks /,
  )
})

test('a corrupt key store causes no crash', async (t) => {
  const files = createFiles(t)
  const whole = Buffer.from(opensslStore, 'base64')
  const { loadKeyStoreIdentity, TlsFileError } = await import(
    '../../packages/base/tls/key-material.ts'
  )
  for (let index = 0; index < whole.length; index += 13) {
    const broken = Buffer.from(whole)
    broken[index] = (broken[index] as number) ^ 0xff
    const store = {
      key: 'server.ssl.key-store',
      file: files.write('gate.p12', broken),
      password: 'changeit',
    }
    try {
      loadKeyStoreIdentity(store, undefined)
    } catch (error) {
      assert.ok(error instanceof TlsFileError, String(error))
    }
  }
  rmSync(files.dir, { recursive: true, force: true })
})

test('a certificate that TLS has refused is not read', () => {
  const getPeerX509Certificate = () => assert.fail('reading copies the whole chain')
  const refused = {
    encrypted: true,
    authorized: false,
    authorizationError: 'SELF_SIGNED_CERT_IN_CHAIN',
    getPeerX509Certificate,
  }
  const found = clientCertificateOf({ socket: refused as unknown as Socket })
  assert.deepEqual(found, {
    kind: 'refused',
    reason: 'TLS refused the certificate: SELF_SIGNED_CERT_IN_CHAIN',
  })
})

test('the name of an owner is written as Java writes it', () => {
  const certificate = readCertificate(Buffer.from(elaborateCertificate, 'base64'))

  assert.equal(formatJavaName(certificate.subject).text, elaborateName)
  assert.equal(nameKey(parseName(elaborateName) ?? []), nameKey(certificate.subject))
})

test('distinguished names compare without case, blanks and order', async () => {
  const same = [
    'CN=a b,O=Acme',
    'cn = A  B , o=ACME',
    'CN="a b"; O=Acme',
    '2.5.4.3=a b,OID.2.5.4.10=Acme',
    'CN=\\61 b,O=Acme',
  ]
  const others = [
    'O=Acme,CN=a b',
    'CN=a b',
    'CN=a b+O=Acme',
    'CN=ab,O=Acme',
    'CN=a b,O=Acme,O=Acme',
  ]
  const keyOf = (text: string) => nameKey(parseName(text) ?? assert.fail(text))

  assert.equal(new Set(same.map(keyOf)).size, 1)
  assert.equal(new Set([keyOf('CN=a b,O=Acme'), ...others.map(keyOf)]).size, others.length + 1)
  for (const none of ['', 'a', 'CN', 'CN=a,', 'CN="a'])
    assert.equal(parseName(none), undefined, none)
  assert.throws(() => parseBlocklist('XY=a:::1'), /line 1 is not of the form/)
  const { certificate } = await createAuthority('O=Acme, CN=a b')
  assert.equal(nameKey(readCertificate(certificate).subject), keyOf('CN=a b,O=Acme'))
})
