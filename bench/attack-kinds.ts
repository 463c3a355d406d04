/** Requests that a client without a session may send, as bytes on a new connection. */
import type { SecureContextOptions } from 'node:tls'
import { gzipSync } from 'node:zlib'
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
const bomb = gzipSync(Buffer.alloc(50_000_000, 32))
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

function header(name: string, piece: string): string {
  return `${name}: ${fill(piece)}\r\n`
}

function samlPost(xml: string): Buffer {
  return post(
    '/saml/SSO',
    form,
    `SAMLResponse=${encodeURIComponent(Buffer.from(xml).toString('base64'))}`,
  )
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
const clientHello = Buffer.concat([
  Buffer.from('160301020001000001fc0303', 'hex'),
  Buffer.alloc(200, 7),
])
function ownCertificate(name: string, count: number): SecureContextOptions {
  const { certificate, keyPem } = keyPairOf(name, 'ec')
  return { cert: certificate.repeat(count), key: keyPem, maxVersion: 'TLSv1.2' }
}

export const attackKinds: readonly AttackKind[] = [
  { name: 'a read without login', bytes: () => get('/networks') },
  { name: 'an unknown path', bytes: () => get('/nothing/here') },
  { name: 'a long path', bytes: () => get(`/${'x'.repeat(8000)}`) },
  { name: 'a path of 15,000 segments', bytes: () => get(fill('/x')) },
  {
    name: 'a percent-encoded path',
    bytes: () => get(`/applications/${fill('%c3%a4', 100)}/pipelines`),
  },
  { name: 'a query of 10,000 parameters', bytes: () => get(`/executions?${fill('a=&', 100)}`) },
  {
    login: 'oauth2',
    name: 'a callback with 10,000 parameters',
    bytes: () => get(`/login/oauth2/code/idp?${fill('a=&', 100)}`),
  },
  {
    name: 'the API document, gzip',
    bytes: () => get('/openapi.json', 'accept-encoding: gzip\r\n'),
  },
  { name: 'the console', bytes: () => get('/console/') },
  {
    name: 'a page, sent to the login',
    bytes: () => get(`/networks?${fill('a=b&', 2000)}`, 'accept: text/html\r\n'),
  },
  {
    login: 'oauth2',
    name: 'the beginning of an OAuth login',
    bytes: () => get('/oauth2/authorization/idp'),
  },
  {
    name: 'an unknown session',
    bytes: () => get('/networks', `cookie: SESSION=${crypto.randomUUID()}\r\n`),
  },
  { name: 'thousands of cookies', bytes: () => get('/networks', header('cookie', 'a=b; ')) },
  {
    login: 'oauth2',
    name: 'forged cookies of logins',
    bytes: () => get('/oauth2/authorization/idp', `cookie: ${forgedCookies('SESSION_LOGIN_')}\r\n`),
  },
  {
    name: 'a huge Basic header',
    bytes: () => get('/networks', `authorization: Basic ${btoa(`u:${'w'.repeat(20_000)}`)}\r\n`),
  },
  {
    name: 'an unknown API token',
    bytes: () => get('/networks', `x-spinnaker-token: ${crypto.randomUUID()}\r\n`),
  },
  {
    login: 'oauth2',
    name: 'a forged bearer token',
    bytes: () => get('/networks', `authorization: Bearer ${token()}\r\n`),
  },
  { name: 'health', bytes: () => get('/health') },
  { name: 'metrics', bytes: () => get('/spectator/metrics') },
  {
    name: 'headers that are too long',
    bytes: () => get('/networks', `x-filler: ${'y'.repeat(40_000)}\r\n`),
  },
  { name: 'a thousand headers', bytes: () => get('/networks', fill('x-a: b\r\n')) },
  {
    name: 'thousands of addresses',
    bytes: () => get('/networks', header('x-forwarded-for', '10.0.0.1, ')),
  },
  {
    name: 'thousands of types in Accept',
    bytes: () => get('/networks', header('accept', 'a/b;q=0.1, ')),
  },
  {
    name: 'thousands of codings',
    bytes: () => get('/openapi.json', header('accept-encoding', 'gzip;q=0.1, ')),
  },
  {
    name: 'thousands of tags',
    bytes: () => get('/openapi.json', header('if-none-match', '"a", ')),
  },
  {
    name: 'event streams',
    bytes: () => get('/executions/01H/events', 'accept: text/event-stream\r\n'),
  },
  {
    name: 'a WebSocket',
    bytes: () =>
      get('/networks', `${upgrade}websocket\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n`),
  },
  { name: 'the preface of HTTP/2', bytes: () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' },
  { name: 'CONNECT', bytes: () => 'CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n' },
  { name: 'no HTTP at all', bytes: () => 'no HTTP at all\r\n\r\n' },
  { name: '10,000 requests in one go', bytes: () => get('/networks').repeat(10_000) },
  { name: 'a thousand requests for health', bytes: () => get('/health').repeat(1000) },
  {
    name: '2,000 names of headers',
    bytes: () =>
      get('/networks', Array.from({ length: 2000 }, (_, at) => `x-a${at}: b\r\n`).join('')),
  },
  {
    name: 'thousands of hops',
    bytes: () => get('/networks', header('forwarded', 'for=10.0.0.1;proto=http, ')),
  },
  {
    name: 'thousands of hosts',
    bytes: () =>
      get(
        '/login',
        fill(
          'x-forwarded-host: a.example, b\r\nx-forwarded-proto: https,http\r\nx-forwarded-port: 1,2\r\n',
        ),
      ),
  },
  {
    name: 'percent signs in a path',
    bytes: () => get(`/applications/${fill('%', 100)}/pipelines`),
  },
  {
    name: 'wrong percent-encoding in a path',
    bytes: () => get(`/applications/${fill('%ff', 100)}/pipelines`),
  },
  {
    name: 'a login with a wrong password',
    bytes: () => post('/login', form, `username=u${Math.random()}&password=wrong`),
  },
  { name: 'a login of 100,000 fields', bytes: () => post('/login', form, 'a=&'.repeat(300_000)) },
  {
    login: 'saml',
    name: 'an assertion of garbage',
    bytes: () => post('/saml/SSO', form, `SAMLResponse=${'A'.repeat(100_000)}`),
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
    name: 'an assertion of 10,000 levels',
    bytes: () => samlPost(samlResponse(`${'<a:b>'.repeat(10_000)}${'</a:b>'.repeat(10_000)}`)),
  },
  {
    login: 'saml',
    name: 'an assertion of 20,000 elements',
    bytes: () => samlPost(samlResponse('<a:Assertion/>'.repeat(20_000))),
  },
  {
    login: 'saml',
    name: 'an assertion of 1 MB',
    bytes: () => samlPost(samlResponse('x'.repeat(700_000))),
  },
  { name: 'large JSON', bytes: () => post(webhook, json, largeJson) },
  { name: 'deep JSON', bytes: () => post(webhook, json, `${'['.repeat(900)}${']'.repeat(900)}`) },
  {
    name: 'JSON of one text',
    bytes: () => post(webhook, json, `["${'\\u00e4'.repeat(150_000)}"]`),
  },
  {
    name: 'YAML with aliases',
    bytes: () =>
      post(
        webhook,
        'application/x-yaml',
        `a: &a [${'1,'.repeat(100_000)}1]\nb: [${'*a,'.repeat(1000)}1]`,
      ),
  },
  {
    name: 'YAML of 400 KB',
    bytes: () => post(webhook, 'application/x-yaml', 'a: b\n'.repeat(80_000)),
  },
  { name: 'a gzip bomb', bytes: () => post(webhook, json, bomb, 'content-encoding: gzip\r\n') },
  { name: 'chunks of one byte', bytes: () => inChunks(`[${'1,'.repeat(10_000)}1]`) },
  {
    name: 'chunks of one byte without login',
    bytes: () => inChunks(`[${'1,'.repeat(10_000)}1]`, '/pipelines'),
  },
  {
    name: 'a body that stays away',
    isSlow: true,
    bytes: () => post(webhook, json, '[', '').subarray(0, -1),
  },
  {
    name: 'headers that do not end',
    isSlow: true,
    bytes: () => 'GET /networks HTTP/1.1\r\nhost: a\r\nx-slow: ',
  },
  { name: 'a TLS connection', tls: true, bytes: () => get('/networks', 'connection: close\r\n') },
  {
    name: 'a TLS session that is negotiated again',
    renegotiates: true,
    tls: { maxVersion: 'TLSv1.2' },
    bytes: () => '',
  },
  {
    login: 'x509',
    name: 'a client certificate of 60 KB',
    tls: ownCertificate('n'.repeat(30_000), 1),
    bytes: () => get('/networks'),
  },
  {
    login: 'x509',
    name: 'a chain of 150 certificates',
    tls: ownCertificate('stranger', 150),
    bytes: () => get('/networks'),
  },
  {
    name: 'a handshake that does not end',
    isHandshake: true,
    isSlow: true,
    bytes: () => clientHello,
  },
]
