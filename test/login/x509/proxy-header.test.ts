/** Client certificates that a proxy hands on in a header. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAuthority, type Issued } from '../../support/authority.ts'
import { type GatewaySettings, runGateway } from '../../support/gateway.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { Browser } from '../browser.ts'
import { createFiles, createIssuers } from './support.ts'

const { authority, server } = await createIssuers()
const svc = await authority.issue({ subject: 'CN=svc' })
const hourMs = 3_600_000
const header = 'X-SSL-Client-Cert'

/** @param proxies Pattern of the addresses that are trusted; the test itself is 127.0.0.1 */
function settingsWith(
  files: ReturnType<typeof createFiles>,
  more: { x509?: object; ssl?: object; proxies?: string } = {},
): GatewaySettings {
  return {
    x509: { enabled: true, certificateHeader: header, ...more.x509 },
    server: {
      'forward-headers-strategy': 'native',
      tomcat: { remoteip: { 'internal-proxies': more.proxies ?? String.raw`127\.0\.0\.1` } },
      ssl: {
        enabled: false,
        'trust-certificate': files.write('ca.pem', authority.certificate),
        ...more.ssl,
      },
    },
  }
}

function escaped({ cert }: Issued): string {
  return encodeURIComponent(cert)
}

function der({ cert }: Issued): string {
  return cert.replaceAll(/-----[^-]+-----|\s/g, '')
}

async function userBy(url: string, headers: Record<string, string>): Promise<unknown> {
  const text = await (await fetch(`${url}/auth/user`, { headers })).text()
  return text === '' ? undefined : (JSON.parse(text) as { username: string }).username
}

const spellings: [proxy: string, name: string, value: (issued: Issued) => string][] = [
  ['nginx, escaped', header, escaped],
  ['nginx, folded', header, ({ cert }) => cert.trim().replaceAll('\n', ' ')],
  ['an Amazon balancer, escaped in part', header, ({ cert }) => encodeURI(cert)],
  ['HAProxy, base64', header, der],
  ['RFC 9440', 'Client-Cert', (issued) => `:${der(issued)}:`],
  ['Traefik, several', header, (issued) => `${der(issued)},${der(server)}`],
  [
    'Envoy',
    'X-Forwarded-Client-Cert',
    (issued) => `By=spiffe://a;Hash=ab;Cert="${escaped(issued)}";Subject="CN=root, O=\\"x\\"";URI=`,
  ],
]

for (const [proxy, certificateHeader, write] of spellings) {
  test(`a certificate in the spelling of ${proxy} logs in`, async (t) => {
    const { url } = await runGateway(
      t,
      settingsWith(createFiles(t), { x509: { certificateHeader } }),
    )

    assert.equal(await userBy(url, { [certificateHeader]: write(svc) }), 'svc')
    assert.equal(await userBy(url, {}), undefined)
    assert.equal((await fetch(`${url}/credentials`)).status, 403)
  })
}

test('the header counts only from trusted proxies', async (t) => {
  const { url } = await runGateway(
    t,
    settingsWith(createFiles(t), { proxies: String.raw`10\.0\.0\.1` }),
  )

  const answer = await fetch(`${url}/credentials`, { headers: { [header]: escaped(svc) } })

  assert.equal(answer.status, 403)
  assert.equal(
    await userBy(url, { [header]: escaped(svc), 'x-forwarded-for': '10.0.0.1' }),
    undefined,
  )
})

test('broad proxy trust does not cover certificates', async (t) => {
  const files = createFiles(t)
  for (const proxies of ['.*', String.raw`.*\..*`]) {
    await assert.rejects(
      runGateway(t, settingsWith(files, { proxies })),
      /x509\.certificateHeader: a client that may send this header/,
    )
  }
  const settings = settingsWith(files)
  const { tomcat: _, ...server } = settings['server'] as Record<string, unknown>
  await assert.rejects(runGateway(t, { ...settings, server }), /name the addresses of your proxies/)
  const distrusting = { ...server, 'forward-headers-strategy': 'none' }
  await assert.rejects(runGateway(t, { ...settings, server: distrusting }), /no proxy is trusted/)
})

test('a header needs authorities to check the certificate against', async (t) => {
  const settings = settingsWith(createFiles(t), { ssl: { 'trust-certificate': '' } })
  await assert.rejects(runGateway(t, settings), /client certificates need the authorities/)
})

const now = Date.now()
const foreign = await createAuthority('CN=CA-2')
const impostor = await createAuthority('O=Acme, CN=CA-1')
const intermediate = await authority.issueAuthority('CN=Team CA')
const bad: Record<string, string> = {
  'of a foreign authority': escaped(await foreign.issue({ subject: 'CN=svc' })),
  'of an authority with the same name': escaped(await impostor.issue({ subject: 'CN=svc' })),
  'that has expired': escaped(
    await authority.issue({
      subject: 'CN=svc',
      notBefore: now - 3 * hourMs,
      notAfter: now - hourMs,
    }),
  ),
  'that is not valid yet': escaped(
    await authority.issue({ subject: 'CN=svc', notBefore: now + hourMs }),
  ),
  'for servers': escaped(server),
  'of the authority itself': encodeURIComponent(authority.certificate),
  'of an authority that is not in the trust store': escaped(
    await intermediate.issue({ subject: 'CN=svc' }),
  ),
  'with a forged signature': escaped({ ...svc, cert: forge(svc.cert) }),
  'that is garbage': 'garbage!',
  'that is empty PEM': encodeURIComponent('-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----'),
  'with broken escapes': '%-----BEGIN',
  'that is huge': 'A'.repeat(20_000),
}

