/** Fairlead that deploys to this machine, asked over its public paths, with real processes behind the answers. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Agent, get, request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { create } from 'tar'
import { askAgent } from '../../packages/agent/agent-request.ts'
import { parseMark } from '../../packages/agent/marks.ts'
import { openProcessTable } from '../../packages/agent/processes.ts'
import type { JsonObject } from '../../packages/base/json/values.ts'
import type { ObservedState } from '../../packages/base/net/agent-protocol.ts'
import { socketPathFor } from '../../packages/base/storage/socket-path.ts'
import type { Execution } from '../../packages/engine/orchestration/model.ts'
import { endWithTest } from './agent.ts'
import { claimPorts, freePort, type PortBlock } from './free-port.ts'
import { runGateway } from './gateway.ts'
import { startServe } from './serve.ts'
import { createFolder, removeFolder } from './temporary-folder.ts'
import type { TestEnd } from './test-end.ts'
import { waitFor, waitUntil } from './wait-until.ts'

/**
 * Says who it is, records what must not be repeated, and finishes what it has begun before it ends; `READY=never` keeps it from becoming
 * ready, and with `FAULTY=10` every tenth request fails.
 */
const webProgram = `
import { appendFileSync } from 'node:fs'
const { createServer } = process.getBuiltinModule('node:http')
const { PORT, HOST, READY, FAULTY, FAIRLEAD_SERVER_GROUP: group, FAIRLEAD_INSTANCE_ID: id, VERSION, RECEIVED } = process.env
let count = 0
const server = createServer((request, response) => {
  const isHealth = request.url === '/health'
  const answer = () => {
    response.statusCode = READY === 'never' && isHealth ? 503 : !isHealth && ++count % Number(FAULTY) === 0 ? 500 : 200
    response.end(JSON.stringify({ group, id, version: VERSION }))
  }
  if (request.method !== 'POST') return answer()
  request.resume().on('end', () => {
    appendFileSync(RECEIVED, request.headers['x-number'] + '\\n')
    answer()
  })
})
server.listen(Number(PORT), HOST, () => console.log('listening as', id))
process.on('SIGTERM', () => server.close(() => process.exit(0)))
`

const table = openProcessTable()

export interface Group extends JsonObject {
  readonly name: string
  readonly region: string
  /** Milliseconds since the epoch. */
  readonly createdTime: number
  readonly isDisabled: boolean
  readonly capacity: { readonly min: number; readonly max: number; readonly desired: number }
  readonly instanceCounts: {
    readonly total: number
    readonly up: number
    readonly down: number
    readonly outOfService: number
  }
  readonly instances: readonly InstanceView[]
}

export interface InstanceView extends JsonObject {
  readonly id: string
  readonly healthState: string
  readonly launchTime: number
  readonly health: readonly (JsonObject & { type: string; state: string })[]
}

export interface TaskView extends JsonObject {
  readonly id: string
  readonly status: string
  readonly variables: readonly { key: string; value: unknown }[]
  readonly execution: Execution
}

/** What a load balancer answered to a client. */
export interface Answer {
  readonly status: number
  readonly group: string
  readonly id: string
}

export interface Deployments {
  readonly dataDir: string
  /** Ports that instances of the account `dev` may use. */
  readonly ports: PortBlock
  /** Of Fairlead; another one after a restart. */
  url(): string
  /** Processes of instances that exist. */
  processes(): readonly { readonly pid: number; readonly instanceId: string }[]
  /** What the agent reports. */
  observed(): Promise<ObservedState>
  /** Asks the gateway as a user, alice unless another is named. */
  ask(
    method: string,
    path: string,
    body?: unknown,
    user?: string,
  ): Promise<{ status: number; body: unknown }>
  /** The body of a GET that succeeds. */
  read<T = JsonObject>(path: string): Promise<T>
  /** Submits an operation to the infrastructure service itself, as the engine does. */
  operate(requestId: string, operation: JsonObject): Promise<{ status: number; body: unknown }>
  /** Submits a job with the usual account and region; returns the id of its task. */
  submit(job: JsonObject, user?: string): Promise<string>
  /** Waits until a task or pipeline has ended, and has ended so. */
  ends(id: string, status?: string, kind?: 'tasks' | 'pipelines'): Promise<TaskView>
  /** Both. */
  run(job: JsonObject, status?: string, user?: string): Promise<TaskView>
  /** Creates a server group of the application `shop`; returns its name. */
  deploy(stack: string, more?: JsonObject): Promise<string>
  /** As the page of a server group shows it; undefined: it does not exist. */
  group(name: string, region?: string): Promise<Group | undefined>
  /** All server groups of the application `shop`. */
  groups(): Promise<Group[]>
  /** Waits until a server group is so. */
  until(name: string, holds: (group: Group) => boolean): Promise<Group>
  /** Names of the server groups of a cluster, the disabled ones in brackets. */
  cluster(name: string): Promise<string[]>
  /** A load balancer that looks at its instances often; returns its port. */
  balance(name: string): Promise<number>
  /** Stops Fairlead, a process of its own with SIGKILL, and starts it again with its data; the agent goes on meanwhile. */
  restart(): Promise<void>
}

