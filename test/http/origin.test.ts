import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type ForwardedHeaders,
  type ForwardedOrigin,
  readForwarded,
} from '../../packages/gateway/http/forwarded.ts'
import { Browser } from '../login/browser.ts'
import { type GatewaySettings, runGateway, startGateway } from '../support/gateway.ts'
import { openRawConnection } from '../support/raw-connection.ts'

const login = { security: { user: { name: 'me', password: 'correct-horse' } } }
const forwarded = {
  'x-forwarded-proto': 'https',
  'x-forwarded-host': 'gate.example.com',
  'x-forwarded-port': '8443',
  'x-forwarded-for': '203.0.113.7',
}

/** Where a stranger is sent, which shows what the gateway takes for its own address; and the address that is logged. */
async function ask(
  t: Parameters<typeof startGateway>[0],
  settings: GatewaySettings,
  headers: Record<string, string>,
): Promise<{
  location: string | null
  address: unknown
  secure: boolean
  hsts: boolean
  url: string
}> {
  const lines: Record<string, unknown>[] = []
  const { url, stop } = await runGateway(
    t,
    { ...login, ...settings },
    { log: (line) => void lines.push(line) },
  )
  const answer = await new Browser(url).visit('/credentials', { headers })
  await stop()
  return {
    location: answer.location,
    address: lines.find(({ msg }) => msg === 'request')?.['address'],
    secure: answer.cookies.some((cookie) => /; Secure/.test(cookie)),
    hsts: answer.headers.get('strict-transport-security') !== null,
    url,
  }
}

test('forwarded headers are ignored completely unless they are switched on', async (t) => {
  const { location, address, secure, hsts, url } = await ask(t, {}, forwarded)
  assert.equal(location, `${url}/login`)
  assert.equal(address, '127.0.0.1')
  assert.equal(secure, false)
  assert.equal(hsts, false)
})

const trusting: { name: string; settings: Record<string, unknown> }[] = [
  {
    name: 'server.forward-headers-strategy: native',
    settings: { 'forward-headers-strategy': 'native' },
  },
  { name: 'server.use-forward-headers: true', settings: { 'use-forward-headers': true } },
  {
    name: 'a named protocol header',
    settings: { tomcat: { remoteip: { 'protocol-header': 'X-Forwarded-Proto' } } },
  },
]
for (const { name, settings } of trusting) {
  test(`behind a proxy the address is the browser's, with ${name}`, async (t) => {
    const { location, address, secure, hsts } = await ask(t, { server: settings }, forwarded)
    assert.equal(location, 'https://gate.example.com:8443/login')
    assert.equal(address, '203.0.113.7')
    assert.equal(secure, true)
    assert.equal(hsts, true)
  })
}

test('forwarded headers of other peers are ignored', async (t) => {
  const server = {
    'forward-headers-strategy': 'native',
    tomcat: { remoteip: { 'internal-proxies': String.raw`10\.1\.\d+\.\d+` } },
  }
  const { location, address, url } = await ask(t, { server }, forwarded)
  assert.equal(location, `${url}/login`)
  assert.equal(address, '127.0.0.1')
})

test('the client is the last address that is no proxy', async (t) => {
  const { address } = await ask(
    t,
    { server: { 'forward-headers-strategy': 'native' } },
    { 'x-forwarded-for': '198.51.100.1, 203.0.113.7, 10.0.0.3' },
  )
  assert.equal(address, '203.0.113.7')
})

test('other header names replace the usual ones', async (t) => {
  const remoteip = {
    'protocol-header': 'X-Proto',
    'host-header': 'X-Host',
    'port-header': 'X-Port',
    'remote-ip-header': 'X-Client',
  }
  const own = {
    'x-proto': 'https',
    'x-host': 'own.example.com',
    'x-port': '443',
    'x-client': '198.51.100.9',
  }
  const { location, address } = await ask(
    t,
    { server: { tomcat: { remoteip } } },
    { ...forwarded, ...own },
  )
  assert.equal(location, 'https://own.example.com/login')
  assert.equal(address, '198.51.100.9')
})

