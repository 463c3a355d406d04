/**
 * A small API server without controllers: objects in memory, discovery, lists in pages, watches, and faults that a test scripts.
 *
 * It listens behind a relay, by which connections fall silent or break off. It stops with the test.
 */
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import {
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { ClusterAccess } from '../../packages/providers/kubernetes/api/cluster-access.ts'
import { answer, type FakeReply, statusBody } from './fake-kubernetes-answers.ts'
import { discover } from './fake-kubernetes-discovery.ts'
import { FakeObjects, type ServedKind, servedKind } from './fake-kubernetes-objects.ts'
import { FakeWatches } from './fake-kubernetes-watches.ts'
import { keyPairOf } from './self-signed.ts'
import { startRelay, type TcpRelay } from './tcp-relay.ts'
import type { TestEnd } from './test-end.ts'

export interface FakeRequest {
  readonly method: string
  /** Without query. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  /** Parsed JSON; undefined without body. */
  readonly body: unknown
  /** `2.0` or `1.1`. */
  readonly httpVersion: string
  /** Common name of the client's certificate. */
  readonly clientName: string | undefined
}

/** `hang`: no answer ever. `break`: the connection breaks off. */
export type Fault = FakeReply | 'hang' | 'break'

interface Rule {
  readonly pattern: RegExp
  readonly fault: Fault | ((request: FakeRequest) => Fault | undefined)
  times: number
}

export interface FakeKubernetesOptions {
  /** `h1`: no HTTP/2. `http`: without TLS, as `kubectl proxy` serves. */
  readonly protocol?: 'h2' | 'h1' | 'http'
  readonly isAggregated?: boolean
  /** Accepted bearer tokens; undefined: every request is accepted. */
  readonly tokens?: readonly string[]
  /** Streams that a connection may have; Node's own limit unless given. */
  readonly maxStreams?: number
}

export class FakeKubernetes {
  readonly objects = new FakeObjects()
  readonly watches = new FakeWatches(this.objects)
  /** All requests, in order; discovery included. */
  readonly requests: FakeRequest[] = []
  /** Text of `pods/log`, by `namespace/pod/container`; previous ones by `…/previous`. */
  readonly logs = new Map<string, string>()
  /** Undefined: every request is accepted. */
  tokens: Set<string> | undefined
  readonly brokenGroups = new Set<string>()
  isAggregated: boolean
  /** Of HTTP/2; ended ones, too. */
  readonly sessions = new Set<ServerHttp2Session>()
  readonly #rules: Rule[] = []
  readonly #protocol: NonNullable<FakeKubernetesOptions['protocol']>
  #relay: TcpRelay | undefined

  constructor({ protocol = 'h2', isAggregated = true, tokens }: FakeKubernetesOptions) {
    this.#protocol = protocol
    this.isAggregated = isAggregated
    this.tokens = tokens && new Set(tokens)
    for (const name of ['default', 'kube-system'])
      this.objects.put({ kind: 'Namespace', metadata: { name } })
  }

  /** Breaks off connections, makes them silent, refuses them, and counts them. */
  get relay(): TcpRelay {
    if (this.#relay === undefined) throw new Error('the fake API server has not started')
    return this.#relay
  }

  get url(): string {
    return `${this.#protocol === 'http' ? 'http' : 'https'}://127.0.0.1:${this.relay.port}`
  }

  /** PEM. */
  get certificateAuthority(): string {
    return keyPairOf(certificateName, 'ec').certificate
  }

  /** Without login. */
  get access(): ClusterAccess {
    return {
      server: this.url,
      certificateAuthority: this.#protocol === 'http' ? undefined : this.certificateAuthority,
      tlsServerName: this.#protocol === 'http' ? undefined : certificateName,
      login: { kind: 'none' },
      namespace: 'default',
    }
  }

  /** Text of a kubeconfig, whose only context is `fake`. */
  kubeconfig(user: Readonly<Record<string, unknown>> = {}, namespace?: string): string {
    const cluster = {
      server: this.url,
      ...(this.#protocol !== 'http' && {
        'certificate-authority-data': Buffer.from(this.certificateAuthority).toString('base64'),
        'tls-server-name': certificateName,
      }),
    }
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'fake',
      clusters: [{ name: 'fake', cluster }],
      users: [{ name: 'fake', user }],
      contexts: [
        {
          name: 'fake',
          context: { cluster: 'fake', user: 'fake', ...(namespace !== undefined && { namespace }) },
        },
      ],
    })
  }

  /** A kind of its own, such as `['example.test/v1', 'Widget', 'widgets', 'N', 'wd']`. */
  serve(...row: Parameters<typeof servedKind>[0]): ServedKind {
    const kind = servedKind(row)
    this.objects.kinds.push(kind)
    return kind
  }

  /** The next requests like `GET /api/v1/pods?limit=500` that match get this instead of the usual answer. */
  script(pattern: RegExp, fault: Rule['fault'], times = 1): void {
    this.#rules.push({ pattern, fault, times })
  }

  /** How many requests like `GET /api/v1/pods?limit=500` match. */
  count(pattern: RegExp): number {
    return this.requests.filter((request) => pattern.test(lineOf(request))).length
  }

  /** Connections take no further requests; those that run go on. */
  goAway(): void {
    for (const session of this.sessions) if (!session.destroyed) session.goaway(0, 2 ** 31 - 1)
  }

  /** Breaks everything off, and refuses connections until `start`. The objects stay. */
  async stop(): Promise<void> {
    this.watches.drop()
    await this.relay.stop()
  }

  async start(): Promise<void> {
    await this.relay.listen()
  }

  /** @param t The relay stops with it, too. */
  async open(t: TestEnd, port: number): Promise<void> {
    this.#relay = await startRelay(t, port)
  }

  async handle(request: FakeRequest): Promise<Fault | 'watch'> {
    this.requests.push(request)
    const line = lineOf(request)
    for (const rule of this.#rules) {
      if (rule.times === 0 || !rule.pattern.test(line)) continue
      const fault = typeof rule.fault === 'function' ? rule.fault(request) : rule.fault
      if (fault === undefined) continue
      rule.times--
      return fault
    }
    const token = request.headers.authorization?.replace(/^Bearer /, '')
    if (this.tokens !== undefined && (token === undefined || !this.tokens.has(token))) {
      return { status: 401, body: statusBody(401, 'Unauthorized', 'Unauthorized') }
    }
    const { isAggregated, brokenGroups } = this
    const found = discover(request.path, request.headers.accept ?? '', this.objects.kinds, {
      isAggregated,
      brokenGroups,
    })
    if (typeof found === 'number')
      return { status: found, body: statusBody(found, 'ServiceUnavailable', 'unavailable') }
    if (found !== undefined) return { status: 200, body: found }
    return answer(this, request)
  }
}