/** What runs Fairlead: this process, or one of its own. */
interface Host {
  readonly url: string
  stop(): Promise<void>
}

export interface DeploymentsOptions {
  /** Fairlead has a process of its own, which a restart ends with SIGKILL. */
  readonly isProcess?: boolean
  /** The back ends have a thread of their own, as outside of tests. */
  readonly hasThread?: boolean
  /** Ports of the front of the accounts. */
  readonly front?: { readonly http: number; readonly https: number }
  /** Of the account `dev`. */
  readonly containerRuntime?: string
  /** Settings beside those of the fixture. */
  readonly more?: JsonObject
}

const instancePorts = 150

/** The accounts of the contract's fixture; each file of tests has ports of its own. */
function toSettings(
  rolesFile: string,
  { first, last }: PortBlock,
  { front, containerRuntime }: DeploymentsOptions,
): JsonObject {
  return {
    header: { enabled: true },
    'user-configured-url-restrictions': { allowedAddresses: ['127.0.0.1/32'] },
    auth: { 'group-membership': { service: 'file', file: { path: rolesFile } } },
    local: {
      accounts: [
        {
          name: 'dev',
          accountType: 'default',
          ...(front !== undefined && { front }),
          ...(containerRuntime !== undefined && { 'container-runtime': containerRuntime }),
          regions: [{ name: 'east', zones: ['east-a', 'east-b'] }, { name: 'west' }],
          ports: `${first}-${first + instancePorts - 1}`,
        },
        {
          name: 'prod',
          environment: 'default',
          accountType: 'main',
          ...(front !== undefined && { front }),
          permissions: { READ: ['readers', 'ops'], WRITE: ['ops'] },
          regions: [{ name: 'east' }],
          ports: `${first + instancePorts}-${last}`,
        },
      ],
      'drain-seconds': 1,
    },
  }
}

const usualPlace = { cloudProvider: 'local', credentials: 'dev', account: 'dev', region: 'east' }
const isOver = new Set(['SUCCEEDED', 'TERMINAL', 'CANCELED', 'STOPPED', 'FAILED_CONTINUE'])

