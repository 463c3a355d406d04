/** Starts Redis on loopback: a server, one with replica and Sentinel, or a cluster; each ends with the test. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { TestContext } from 'node:test'
import { Redis as Client } from 'ioredis'
import { needs } from './debian.ts'
import { freePort } from './free-port.ts'
import { keyPairOf } from './self-signed.ts'
import { waitUntil } from './wait-until.ts'

export interface RedisOptions {
  /** TLS only, with a certificate for `localhost` that `caFile` vouches for. */
  tls?: boolean
  /** Lines of an ACL file, as in `user fairlead on >secret …`; nobody gets in without name then. */
  users?: readonly string[]
  /** Further lines of the configuration. */
  config?: readonly string[]
}

export interface RedisServer {
  readonly port: number
  /** `redis://127.0.0.1:port`, or `rediss://localhost:port`. */
  readonly url: string
  readonly socketPath: string
  readonly caFile: string
  /** Sends a command as administrator, past TLS and ACL. */
  ask(command: string, ...args: (string | number | Buffer)[]): Promise<unknown>
  /** What the clients send from now on, in the words of MONITOR; administrators included. */
  watch(t: TestContext): Promise<string[][]>
  /** Ends it at once, as `kill -9` does. */
  kill(): Promise<void>
  /** Starts it again, with what it had confirmed. */
  start(): Promise<void>
  signal(name: NodeJS.Signals): void
}

export interface RedisSentinel {
  readonly port: number
  readonly master: string
  readonly servers: readonly RedisServer[]
}

/** The user that docs/guides/replicas.md creates, as a line of an ACL file, with the password `secret`. */
export function documentedUser(more = ''): string {
  const guide = readFileSync(resolve(import.meta.dirname, '../../docs/guides/replicas.md'), 'utf8')
  const [, line = ''] = /```redis\nACL SETUSER (.*)\n```/.exec(guide) ?? []
  assert.ok(line.includes('>a long password'))
  return `user ${line.replace(/"[^"]*"/, '>secret')} ${more}`.trim()
}

const administrator = 'user admin on nopass ~* &* +@all'

/** Undefined when Redis is not installed; the test is skipped then. */
export async function startRedis(
  t: TestContext,
  options: RedisOptions = {},
): Promise<RedisServer | undefined> {
  const program = needs(t, 'redis-server')
  if (program === undefined) return undefined
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-redis-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const socketPath = join(folder, 'redis.sock')
  const configFile = writeConfiguration(folder, port, options)
  const { start, kill, signal } = createProcess(t, program, [configFile], folder)
  const withClient = async <T>(use: (client: Client) => Promise<T>) => {
    const client = new Client({
      path: socketPath,
      protocol: 2,
      ...(options.users && { username: 'admin', password: 'any' }),
    })
    client.on('error', () => {})
    try {
      return await use(client)
    } finally {
      client.disconnect()
    }
  }
  const ask: RedisServer['ask'] = (command, ...args) =>
    withClient((client) => client.call(command, ...args))
  const startAndWait = async () => {
    start()
    await waitUntil(
      async () => (await ask('ping').catch(() => undefined)) === 'PONG',
      `redis-server on port ${port}`,
    )
  }
  await startAndWait()
  return {
    port,
    url: options.tls ? `rediss://localhost:${port}` : `redis://127.0.0.1:${port}`,
    socketPath,
    caFile: join(folder, 'certificate.pem'),
    ask,
    watch: (test) => watch(test, socketPath, options.users !== undefined),
    kill,
    start: startAndWait,
    signal,
  }
}

/** Two servers and a Sentinel that makes the second the writing one half a second after the first is gone. */
export async function startSentinel(
  t: TestContext,
  users: readonly string[] = [],
): Promise<RedisSentinel | undefined> {
  const withUsers = users.length > 0 ? { users } : {}
  const login = users.length > 0 ? ['masteruser admin', 'masterauth any'] : []
  const first = await startRedis(t, { ...withUsers, config: login })
  const program = needs(t, 'redis-server')
  if (first === undefined || program === undefined) return undefined
  const second = await startRedis(t, {
    ...withUsers,
    config: [`replicaof 127.0.0.1 ${first.port}`, 'repl-diskless-sync-delay 0', ...login],
  })
  assert.ok(second)
  await waitUntil(
    async () => String(await second.ask('info', 'replication')).includes('master_link_status:up'),
    'the replica',
  )
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-sentinel-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const master = 'fairlead'
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `sentinel monitor ${master} 127.0.0.1 ${first.port} 1`,
    `sentinel down-after-milliseconds ${master} 500`,
    `sentinel failover-timeout ${master} 2000`,
    ...(users.length > 0
      ? [`sentinel auth-user ${master} admin`, `sentinel auth-pass ${master} any`]
      : []),
  ]
  const configFile = join(folder, 'sentinel.conf')
  writeFileSync(configFile, `${lines.join('\n')}\n`)
  createProcess(t, program, [configFile, '--sentinel'], folder).start()
  await waitUntil(async () => {
    const replicas = await askPort(port, 'sentinel', 'replicas', master).catch(() => [])
    return JSON.stringify(replicas).includes(String(second.port))
  }, 'the Sentinel')
  return { port, master, servers: [first, second] }
}

