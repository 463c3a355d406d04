/** Requests that a client without a session may send, as bytes on a new connection. */
import type { SecureContextOptions } from 'node:tls'
import { deflateSync, gzipSync } from 'node:zlib'
import { keyPairOf } from '../test/support/self-signed.ts'

export interface AttackKind {
  readonly name: string
  /** TLS, on the port that has it: a whole handshake, and the bytes within it. */
  readonly tls?: true | SecureContextOptions
  /** The bytes go to the port of TLS as they are. */
  readonly isHandshake?: true
  /** For a gateway with this login; the others have a form. */
  readonly login?: 'saml' | 'oauth2' | 'x509'
  /** TLS is negotiated again, as often as the gateway lets it. */
  readonly renegotiates?: true
  /** What it costs is a wait: no response comes before a timeout. */
  readonly isSlow?: true
  bytes(): string | Buffer
}

const headerBytes = 31_000
const largeJson = `[${'{"a":[1,2,3]},'.repeat(40_000)}{}]`
const bombs = { gzip: gzipSync(Buffer.alloc(50_000_000, 32)), deflate: deflateSync(Buffer.alloc(50_000_000, 32)) }
const json = 'application/json'
const form = 'application/x-www-form-urlencoded'
const webhook = '/webhooks/git/github'

function get(path: string, headers = ''): string {
  return `GET ${path} HTTP/1.1\r\nhost: a\r\naccept: */*\r\n${headers}\r\n`
}

function post(path: string, type: string, body: string | Buffer, headers = ''): Buffer {
  const head = `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${headers}\r\n`
  return Buffer.concat([Buffer.from(head), Buffer.from(body)])
}

/** As many as fit into the headers of a request. */
function fill(piece: string, reserved = 0): string {
  return piece.repeat(Math.floor((headerBytes - reserved) / piece.length))
}

function numbered(count: number, piece: (at: number) => string): string {
  return Array.from({ length: count }, (_, at) => piece(at)).join('')
}

function header(name: string, piece: string): string {
  return `${name}: ${fill(piece)}\r\n`
}

function samlPost(xml: string): Buffer {
  return post('/saml/SSO', form, `SAMLResponse=${encodeURIComponent(Buffer.from(xml).toString('base64'))}`)
}

function samlResponse(content: string): string {
  return `<p:Response xmlns:p="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:a="urn:oasis:names:tc:SAML:2.0:assertion" ID="r" Version="2.0">${content}</p:Response>`
}

function token(): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const head = part({ alg: 'RS256', kid: crypto.randomUUID() })
  return `${head}.${part({ sub: 'alice', iss: 'https://idp.example.com', exp: 9_999_999_999 })}.${'A'.repeat(342)}`
}

/** One chunk for each byte of a body. */
function inChunks(body: string, path = webhook): string {
  const head = `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-type: ${json}\r\ntransfer-encoding: chunked\r\n\r\n`
  return `${head}${[...body].map((character) => `1\r\n${character}\r\n`).join('')}0\r\n\r\n`
}

function forgedCookies(prefix: string): string {
  return Array.from({ length: 1200 }, (_, at) => `${prefix}${at}=abc`).join('; ')
}

const upgrade = 'connection: upgrade\r\nupgrade: '
const clientHello = Buffer.concat([Buffer.from('160301020001000001fc0303', 'hex'), Buffer.alloc(200, 7)])
/** One of TLS 1.2, in which client certificates are not encrypted. */
const wholeHello = handshake(
  1,
  Buffer.concat([
    Buffer.from('0303', 'hex'),
    Buffer.alloc(32, 7),
    Buffer.from('000008c02bc02fc02cc0300100', 'hex'),
    Buffer.from('0016000a00060004001d0017000d00080006040308040401', 'hex'),
  ]),
)

/** A message in a record of its own. */
function handshake(type: number, content: Buffer): Buffer {
  const { length } = content
  const message = Buffer.concat([Buffer.from([type, length >> 16, (length >> 8) & 255, length & 255]), content])
  const records: Buffer[] = []
  for (let at = 0; at < message.length; at += 16_000) {
    const part = message.subarray(at, at + 16_000)
    records.push(Buffer.from([0x16, 3, 3, part.length >> 8, part.length & 255]), part)
  }
  return Buffer.concat(records)
}