export async function startDeployments(
  t: TestEnd,
  options: DeploymentsOptions = {},
): Promise<Deployments> {
  const { isProcess = false, hasThread = false, more = {} } = options
  const home = createFolder('deployments')
  const dataDir = join(home, 'data')
  mkdirSync(dataDir)
  const rolesFile = join(home, 'roles.yml')
  const users = { alice: ['ops'], bob: ['readers'], carol: ['readers', 'writers'] }
  const entries = Object.entries(users).map(([username, roles]) => ({ username, roles }))
  writeFileSync(rolesFile, JSON.stringify({ users: entries }))
  const ports = await claimPorts(t)
  const settings = { ...toSettings(rolesFile, ports, options), ...more }
  const start = () =>
    isProcess
      ? startProcess(t, settings, home)
      : runGateway(t, settings, { embedded: true, ownThread: hasThread, dataDir })
  let running: Host = await start()
  const processes = endWithTest(t, dataDir, () => running.stop())
  t.after(() => removeFolder(home))

  const ask: Deployments['ask'] = async (method, path, body, user = 'alice') => {
    const answer = await fetch(`${running.url}${path}`, {
      method,
      // Compression takes a third of a small request.
      headers: {
        'X-SPINNAKER-USER': user,
        'content-type': 'application/json',
        'accept-encoding': 'identity',
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const said = await answer.text()
    return { status: answer.status, body: said === '' ? undefined : (JSON.parse(said) as unknown) }
  }

  async function read<T>(path: string): Promise<T> {
    const { status, body } = await ask('GET', path)
    assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`)
    return body as T
  }

  const submit: Deployments['submit'] = async (job, user) => {
    const task = {
      application: 'shop',
      description: `${job['type']}`,
      job: [{ ...usualPlace, ...job }],
    }
    const { status, body } = await ask('POST', '/tasks', task, user)
    assert.equal(status, 200, JSON.stringify(body))
    return String((body as { ref: string }).ref)
      .split('/')
      .at(-1) as string
  }

  const ends: Deployments['ends'] = async (id, status = 'SUCCEEDED', kind = 'tasks') => {
    let latest: unknown
    const view = await waitFor(
      async () => {
        const task = await read<TaskView>(`/${kind}/${id}`)
        latest = task
        return isOver.has(task.status) ? task : undefined
      },
      () => `the end of ${JSON.stringify(latest)}`,
    )
    assert.equal(view.status, status, JSON.stringify(view))
    return view
  }

  const run: Deployments['run'] = async (job, status, user) => ends(await submit(job, user), status)

  const group: Deployments['group'] = async (name, region = 'east') => {
    const { status, body } = await ask(
      'GET',
      `/applications/shop/serverGroups/dev/${region}/${name}`,
    )
    assert.ok(status === 200 || status === 404, `${name}: ${status} ${JSON.stringify(body)}`)
    return status === 200 ? (body as Group) : undefined
  }

  await ends(
    await submit({
      type: 'createApplication',
      application: { name: 'shop', email: 'team@example.test', cloudProviders: 'local' },
    }),
  )
  await putImage(dataDir, '1.0.0')
  await putImage(dataDir, '1.1.0')

  return {
    dataDir,
    ports: { first: ports.first, last: ports.first + instancePorts - 1 },
    url: () => running.url,
    processes: () =>
      processes().flatMap((entry) => {
        const mark = parseMark(table.markOf(entry))
        return mark === undefined ? [] : [{ pid: entry.pid, instanceId: mark.instanceId }]
      }),
    async observed() {
      const socketPath = socketPathFor(dataDir, 'agent.sock')
      const answer = await askAgent({
        socketPath,
        method: 'GET',
        path: '/observed',
        signal: AbortSignal.timeout(300_000),
      })
      return JSON.parse(answer.text) as ObservedState
    },
    ask,
    read,
    operate: (requestId, operation) => {
      const path = `/local/ops?clientRequestId=${requestId}`
      const content = Buffer.from(JSON.stringify([operation]))
      return askService(dataDir, { method: 'POST', path, type: 'application/json', content })
    },
    submit,
    ends,
    run,
    async deploy(stack, more = {}) {
      const view = await run(creation(stack, more))
      return newGroupOf(view)
    },
    group,
    groups: () => read<Group[]>('/applications/shop/serverGroups'),
    async until(name, holds) {
      let latest: unknown
      return waitFor(
        async () => {
          const found = await group(name)
          latest = found
          return found !== undefined && holds(found) ? found : undefined
        },
        () => `${name}, which is ${JSON.stringify(latest)}`,
      )
    },
    async cluster(name) {
      const groups = await read<Group[]>(`/applications/shop/clusters/dev/${name}/serverGroups`)
      return groups
        .map((each) => (each.isDisabled ? `(${each.name})` : each.name))
        .sort((one, other) => order(one, other))
    },
    async balance(name) {
      const port = await freePort()
      await run(balancer(name, port))
      return port
    },
    async restart() {
      await running.stop()
      running = await start()
    },
  }
}

/** Resolves when Fairlead answers requests, the embedded back ends included. */
async function startProcess(t: TestEnd, settings: JsonObject, home: string): Promise<Host> {
  const gateway = startServe(
    t,
    { ...settings, anonymous: { enabled: false } },
    { home, embedded: true },
  )
  const url = await gateway.listening
  await waitUntil(
    async () =>
      (await fetch(`${url}/credentials`, { headers: { 'X-SPINNAKER-USER': 'alice' } })).status ===
      200,
    () => `the back ends: ${gateway.errors()}`,
  )
  return {
    url,
    async stop() {
      gateway.signal('SIGKILL')
      await gateway.exited
    },
  }
}

function order(one: string, other: string): number {
  return one.replace('(', '') < other.replace('(', '') ? -1 : 1
}

export function creation(stack: string, more: JsonObject = {}): JsonObject {
  return {
    type: 'createServerGroup',
    application: 'shop',
    stack,
    imageId: 'shop:1.0.0',
    capacity: sized(1),
    ...more,
  }
}

export function balancer(name: string, port: number): JsonObject {
  return {
    type: 'upsertLoadBalancer',
    name,
    listeners: [
      {
        externalProtocol: 'HTTP',
        externalPort: port,
        internalProtocol: 'HTTP',
        internalPort: 8080,
      },
    ],
    healthCheck: 'HTTP:8080/health',
    healthInterval: 0.5,
    healthTimeout: 5,
    healthyThreshold: 1,
  }
}

export function sized(count: number): Group['capacity'] {
  return { min: count, max: count, desired: count }
}

/** `min/desired/max`. */
export function sizeOf(group: Pick<Group, 'capacity'> | undefined): string {
  const { min, max, desired } = group?.capacity ?? sized(Number.NaN)
  return `${min}/${desired}/${max}`
}

/** Name of the server group that a task has created. */
export function newGroupOf({ execution }: TaskView): string {
  const groups = execution.stages[0]?.context['deploy.server.groups'] as Record<string, string[]>
  return Object.values(groups).flat()[0] as string
}

/** What the stages of an execution say about their failure. */
export function errorOf({ execution }: Pick<TaskView, 'execution'>): string {
  const errors = execution.stages.flatMap(({ context }) => {
    const exception = context['exception'] as { details?: { errors?: string[] } } | undefined
    return exception?.details?.errors ?? []
  })
  return errors.join('\n')
}

/** What an instance says about its process. */
export function processOf(instance: InstanceView | undefined): { pid: number; phase: string } {
  assert.ok(instance !== undefined, 'there is an instance')
  return instance['process'] as { pid: number; phase: string }
}

/** State of the health record of a type, of each instance. */
export function states({ instances }: Group, type: string): (string | undefined)[] {
  return instances.map(({ health }) => health.find((record) => record.type === type)?.state).sort()
}

/** Numbers of the requests that instances have received and that must not be repeated, in the order of their arrival. */
export function receivedNumbers(dataDir: string): number[] {
  return readFileSync(join(dataDir, 'received'), 'utf8').trim().split('\n').map(Number)
}

/** Ports of this machine within a range on which any process listens. */
export function listeningPorts({ first, last }: PortBlock): number[] {
  const lines = readFileSync('/proc/net/tcp', 'latin1').split('\n')
  const ports = lines.flatMap((line) => {
    const [, local = '', , state] = line.trim().split(/\s+/)
    return state === '0A' ? [Number.parseInt(local.split(':')[1] ?? '', 16)] : []
  })
  return ports.filter((port) => port >= first && port <= last)
}

/** Asks a load balancer over a connection of its own. */
export async function visit(port: number): Promise<Answer> {
  const answer = await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } })
  const body = (await answer.text()) || '{}'
  return {
    status: answer.status,
    ...(answer.ok ? (JSON.parse(body) as Omit<Answer, 'status'>) : { group: '', id: '' }),
  }
}

/** Asks the front for a host over a connection of its own. */
export function visitHost(port: number, host: string): Promise<Answer> {
  return getOnce(port, { agent: false, host })
}

/** A client that sends one request after the other over a kept connection, until it is stopped. */
export function startTraffic(port: number, host?: string): { stop(): Promise<Answer[]> } {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const answers: Answer[] = []
  let goesOn = true
  const ended = (async () => {
    while (goesOn) {
      answers.push(await getOnce(port, { agent, host }))
      await sleep(15)
    }
    agent.destroy()
  })()
  return {
    async stop() {
      goesOn = false
      await ended
      return answers
    },
  }
}

function getOnce(
  port: number,
  { agent, host }: { readonly agent: Agent | false; readonly host?: string | undefined },
): Promise<Answer> {
  return new Promise((resolve) => {
    const headers = host === undefined ? {} : { host }
    const asked = get({ port, host: '127.0.0.1', path: '/', agent, headers }, async (answer) => {
      const body = await text(answer).catch(() => '')
      const status = answer.statusCode ?? 0
      resolve({ status, ...(status === 200 ? JSON.parse(body) : { group: body, id: '' }) })
    })
    asked.on('error', (error) => resolve({ status: 0, group: String(error), id: '' }))
  })
}

export async function putImage(dataDir: string, version: string): Promise<void> {
  const folder = createFolder('image')
  writeFileSync(join(folder, 'server.mjs'), webProgram)
  const file = `command: [${process.execPath}, server.mjs]\nready: { path: /health, intervalSeconds: 0.2, timeoutSeconds: 10 }\n`
  const environment = { VERSION: version, RECEIVED: join(dataDir, 'received') }
  writeFileSync(
    join(folder, 'fairlead-image.yml'),
    `${file}environment: ${JSON.stringify(environment)}\n`,
  )
  const chunks: Buffer[] = []
  for await (const chunk of create({ cwd: folder, portable: true }, ['.']))
    chunks.push(chunk as Buffer)
  removeFolder(folder)
  const [path, type] = [`/local/images/shop/${version}`, 'application/x-tar']
  const { status, body } = await askService(dataDir, {
    method: 'PUT',
    path,
    type,
    content: Buffer.concat(chunks),
  })
  assert.equal(status, 201, JSON.stringify(body))
}

interface ServiceRequest {
  readonly method: string
  readonly path: string
  readonly type: string
  readonly content: Buffer
}

function askService(
  dataDir: string,
  { method, path, type, content }: ServiceRequest,
): Promise<{ status: number; body: unknown }> {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': type,
      'x-spinnaker-user': 'alice',
      'content-length': content.length,
    }
    const socketPath = socketPathFor(dataDir, 'backends.sock')
    const asked = request(
      { socketPath, path: `/clouddriver${path}`, method, headers },
      async (answer) =>
        resolve({ status: answer.statusCode ?? 0, body: JSON.parse(await text(answer)) }),
    )
    asked.on('error', reject).end(content)
  })
}
