/** One worker process as the primary sees it: its start, its connections, its end. */
import { type ChildProcess, fork } from 'node:child_process'
import { fstatSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { Duplex, Readable } from 'node:stream'
import type { PortKind } from '../http/request-state.ts'
import { Channel } from '../net/channel.ts'
import { compileCacheVariable } from '../runtime/compile-cache.ts'
import type { MetricSnapshot } from '../telemetry/metric-set.ts'
import type { HandedConnection, PrimaryDuties, WorkerDuties, WorkerStart } from './protocol.ts'

/** Duties that do not concern the process itself. */
export type OtherDuties = Omit<PrimaryDuties, 'ready' | 'failed' | 'taken' | 'closed' | 'lastMetrics'>

/** A connection that no worker has confirmed yet. The socket stays open here until then. */
export interface AcceptedConnection {
  readonly kind: PortKind
  readonly socket: Socket
}

interface WorkerProcessOptions {
  /** The program of workers. */
  readonly program: URL
  readonly start: WorkerStart
  readonly duties: OtherDuties
  /** Writes the lines of its log. */
  readonly passOn: (lines: string) => void
  /** Gets back what the process had not confirmed when it ended. */
  readonly giveBack: (connection: AcceptedConnection) => void
}

export interface ProcessEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** So many pings may wait for their answers in a busy process. */
const maxCalmTurns = 2
/** So long it may take to confirm a connection. */
const calmMs = 500

/** A start takes seconds, and no migration: the first workers have done that. */
const maxStartTurns = 60
const lateStart = 'it was not ready within two minutes; see what its last log lines wait for, such as Redis or a file system'

type Phase = 'starting' | 'serving' | 'ending' | 'ended'

export class WorkerProcess {
  readonly number: number
  readonly startedAtMs = performance.now()
  readonly #child: ChildProcess
  readonly channel: Channel<PrimaryDuties, WorkerDuties>
  readonly ended: Promise<ProcessEnd>
  readonly #unconfirmed = new Map<number, AcceptedConnection & { readonly handedAtMs: number }>()
  #phase: Phase = 'starting'
  /** Its end is no accident. */
  toldToEnd = false
  #given = 0
  #closed = 0
  /** See `WorkerGroup`. */
  auditProcess: string | undefined
  /** As it was asked last. */
  metrics: readonly MetricSnapshot[] = []
  /** Pings in a row without an answer. */
  silentTurns = 0
  #startTurns = 0
  readonly #ready = Promise.withResolvers<void>()

  constructor({ program, start, duties, passOn, giveBack }: WorkerProcessOptions) {
    this.number = start.number
    this.#child = startProcess(program)
    this.#ready.promise.catch(() => {})
    this.channel = new Channel<PrimaryDuties, WorkerDuties>(this.#child.stdio[4] as Duplex, { ...duties, ...this.#ownDuties() })
    if (this.#child.stdout !== null) readLines(this.#child.stdout, passOn)
    this.#child.stderr?.on('data', (piece: Buffer) => process.stderr.write(piece))
    this.#child.send(start, (error) => error && this.#ready.reject(error))
    this.ended = new Promise((done) => {
      this.#child.once('error', (error) => {
        this.#ready.reject(error)
        done({ code: null, signal: null })
      })
      this.#child.once('exit', (code, signal) => done({ code, signal }))
    })
    void this.ended.then((end) => {
      this.#phase = 'ended'
      this.#ready.reject(new Error(`it ended at its start, with ${describeEnd(end)}`))
      const connections = [...this.#unconfirmed.values()]
      this.#unconfirmed.clear()
      for (const connection of connections) giveBack(connection)
    })
  }

  #ownDuties(): Omit<PrimaryDuties, keyof OtherDuties> {
    return {
      ready: ({ auditProcess }) => {
        this.auditProcess = auditProcess
        if (this.#phase === 'starting') this.#phase = 'serving'
        this.#ready.resolve()
      },
      failed: (reason) => this.#ready.reject(new Error(reason)),
      // The other process has the connection too, so closing it here ends nothing.
      taken: (id) => {
        this.#unconfirmed.get(id)?.socket.destroy()
        this.#unconfirmed.delete(id)
      },
      closed: (connections) => {
        this.#closed += connections
      },
      lastMetrics: (snapshot) => {
        this.metrics = snapshot
      },
    }
  }

  /** Resolves when it serves; rejects with the reason why it cannot. */
  get ready(): Promise<void> {
    return this.#ready.promise
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get phase(): Phase {
    return this.#phase
  }

  /** False while it starts and from when it is to end. */
  get takesConnections(): boolean {
    return this.#phase === 'serving' && this.#child.connected
  }

  /** It has not reacted for a moment. */
  get isSilent(): boolean {
    const [oldest] = this.#unconfirmed.values()
    return this.silentTurns >= maxCalmTurns || (oldest !== undefined && performance.now() - oldest.handedAtMs > calmMs)
  }

  get openConnections(): number {
    return this.#given - this.#closed
  }

  /** Connections that were handed over and not confirmed. */
  get unconfirmed(): number {
    return this.#unconfirmed.size
  }

  take(connection: AcceptedConnection): void {
    const id = ++this.#given
    const handed: HandedConnection = { id, kind: connection.kind }
    this.#unconfirmed.set(id, { ...connection, handedAtMs: performance.now() })
    // A failure means that the process ends, which gives the connection back.
    this.#child.send(handed, connection.socket, { keepOpen: true }, () => {})
  }

  /**
   * Notes one more ping for which it has not been ready. One that is late is ended, for whom a reload would wait for ever.
   *
   * @returns why it was ended
   */
  noteStartTurn(): string | undefined {
    if (++this.#startTurns < maxStartTurns) return undefined
    this.#ready.reject(new Error(lateStart))
    this.kill()
    return lateStart
  }

  /** It gets no more connections. */
  noteEnding(): void {
    this.toldToEnd = true
    if (this.#phase !== 'ended') this.#phase = 'ending'
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}

function startProcess(program: URL): ChildProcess {
  return fork(program, [], {
    // An inherited standard error that is the same open file as standard output would make writes to both wait for their reader.
    stdio: ['ignore', writesToFile() ? 'inherit' : 'pipe', 'pipe', 'ipc', 'pipe'],
    // Settings contain more than JSON can express.
    serialization: 'advanced',
    env: {
      ...process.env,
      // It writes to a pipe, so it cannot see that its lines end on a terminal.
      ...(process.stdout.isTTY && process.stdout.hasColors() && { FORCE_COLOR: '1' }),
      ...compileCacheVariable(),
    },
  })
}

export function describeEnd({ code, signal }: ProcessEnd): string {
  return signal === null ? `code ${code}` : signal
}

/** Whole lines only: several processes write to the same output. */
function readLines(from: Readable, passOn: (lines: string) => void): void {
  let incomplete = ''
  from.setEncoding('utf8')
  from.on('data', (text: string) => {
    const end = text.lastIndexOf('\n') + 1
    if (end > 0) passOn(incomplete + text.slice(0, end))
    incomplete = end > 0 ? text.slice(end) : incomplete + text
  })
  from.on('end', () => {
    if (incomplete !== '') passOn(`${incomplete}\n`)
  })
}

/** Writes of several processes to one file do not mix, unlike those to a pipe. */
function writesToFile(): boolean {
  try {
    return fstatSync(1).isFile()
  } catch {
    return false
  }
}
