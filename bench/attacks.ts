/** Program that attacks a gateway without a session, on many connections: `attacks.ts PORT CONNECTIONS SECONDS`. Prints what it sent. */
import { connect } from 'node:net'

const large = `[${'{"a":[1,2,3]},'.repeat(40_000)}{}]`

/** What a client without a session may send, as text on a connection. */
const attacks: readonly (() => string)[] = [
  () => get('/networks'),
  () => get(`/${'x'.repeat(8000)}`),
  () => get('/openapi.json'),
  () => get('/login'),
  () => get('/networks', `cookie: SESSION=${crypto.randomUUID()}\r\n`),
  () => get('/networks', `authorization: Basic ${btoa(`user${Math.random()}:wrong`)}\r\n`),
  () => get('/networks', `x-spinnaker-token: ${crypto.randomUUID()}\r\n`),
  () => get('/health?checkDownstreamServices=true'),
  () => get('/spectator/metrics'),
  () => get('/networks', `x-filler: ${'y'.repeat(40_000)}\r\n`),
  () => post('/login', 'application/x-www-form-urlencoded', `username=user${Math.random()}&password=wrong`),
  () => post('/webhooks/git/github', 'application/json', large),
  () => post('/webhooks/git/github', 'application/json', `${'['.repeat(900)}${']'.repeat(900)}`),
  () => post('/webhooks/git/github', 'application/x-yaml', `a: &a [${'1,'.repeat(100_000)}1]\nb: [${'*a,'.repeat(1000)}1]`),
  () => post('/webhooks/git/github', 'application/json', '{"a":'),
  () => post('/saml/SSO', 'application/x-www-form-urlencoded', `SAMLResponse=${'A'.repeat(100_000)}`),
  () => 'POST /webhooks/git/github HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 900000\r\n\r\n[',
  () => 'no HTTP at all\r\n\r\n',
  () => 'GET /networks HTTP/1.1\r\nhost: a\r\nx-slow: ',
]

function get(path: string, headers = ''): string {
  return `GET ${path} HTTP/1.1\r\nhost: a\r\naccept: */*\r\n${headers}\r\n`
}

function post(path: string, type: string, body: string): string {
  return `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

/** Sends one attack after the other; each waits for some answer, or two seconds. */
async function attack(port: number, endsMs: number, first: number): Promise<number> {
  let count = first
  let sent = 0
  while (performance.now() < endsMs) {
    const socket = connect(port, '127.0.0.1')
    await new Promise<void>((done) => {
      const limit = setTimeout(done, 2000)
      const finish = () => {
        clearTimeout(limit)
        done()
      }
      socket.once('data', finish).once('error', finish).once('close', finish)
      socket.write(attacks[count++ % attacks.length]?.() ?? '')
    })
    sent++
    socket.destroy()
  }
  return sent
}

const [port = 0, connections = 0, seconds = 0] = process.argv.slice(2).map(Number)
const endsMs = performance.now() + seconds * 1000
const sent = await Promise.all(Array.from({ length: connections }, (_, index) => attack(port, endsMs, index)))
console.log(sent.reduce((sum, count) => sum + count, 0))