/** Three nodes that share the slots. */
export async function startCluster(
  t: TestContext,
  users: readonly string[] = [],
): Promise<readonly RedisServer[] | undefined> {
  const nodes: RedisServer[] = []
  for (let index = 0; index < 3; index++) {
    const busPort = await freePort()
    const node = await startRedis(t, {
      ...(users.length > 0 && { users }),
      config: [
        'cluster-enabled yes',
        `cluster-port ${busPort}`,
        'cluster-node-timeout 2000',
        'cluster-config-file nodes.conf',
      ],
    })
    if (node === undefined) return undefined
    await node.ask(
      'cluster',
      'addslotsrange',
      Math.ceil((index * 16384) / 3),
      Math.ceil(((index + 1) * 16384) / 3) - 1,
    )
    await node.ask('cluster', 'set-config-epoch', index + 1)
    const [first] = nodes
    if (first !== undefined) await first.ask('cluster', 'meet', '127.0.0.1', node.port, busPort)
    nodes.push(node)
  }
  for (const node of nodes) {
    await waitUntil(async () => {
      const info = String(await node.ask('cluster', 'info'))
      return info.includes('cluster_state:ok') && info.includes('cluster_known_nodes:3')
    }, 'the cluster')
  }
  return nodes
}

function writeConfiguration(
  folder: string,
  port: number,
  { tls, users, config = [] }: RedisOptions,
): string {
  const pair = keyPairOf('localhost')
  writeFileSync(join(folder, 'certificate.pem'), pair.certificate)
  writeFileSync(join(folder, 'key.pem'), pair.keyPem)
  if (users !== undefined)
    writeFileSync(
      join(folder, 'users.acl'),
      `${['user default off', administrator, ...users].join('\n')}\n`,
    )
  mkdirSync(join(folder, 'data'))
  const lines = [
    `dir ${join(folder, 'data')}`,
    'bind 127.0.0.1',
    `unixsocket ${join(folder, 'redis.sock')}`,
    ...(tls
      ? [
          'port 0',
          `tls-port ${port}`,
          'tls-auth-clients no',
          `tls-cert-file ${join(folder, 'certificate.pem')}`,
          `tls-key-file ${join(folder, 'key.pem')}`,
          `tls-ca-cert-file ${join(folder, 'certificate.pem')}`,
        ]
      : [`port ${port}`]),
    ...(users === undefined ? [] : [`aclfile ${join(folder, 'users.acl')}`]),
    'save ""',
    'appendonly yes',
    'appendfsync always',
    ...config,
  ]
  const file = join(folder, 'redis.conf')
  writeFileSync(file, `${lines.join('\n')}\n`)
  return file
}

function createProcess(t: TestContext, program: string, args: readonly string[], cwd: string) {
  let running: ChildProcess | undefined
  const start = () => {
    running = spawn(program, args, { cwd, stdio: 'ignore' })
  }
  const kill = async () => {
    const child = running
    running = undefined
    if (child === undefined || child.exitCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  t.after(kill)
  return { start, kill, signal: (name: NodeJS.Signals) => void running?.kill(name) }
}

async function watch(t: TestContext, socketPath: string, named: boolean): Promise<string[][]> {
  const client = new Client({
    path: socketPath,
    protocol: 2,
    ...(named && { username: 'admin', password: 'any' }),
  })
  client.on('error', () => {})
  t.after(() => client.disconnect())
  const seen: string[][] = []
  const monitor = await client.monitor()
  t.after(() => monitor.disconnect())
  monitor.on('monitor', (_time: string, args: string[]) => seen.push(args))
  return seen
}

async function askPort(port: number, command: string, ...args: string[]): Promise<unknown> {
  const client = new Client({ port, protocol: 2, retryStrategy: null })
  client.on('error', () => {})
  try {
    return await client.call(command, ...args)
  } finally {
    client.disconnect()
  }
}
