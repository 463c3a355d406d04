/** Commands, scripts and scans of the shared Redis or Valkey, within bounds of time, with advice for operators. */
import { hash } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import type { Redis as Client, Cluster } from 'ioredis'
import { within } from '../concurrency/within.ts'
import { describePlace, type RedisSettings } from './settings.ts'

/** Idle connections get a ping, so that a dead one is found before a request waits for it. */
const checkIntervalMs = 5000
const scanPortion = 500

/** Observes every command, and every connection that replaces a lost one. */
export interface RedisObserver {
  answered(command: { command: string; ok: boolean; durationMs: number }): void
  reconnected(): void
}

/** The shared Redis or Valkey: one server, Sentinel or cluster. */
export class Redis {
  readonly #client: Client | Cluster
  readonly #settings: RedisSettings
  readonly #log: FastifyBaseLogger
  readonly #observer: RedisObserver
  #reachable = false
  #reached = false
  /** On the monotonic clock. */
  #unreachableSinceMs = performance.now()
  #lastError: Error | undefined
  readonly #complaints = new Set<'refused' | 'unreachable'>()
  #timer: NodeJS.Timeout | undefined

  constructor(
    client: Client | Cluster,
    settings: RedisSettings,
    log: FastifyBaseLogger,
    observer: RedisObserver,
  ) {
    this.#client = client
    this.#settings = settings
    this.#log = log
    this.#observer = observer
  }