/** The certificate message of a client: lengths in three bytes, of the list and of each certificate. */
function certificates(each: Buffer, count: number): Buffer {
  const sized = (bytes: Buffer) =>
    Buffer.concat([Buffer.from([bytes.length >> 16, (bytes.length >> 8) & 255, bytes.length & 255]), bytes])
  return handshake(11, sized(Buffer.concat(Array.from({ length: count }, () => sized(each)))))
}

function ownCertificate(name: string, count: number): SecureContextOptions {
  const { certificate, keyPem } = keyPairOf(name, 'ec')
  return { cert: certificate.repeat(count), key: keyPem, maxVersion: 'TLSv1.2' }
}

export const attackKinds: readonly AttackKind[] = [
  { name: 'a read without login', bytes: () => get('/networks') },
  { name: 'an unknown path', bytes: () => get('/nothing/here') },
  { name: 'a long path', bytes: () => get(`/${'x'.repeat(8000)}`) },
  { name: 'a path of 15,000 segments', bytes: () => get(fill('/x')) },
  { name: 'a percent-encoded path', bytes: () => get(`/applications/${fill('%c3%a4', 100)}/pipelines`) },
  { name: 'a path of dots', bytes: () => get(fill('/..')) },
  { name: 'a query of 10,000 parameters', bytes: () => get(`/executions?${fill('a=&', 100)}`) },
  { name: 'a percent-encoded query', bytes: () => get(`/search?q=${fill('%f0%9f%98%80', 100)}`) },
  { login: 'oauth2', name: 'a callback with 10,000 parameters', bytes: () => get(`/login/oauth2/code/idp?${fill('a=&', 100)}`) },
  { name: 'the API document', bytes: () => get('/openapi.json') },
  { name: 'the API document, gzip', bytes: () => get('/openapi.json', 'accept-encoding: gzip\r\n') },
  { name: 'the reference page', bytes: () => get('/swagger-ui.html') },
  { name: 'the console', bytes: () => get('/console/') },
  { name: 'a file of the console', bytes: () => get('/console/files/none.js', 'accept-encoding: br, gzip\r\n') },
  { name: 'the login page', bytes: () => get('/login', 'accept: text/html\r\n') },
  { name: 'a page, sent to the login', bytes: () => get(`/networks?${fill('a=b&', 2000)}`, 'accept: text/html\r\n') },
  { login: 'oauth2', name: 'the beginning of an OAuth login', bytes: () => get('/oauth2/authorization/idp') },
  { login: 'saml', name: 'the beginning of a SAML login', bytes: () => get('/saml2/authenticate/SSO') },
  { name: 'an unknown session', bytes: () => get('/networks', `cookie: SESSION=${crypto.randomUUID()}\r\n`) },
  { name: 'a huge cookie', bytes: () => get('/networks', header('cookie: SESSION=', 'x')) },
  { name: 'thousands of cookies', bytes: () => get('/networks', header('cookie', 'a=b; ')) },
  { name: 'thousands of sessions', bytes: () => get('/networks', header('cookie', 'SESSION=abc; ')) },
  {
    login: 'oauth2',
    name: 'forged cookies of logins',
    bytes: () => get('/oauth2/authorization/idp', `cookie: ${forgedCookies('SESSION_LOGIN_')}\r\n`),
  },
  { name: 'a wrong password, Basic', bytes: () => get('/networks', `authorization: Basic ${btoa(`u${Math.random()}:w`)}\r\n`) },
  { name: 'a huge Basic header', bytes: () => get('/networks', `authorization: Basic ${btoa(`u:${'w'.repeat(20_000)}`)}\r\n`) },
  { name: 'an unknown API token', bytes: () => get('/networks', `x-spinnaker-token: ${crypto.randomUUID()}\r\n`) },
  { login: 'oauth2', name: 'a forged bearer token', bytes: () => get('/networks', `authorization: Bearer ${token()}\r\n`) },
  { login: 'oauth2', name: 'a huge bearer token', bytes: () => get('/networks', header('authorization: Bearer', 'abcdef')) },
  { name: 'health', bytes: () => get('/health') },
  { name: 'health of the services', bytes: () => get('/health?checkDownstreamServices=true') },
  { name: 'readiness', bytes: () => get('/health/readiness') },
  { name: 'metrics', bytes: () => get('/spectator/metrics') },
  {
    name: 'a preflight',
    bytes: () => `OPTIONS /networks HTTP/1.1\r\nhost: a\r\norigin: https://b\r\naccess-control-request-method: PUT\r\n\r\n`,
  },
  { name: 'a long origin', bytes: () => get('/networks', header('origin', 'https://x.example.')) },
  { name: 'headers that are too long', bytes: () => get('/networks', `x-filler: ${'y'.repeat(40_000)}\r\n`) },
  { name: 'a thousand headers', bytes: () => get('/networks', fill('x-a: b\r\n')) },
  { name: 'thousands of identities', bytes: () => get('/networks', fill('x-spinnaker-user: b\r\n')) },
  { name: 'thousands of addresses', bytes: () => get('/networks', header('x-forwarded-for', '10.0.0.1, ')) },
  { name: 'thousands of types in Accept', bytes: () => get('/networks', header('accept', 'a/b;q=0.1, ')) },
  { name: 'thousands of codings', bytes: () => get('/openapi.json', header('accept-encoding', 'gzip;q=0.1, ')) },
  { name: 'thousands of tags', bytes: () => get('/openapi.json', header('if-none-match', '"a", ')) },
  { name: 'thousands of ranges', bytes: () => get('/console/', header('range: bytes=', '0-1,')) },
  { name: 'event streams', bytes: () => get('/executions/01H/events', 'accept: text/event-stream\r\n') },
  {
    name: 'a WebSocket',
    bytes: () => get('/networks', `${upgrade}websocket\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n`),
  },
  {
    name: 'an upgrade to HTTP/2',
    bytes: () => get('/networks', `${upgrade}h2c\r\nhttp2-settings: AAMAAABkAARAAAAAAAIAAAAA\r\n`),
  },
  { name: 'the preface of HTTP/2', bytes: () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' },
  { name: 'CONNECT', bytes: () => 'CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n' },
  { name: 'no HTTP at all', bytes: () => 'no HTTP at all\r\n\r\n' },
  { name: '10,000 requests in one go', bytes: () => get('/networks').repeat(10_000) },
  { name: 'a thousand requests for health', bytes: () => get('/health').repeat(1000) },
  { name: 'an invitation without a body', bytes: () => post(webhook, json, '[1]', 'expect: 100-continue\r\n').subarray(0, -3) },
  { name: 'an unknown expectation', bytes: () => get('/networks', 'expect: cake\r\n') },
  {
    name: '2,000 names of headers',
    bytes: () =>
      get(
        '/networks',
        numbered(2000, (at) => `x-a${at}: b\r\n`),
      ),
  },
  {
    name: '1,500 names of identity headers',
    bytes: () =>
      get(
        '/networks',
        numbered(1500, (at) => `x-spinnaker-${at}:b\r\n`),
      ),
  },
  { name: 'thousands of hops', bytes: () => get('/networks', header('forwarded', 'for=10.0.0.1;proto=http, ')) },
  { name: 'one hop that does not end', bytes: () => get('/networks', header('forwarded', 'for="\\\\')) },
  {
    name: 'thousands of hosts',
    bytes: () =>
      get('/login', fill('x-forwarded-host: a.example, b\r\nx-forwarded-proto: https,http\r\nx-forwarded-port: 1,2\r\n')),
  },
  { name: 'thousands of cookies with a session each', bytes: () => get('/auth/user', header('cookie', 'SESSION=YWJj; ')) },
  { name: 'thousands of types for a page', bytes: () => get('/login', header('accept', 'text/html;q=0.001, ')) },
  {
    name: 'thousands of languages',
    bytes: () => get('/login', `accept: text/html\r\n${header('accept-language', 'de;q=0.1, ')}`),
  },
  { name: 'thousands of ranges of a file', bytes: () => get('/openapi.json', header('range: bytes=', '0-1,')) },
  { name: 'thousands of weak tags', bytes: () => get('/console/', header('if-none-match', 'W/"a", ')) },
  { name: 'an unfinished tag', bytes: () => get('/openapi.json', header('if-none-match', '"a')) },
  { name: 'percent signs in a path', bytes: () => get(`/applications/${fill('%', 100)}/pipelines`) },
  { name: 'wrong percent-encoding in a path', bytes: () => get(`/applications/${fill('%ff', 100)}/pipelines`) },
  { name: 'percent signs in a query', bytes: () => get(`/auth/user?${fill('%=%&', 100)}`) },
  { name: 'wrong percent-encoding in a query', bytes: () => get(`/login?${fill('%ff', 100)}`) },
  { name: 'a redirect of 30 KB', bytes: () => get(`/auth/redirect?to=${fill('https://a/', 100)}`) },
  { name: 'a logout of 30 KB', bytes: () => get(`/auth/logout?${fill('a=b&', 100)}`) },
  { name: 'plugins of a long path', bytes: () => get(`/plugins/deck${fill('/x', 100)}`) },
  {
    name: 'a preflight for thousands of headers',
    bytes: () =>
      `OPTIONS /networks HTTP/1.1\r\nhost: a\r\norigin: https://b\r\naccess-control-request-method: PUT\r\n${header('access-control-request-headers', 'x-a, ')}\r\n`,
  },
  { name: 'thousands of content codings', bytes: () => post(webhook, json, '[1]', header('content-encoding', 'gzip, ')) },
  { name: 'a media type of 30 KB', bytes: () => post(webhook, `${json}; ${fill('a=b; ', 200)}`, '[1]') },
  { name: 'gzip of deep JSON', bytes: () => post(webhook, json, gzipSync('['.repeat(900_000)), 'content-encoding: gzip\r\n') },
  {
    name: 'gzip of many values',
    bytes: () => post(webhook, json, gzipSync(`[${'1,'.repeat(450_000)}1]`), 'content-encoding: gzip\r\n'),
  },
  { name: 'gzip in gzip', bytes: () => post(webhook, json, gzipSync(gzipSync('[1]')), 'content-encoding: gzip, gzip\r\n') },
  { name: '60 requests in one packet', bytes: () => get('/networks').repeat(60) },
  { name: 'a login with a wrong password', bytes: () => post('/login', form, `username=u${Math.random()}&password=wrong`) },
  { name: 'a login of 100,000 fields', bytes: () => post('/login', form, 'a=&'.repeat(300_000)) },
  { name: 'a login in parts', bytes: () => post('/login', 'multipart/form-data; boundary=x', '--x\r\n\r\n\r\n'.repeat(80_000)) },
  {
    login: 'oauth2',
    name: 'a callback with forged state',
    bytes: () => get(`/login/oauth2/code/idp?state=${'A'.repeat(400)}&code=${crypto.randomUUID()}`),
  },
  { login: 'saml', name: 'an assertion of garbage', bytes: () => post('/saml/SSO', form, `SAMLResponse=${'A'.repeat(100_000)}`) },
  {
    login: 'oauth2',
    name: 'an unanswered callback',
    bytes: () => get(`/login/oauth2/code/idp?error=access_denied&error_description=${fill('%3Cb%3E', 200)}`),
  },
  {
    login: 'oauth2',
    name: 'a callback with cookies',
    bytes: () => get('/login/oauth2/code/idp?state=a&code=b', `cookie: ${forgedCookies('SESSION_LOGIN_')}\r\n`),
  },
  {
    login: 'saml',
    name: 'an assertion with a relay state of 1 MB',
    bytes: () => post('/saml/SSO', form, `SAMLResponse=AAAA&RelayState=${'A'.repeat(900_000)}`),
  },
  {
    login: 'saml',
    name: 'an assertion that begins only',
    isSlow: true,
    bytes: () => post('/saml/SSO', form, 'SAMLResponse=AAAA').subarray(0, -2),
  },
  {
    login: 'saml',
    name: '20,000 assertions in one form',
    bytes: () => post('/saml/SSO', form, 'SAMLResponse=AAAA&'.repeat(20_000)),
  },
  {
    login: 'saml',
    name: 'an assertion of 10,000 levels',
    bytes: () => samlPost(samlResponse(`${'<a:b>'.repeat(10_000)}${'</a:b>'.repeat(10_000)}`)),
  },
  {
    login: 'saml',
    name: 'an assertion of 20,000 attributes',
    bytes: () => samlPost(samlResponse(`<b ${Array.from({ length: 20_000 }, (_, at) => `a${at}="" `).join('')}/>`)),
  },
  {
    login: 'saml',
    name: 'an assertion of 20,000 elements',
    bytes: () => samlPost(samlResponse('<a:Assertion/>'.repeat(20_000))),
  },
  {
    login: 'saml',
    name: 'an assertion of 1,000 namespaces',
    bytes: () =>
      samlPost(
        samlResponse(
          Array.from({ length: 1000 }, (_, at) => `<n${at}:b xmlns:n${at}="urn:${at}">`).join('') +
            Array.from({ length: 1000 }, (_, at) => `</n${999 - at}:b>`).join(''),
        ),
      ),
  },
  {
    login: 'saml',
    name: 'an assertion of entities',
    bytes: () => samlPost(`<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">]>${samlResponse('&a;'.repeat(10_000))}`),
  },
  { login: 'saml', name: 'an assertion of 1 MB', bytes: () => samlPost(samlResponse('x'.repeat(700_000))) },
  { name: 'large JSON', bytes: () => post(webhook, json, largeJson) },
  { name: 'deep JSON', bytes: () => post(webhook, json, `${'['.repeat(900)}${']'.repeat(900)}`) },
  { name: 'JSON of 30 KB', bytes: () => post(webhook, json, `[${'{"a":[1,2,3]},'.repeat(2000)}{}]`) },
  { name: 'JSON of one text', bytes: () => post(webhook, json, `["${'\\u00e4'.repeat(150_000)}"]`) },
  { name: 'JSON of one number', bytes: () => post(webhook, json, `[${'1'.repeat(30_000)}]`) },
  {
    name: 'JSON with 2,000 names',
    bytes: () => post(webhook, json, `{${Array.from({ length: 2000 }, (_, at) => `"k${at}":${at}`).join()}}`),
  },
  {
    name: 'YAML with aliases',
    bytes: () => post(webhook, 'application/x-yaml', `a: &a [${'1,'.repeat(100_000)}1]\nb: [${'*a,'.repeat(1000)}1]`),
  },
  { name: 'YAML of 400 KB', bytes: () => post(webhook, 'application/x-yaml', 'a: b\n'.repeat(80_000)) },
  { name: 'YAML of 20,000 levels', bytes: () => post(webhook, 'application/x-yaml', '['.repeat(20_000)) },
  { name: 'a gzip bomb', bytes: () => post(webhook, json, bombs.gzip, 'content-encoding: gzip\r\n') },
  {
    name: 'a bomb of deflate',
    bytes: () => post(webhook, json, bombs.deflate, 'content-encoding: deflate\r\n'),
  },
  { name: 'gzip that is none', bytes: () => post(webhook, json, 'no gzip'.repeat(1000), 'content-encoding: gzip\r\n') },
  { name: 'an unfinished document', bytes: () => post(webhook, json, '{"a":') },
  { name: 'chunks of one byte', bytes: () => inChunks(`[${'1,'.repeat(10_000)}1]`) },
  { name: 'chunks of one byte without login', bytes: () => inChunks(`[${'1,'.repeat(10_000)}1]`, '/pipelines') },
  { name: 'a change without login', bytes: () => post('/pipelines', json, largeJson) },
  { name: 'a body that stays away', isSlow: true, bytes: () => post(webhook, json, '[', '').subarray(0, -1) },
  {
    name: 'a body that begins only',
    isSlow: true,
    bytes: () => `POST ${webhook} HTTP/1.1\r\nhost: a\r\ncontent-type: ${json}\r\ncontent-length: 900000\r\n\r\n[`,
  },
  { name: 'headers that do not end', isSlow: true, bytes: () => 'GET /networks HTTP/1.1\r\nhost: a\r\nx-slow: ' },
  { name: 'a TLS connection', tls: true, bytes: () => get('/networks', 'connection: close\r\n') },
  { name: 'a TLS session that is negotiated again', renegotiates: true, tls: { maxVersion: 'TLSv1.2' }, bytes: () => '' },
  { name: 'half a handshake of TLS 1.2', isHandshake: true, bytes: () => wholeHello },
  { login: 'x509', name: 'an unknown client certificate', tls: ownCertificate('stranger', 1), bytes: () => get('/networks') },
  {
    login: 'x509',
    name: 'a client certificate of 60 KB',
    tls: ownCertificate('n'.repeat(30_000), 1),
    bytes: () => get('/networks'),
  },
  { login: 'x509', name: 'a chain of 150 certificates', tls: ownCertificate('stranger', 150), bytes: () => get('/networks') },
  {
    login: 'x509',
    name: 'client certificates of garbage',
    isHandshake: true,
    bytes: () => Buffer.concat([wholeHello, certificates(Buffer.alloc(300, 0x30), 200)]),
  },
  {
    login: 'x509',
    name: 'a client certificate of nested DER',
    isHandshake: true,
    bytes: () => Buffer.concat([wholeHello, certificates(Buffer.from('3080'.repeat(20_000), 'hex'), 1)]),
  },
  { name: 'a handshake that does not end', isHandshake: true, isSlow: true, bytes: () => clientHello },
  { name: 'no TLS at all', isHandshake: true, bytes: () => get('/networks') },
  { name: 'bytes instead of a handshake', isHandshake: true, bytes: () => Buffer.alloc(20_000, 22) },
]
