/** Start, supervision and restart of the worker thread of the embedded back ends. */
import type { EventEmitter } from 'node:events'
import { rmSync } from 'node:fs'
import { Worker, type WorkerOptions } from 'node:worker_threads'
import type { FastifyBaseLogger } from 'fastify'
import type { Level } from 'pino'
import { BackOff } from '../../concurrency/back-off.ts'
import type { EngineState } from '../../telemetry/metrics.ts'
import type { ServiceTls } from '../../upstreams/service-tls.ts'
import type { EmbeddableService, ServiceAddress, ServiceName } from '../../upstreams/services.ts'
import { countStateChange, createStateCounts, readStateCounts, type StateCounts } from '../../upstreams/state-counts.ts'
import type { BackendSettings } from '../backend.ts'
import { createPermissionVersion, readPermissionVersion } from './permission-version.ts'
import type { WorkerInput, WorkerMessage, WorkerOrder } from './worker.ts'

interface EmbeddedOptions {
  dataDir: string
  socketPath: string
  embedded: readonly EmbeddableService[]
  services: Partial<Record<ServiceName, ServiceAddress>>
  serviceTls?: ServiceTls | undefined
  settings: BackendSettings
  /** Whether traces are on. */
  traces: boolean
  log: FastifyBaseLogger
  startThread?: StartThread | undefined
  /** The back ends listen, or do no more. */
  onChanged?: (() => void) | undefined
  /** Rights may have changed. A request that changed them is answered when this has resolved. Never fails. */
  onPermissionsChanged?: ((version: number) => Promise<void>) | undefined
}

/** Starts the thread of the back ends; by default a worker with the program beside this file. */
export type StartThread = (input: WorkerInput, options: WorkerOptions) => BackendThread

/** The part of a worker that its supervision needs. */
export type BackendThread = Pick<EventEmitter, 'on' | 'once'> & Pick<Worker, 'postMessage' | 'terminate' | 'threadId'>

export interface Embedded {
  /** Whether the worker listens right now. */
  isListening(): boolean
  /** Resolves when the worker listens for the first time; rejects when it cannot start at all. */
  readonly ready: Promise<void>
  /** Changes whenever permissions may have changed. */
  permissionVersion(): number
  /** Equal numbers mean equal state; undefined where changes are not told at once. */
  stateCounts(): StateCounts | undefined
  /** State of the engine; undefined where it is not embedded, or does not answer within seconds. */
  observe(): Promise<EngineState | undefined>
  close(): Promise<void>
}

/** Measured: less costs memory when large webhooks come, more costs memory all the time. See docs/decisions/back-ends.md. */
const maxYoungGenerationSizeMb = 8
/** The longest pause between two starts of a worker that keeps dying. */
const restartPauses = { firstMs: 100, longestMs: 30_000 }
/** How long a worker may take to finish what it does before it is ended. */
const stopMs = 5_000
/** How long a scrape of the metrics waits for a worker that is busy. */
const observeMs = 3_000

export function startEmbedded(options: EmbeddedOptions): Embedded {
  const input: WorkerInput = {
    dataDir: options.dataDir,
    socketPath: options.socketPath,
    embedded: options.embedded,
    services: options.services,
    serviceTls: options.serviceTls,
    settings: options.settings,
    traces: options.traces,
    logLevel: options.log.level ?? 'info',
    permissionVersion: createPermissionVersion(),
    stateCounts: createStateCounts(),
    announcesPermissions: options.onPermissionsChanged !== undefined,
  }
  const startThread = options.startThread ?? startWorker
  // The worker has serialized its errors already.
  const workerLog = options.log.child({}, { serializers: { err: (error: unknown) => error } })
  const first = Promise.withResolvers<void>()
  first.promise.catch(() => {})
  let worker: BackendThread
  let listening = false
  let everListened = false
  let closing = false
  const backOff = new BackOff(restartPauses)
  const observers = new Set<(state: EngineState | undefined) => void>()
  /** The worker has been asked for its state and has not answered. */
  let isAsked = false

  function start(): void {
    worker = startThread(input, { name: 'backends', resourceLimits: { maxYoungGenerationSizeMb } })
    let failure: unknown
    worker.on('message', (message: WorkerMessage) => {
      if (message.kind === 'log') return writeLog(workerLog, message.line)
      if (message.kind === 'observed') return answerObservers(message.state)
      if (message.kind === 'permissions') return void announce(message.id)
      listening = true
      everListened = true
      backOff.reset()
      first.resolve()
      options.onChanged?.()
    })
    worker.on('error', (error: unknown) => {
      failure = error
    })
    worker.once('exit', () => {
      listening = false
      // Validators may begin anew with the next one.
      countStateChange(input.stateCounts, 'definitions')
      options.onChanged?.()
      answerObservers(undefined)
      if (closing) return
      if (!everListened) return first.reject(failure)
      const pauseMs = backOff.startLater(start)
      options.log.error({ err: failure, pauseMs }, 'the embedded back ends stopped and are started again')
    })
  }

  const order = (what: WorkerOrder) => worker.postMessage(what)

  async function announce(id: number): Promise<void> {
    await options.onPermissionsChanged?.(readPermissionVersion(input.permissionVersion))
    order({ announced: id })
  }

  function answerObservers(state: EngineState | undefined): void {
    isAsked = false
    for (const answer of [...observers]) answer(state)
  }

  function observe(): Promise<EngineState | undefined> {
    const { promise, resolve } = Promise.withResolvers<EngineState | undefined>()
    if (!listening || closing) return Promise.resolve(undefined)
    const answer = (state: EngineState | undefined) => {
      clearTimeout(limit)
      observers.delete(answer)
      resolve(state)
    }
    const limit = setTimeout(answer, observeMs, undefined)
    observers.add(answer)
    // A worker that hangs would have to answer every question once it goes on.
    if (!isAsked) order('observe')
    isAsked = true
    return promise
  }

  async function close(): Promise<void> {
    closing = true
    backOff.cancel()
    const exited = new Promise<void>((resolve) => {
      worker.once('exit', () => resolve())
    })
    if (worker.threadId === -1) return
    order('stop')
    const limit = setTimeout(() => void worker.terminate(), stopMs)
    await exited
    clearTimeout(limit)
    rmSync(options.socketPath, { force: true })
  }

  start()
  return {
    isListening: () => listening,
    ready: first.promise,
    permissionVersion: () => readPermissionVersion(input.permissionVersion),
    stateCounts: () => (listening ? readStateCounts(input.stateCounts) : undefined),
    observe,
    close,
  }
}

function startWorker(input: WorkerInput, options: WorkerOptions): Worker {
  const file = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url)
  return new Worker(file, { ...options, workerData: input })
}

function writeLog(log: FastifyBaseLogger, line: string): void {
  const { level, msg, ...fields } = JSON.parse(line) as { level: Level; msg: string }
  log[level](fields, msg)
}
