/** An installation that deploys to this machine: Fairlead as a process that tests kill, its agent, and the web program that it deploys. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { create } from 'tar'
import { askAgent } from '../../src/agent/agent-request.ts'
import { parseMark } from '../../src/agent/instance-processes.ts'
import { openProcessTable } from '../../src/agent/processes.ts'
import type { ObservedState } from '../../src/agent/protocol.ts'
import type { JsonObject } from '../../src/json/values.ts'
import { endWithTest } from './agent.ts'
import { claimPorts, freePort } from './free-port.ts'
import { type ServeProcess, startServe } from './serve.ts'
import { createFolder, removeFolder } from './temporary-folder.ts'
import { waitFor } from './wait-until.ts'

export interface Installation {
  readonly dataDir: string
  /** Address of Fairlead, the same after each start. */
  readonly url: string
  /** Number of the first port of instances; the account has 100. */
  readonly firstPort: number
  /** Ends Fairlead without a chance to say anything, and waits until it is gone. */
  kill(): Promise<void>
  /** Starts it again, and waits until it listens. */
  start(): Promise<void>
  /** A request to Fairlead, sent again while it does not run. @returns the body of an answer with a status below 300 */
  ask<T = JsonObject>(method: string, path: string, body?: unknown): Promise<T>
  /** Submits a task. @returns its path */
  submit(...job: readonly JsonObject[]): Promise<string>
  /** Waits for the end of a task. */
  ended(path: string): Promise<Task>
  /** Submits a task and waits until it has succeeded. */
  run(...job: readonly JsonObject[]): Promise<Task>
  /** Stores the web program as an image named `shop`. */
  putImage(version: string): Promise<void>
  groups(): Promise<Group[]>
  /** What the agent reports. */
  observed(): Promise<ObservedState>
  /** Processes of instances that exist. */
  processes(): { readonly pid: number; readonly instanceId: string }[]
}

export interface Task {
  readonly id: string
  readonly status: string
  readonly execution: {
    readonly stages: readonly StageView[]
  }
}

interface StageView {
  readonly type: string
  readonly status: string
  readonly context: JsonObject
  readonly tasks: readonly { readonly name: string; readonly status: string }[]
}

export interface Group {
  /** Milliseconds since the epoch. */
  readonly createdTime: number
  readonly name: string
  readonly isDisabled: boolean
  readonly capacity: { readonly desired: number }
  readonly instances: readonly { readonly id: string; readonly healthState: string }[]
}

/** Of the cluster that tests deploy. */
export const place = { cloudProvider: 'local', account: 'dev', credentials: 'dev', region: 'east', application: 'shop' } as const

const table = openProcessTable()

/** Echoes what is sent, counts in a file what must not be repeated, and finishes what it has begun before it ends. */
const webProgram = `
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
const { PORT, HOST, FAIRLEAD_SERVER_GROUP: group, FAIRLEAD_INSTANCE_ID: id, VERSION } = process.env
const server = createServer((request, response) => {
  const done = () => response.end(JSON.stringify({ group, id, version: VERSION }))
  if (request.method !== 'POST') return done()
  request.resume().on('end', () => {
    appendFileSync(process.env.RECEIVED, request.headers['x-number'] + '\\n')
    done()
  })
})
server.listen(Number(PORT), HOST)
process.on('SIGTERM', () => server.close(() => process.exit(0)))
`

