/** What is compared: a service asked directly, through nginx, and through the gateway; each in a process of its own. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { askAgent } from '../packages/agent/agent-request.ts'
import { agentNodeOptions } from '../packages/agent/start-agent.ts'
import type { DesiredLoadBalancer, DesiredState } from '../packages/base/net/agent-protocol.ts'
import { socketPathFor } from '../packages/base/storage/socket-path.ts'
import { defaultLimits } from '../packages/providers/local/front/wanted-fronts.ts'
import { freePort } from '../test/support/free-port.ts'
import { keyPairOf } from '../test/support/self-signed.ts'
import { MeasuredProcess } from './measured-process.ts'

export interface Target {
  name: string
  port: number
  process: MeasuredProcess
  /** Sent with every request. */
  headers: Record<string, string>
  /** Another port of it, with TLS. */
  securePort?: number
}

const root = resolve(import.meta.dirname, '..')
/** Of every user. */
export const password = 'for-the-benchmark-only'

export interface Scratch {
  dir(name: string): string
  remove(): void
}

/** A temporary directory that is gone when the benchmark ends. */
export function createScratch(): Scratch {
  const top = mkdtempSync(join(tmpdir(), 'fairlead-bench-'))
  let count = 0
  return {
    dir: (name) => {
      const dir = join(top, `${name}-${++count}`)
      mkdirSync(dir)
      return dir
    },
    remove: () => rmSync(top, { recursive: true, force: true }),
  }
}

/** @param applications How many it has for the list of applications. */
export async function startService(dir: string, applications = 0): Promise<Target> {
  const port = await freePort()
  const file = resolve(import.meta.dirname, 'upstream.ts')
  const service = new MeasuredProcess({
    command: process.execPath,
    args: [file, String(port), String(applications)],
    dir,
  })
  await service.answers(`http://127.0.0.1:${port}/health`)
  return { name: 'direct', port, process: service, headers: {} }
}

/** What Node, Fastify and undici cost by themselves. */
export async function startPassThrough(dir: string, service: Target): Promise<Target> {
  const port = await freePort()
  const file = resolve(import.meta.dirname, 'pass-through.ts')
  const args = [file, String(port), `http://127.0.0.1:${service.port}`]
  const bare = new MeasuredProcess({ command: process.execPath, args, dir })
  await bare.answers(`http://127.0.0.1:${port}/health`)
  return { name: 'bare', port, process: bare, headers: {} }
}

export function startAgent(dir: string, dist: boolean): MeasuredProcess {
  const file = resolve(root, dist ? 'dist/agent.js' : 'packages/agent/main.ts')
  const env = { MALLOC_ARENA_MAX: '1' }
  return new MeasuredProcess({
    command: process.execPath,
    args: [...agentNodeOptions, file, dir, 'bench'],
    env,
    dir,
  })
}

/** The agent alone, with the service as the only instance of a load balancer, behind a front with so many hosts of as many applications. */
export async function startAgentFront(
  dir: string,
  dist: boolean,
  { service, hosts }: { readonly service: Target; readonly hosts: number },
): Promise<Target> {
  const [httpPort, httpsPort] = [await freePort(), await freePort()]
  const agent = startAgent(dir, dist)
  const sites = Array.from({ length: hosts }, (_, index) => ({
    owner: `app${index}`,
    loadBalancer: 'bench',
    // The first one is what clients ask for.
    rules: [{ host: index === 0 ? '127.0.0.1' : `host${index}.example`, path: '/', strip: false }],
    redirects: [],
    limits: defaultLimits,
  }))
  const fronts = [{ id: 'front', address: '127.0.0.1', httpPort, httpsPort, sites }]
  await tell(dir, agent, {
    revision: 1,
    instances: [],
    loadBalancers: [balancerOf(service, [])],
    fronts: { fronts, certificates: [], challenges: { http: {}, tls: {} } },
  })
  await agent.answers(`http://127.0.0.1:${httpPort}/health`)
  return { name: `front, ${hosts} hosts`, port: httpPort, process: agent, headers: {} }
}

/** The agent alone, with one load balancer and the service as its only instance. */
export async function startAgentBalancer(
  dir: string,
  dist: boolean,
  service: Target,
): Promise<Target> {
  const [port, securePort] = [await freePort(), await freePort()]
  const agent = startAgent(dir, dist)
  const usual = { host: '127.0.0.1', allowedSources: undefined }
  const listeners = [
    { ...usual, protocol: 'http', port, certificate: undefined },
    { ...usual, protocol: 'https', port: securePort, certificate: writeCertificate(dir) },
  ] as const
  await tell(dir, agent, {
    revision: 1,
    instances: [],
    loadBalancers: [balancerOf(service, listeners)],
  })
  await agent.answers(`http://127.0.0.1:${port}/health`)
  return { name: 'load balancer', port, securePort, process: agent, headers: {} }
}

