/** A front with its load balancers, each with one instance of this process, and clients that ask by host. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders, RequestListener } from 'node:http'
import { type RequestOptions, request as requestHttp } from 'node:http'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { request as requestHttps } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls'
import type { Bounds } from '../../../packages/agent/balancer/bounds.ts'
import { Balancers } from '../../../packages/agent/balancers.ts'
import type {
  DesiredCertificate,
  DesiredChallenges,
  DesiredLoadBalancer,
  DesiredMember,
  FrontLimits,
  FrontRule,
  FrontSite,
} from '../../../packages/base/net/agent-protocol.ts'
import { freePort } from '../../support/free-port.ts'
import { keyPairOf } from '../../support/self-signed.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { startInstance } from '../balancer/support.ts'

export interface SiteWish extends Partial<Omit<FrontSite, 'rules' | 'limits'>> {
  readonly rules?: readonly (Partial<FrontRule> & { readonly host: string })[]
  readonly limits?: Partial<FrontLimits>
  /** Answers for its instance; otherwise that says `OWNER URL`. */
  readonly handler?: RequestListener
  /** In place of an instance of this process. */
  readonly members?: readonly DesiredMember[]
}

export interface FrontAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface FrontRequest extends RequestOptions {
  readonly servername?: string
  readonly rejectUnauthorized?: boolean
  readonly payload?: string
}

export interface FrontRig {
  readonly balancers: Balancers
  readonly httpPort: number
  readonly httpsPort: number
  readonly lines: string[]
  apply(certificates: readonly DesiredCertificate[], challenges?: DesiredChallenges): void
  /** Files with a certificate for these hosts. */
  certify(...hosts: string[]): DesiredCertificate
  get(host: string, path?: string, options?: FrontRequest): Promise<FrontAnswer>
  getSecurely(host: string, path?: string, options?: FrontRequest): Promise<FrontAnswer>
  handshake(options: ConnectionOptions): Promise<TLSSocket>
  openStreams(t: TestContext, servername: string): ClientHttp2Session
}

const limits: FrontLimits = {
  bodyBytes: 1024 * 1024,
  headerBytes: 32 * 1024,
  readMs: 60_000,
  idleMs: 60_000,
  websocketMs: 3_600_000,
}

export async function openFront(
  t: TestContext,
  wishes: readonly SiteWish[],
  bounds: Partial<Bounds> = {},
): Promise<FrontRig> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-front-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const [httpPort, httpsPort] = [await freePort(), await freePort()]
  const lines: string[] = []
  const write = (fields: object, text: string) =>
    void lines.push(`${text} ${JSON.stringify(fields)}`)
  const balancers = new Balancers({
    log: { info: write, warn: write, error: write },
    onChange: () => {},
    bounds: { quickCheckMs: 20, sweepMs: 50, outageMs: 0, ...bounds },
  })
  t.after(() => balancers.close())
  const sites: FrontSite[] = []
  const loadBalancers: DesiredLoadBalancer[] = []
  for (const [index, wish] of wishes.entries()) {
    const { handler, rules = [], members, ...site } = wish
    const owner = wish.owner ?? `app${index}`
    const id = `local:local:${owner}-${index}`
    const say: RequestListener = (request, response) => response.end(`${owner} ${request.url}`)
    const instance = await startInstance(t, `i-${index}`, handler ?? say)
    loadBalancers.push({
      id,
      listeners: [],
      healthCheck: {
        kind: 'http',
        path: '/health',
        intervalMs: 50,
        timeoutMs: 5000,
        healthyThreshold: 2,
        unhealthyThreshold: 2,
      },
      members: members ?? [instance.member],
    })
    sites.push({
      redirects: [],
      ...site,
      owner,
      loadBalancer: id,
      rules: rules.map((rule) => ({ path: '/', strip: false, ...rule })),
      limits: { ...limits, ...wish.limits },
    })
  }
  const fronts = [{ id: 'front', address: '127.0.0.1', httpPort, httpsPort, sites }]
  const send = ({ payload, ...options }: FrontRequest, isSecure: boolean) =>
    new Promise<FrontAnswer>((resolve, reject) => {
      const sent = (isSecure ? requestHttps : requestHttp)(
        { agent: false, ...options },
        (answer) => {
          readText(answer).then((body) => {
            resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body })
          }, reject)
        },
      )
      sent.once('error', reject)
      sent.end(payload)
    })
  const rig: FrontRig = {
    balancers,
    httpPort,
    httpsPort,
    lines,
    apply: (certificates, challenges = { http: {}, tls: {} }) =>
      balancers.apply(loadBalancers, { fronts: { fronts, certificates, challenges } }),
    certify: (...hosts) => {
      const { certificate, keyPem } = keyPairOf(hosts[0] ?? '', 'ec')
      const [certificateFile, keyFile] = ['crt', 'key'].map((end) =>
        join(folder, `${hosts[0]}.${end}`),
      )
      writeFileSync(certificateFile as string, certificate)
      writeFileSync(keyFile as string, keyPem)
      return { hosts, certificateFile: certificateFile as string, keyFile: keyFile as string }
    },
    get: (host, path = '/', { headers, ...options } = {}) =>
      send(
        { host: '127.0.0.1', port: httpPort, path, headers: { host, ...headers }, ...options },
        false,
      ),
    getSecurely: (host, path = '/', { headers, ...options } = {}) =>
      send(
        {
          host: '127.0.0.1',
          port: httpsPort,
          path,
          headers: { host, ...headers },
          servername: host,
          rejectUnauthorized: false,
          ...options,
        },
        true,
      ),
    handshake: (options) =>
      new Promise((resolve, reject) => {
        const socket = connectTls(
          { host: '127.0.0.1', port: httpsPort, rejectUnauthorized: false, ...options },
          () => resolve(socket),
        )
        t.after(() => socket.destroy())
        socket.once('error', reject)
      }),
    openStreams: (context, servername) => {
      const session = connectHttp2(`https://127.0.0.1:${httpsPort}`, {
        servername,
        rejectUnauthorized: false,
      })
      context.after(() => session.destroy())
      session.on('error', () => {})
      return session
    },
  }
  rig.apply([])
  const isUp = () =>
    balancers
      .observe()
      .every(
        ({ listeners, members }) =>
          listeners.every(({ open }) => open) && members.every(({ health }) => health === 'up'),
      )
  await waitUntil(isUp, () => JSON.stringify(balancers.observe()))
  return rig
}

/** The answer on a stream of HTTP/2. */
export async function getStream(
  session: ClientHttp2Session,
  authority: string,
  path = '/',
  headers: Record<string, string> = {},
): Promise<FrontAnswer> {
  const stream = session.request({ ':authority': authority, ':path': path, ...headers })
  const answered = new Promise<IncomingHttpHeaders>((resolve, reject) => {
    stream.once('response', resolve)
    stream.once('error', reject)
    stream.once('close', () => reject(new Error('the stream is closed')))
  })
  const found = await answered
  return {
    status: Number(found[':status' as keyof IncomingHttpHeaders]),
    headers: found,
    body: await readText(stream),
  }
}