/** Resolves when Fairlead listens. */
export async function startInstallation(t: TestContext): Promise<Installation> {
  const home = createFolder('installation')
  const dataDir = join(home, 'data')
  mkdirSync(dataDir)
  const port = await freePort()
  const { first: firstPort } = await claimPorts()
  const settings = {
    server: { port },
    local: {
      accounts: [
        { name: 'dev', ports: `${firstPort}-${firstPort + 99}`, regions: [{ name: 'east', zones: ['east-a', 'east-b'] }] },
      ],
      'drain-seconds': 5,
    },
  }
  let gateway: ServeProcess | undefined
  const processes = endWithTest(t, dataDir, async () => kill())
  t.after(() => removeFolder(home))
  const url = `http://127.0.0.1:${port}`

  async function start(): Promise<void> {
    gateway = startServe(t, settings, { home, embedded: true })
    await gateway.listening
    await ask('GET', '/applications/shop/serverGroups')
  }

  async function kill(): Promise<void> {
    gateway?.signal('SIGKILL')
    await gateway?.exited
  }

  async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    const { status, text } = await waitFor(
      () => attempt(url + path, { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      () => `an answer to ${method} ${path}: ${gateway?.errors()}`,
    )
    assert.ok(status < 300, `${method} ${path}: ${status} ${text}`)
    return JSON.parse(text) as T
  }

  async function submit(...job: readonly JsonObject[]): Promise<string> {
    const { ref } = await ask<{ ref: string }>('POST', '/tasks', { application: 'shop', description: 'test', job })
    return ref
  }

  function ended(path: string): Promise<Task> {
    let latest: Task | undefined
    return waitFor(
      async () => {
        latest = await ask<Task>('GET', path)
        return ['NOT_STARTED', 'RUNNING'].includes(latest.status) ? undefined : latest
      },
      () => `the end of ${path}: ${describe(latest)}`,
    )
  }

  await start()
  return {
    dataDir,
    url,
    firstPort,
    kill,
    start,
    ask,
    submit,
    ended,
    async run(...job) {
      const task = await ended(await submit(...job))
      assert.equal(task.status, 'SUCCEEDED', describe(task))
      return task
    },
    putImage: (version) => putImage(dataDir, version),
    groups: () => ask<Group[]>('GET', '/applications/shop/serverGroups'),
    async observed() {
      const socketPath = join(dataDir, 'agent.sock')
      const answer = await askAgent({ socketPath, method: 'GET', path: '/observed', signal: AbortSignal.timeout(30_000) })
      return JSON.parse(answer.text) as ObservedState
    },
    processes: () =>
      processes().flatMap((entry) => {
        const mark = parseMark(table.markOf(entry))
        return mark === undefined ? [] : [{ pid: entry.pid, instanceId: mark.instanceId }]
      }),
  }
}

/** The job that creates a load balancer, or changes it. */
export function balancerOf(name: string, port: number): JsonObject {
  return {
    type: 'upsertLoadBalancer',
    ...place,
    name,
    listeners: [{ externalProtocol: 'HTTP', externalPort: port, internalProtocol: 'HTTP', internalPort: 8080 }],
    healthCheck: 'HTTP:8080/health',
    healthInterval: 1,
    healthTimeout: 5,
    healthyThreshold: 1,
  }
}

/** Ports of this machine within a range, ends included, on which any process listens. */
export function listeningPorts(first: number, last: number): number[] {
  const lines = readFileSync('/proc/net/tcp', 'latin1').split('\n')
  const ports = lines.flatMap((line) => {
    const [, local = '', , state] = line.trim().split(/\s+/)
    return state === '0A' ? [Number.parseInt(local.split(':')[1] ?? '', 16)] : []
  })
  return ports.filter((port) => port >= first && port <= last)
}

function describe(task: Task | undefined): string {
  return JSON.stringify(task?.execution.stages.map(({ type, status, context }) => ({ type, status, context })) ?? [], null, 1)
}

/** Undefined when nothing listens, or Fairlead ended meanwhile. */
async function attempt(url: string, init: RequestInit): Promise<{ status: number; text: string } | undefined> {
  try {
    const answer = await fetch(url, init)
    // While it starts, its back ends may be missing.
    if (answer.status === 503) return void (await answer.arrayBuffer())
    return { status: answer.status, text: await answer.text() }
  } catch {
    return undefined
  }
}

/** Numbers of the requests that instances have received and that must not be repeated, in the order of their arrival. */
export function receivedNumbers(dataDir: string): number[] {
  return readFileSync(join(dataDir, 'received'), 'utf8').trim().split('\n').map(Number)
}

async function putImage(dataDir: string, version: string): Promise<void> {
  const folder = createFolder('image')
  writeFileSync(join(folder, 'server.mjs'), webProgram)
  writeFileSync(
    join(folder, 'fairlead-image.yml'),
    JSON.stringify({
      command: [process.execPath, 'server.mjs'],
      ready: { path: '/health', intervalSeconds: 0.2 },
      environment: { VERSION: version, RECEIVED: join(dataDir, 'received') },
    }),
  )
  const chunks: Buffer[] = []
  for await (const chunk of create({ cwd: folder, gzip: true, portable: true }, ['.'])) chunks.push(chunk as Buffer)
  removeFolder(folder)
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
  const upload = request({
    socketPath: join(dataDir, 'backends.sock'),
    method: 'PUT',
    path: `/clouddriver/local/images/shop/${version}`,
    headers: { 'content-type': 'application/x-tar' },
  })
  upload.once('error', reject).once('response', (response) => resolve(response.resume().statusCode))
  upload.end(Buffer.concat(chunks))
  assert.equal(await promise, 201)
}