const certificateName = 'kubernetes'

export async function startFakeKubernetes(
  t: TestEnd,
  options: FakeKubernetesOptions = {},
): Promise<FakeKubernetes> {
  const fake = new FakeKubernetes(options)
  const server = createServer(options, (request, response) => void respond(fake, request, response))
  server.on('session', (session) => fake.sessions.add(session))
  await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: 0 }, resolve))
  await fake.open(t, (server.address() as AddressInfo).port)
  t.after(() => {
    fake.watches.drop()
    server.close()
  })
  return fake
}

type Request = IncomingMessage | Http2ServerRequest
type Response = ServerResponse | Http2ServerResponse

function createServer(
  { protocol = 'h2', maxStreams }: FakeKubernetesOptions,
  listener: (one: Request, other: Response) => void,
): Server {
  if (protocol === 'http') return createHttpServer(listener)
  const { keyPem: key, certificate: cert } = keyPairOf(certificateName, 'ec')
  const tls = { key, cert, requestCert: true, rejectUnauthorized: false }
  if (protocol === 'h1') return createHttpsServer(tls, listener)
  const server = createSecureServer(
    {
      ...tls,
      allowHTTP1: true,
      ...(maxStreams !== undefined && { settings: { maxConcurrentStreams: maxStreams } }),
    },
    listener as (request: Http2ServerRequest, response: Http2ServerResponse) => void,
  )
  server.on('sessionError', () => {})
  return server
}

async function respond(fake: FakeKubernetes, incoming: Request, response: Response): Promise<void> {
  response.on('error', () => {})
  const chunks: Buffer[] = []
  try {
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
  } catch {
    return
  }
  const url = new URL(incoming.url ?? '/', 'http://fake')
  const socket = incoming.socket as Partial<TLSSocket>
  const name = socket.getPeerCertificate?.()?.subject?.CN
  const request: FakeRequest = {
    method: incoming.method ?? 'GET',
    path: url.pathname,
    query: url.searchParams,
    headers: incoming.headers,
    body: chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString()),
    httpVersion: incoming.httpVersion,
    clientName: typeof name === 'string' ? name : undefined,
  }
  const reply = await fake.handle(request)
  if (reply === 'hang') return
  if (reply === 'break') fake.relay.breakConnections()
  else if (reply === 'watch') fake.watches.open(request, response)
  else writeReply(response, reply)
}

function writeReply(response: Response, { status, body, headers = {} }: FakeReply): void {
  const text = typeof body === 'string'
  // The two kinds of responses have the same method, with types that do not unite.
  const { writeHead } = response as ServerResponse
  writeHead.call(response, status, {
    'content-type': text ? 'text/plain' : 'application/json',
    ...headers,
  })
  response.end(text ? body : JSON.stringify(body))
}

function lineOf({ method, path, query }: FakeRequest): string {
  const text = query.toString()
  return `${method} ${path}${text === '' ? '' : `?${text}`}`
}
