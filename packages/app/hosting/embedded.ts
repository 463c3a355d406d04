/** Start, supervision and restart of the worker thread of the embedded back ends. */
import type { EventEmitter } from 'node:events'
import { rmSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { BackOff } from '@fairlead/base/concurrency/back-off.ts'
import { within } from '@fairlead/base/concurrency/within.ts'
import { compileCacheVariable } from '@fairlead/base/runtime/compile-cache.ts'
import { ownImports } from '@fairlead/base/runtime/own-imports.ts'
import type { BackendState } from '@fairlead/base/telemetry/metrics.ts'
import {
  countStateChange,
  createStateCounts,
  readStateCount,
  readStateCounts,
  type StateCounts,
} from '@fairlead/gateway/upstreams/upstream-call.ts'
import type { BackendSettings } from '@fairlead/ports/backend.ts'
import type { FastifyBaseLogger } from 'fastify'
import type { Level } from 'pino'
import type { WorkerInput, WorkerMessage, WorkerOrder } from './worker.ts'

export interface EmbeddedOptions extends Omit<WorkerInput, 'logLevel' | 'stateCounts'> {
  readonly log: FastifyBaseLogger
  readonly startThread?: StartThread
  /** The back ends listen, or do no more. */
  readonly onChanged?: (() => void) | undefined
  /** Rights may have changed. A request that changed them is answered when this has resolved. Never fails. */
  readonly onPermissionsChanged?: ((version: number) => Promise<void>) | undefined
}

/** Starts the thread of the back ends; by default a worker with the program beside this file. */
export type StartThread = (input: WorkerInput) => BackendThread

/** The part of a worker that its supervision needs. */
export type BackendThread = Pick<EventEmitter, 'on' | 'once'> &
  Pick<Worker, 'postMessage' | 'terminate' | 'threadId'>

export interface Embedded {
  isListening(): boolean
  /** Where they are at present, where there are several addresses; undefined while they serve nowhere. */
  address?(): string | undefined
  /** Resolves when the worker listens for the first time; rejects when it cannot start at all. */
  readonly ready: Promise<void>
  /** Changes whenever permissions may have changed. */
  permissionVersion(): number
  /** Equal numbers mean equal state; undefined where changes are not told at once. */
  stateCounts?(): StateCounts | undefined
  /**
   * Begins nothing new, and resolves when calls of stages that would have to be repeated are over, after so many milliseconds at most, or
   * when there is a hurry. Requests are served meanwhile.
   */
  settle?(ms: number, hurry?: AbortSignal): Promise<void>
  /** Hands over settings that count while the back ends run. */
  reload?(changed: Partial<BackendSettings>): void
  /** State of the engine; undefined where it is not embedded, or does not answer within seconds. */
  observe(): Promise<BackendState | undefined>
}

/** Measured: less costs memory when large webhooks come, more costs memory all the time. See docs/decisions/back-ends.md. */
const maxYoungGenerationSizeMb = 8
/** The longest pause between two starts of a worker that keeps dying. */
const restartPauses = { firstMs: 100, longestMs: 30_000 }
/** How long a worker may take to finish what it does before it is ended. */
const stopMs = 5_000
/** How long a scrape of the metrics waits for a worker that is busy. */
const observeMs = 3_000

export function startEmbedded(options: EmbeddedOptions): EmbeddedThread {
  const embedded = new EmbeddedThread(options)
  embedded.start()
  return embedded
}

interface LoadingThread {
  readonly worker: Worker
  readonly inputPort: MessagePort
}

const threadProgram = new URL(
  import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js',
  import.meta.url,
)

/** Has a worker load the program at once, which takes as long as loading the gateway; the first start has only to hand over the input. */
export function loadThread(program = threadProgram): StartThread {
  let loading: LoadingThread | undefined = loadProgram(program)
  return (input) => {
    const { worker, inputPort } = loading ?? loadProgram(program)
    loading = undefined
    inputPort.postMessage(input)
    inputPort.close()
    return worker
  }
}

function loadProgram(program: URL): LoadingThread {
  const { port1: inputPort, port2: workerData } = new MessageChannel()
  const env = { ...process.env, ...compileCacheVariable() }
  const resourceLimits = { maxYoungGenerationSizeMb }
  const worker = new Worker(program, {
    name: 'backends',
    resourceLimits,
    env,
    ...(ownImports.length > 0 && { execArgv: [...ownImports] }),
    workerData,
    transferList: [workerData],
  })
  return { worker, inputPort }
}

export class EmbeddedThread implements Embedded {
  readonly #options: EmbeddedOptions
  readonly #startThread: StartThread
  #input: WorkerInput
  /** The worker has serialized its errors already. */
  readonly #workerLog: FastifyBaseLogger
  readonly #backOff = new BackOff(restartPauses)
  readonly #first = Promise.withResolvers<void>()
  #worker: BackendThread | undefined
  #isListening = false
  #hasListened = false
  #isClosing = false
  /** The state that the worker was asked for and has not told yet. */
  #asked: PromiseWithResolvers<BackendState | undefined> | undefined
  /** Once nothing new begins any more. */
  readonly #settled = Promise.withResolvers<void>()

  constructor(options: EmbeddedOptions) {
    const {
      log,
      startThread = loadThread(),
      onChanged: _onChanged,
      onPermissionsChanged: _onPermissions,
      ...input
    } = options
    this.#options = options
    this.#startThread = startThread
    this.#input = { ...input, logLevel: log.level ?? 'info', stateCounts: createStateCounts() }
    this.#workerLog = log.child({}, { serializers: { err: (error: unknown) => error } })
    this.#first.promise.catch(() => {})
  }

  get ready(): Promise<void> {
    return this.#first.promise
  }

  start(): void {
    const worker = this.#startThread(this.#input)
    let failure: unknown
    worker.on('message', (message: WorkerMessage) => this.#take(message))
    worker.on('error', (error: unknown) => {
      failure = error
    })
    worker.once('exit', () => this.#noteExit(failure))
    this.#worker = worker
  }

  isListening(): boolean {
    return this.#isListening
  }

  permissionVersion(): number {
    return readStateCount(this.#input.stateCounts, 'permissions')
  }

  stateCounts(): StateCounts | undefined {
    return this.#isListening ? readStateCounts(this.#input.stateCounts) : undefined
  }

  /** Settings that count while it runs, and for the next worker. */
  reload(changed: Partial<BackendSettings>): void {
    const settings = { ...this.#input.settings, ...changed }
    this.#input = { ...this.#input, settings }
    if (this.#isListening) this.#order({ reload: settings })
  }

  /** Tells until when, in milliseconds since the epoch, the copy of the database has everything. */
  noteCopied(copiedUntil: number): void {
    this.#input = { ...this.#input, copiedUntil }
    if (this.#isListening) this.#order({ copiedUntil })
  }

  async observe(): Promise<BackendState | undefined> {
    if (!this.#isListening || this.#isClosing) return undefined
    // A worker that hangs would have to answer every question once it goes on.
    if (this.#asked === undefined) {
      this.#asked = Promise.withResolvers()
      this.#order('observe')
    }
    return within(observeMs, this.#asked.promise)
  }

  async settle(ms: number, hurry?: AbortSignal): Promise<void> {
    if (!this.#isListening) return
    this.#order({ settle: ms })
    // An abort is no failure here: it ends the wait.
    await Promise.race([
      this.#settled.promise,
      pause(ms, undefined, { signal: hurry, ref: false }).catch(() => {}),
    ])
  }

  async close(): Promise<void> {
    this.#isClosing = true
    this.#backOff.cancel()
    const worker = this.#worker
    if (worker === undefined || worker.threadId === -1) return
    const { promise: exited, resolve } = Promise.withResolvers<void>()
    worker.once('exit', () => resolve())
    this.#order('stop')
    const limit = setTimeout(() => void worker.terminate(), stopMs)
    await exited
    clearTimeout(limit)
    rmSync(this.#options.socketPath, { force: true })
  }

  #order(order: WorkerOrder): void {
    this.#worker?.postMessage(order)
  }

  #take(message: WorkerMessage): void {
    if (message.kind === 'log') writeLog(this.#workerLog, message.line)
    else if (message.kind === 'observed') this.#answer(message.state)
    else if (message.kind === 'settled') this.#settled.resolve()
    else if (message.kind === 'permissions') void this.#announce(message.id)
    else this.#noteListening()
  }

  #noteListening(): void {
    this.#isListening = true
    this.#hasListened = true
    this.#backOff.reset()
    this.#first.resolve()
    this.#options.onChanged?.()
  }

  #answer(state: BackendState | undefined): void {
    this.#asked?.resolve(state)
    this.#asked = undefined
  }

  async #announce(id: number): Promise<void> {
    await this.#options.onPermissionsChanged?.(this.permissionVersion())
    this.#order({ announced: id })
  }

  #noteExit(failure: unknown): void {
    const { log, onChanged } = this.#options
    this.#isListening = false
    // Validators may begin anew with the next one.
    countStateChange(this.#input.stateCounts, 'definitions')
    onChanged?.()
    this.#answer(undefined)
    if (this.#isClosing) return
    if (!this.#hasListened) return void this.#first.reject(failure)
    const pauseMs = this.#backOff.startLater(() => this.start())
    log.error({ err: failure, pauseMs }, 'the embedded back ends stopped and are started again')
  }
}

function writeLog(log: FastifyBaseLogger, line: string): void {
  const { level, msg, ...fields } = JSON.parse(line) as { level: Level; msg: string }
  log[level](fields, msg)
}