const proxied = { trusted: { peer: '10.0.0.9', proxies: /^(?:10\.0\.0\.\d{1,3}|fd00::.*)$/ } }
const usual = {
  scheme: 'X-Forwarded-Proto',
  address: 'X-Forwarded-For',
  host: 'X-Forwarded-Host',
  port: 'X-Forwarded-Port',
}
const standard = { ...usual, address: 'Forwarded' }

const chains: {
  title: string
  names: ForwardedHeaders
  headers: Record<string, string>
  read: Partial<ForwardedOrigin>
}[] = [
  {
    title: 'nothing',
    names: usual,
    headers: {},
    read: { clientAddress: '10.0.0.9', scheme: undefined, host: undefined },
  },
  {
    title: 'a client that invents proxies before itself',
    names: usual,
    headers: { 'x-forwarded-for': '127.0.0.1, 10.0.0.1, 203.0.113.7, 10.0.0.2' },
    read: { clientAddress: '203.0.113.7' },
  },
  {
    title: 'an internal client that invents something before itself',
    names: usual,
    headers: { 'x-forwarded-for': 'anything <b>, 10.0.0.5' },
    read: { clientAddress: '10.0.0.5' },
  },
  {
    title: 'ports, brackets, IPv6 and empty parts',
    names: usual,
    headers: { 'x-forwarded-for': '203.0.113.7:4711, , [fd00::1]:80,::ffff:10.0.0.3,' },
    read: { clientAddress: '203.0.113.7' },
  },
  {
    title: 'a scheme that a client has sent before that of the proxy',
    names: usual,
    headers: {
      'x-forwarded-proto': 'https, http',
      'x-forwarded-host': 'evil.example, gate.example',
      'x-forwarded-port': '1, 8443',
    },
    read: { scheme: 'http', host: 'gate.example', port: '8443' },
  },
  {
    title: 'TLS all the way',
    names: usual,
    headers: { 'x-forwarded-proto': 'HTTPS, https' },
    read: { scheme: 'https' },
  },
  {
    title: 'a scheme that is none',
    names: usual,
    headers: { 'x-forwarded-proto': 'gopher' },
    read: { scheme: undefined },
  },
  {
    title: 'Forwarded of one proxy',
    names: standard,
    headers: {
      forwarded: 'For="[2001:db8::7]:4711";Proto=HTTPS;host="gate.example:8443"',
      'x-forwarded-for': '198.51.100.1',
    },
    read: { clientAddress: '2001:db8::7', scheme: 'https', host: 'gate.example:8443' },
  },
  {
    title: 'Forwarded of two proxies behind what a client has invented',
    names: standard,
    headers: {
      forwarded:
        'for=127.0.0.1;host=evil.example;proto=https, for=203.0.113.7;host=gate.example;proto=http, for=10.0.0.2;host=inner;proto=https',
    },
    read: { clientAddress: '203.0.113.7', scheme: 'http', host: 'gate.example' },
  },
  {
    title: 'Forwarded that hides the client',
    names: standard,
    headers: {
      forwarded: 'for=198.51.100.1;host=evil.example, for=_hidden;host=gate.example;proto=https',
    },
    read: { clientAddress: '10.0.0.9', scheme: 'https', host: 'gate.example' },
  },
  {
    title: 'Forwarded whose quotes hold separators',
    names: standard,
    headers: { forwarded: 'for=203.0.113.7;host="a,for=10.0.0.1;x"' },
    read: { clientAddress: '203.0.113.7', host: 'a,for=10.0.0.1;x' },
  },
  {
    title: 'Forwarded that is malformed',
    names: standard,
    headers: { forwarded: 'for=198.51.100.1, for=203.0.113.7;for=10.0.0.1' },
    read: { clientAddress: '10.0.0.9', host: undefined },
  },
  {
    title: 'usual headers beside',
    names: standard,
    headers: { 'x-forwarded-host': 'evil.example' },
    read: { host: undefined },
  },
]
for (const { title, names, headers, read } of chains) {
  test(`forwarded headers are read from the right: ${title}`, () => {
    const found: Partial<ForwardedOrigin> = readForwarded(headers, names, proxied.trusted)
    for (const [name, value] of Object.entries(read))
      assert.equal(found[name as keyof ForwardedOrigin], value, name)
  })
}

