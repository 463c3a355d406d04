/** Load balancers with real instances behind them: servers of this process, or processes that a test can kill. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http'
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from 'node:net'
import { resolve } from 'node:path'
import type { TestContext } from 'node:test'
import type { Bounds } from '../../../packages/agent/balancer/bounds.ts'
import { Balancers } from '../../../packages/agent/balancers.ts'
import type {
  DesiredListener,
  DesiredLoadBalancer,
  DesiredMember,
  HealthCheck,
  ObservedMember,
} from '../../../packages/base/net/agent-protocol.ts'
import { freePort } from '../../support/free-port.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** What a test says about a load balancer; the rest has defaults. */
export interface Wish {
  readonly id?: string
  readonly listeners?: readonly Partial<DesiredListener>[]
  readonly healthCheck?: Partial<HealthCheck>
  readonly members: readonly DesiredMember[]
}

export interface Rig {
  readonly balancers: Balancers
  readonly port: number
  readonly url: string
  readonly lines: string[]
  /** How often something observable has changed. */
  changes(): number
  apply(...wishes: Wish[]): void
  member(instanceId: string): ObservedMember | undefined
  /** Waits until these members are up, and exactly these. */
  untilUp(...instanceIds: string[]): Promise<void>
}

const healthCheck: HealthCheck = {
  kind: 'http',
  path: '/health',
  intervalMs: 50,
  timeoutMs: 5000,
  healthyThreshold: 2,
  unhealthyThreshold: 2,
}

/** Opens a load balancer on a free port. It ends with the test. */
export async function openRig(
  t: TestContext,
  wish: Wish,
  bounds: Partial<Bounds> = {},
): Promise<Rig> {
  const port = await freePort()
  const lines: string[] = []
  let count = 0
  const write = (fields: object, text: string) =>
    void lines.push(`${text} ${JSON.stringify(fields)}`)
  const balancers = new Balancers({
    log: { info: write, warn: write, error: write },
    onChange: () => {
      count++
    },
    // Tests of outages say how long requests wait.
    bounds: { quickCheckMs: 20, sweepMs: 50, outageMs: 0, ...bounds },
  })
  t.after(() => balancers.close())
  const members = () => balancers.observe().flatMap((balancer) => balancer.members)
  const rig: Rig = {
    balancers,
    port,
    url: `http://127.0.0.1:${port}`,
    lines,
    changes: () => count,
    apply: (...wishes) => balancers.apply(wishes.map((given) => toDesired(given, port))),
    member: (instanceId) => members().find((member) => member.instanceId === instanceId),
    untilUp: (...instanceIds) =>
      waitUntil(
        () => {
          const up = members().flatMap(({ instanceId, health, inService }) =>
            health === 'up' && inService ? [instanceId] : [],
          )
          return up.sort().join() === instanceIds.sort().join()
        },
        () => `${instanceIds.join()} to be up: ${JSON.stringify(balancers.observe())}`,
      ),
  }
  rig.apply(wish)
  await waitUntil(
    () =>
      balancers
        .observe()
        .every(({ listeners }) =>
          listeners.every(({ open, reason }) => open || reason !== undefined),
        ),
    'the ports to open',
  )
  return rig
}

function toDesired(
  { id = 'dev:east:shop-front', listeners = [{}], members, healthCheck: check }: Wish,
  port: number,
): DesiredLoadBalancer {
  return {
    id,
    listeners: listeners.map((listener) => ({
      protocol: 'http',
      host: '127.0.0.1',
      port,
      certificate: undefined,
      allowedSources: undefined,
      ...listener,
    })),
    healthCheck: { ...healthCheck, ...check },
    members,
  }
}

export interface Instance {
  readonly member: DesiredMember
  readonly server: Server
  /** Paths of the requests that arrived, without health checks. */
  readonly paths: string[]
  /** Connections that were opened so far. */
  connections(): number
}

/** An instance in this process. Without a handler it answers with its name; `/health` is answered with 200 in any case. */
export async function startInstance(
  t: TestContext,
  instanceId: string,
  handler?: RequestListener,
  port = 0,
): Promise<Instance> {
  const paths: string[] = []
  let connections = 0
  const server = createHttpServer((request, response) => {
    if (request.url === '/health') return void response.end()
    paths.push(request.url ?? '')
    if (handler === undefined) response.end(instanceId)
    else handler(request, response)
  })
  server.on('connection', () => {
    connections++
  })
  return {
    member: await listen(t, instanceId, server, port),
    server,
    paths,
    connections: () => connections,
  }
}

/** An instance that speaks to its connections byte by byte. Its health is checked by `tcp`. */
export async function startRawInstance(
  t: TestContext,
  instanceId: string,
  handle: (socket: Socket) => void,
  port = 0,
): Promise<{ readonly member: DesiredMember; readonly server: TcpServer }> {
  const server = createTcpServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => socket.destroy())
    handle(socket)
  })
  return { member: await listen(t, instanceId, server, port), server }
}

async function listen(
  t: TestContext,
  instanceId: string,
  server: TcpServer,
  port: number,
): Promise<DesiredMember> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return {
    instanceId,
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    inService: true,
  }
}

export interface ProcessInstance {
  readonly member: DesiredMember
  readonly child: ChildProcess
  /** SIGKILL, and the end of the process. */
  kill(): Promise<void>
}

/** An instance of its own process, which answers with its name. @param port Given, to start it again in its place. */
export async function startProcess(
  t: TestContext,
  instanceId: string,
  port?: number,
): Promise<ProcessInstance> {
  const child = spawn(
    process.execPath,
    [resolve(import.meta.dirname, 'instance-process.js'), instanceId, String(port ?? 0)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  t.after(() => void child.kill('SIGKILL'))
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  return {
    member: { instanceId, host: '127.0.0.1', port: Number(line.toString()), inService: true },
    child,
    kill: async () => {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}
