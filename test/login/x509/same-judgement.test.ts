/** Certificates in the header of a proxy are judged like those of TLS connections. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type CertificateOptions,
  createAuthority,
  type Issued,
  utf8String,
} from '../../support/authority.ts'
import { freePort } from '../../support/free-port.ts'
import { runGateway } from '../../support/gateway.ts'
import { ask, createFiles, createIssuers, sslSettings } from './support.ts'

const { authority, server } = await createIssuers()
const header = 'X-SSL-Client-Cert'
const usages = { client: '1.3.6.1.5.5.7.3.2', server: '1.3.6.1.5.5.7.3.1', any: '2.5.29.37.0' }
const netscapeType = '2.16.840.1.113730.1.1'
const bits = (octet: number) => new Uint8Array([0x03, 0x02, 0x00, octet])

const team = await authority.issueAuthority('CN=Team')
const forServers = await authority.issueAuthority('CN=Servers', { usages: [usages.server] })
const lone = await (await createAuthority('CN=Foreign root')).issueAuthority('CN=Foreign team')
/** May have no authority below, and has one. */
const narrow = await authority.issueAuthority('CN=Narrow', { pathLength: 0 })
const belowNarrow = await narrow.issueAuthority('CN=Below')

const rows: [
  what: string,
  counts: boolean,
  options: Partial<CertificateOptions>,
  issuer?: typeof authority,
][] = [
  ['an ordinary one', true, {}],
  ['one without any usage', true, { usages: [] }],
  ['one for clients and servers', true, { usages: [usages.server, usages.client] }],
  ['one for servers', false, { usages: [usages.server] }],
  ['one for any usage, which names no clients', false, { usages: [usages.any] }],
  ['one whose key signs', true, { keyUsage: 'digitalSignature' }],
  ['one whose key only encrypts', false, { keyUsage: 'keyEncipherment' }],
  ['one for clients of Netscape', true, { extensions: { [netscapeType]: bits(0x80) } }],
  ['one for servers of Netscape', false, { extensions: { [netscapeType]: bits(0x40) } }],
  ['one with an unknown extension', true, { extensions: { '1.2.3.4.5': utf8String('x') } }],
  [
    'one with an unknown extension that is critical',
    false,
    { extensions: { '1.2.3.4.5': utf8String('x') }, critical: ['1.2.3.4.5'] },
  ],
  ['one with a key of RSA with 2048 bits', true, { rsaBits: 2048 }],
  ['one with a key of RSA with 1024 bits', false, { rsaBits: 1024 }],
  ['one that is signed with SHA-1', false, { hash: 'SHA-1' }],
  [
    'one that has expired',
    false,
    { notBefore: Date.now() - 7_200_000, notAfter: Date.now() - 3_600_000 },
  ],
  ['one that is not valid yet', false, { notBefore: Date.now() + 3_600_000 }],
  ['one of an authority below the trusted one', true, {}, team],
  ['one of an authority for servers', false, {}, forServers],
  ['one of an authority whose own authority is not trusted', false, {}, lone],
  ['one of an authority that another must not have below', false, {}, belowNarrow],
]

test('header and connection judge certificates alike', async (t) => {
  const files = createFiles(t)
  const apiPort = await freePort()
  const { url } = await runGateway(t, {
    x509: { enabled: true, certificateHeader: header },
    default: { apiPort },
    server: {
      'forward-headers-strategy': 'native',
      tomcat: { remoteip: { 'internal-proxies': String.raw`127\.0\.0\.1` } },
      ssl: sslSettings(files, server, [authority, team, forServers, lone, narrow, belowNarrow]),
    },
  })
  const onConnection = (client: Issued) =>
    ask(`https://127.0.0.1:${apiPort}/version`, { client, weak: true }).then(
      ({ status }) => status === 200,
      () => false,
    )
  const inHeader = async ({ cert }: Issued) => {
    const leaf = cert.slice(0, cert.indexOf('-----END') + 25)
    return (
      (await ask(`${url}/version`, { headers: { [header]: encodeURIComponent(leaf) } })).status ===
      200
    )
  }
  for (const [what, counts, options, issuer = authority] of rows) {
    const issued = await issuer.issue({ subject: 'CN=svc', ...options })
    assert.deepEqual([await onConnection(issued), await inHeader(issued)], [counts, counts], what)
  }
})