test('a header of thousands of hops is cheap', () => {
  let judged = 0
  const proxies = { test: (text: string) => ++judged > 0 && text.length <= 45 } as RegExp
  const long = ['x'.repeat(20_000), ...Array<string>(5000).fill('10.0.0.1')].join(',')
  for (const [names, header] of [
    [usual, { 'x-forwarded-for': long }],
    [standard, { forwarded: long.replaceAll('10.', 'for=10.') }],
  ] as const) {
    judged = 0
    readForwarded(header, names, { peer: '10.0.0.9', proxies })
    assert.ok(judged <= 50, String(judged))
  }
})

test('RFC 7239 can be named instead of the usual headers', async (t) => {
  const server = { tomcat: { remoteip: { 'remote-ip-header': 'Forwarded' } } }
  const { location, address, secure } = await ask(
    t,
    { server },
    { ...forwarded, forwarded: 'for=198.51.100.9;host=own.example.com;proto=https' },
  )
  assert.deepEqual(
    [location, address, secure],
    ['https://own.example.com/login', '198.51.100.9', true],
  )
})

const hostile = [
  'evil.example/path',
  'evil.example\\@gate.example.com',
  'user@evil.example',
  'evil.example?x',
  'evil.example#x',
  'a b',
  '"><script>',
  '%2e%2e',
  'gate.example.com:99999',
  '',
]
test('an invalid forwarded host is never used', async (t) => {
  const { url } = await runGateway(t, {
    ...login,
    server: { 'forward-headers-strategy': 'native' },
  })
  for (const host of hostile) {
    const answer = await new Browser(url).visit('/credentials', {
      headers: { ...forwarded, 'x-forwarded-host': host },
    })
    const location = new URL(answer.location ?? '')
    assert.equal(location.hostname, '127.0.0.1', host)
    assert.equal(location.pathname, '/login')
  }
})

test('an invalid Host header falls back to the listener', async (t) => {
  const url = await startGateway(t, login)
  for (const host of ['evil.example/x', 'evil.example\\@x', 'a@b', '<x>']) {
    const connection = await openRawConnection(t, url)
    connection.send(`GET /credentials HTTP/1.1\r\nhost: ${host}\r\naccept: text/html\r\n\r\n`)
    const answer = await connection.next()
    if (answer.status === 302) assert.equal(answer.headers['location'], `${url}/login`, host)
    else assert.equal(answer.status, 400, host)
  }
})

test('http.publicUrl is the address, whatever the request says', async (t) => {
  const publicUrl = 'https://gate.example.com/api/v1'
  const server = { servlet: { 'context-path': '/api/v1' }, 'forward-headers-strategy': 'native' }
  const { location, address, secure, hsts } = await ask(
    t,
    { http: { publicUrl }, server },
    { ...forwarded, 'x-forwarded-host': 'evil.example' },
  )
  assert.equal(location, `${publicUrl}/login`)
  assert.equal(address, '203.0.113.7')
  assert.equal(secure, true)
  assert.equal(hsts, true)
})

test('below a context path addresses, cookies and pages have the prefix', async (t) => {
  const { url } = await runGateway(t, {
    ...login,
    server: { servlet: { 'context-path': '/api/v1' } },
  })
  const answer = await new Browser(url).visit('/credentials')
  assert.equal(answer.location, `${url}/login`)
  assert.match(answer.cookies[0] ?? '', /; Path=\/api\/v1\//)
  assert.match(await (await fetch(`${url}/login`)).text(), /action="\/api\/v1\/login"/)
})