/** Other bytes at the end, where the signature stands. */
function forge(pem: string): string {
  const bytes = Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64')
  const last = bytes.length - 1
  bytes[last] = (bytes[last] as number) ^ 1
  return `-----BEGIN CERTIFICATE-----\n${bytes.toString('base64')}\n-----END CERTIFICATE-----\n`
}

test('bad certificates in the header log nobody in', async (t) => {
  const { url } = await runGateway(t, settingsWith(createFiles(t)))

  for (const [what, value] of Object.entries(bad)) {
    const { status } = await fetch(`${url}/credentials`, { headers: { [header]: value } })
    assert.equal(status, 403, what)
  }
  for (const nothing of ['-', '(null)'])
    assert.equal(await userBy(url, { [header]: nothing }), undefined)
})

test('two headers, or additions of an earlier proxy, log nobody in', async (t) => {
  const plain = await runGateway(t, settingsWith(createFiles(t)))
  const envoy = await runGateway(
    t,
    settingsWith(createFiles(t), { x509: { certificateHeader: 'X-Forwarded-Client-Cert' } }),
  )
  const element = `Hash=ab;Cert="${escaped(svc)}"`

  assert.equal(await userByTwo(plain.url, header, [escaped(svc), escaped(svc)]), '')
  assert.equal(
    await userBy(envoy.url, { 'x-forwarded-client-cert': `${element},Hash=cd;Subject="CN=proxy"` }),
    undefined,
  )
  assert.equal(
    await userBy(envoy.url, { 'x-forwarded-client-cert': 'Hash=ab;Subject="CN=svc"' }),
    undefined,
  )
  assert.equal(
    await userBy(envoy.url, { 'x-forwarded-client-cert': `${element};Cert="${escaped(svc)}"` }),
    undefined,
  )
  assert.equal(
    await userBy(envoy.url, {
      'x-forwarded-client-cert': `Subject="O=x;Cert=\\"${escaped(svc)}\\""`,
    }),
    undefined,
  )
})

async function userByTwo(url: string, name: string, values: string[]): Promise<string> {
  const { get } = await import('node:http')
  return new Promise((resolve, reject) => {
    get(`${url}/auth/user`, { headers: { [name]: values }, agent: false }, (incoming) => {
      let text = ''
      incoming.setEncoding('utf8').on('data', (chunk) => {
        text += chunk
      })
      incoming.on('end', () => resolve(text))
    }).on('error', reject)
  })
}

test('revocation lists and block lists count for the header, too', async (t) => {
  const files = createFiles(t)
  const gone = await authority.issue({ subject: 'CN=gone' })
  const lists: Record<string, string> = {
    'revocation list': files.write('ca.crl', await authority.revoke([gone])),
    'block list': `blocklist:${files.write('b.txt', `CN=CA-1,O=Acme:::${BigInt(`0x${gone.serialNumber}`)}`)}`,
  }
  for (const [what, crlFile] of Object.entries(lists)) {
    const { url } = await runGateway(t, settingsWith(files, { ssl: { crlFile } }))
    assert.equal(await userBy(url, { [header]: escaped(gone) }), undefined, what)
    assert.equal(await userBy(url, { [header]: escaped(svc) }), 'svc', what)
  }
})

test('a missing revocation list of the issuer rejects', async (t) => {
  const files = createFiles(t)
  const lists = {
    'out of date': await authority.revoke([], { nextUpdate: now - hourMs }),
    'of another issuer': await foreign.revoke([]),
    'signed by somebody else': await impostor.revoke([]),
  }
  for (const [what, list] of Object.entries(lists)) {
    const { url } = await runGateway(
      t,
      settingsWith(files, { ssl: { crlFile: files.write('ca.crl', list) } }),
    )
    assert.equal(await userBy(url, { [header]: escaped(svc) }), undefined, what)
  }
})

test('without the header pages lead to the login', async (t) => {
  const { url } = await runGateway(t, {
    ...settingsWith(createFiles(t)),
    security: { basicform: { enabled: true } },
  })

  assert.equal(await userBy(url, { [header]: escaped(svc) }), 'svc')
  assert.equal((await new Browser(url).visit('/credentials')).status, 302)
  assert.equal((await fetch(`${url}/credentials`)).status, 401)
})

test('replaced and expired lists apply to the header', async (t) => {
  const files = createFiles(t)
  const crlFile = files.write('ca.crl', await authority.revoke([], { nextUpdate: now - hourMs }))
  const lines: Record<string, unknown>[] = []
  const { url } = await runGateway(t, settingsWith(files, { ssl: { crlFile } }), {
    log: (line) => lines.push(line),
  })
  assert.equal(await userBy(url, { [header]: escaped(svc) }), undefined)
  assert.ok(lines.some(({ msg }) => String(msg).startsWith('a revocation list is out of date')))

  files.write('ca.crl', await authority.revoke([]))
  await waitUntil(
    async () => (await userBy(url, { [header]: escaped(svc) })) === 'svc',
    'the new list',
  )
})
