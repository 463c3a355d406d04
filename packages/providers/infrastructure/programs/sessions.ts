/** Programs that clients run in instances: each has an output stream, and takes input while that is read. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ExecConnection, ExecInput } from '@fairlead/base/net/exec-frames.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { Masking } from '@fairlead/model/secrets/masking.ts'

/** A session that no client reads ends. */
const unreadMs = 30_000
/** The beginning of a secret is held back so long: a prompt must not wait for what may never follow. */
const holdMs = 50
const maxSessions = 200
const maxSessionsOfUser = 20

interface SessionOrder {
  readonly application: string
  readonly user: string
  readonly connection: ExecConnection
  readonly masks: readonly string[]
  /** What was made for it. */
  readonly onEnd?: () => void | Promise<void>
}

/** Takes lines of JSON. */
export interface LineSink {
  /** Resolves when it can take more. */
  write(line: string): Promise<void>
  readonly signal: AbortSignal
}

interface Session extends SessionOrder {
  readonly id: string
  isRead: boolean
  readonly unread: NodeJS.Timeout
}

export class Sessions {
  readonly #sessions = new Map<string, Session>()

  /** @throws {PortError} 429 */
  checkRoom(user: string): void {
    const own = this.#sessions.values().filter((session) => session.user === user)
    if (this.#sessions.size < maxSessions && own.toArray().length < maxSessionsOfUser) return
    throw new PortError(
      429,
      `There are too many programs that clients run at once: ${maxSessionsOfUser} of a user, ${maxSessions} in all. End one, then try again.`,
    )
  }

  /** @returns its id, which only its client knows */
  open(order: SessionOrder): string {
    const id = randomBytes(16).toString('hex')
    const unread = setTimeout(() => this.#end(id), unreadMs).unref()
    this.#sessions.set(id, { ...order, id, isRead: false, unread })
    return id
  }

  /** @throws {PortError} 404 */
  check(id: string, owner: SessionOwner): void {
    this.#find(id, owner)
  }

  /** Everything that the program writes, then how it ended; the session ends with it. @throws {PortError} 404, 409 */
  async read(id: string, owner: SessionOwner, sink: LineSink): Promise<void> {
    const session = this.#find(id, owner)
    if (session.isRead) throw new PortError(409, 'The output of this program is read already.')
    session.isRead = true
    clearTimeout(session.unread)
    const onLeft = () => this.#end(id)
    sink.signal.addEventListener('abort', onLeft)
    const streams = {
      stdout: new MaskedStream('stdout', session, sink),
      stderr: new MaskedStream('stderr', session, sink),
    }
    let exit: string | undefined
    try {
      for await (const output of session.connection.output) {
        if (output.kind !== 'exit') await streams[output.kind].feed(output.bytes)
        else exit = JSON.stringify({ exit: output.code, reason: output.reason })
      }
    } catch {
      // The connection broke: there is no exit.
    } finally {
      for (const stream of Object.values(streams)) await stream.end()
      exit ??= JSON.stringify({ exit: 125, reason: 'The connection to the instance broke off.' })
      await sink.write(`${exit}\n`)
      sink.signal.removeEventListener('abort', onLeft)
      this.#end(id)
    }
  }

  /** @throws {PortError} 404 */
  async send(id: string, owner: SessionOwner, inputs: readonly ExecInput[]): Promise<void> {
    const { connection } = this.#find(id, owner)
    for (const input of inputs) await connection.send(input)
  }

  close(): void {
    for (const id of [...this.#sessions.keys()]) this.#end(id)
  }

  #find(id: string, { application, user }: SessionOwner): Session {
    const session = this.#sessions.get(id)
    if (session?.user === user && session.application === application) return session
    throw new PortError(404, 'There is no such program any more: it has ended.')
  }

  #end(id: string): void {
    const session = this.#sessions.get(id)
    if (session === undefined) return
    this.#sessions.delete(id)
    clearTimeout(session.unread)
    session.connection.close()
    void session.onEnd?.()
  }
}

interface SessionOwner {
  readonly application: string
  readonly user: string
}

class MaskedStream {
  readonly #name: 'stdout' | 'stderr'
  readonly #masking: Masking | undefined
  readonly #sink: LineSink
  #pause = new AbortController()

  constructor(name: 'stdout' | 'stderr', { masks }: SessionOrder, sink: LineSink) {
    this.#name = name
    this.#masking = masks.length === 0 ? undefined : new Masking(masks)
    this.#sink = sink
  }

  async feed(bytes: Buffer): Promise<void> {
    if (this.#masking === undefined) return this.#write(bytes)
    this.#pause.abort()
    this.#pause = new AbortController()
    const shown = this.#masking.feed(bytes)
    sleep(holdMs, undefined, { signal: this.#pause.signal, ref: false }).then(
      () => this.end(),
      () => {},
    )
    await this.#write(shown)
  }

  /** What is held back. */
  async end(): Promise<void> {
    this.#pause.abort()
    await this.#write(this.#masking?.end() ?? Buffer.alloc(0))
  }

  async #write(bytes: Buffer): Promise<void> {
    if (bytes.length > 0)
      await this.#sink.write(`${JSON.stringify({ [this.#name]: bytes.toString('base64') })}\n`)
  }
}