/** PEM files of a certificate that nobody trusts, with a key of P-256. */
export function writeCertificate(dir: string) {
  const [certificateFile, keyFile] = [join(dir, 'certificate.pem'), join(dir, 'key.pem')]
  const { certificate, keyPem } = keyPairOf('localhost', 'ec')
  writeFileSync(certificateFile, certificate)
  writeFileSync(keyFile, keyPem)
  return { certificateFile, keyFile }
}

function balancerOf(
  { port }: Target,
  listeners: DesiredLoadBalancer['listeners'],
): DesiredLoadBalancer {
  return {
    id: 'bench',
    listeners,
    healthCheck: {
      kind: 'tcp',
      path: '/',
      intervalMs: 10_000,
      timeoutMs: 5000,
      healthyThreshold: 1,
      unhealthyThreshold: 2,
    },
    members: [{ instanceId: 'service', host: '127.0.0.1', port, inService: true }],
  }
}

async function tell(dir: string, agent: MeasuredProcess, desired: DesiredState): Promise<void> {
  const socketPath = socketPathFor(dir, 'agent.sock')
  for (let isTold = false; !isTold && !agent.hasEnded; await sleep(3)) {
    const sent = askAgent({
      socketPath,
      method: 'PUT',
      path: '/desired',
      body: JSON.stringify(desired),
      signal: AbortSignal.timeout(5000),
    })
    isTold = await sent.then(({ status }) => status === 200).catch(() => false)
  }
}

export interface GatewayStart {
  dir: string
  dist: boolean
  /** The service that stands for all back ends; without it they are embedded. */
  service?: Pick<Target, 'port'>
  /** Further settings; `name` tells such a gateway from others. */
  env?: Record<string, string>
  name?: string
  /** Of requests without TLS; a free one unless given. */
  port?: number
}

/** Resolves as soon as `/health` answers. */
export async function startGateway({
  dir,
  dist,
  service,
  env: more,
  name = 'fairlead',
  port: given,
}: GatewayStart): Promise<Target> {
  const port = given ?? (await freePort())
  const env: Record<string, string> = {
    // As in the unit of systemd and the image.
    NODE_OPTIONS: '--max-semi-space-size=16',
    MALLOC_MMAP_THRESHOLD_: '131072',
    SERVER_DRAINMS: '0',
    // Every connection asks for the same: what is measured is one call for each.
    HTTP_SHAREDREADS: 'false',
    SERVER_PORT: String(port),
    SERVER_ADDRESS: '127.0.0.1',
    FAIRLEAD_DATA_DIR: join(dir, 'data'),
    FAIRLEAD_ADMIN_PASSWORD: password,
  }
  if (service !== undefined) {
    for (const backEnd of ['CLOUDDRIVER', 'ECHO', 'FRONT50', 'IGOR', 'ORCA', 'ROSCO']) {
      env[`SERVICES_${backEnd}_BASEURL`] = `http://127.0.0.1:${service.port}`
    }
    env['SERVICES_FIAT_ENABLED'] = 'false'
  }
  Object.assign(env, more)
  const file = resolve(root, dist ? 'dist/fairlead.js' : 'bin/fairlead.js')
  const gateway = new MeasuredProcess({
    command: process.execPath,
    args: [file, 'serve'],
    env,
    dir,
  })
  await gateway.answers(`http://127.0.0.1:${port}/health`)
  return { name, port, process: gateway, headers: {} }
}

/** Logs in with the form, as a browser does. @returns the target with the session's cookie */
export async function logIn(target: Target, username = 'admin'): Promise<Target> {
  const answer = await fetch(`http://127.0.0.1:${target.port}/login`, {
    method: 'POST',
    body: new URLSearchParams({ username, password }),
    redirect: 'manual',
  })
  const cookie = answer.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    // A browser loses the other cookies with its first request.
    .find((pair) => pair?.startsWith('SESSION='))
  if (cookie === undefined)
    throw new Error(`The login failed with status ${answer.status}: ${await answer.text()}`)
  return { ...target, headers: { cookie } }
}

/** A gateway with everything on that a gateway is for, and a session. */
export async function startPathGateway(
  start: GatewayStart & { service: Pick<Target, 'port'> },
): Promise<Target> {
  const env = {
    SERVICES_FIAT_ENABLED: 'true',
    SERVICES_FIAT_BASEURL: `http://127.0.0.1:${start.service.port}`,
    PERMISSIONS_ENFORCE: 'gateway',
    HTTP_SHAREDREADS: 'true',
    // On a machine that does other work, requests would be rejected instead of measured.
    HTTP_OVERLOAD_MAXEVENTLOOPDELAY: '60s',
  }
  return logIn(await startGateway({ ...start, env }))
}