  start(): void {
    const noteError = (error: Error) => {
      this.#lastError = withoutArguments(error)
      if (!this.#reachable) this.#markUnreachable()
    }
    this.#client.on('error', noteError)
    this.#client.on('node error', noteError)
    let connected = false
    this.#client.on('ready', () => {
      if (connected) this.#observer.reconnected()
      connected = true
      void this.#check()
    })
    this.#client.on('close', () => this.#markUnreachable())
    this.#timer = setInterval(() => void this.#check(), checkIntervalMs).unref()
  }

  /**
   * Sends one command and waits for its answer, as long as configured and no longer.
   *
   * @param command In lower case, as in `get`
   * @throws {Error} when Redis cannot be asked, or refuses the command
   */
  send(command: string, ...args: (string | number)[]): Promise<unknown> {
    return this.#ask(command, () => this.#client.call(command, ...args))
  }

  /** Runs a script on one key, atomically. @throws as `send` */
  async run(
    { source, sha1 }: RedisScript,
    key: string,
    ...args: (string | number)[]
  ): Promise<unknown> {
    try {
      return await this.send('evalsha', sha1, 1, key, ...args)
    } catch (error) {
      if (!(error as Error).message.startsWith('NOSCRIPT')) throw error
      return this.send('eval', source, 1, key, ...args)
    }
  }

  /** Keys that match a glob pattern, in portions; of all nodes of a cluster. Keys that come and go meanwhile may be missing. */
  async *scan(pattern: string): AsyncIterable<string[]> {
    const nodes = 'nodes' in this.#client ? this.#client.nodes('master') : [this.#client]
    for (const node of nodes) {
      let cursor = '0'
      do {
        const answer = await this.#ask('scan', () =>
          node.call('scan', cursor, 'MATCH', pattern, 'COUNT', scanPortion),
        )
        const [next, keys] = answer as [string, string[]]
        cursor = String(next)
        if (keys.length > 0) yield keys
      } while (cursor !== '0')
    }
  }

  isReachable(): boolean {
    return this.#reachable
  }

  wasReached(): boolean {
    return this.#reached
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#client.removeAllListeners('close')
    this.#client.disconnect()
  }

  async #ask<T>(command: string, question: () => Promise<T>): Promise<T> {
    const startedAtMs = performance.now()
    let ok = false
    try {
      const answer = await this.#askNow(question)
      ok = true
      return answer
    } catch (error) {
      // How a server says that it wants the text of a script, once.
      ok = (error as Error).message.startsWith('NOSCRIPT')
      throw error
    } finally {
      this.#observer.answered({ command, ok, durationMs: performance.now() - startedAtMs })
    }
  }

  /** During a short interruption a command waits for the next connection; during a long one it fails at once. */
  async #askNow<T>(question: () => Promise<T>): Promise<T> {
    const unreachableMs = this.#reachable ? 0 : performance.now() - this.#unreachableSinceMs
    if (unreachableMs > this.#settings.timeoutMs && this.#client.status !== 'ready') {
      throw new Error('Redis is not reachable', { cause: this.#lastError })
    }
    const answer = await withDeadline(question(), this.#settings.timeoutMs)
    // The first answer of any command shows it, also where the connection breaks before the check is answered.
    this.#markReachable()
    return answer
  }

  async #check(): Promise<void> {
    try {
      await withDeadline(this.#client.call('ping'), this.#settings.timeoutMs)
      this.#markReachable()
    } catch (error) {
      this.#markUnreachable(error as Error)
    }
  }

  #markReachable(): void {
    if (!this.#reachable) this.#log.info('Redis answers')
    this.#reachable = true
    this.#reached = true
    this.#complaints.clear()
  }

  /**
   * Said once per interruption, however often a new connection is tried. That the user is rejected is said also after the server
   * was away: it has forgotten users that were not written to a file.
   */
  #markUnreachable(error = this.#lastError): void {
    if (this.#reachable) this.#unreachableSinceMs = performance.now()
    this.#reachable = false
    if (error === undefined) return
    const kind = refusal.test(error.message) ? 'refused' : 'unreachable'
    if (this.#complaints.has(kind) || this.#complaints.has('refused')) return
    this.#complaints.add(kind)
    const advice = adviceFor(error, this.#reached ? undefined : this.#settings)
    const forgotten =
      '; Redis forgets ACL users at its restart unless it has an aclfile (docs/guides/replicas.md)'
    this.#log.error(
      { err: error },
      `Redis at ${describePlace(this.#settings)} ${kind === 'refused' ? 'rejects the user' : 'does not answer'}; sessions cannot be ` +
        `read or written until ${kind === 'refused' ? 'it accepts the user' : 'it does'}${advice === undefined ? '' : `: ${advice}`}` +
        `${kind === 'refused' && this.#reached ? forgotten : ''}`,
    )
  }
}

async function withDeadline<T>(answer: Promise<T>, timeoutMs: number): Promise<T> {
  try {
    return await within(timeoutMs, answer, () => {
      throw new Error(`Redis did not answer within ${timeoutMs} ms`)
    })
  } catch (error) {
    throw withoutArguments(error as Error)
  }
}

/** The client adds the command that failed: passwords and whole sessions, which must not reach a log. */
function withoutArguments(error: Error & { command?: unknown; code?: unknown }): Error {
  if (error.command === undefined) return error
  return Object.assign(
    new Error(error.message),
    typeof error.code === 'string' && { code: error.code },
  )
}

/** The server is there, and does not let Fairlead in. */
const refusal = /^(?:WRONGPASS|NOAUTH|NOPERM|ERR invalid password)/

/** What an operator can do about what a wrong configuration leads to. @param settings Given while no answer has ever come */
export function adviceFor(
  { message }: Error,
  settings?: Pick<RedisSettings, 'tls'>,
): string | undefined {
  if (/^WRONGPASS|^ERR invalid password/.test(message)) {
    return 'check user and password; redis://:password@host names no ACL user'
  }
  if (/^NOAUTH/.test(message)) return 'it asks for a password, set redis.password'
  if (/^NOPERM/.test(message))
    return 'its ACL user lacks a right that docs/guides/replicas.md lists'
  if (/^MOVED|CLUSTERDOWN/.test(message))
    return 'it is a cluster, list its nodes in redis.cluster.nodes'
  if (/certificate|self-signed|SSL|TLS/i.test(message))
    return 'check redis.tls and whether the server speaks TLS'
  if (/ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENOENT/.test(message)) {
    return 'check the address in redis.connection and whether Redis runs there'
  }
  if (settings === undefined) return undefined
  const { tls } = settings
  // A server that expects TLS hangs up on plain text; one without waits for the end of what it takes for a command.
  if (tls === undefined && /ECONNRESET|EPIPE|closed|did not answer/i.test(message)) {
    return 'if the server expects TLS, write rediss:// or set redis.tls.enabled: true'
  }
  if (tls !== undefined && /ETIMEDOUT|did not answer/.test(message)) {
    return 'if the server does not speak TLS, write redis:// and remove redis.tls'
  }
  return undefined
}

interface RedisScript {
  readonly source: string
  readonly sha1: string
}

export function createRedisScript(source: string): RedisScript {
  return { source, sha1: hash('sha1', source, 'hex') }
}

/** What is stored under the key has another type: it was not written by this gateway. */
export function isWrongType(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('WRONGTYPE')
}

/** For `catch`: what others keep under a key counts as nothing. */
export function undefinedIfForeign(error: unknown): undefined {
  if (!isWrongType(error)) throw error
  return undefined
}
