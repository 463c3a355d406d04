/** Pebble, an ACME authority, with its name server and a relay before it: tests look at requests there, and answer in its place. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Agent, createServer, request as send } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createAuthority } from './authority.ts'
import { freePort } from './free-port.ts'
import { createFolder, removeFolder } from './temporary-folder.ts'
import type { TestEnd } from './test-end.ts'
import { waitUntil } from './wait-until.ts'

export interface AcmeRequest {
  readonly method: string
  /** Of the path: `order-plz`, `finalize-order`, `certZ`. */
  readonly path: string
  /** What a signed request carries. */
  readonly payload: Record<string, unknown>
  /** Of the answer; undefined until there is one. */
  status?: number
}

interface RelayAnswer {
  readonly status: number
  readonly headers?: Record<string, string>
  readonly body?: unknown
}

export interface PebbleOptions {
  /** Percentage of good nonces that are refused. */
  readonly badNonces?: number
  /** Keys of an external account binding by their identifiers; without it, none is needed. */
  readonly bindings?: Readonly<Record<string, string>>
}

export interface Pebble {
  readonly directory: string
  /** PEM: what the certificate of its server chains to. */
  readonly roots: string
  /** Address of its name server. */
  readonly resolver: string
  /** Of the interface by which its records are set. */
  readonly namesUrl: string
  /** Where it looks for challenges. */
  readonly httpPort: number
  readonly tlsPort: number
  /** Requests since they were last emptied. */
  readonly requests: AcmeRequest[]
  /** Answers in place of Pebble where it returns something; ends the connection where that is `cut`. */
  intercept: (request: AcmeRequest) => RelayAnswer | 'cut' | undefined | Promise<undefined>
  /** Called before an answer of Pebble is sent on. */
  beforeAnswer: (request: AcmeRequest) => unknown
  /** Forgets everything. */
  restart(options?: PebbleOptions): Promise<void>
  stop(): Promise<void>
  /** Sets records, by the commands of pebble-challtestsrv: `add-a`, `clear-aaaa`. */
  dns(command: string, body: Record<string, unknown>): Promise<void>
  /** By the commands of its own interface. */
  manage(command: string, body: unknown): Promise<void>
}

export const blockedHost = 'blocked-domain.example'

/** @param ports Where it looks for challenges. Default: free ones */
export async function startPebble(
  t: TestEnd,
  programs: string,
  ports?: { readonly httpPort: number; readonly tlsPort: number },
): Promise<Pebble> {
  const folder = createFolder('pebble')
  t.after(() => removeFolder(folder))
  const [apiPort, managementPort, dnsPort, dnsApiPort] = await Promise.all(
    Array.from({ length: 4 }, freePort),
  )
  const { httpPort, tlsPort } = ports ?? { httpPort: await freePort(), tlsPort: await freePort() }
  const authority = await createAuthority('CN=Pebble test')
  const { cert, key } = await authority.issue({
    subject: 'CN=localhost',
    hosts: ['localhost', '127.0.0.1'],
    usage: 'server',
  })
  const files = { certificate: join(folder, 'cert.pem'), privateKey: join(folder, 'key.pem') }
  writeFileSync(files.certificate, cert)
  writeFileSync(files.privateKey, key)
  const none = ['-http01', '-https01', '-tlsalpn01', '-doh'].flatMap((flag) => [flag, ''])
  const names = spawn(
    join(programs, 'pebble-challtestsrv'),
    [
      ...none,
      ...['-dnsserver', `127.0.0.1:${dnsPort}`, '-management', `127.0.0.1:${dnsApiPort}`],
      ...['-defaultIPv4', '127.0.0.1', '-defaultIPv6', ''],
    ],
    { stdio: 'ignore' },
  )
  t.after(() => names.kill('SIGKILL'))

  let child: ChildProcess | undefined
  // A handshake for each request would cost more than all else.
  const connections = new Agent({ keepAlive: true, ca: authority.certificate })
  const stop = async () => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
    connections.destroy()
  }
  const start = async ({ badNonces = 5, bindings }: PebbleOptions = {}) => {
    const config = join(folder, 'config.json')
    const pebble = {
      listenAddress: `127.0.0.1:${apiPort}`,
      managementListenAddress: `127.0.0.1:${managementPort}`,
      ...files,
      httpPort,
      tlsPort,
      externalAccountBindingRequired: bindings !== undefined,
      externalAccountMACKeys: bindings,
      domainBlocklist: [blockedHost],
      keyAlgorithm: 'ecdsa',
      profiles: {
        default: { description: '90 days', validityPeriod: 90 * 86_400 },
        shortlived: { description: '6 days', validityPeriod: 6 * 86_400 },
      },
    }
    writeFileSync(config, JSON.stringify({ pebble }))
    child = spawn(
      join(programs, 'pebble'),
      ['-config', config, '-dnsserver', `127.0.0.1:${dnsPort}`],
      {
        stdio: 'ignore',
        env: { PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: String(badNonces) },
      },
    )
    await waitUntil(
      () =>
        toPebble(apiPort ?? 0, connections, { path: '/dir' }).then(
          () => true,
          () => false,
        ),
      'Pebble',
    )
  }
  t.after(stop)
  await start()

  const relay = createServer({ cert, key }, (request, response) => {
    forward(request, response).catch(() => response.destroy())
  })
  const forward = async (request: IncomingMessage, response: ServerResponse) => {
    const { method = '', url: path = '', headers } = request
    const body = await text(request)
    const asked: AcmeRequest = { method, path, payload: payloadOf(body) }
    pebble.requests.push(asked)
    const own = await pebble.intercept(asked)
    if (own === 'cut') return request.socket.destroy()
    if (own !== undefined) {
      asked.status = own.status
      response.writeHead(own.status, { 'content-type': 'application/problem+json', ...own.headers })
      return response.end(JSON.stringify(own.body ?? {}))
    }
    const answer = await toPebble(apiPort ?? 0, connections, {
      method,
      path,
      headers,
      body,
    })
    asked.status = answer.status
    await pebble.beforeAnswer(asked)
    response.writeHead(answer.status, answer.headers).end(answer.body)
    return undefined
  }
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    relay.closeAllConnections()
    relay.close()
  })
  const pebble: Pebble = {
    directory: `https://127.0.0.1:${(relay.address() as AddressInfo).port}/dir`,
    roots: authority.certificate,
    resolver: `127.0.0.1:${dnsPort}`,
    namesUrl: `http://127.0.0.1:${dnsApiPort}`,
    httpPort,
    tlsPort,
    requests: [],
    intercept: () => undefined,
    beforeAnswer: () => undefined,
    restart: async (options) => {
      await stop()
      await start(options)
    },
    stop,
    dns: async (command, body) => {
      const answer = await fetch(`${pebble.namesUrl}/${command}`, {
        method: 'POST',
        body: JSON.stringify(body),
      })
      if (!answer.ok) throw new Error(`${command}: ${answer.status}`)
    },
    manage: async (command, body) => {
      const answer = await toPebble(managementPort ?? 0, connections, {
        method: 'POST',
        path: `/${command}`,
        headers: { 'user-agent': 'test' },
        body: JSON.stringify(body),
      })
      if (answer.status !== 200) throw new Error(`${command}: ${answer.status} ${answer.body}`)
    },
  }
  return pebble
}

interface Asked {
  readonly method?: string
  readonly path: string
  readonly headers?: IncomingMessage['headers']
  readonly body?: string
}

async function toPebble(
  port: number,
  agent: Agent,
  { method = 'GET', path, headers, body }: Asked,
) {
  const call = send({ host: '127.0.0.1', port, method, path, headers, agent })
  call.end(body)
  const [answer] = (await once(call, 'response')) as [IncomingMessage]
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: await text(answer) }
}

function payloadOf(body: string): Record<string, unknown> {
  if (body === '') return {}
  const { payload = '' } = JSON.parse(body) as { payload?: string }
  return payload === '' ? {} : JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))
}
