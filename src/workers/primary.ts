/** The primary process: starts and supervises the workers, and keeps what must exist once for a data directory. */
import type { Logger } from 'pino'
import { type AuditLog, openAuditLog } from '../audit/audit-log.ts'
import type { AuditSink } from '../audit/audit-sink.ts'
import { openAuditSink } from '../audit/open-sink.ts'
import type { Embedded, StartThread } from '../backends/hosting/embedded.ts'
import { lockDataDir } from '../backends/hosting/lock.ts'
import { type BannerStore, createFileBannerStore } from '../banners/banner-store.ts'
import { BackOff } from '../concurrency/back-off.ts'
import type { Change } from '../concurrency/changes.ts'
import { type Keep, openParts } from '../concurrency/open-parts.ts'
import { within } from '../concurrency/within.ts'
import type { Config } from '../config/config.ts'
import type { PortKind } from '../http/request-state.ts'
import { createFileKeys } from '../login/login-keys.ts'
import { socketPathFor } from '../storage/socket-path.ts'
import { addEnded, type MetricSnapshot, type PrintedMetrics, printTotals } from '../telemetry/metric-set.ts'
import { Metrics } from '../telemetry/metrics.ts'
import { toAddresses } from '../upstreams/addresses.ts'
import { createDuties } from './common-duties.ts'
import { connectBackends } from './embed-services.ts'
import { keepSettings } from './kept-settings.ts'
import { Ports } from './ports.ts'
import { type PrimaryState, toWorkerConfig, type WorkerStart } from './protocol.ts'
import { type AcceptedConnection, describeEnd, type OtherDuties, type ProcessEnd, WorkerProcess } from './worker-process.ts'

export interface PrimaryOptions {
  config: Config
  log: Logger
  /** See `openLog`. */
  missingLogLines: () => Readonly<Record<'output' | 'repeated', number>>
  /** Writes lines of the logs of workers. */
  passOn: (lines: string) => void
  notices: readonly string[]
  version: string
  /** Starts the thread of the embedded back ends. */
  startThread?: StartThread | undefined
  program: URL
  /** See `WorkerStart`. */
  args: readonly string[]
  consoleDir: URL
  commandLine: string
}

/** How long a change waits for a worker that does not confirm it. */
const confirmMs = 1000
/** How long a scrape waits for a worker, whose last metrics count instead. */
const metricsMs = 3000
const restartPauses = { firstMs: 100, longestMs: 30_000 }
/** A worker that has served this long has not failed at its start. */
const soundMs = 10_000
/** Turns count and not time: a machine that was suspended has hung workers no more than a hung primary. */
const pingEveryMs = 2000
/** A worker that leaves so many pings in a row unanswered is ended. */
const maxSilentTurns = 10
/** Beyond what requests in flight may take. */
const endGraceMs = 10_000

export async function createPrimary(options: PrimaryOptions): Promise<WorkerSupervisor & { close(): Promise<void> }> {
  const { result, close } = await openParts((keep) => openPrimary(options, keep))
  return Object.assign(result, { close })
}

async function openPrimary(options: PrimaryOptions, keep: Keep): Promise<WorkerSupervisor> {
  const { config, log, version } = options
  const { dataDir } = config.backends
  keep(lockDataDir(dataDir))
  // Created before several workers do.
  if (config.redis === undefined) await createFileKeys(dataDir).current()
  const metrics = new Metrics(version)
  const sink =
    config.audit && config.audit.sink.kind !== 'redis' ? inTurn(await openAuditSink(config.audit.sink, undefined)) : undefined
  const { retentionMs, maxBytes } = config.audit ?? {}
  const audit = sink && keep(openAuditLog({ sink, retentionMs, maxBytes, onFailure: metrics.auditFailed, log, now: Date.now }))
  const socketPath = socketPathFor(dataDir, 'backends.sock')
  const services = toAddresses(config.upstreams, config.upstreams.embedded.remote ?? socketPath)
  const embedded = keep(
    connectBackends({
      config,
      log,
      version,
      startThread: options.startThread,
      services,
      socketPath,
      onChanged: () => primary.tellState(),
      onPermissionsChanged: (permissionVersion) => primary.publish({ kind: 'permissions', version: permissionVersion }),
    }),
  )
  const primary = new WorkerSupervisor(options, { metrics, sink, audit, embedded, bannerStore: createFileBannerStore(dataDir) })
  keep({ close: () => primary.end() })
  return primary
}

/** Has the sink take the appends of several workers one after the other. */
function inTurn(sink: AuditSink): AuditSink {
  const append = sink.append.bind(sink)
  let last: Promise<void> = Promise.resolve()
  sink.append = (events) => {
    last = last.catch(() => {}).then(() => append(events))
    return last
  }
  return sink
}

interface OwnParts {
  readonly metrics: Metrics
  readonly sink: AuditSink | undefined
  readonly audit: AuditLog | undefined
  readonly embedded: Embedded | undefined
  readonly bannerStore: BannerStore
}

/** Each worker has a place, which is filled again when its process ends. */
interface Place {
  readonly number: number
  /** Undefined during the pause before the next start. */
  worker: WorkerProcess | undefined
  readonly backOff: BackOff
}

const unusable =
  'SIGHUP: a worker process cannot start with the changed configuration, so nothing changes; correct it and send the signal again'

function createPlace(number: number): Place {
  return { number, worker: undefined, backOff: new BackOff(restartPauses) }
}

class WorkerSupervisor {
  readonly #options: PrimaryOptions
  readonly #parts: OwnParts
  readonly #createDuties: ReturnType<typeof createDuties>
  readonly #ports: Ports
  #places: Place[]
  /** Processes that run, those that end included. */
  readonly #workers = new Set<WorkerProcess>()
  #addresses: readonly { kind: PortKind; address: string }[] = []
  /** Metrics of the workers that have ended. */
  #ended: Promise<readonly MetricSnapshot[]> = Promise.resolve([])
  #hasServed = false
  #pings: NodeJS.Timeout | undefined
  #stopping = false
  #config: Config

  constructor(options: PrimaryOptions, parts: OwnParts) {
    this.#options = options
    this.#parts = parts
    this.#config = options.config
    this.#createDuties = createDuties({ ...parts, printMetrics: () => this.#printMetrics() })
    this.#ports = new Ports(() => [...this.#workers])
    this.#places = Array.from({ length: options.config.http.workers }, (_, index) => createPlace(index + 1))
    const { embedded } = parts
    parts.metrics.watch({ embedded, missingLogLines: options.missingLogLines, workers: () => this.#serving().length })
  }

  /** The first worker alone creates and migrates what is missing; what it cannot use ends the start. */
  async listen(): Promise<string> {
    this.#addresses = await this.#ports.listen(this.#config.http)
    const [first, ...others] = this.#places
    if (first !== undefined) await this.#fill(first, true).ready
    this.#pings = setInterval(() => this.#ping(), pingEveryMs).unref()
    await Promise.all(others.map((place) => this.#fill(place, false).ready.catch(() => {})))
    await this.#parts.embedded?.ready
    return this.#addresses[0]?.address ?? ''
  }

  /** Replaces one worker after the other by one with this configuration; a first one that cannot start changes nothing. */
  async reload(next: Config): Promise<void> {
    const { log } = this.#options
    const former = this.#config
    const { config, kept } = keepSettings(former, next)
    if (kept.length > 0) log.warn({ settings: kept }, 'changed settings that count after a restart; all others count now')
    this.#config = config
    this.#parts.embedded?.reload?.({ infrastructure: config.backends.infrastructure })
    log.level = config.telemetry.logLevel
    const surplus = this.#places.slice(config.http.workers)
    const missing = Math.max(0, config.http.workers - this.#places.length)
    const added = Array.from({ length: missing }, (_, index) => createPlace(this.#places.length + index + 1))
    const places = [...this.#places.slice(0, config.http.workers), ...added]
    for (const place of places) {
      const isFirst = place === places[0]
      const problem = await this.#replace(place, isFirst)
      if (this.#stopping) return
      if (problem !== undefined) {
        log.error(
          { worker: place.number, reason: problem },
          isFirst ? unusable : 'a worker process keeps the former configuration',
        )
        if (!isFirst) continue
        this.#config = former
        log.level = former.telemetry.logLevel
        return
      }
      if (!this.#places.includes(place)) this.#places.push(place)
    }
    this.#places = places
    await Promise.all(surplus.map((place) => this.#vacate(place)))
    this.tellState()
    log.info({ workers: places.length }, 'the configuration was read again: every worker process has been replaced')
  }

  /** See `Gateway`. */
  async drain(hurry?: AbortSignal): Promise<void> {
    this.#stopping = true
    for (const { backOff } of this.#places) backOff.cancel()
    hurry?.addEventListener('abort', () => {
      for (const worker of this.#workers) worker.channel.tell('hurry', null)
    })
    await Promise.all([...this.#workers].map((worker) => worker.channel.ask('drain', null).catch(() => {})))
    await this.#parts.embedded?.settle?.(this.#options.config.http.shutdownGraceMs, hurry)
  }

  /** Before the parts that the workers use are closed. */
  async end(): Promise<void> {
    this.#stopping = true
    clearInterval(this.#pings)
    for (const { backOff } of this.#places) backOff.cancel()
    await this.#ports.close()
    await Promise.all([...this.#workers].map((worker) => this.#end(worker)))
  }

  /** Resolves when all workers know. */
  async publish(change: Change, except?: WorkerProcess): Promise<void> {
    const others = [...this.#workers].filter((worker) => worker !== except && worker.phase !== 'ended')
    await Promise.all(
      others.map(async (worker) => {
        const noted = worker.channel.ask('noteChange', change).catch(() => {})
        // A worker that starts has cached nothing yet.
        if (worker.phase !== 'starting') await within(confirmMs, noted)
      }),
    )
  }

  tellState(): void {
    const state = this.#state()
    for (const worker of this.#workers) worker.channel.tell('state', state)
  }

  #serving(): WorkerProcess[] {
    return this.#places.flatMap(({ worker }) => (worker?.phase === 'serving' ? [worker] : []))
  }

  #state(): PrimaryState {
    const { embedded } = this.#parts
    return {
      embedded: embedded && {
        isListening: embedded.isListening(),
        permissionVersion: embedded.permissionVersion(),
        address: embedded.address?.(),
      },
      workers: { running: this.#serving().length, configured: this.#places.length },
    }
  }

  #fill(place: Place, isFirst: boolean): WorkerProcess {
    const worker = this.#start(place, isFirst)
    place.worker = worker
    return worker
  }

  /** Starts another process before the former one ends. @returns why it cannot serve */
  async #replace(place: Place, isFirst: boolean): Promise<string | undefined> {
    const fresh = this.#start(place, isFirst)
    try {
      await fresh.ready
    } catch (error) {
      return (error as Error).message
    }
    const former = place.worker
    place.backOff.cancel()
    place.worker = fresh
    this.tellState()
    if (former !== undefined) await this.#retire(former)
    return undefined
  }

  async #vacate(place: Place): Promise<void> {
    const { worker } = place
    place.backOff.cancel()
    place.worker = undefined
    if (worker !== undefined) await this.#retire(worker)
  }

  /** Its connections end with their next answers; those that are idle end a moment later. */
  async #retire(worker: WorkerProcess): Promise<void> {
    worker.noteEnding()
    worker.channel.tell('retire', null)
    await this.#end(worker)
  }

  #start(place: Place, isFirst: boolean): WorkerProcess {
    const { notices, version, args, consoleDir, commandLine, program, log, passOn } = this.#options
    const start: WorkerStart = {
      number: place.number,
      isFirst,
      config: toWorkerConfig(forWorkers(this.#config)),
      notices,
      version,
      args,
      consoleDir: consoleDir.href,
      commandLine,
      addresses: this.#addresses,
      state: this.#state(),
    }
    const giveBack = (connection: AcceptedConnection) => this.#ports.give(connection)
    const duties: OtherDuties = { ...this.#createDuties(), publish: (change) => this.publish(change, worker) }
    const worker: WorkerProcess = new WorkerProcess({ program, start, duties, passOn, giveBack })
    this.#workers.add(worker)
    void worker.ready.then(
      () => {
        this.#hasServed = true
        this.tellState()
        this.#ports.giveWaiting()
        log.info({ worker: worker.number, pid: worker.pid }, 'a worker process serves')
      },
      () => {},
    )
    void worker.ended.then((end) => this.#noteEnd(place, worker, end))
    return worker
  }

  #noteEnd(place: Place, worker: WorkerProcess, end: ProcessEnd): void {
    this.#workers.delete(worker)
    this.#ended = this.#ended.then((ended) => addEnded(ended, worker.metrics))
    if (place.worker !== worker) return
    place.worker = undefined
    this.tellState()
    if (this.#stopping || worker.toldToEnd || !this.#hasServed) return
    this.#startAgain(place, worker, describeEnd(end))
  }

  /** A process that dies at once again and again is started less and less often. */
  #startAgain(place: Place, worker: WorkerProcess, reason: string): void {
    const { metrics, audit } = this.#parts
    if (performance.now() - worker.startedAtMs >= soundMs) place.backOff.reset()
    const pauseMs = place.backOff.startLater(() => this.#fill(place, false))
    this.#options.log.error(
      { worker: place.number, pid: worker.pid, reason, pauseMs },
      'a worker process died and is started again; requests on its connections failed, all others are served',
    )
    metrics.workerDied()
    if (worker.auditProcess !== undefined) void audit?.noteInterrupted(worker.auditProcess)
  }

  /** Resolves when the process has ended. */
  async #end(worker: WorkerProcess): Promise<void> {
    worker.noteEnding()
    worker.channel.tell('close', null)
    const limit = setTimeout(() => worker.kill(), this.#config.http.shutdownGraceMs + endGraceMs)
    await worker.ended
    clearTimeout(limit)
  }

  /** Ends a worker that has not answered for twenty seconds in which this process ran: its connections would wait for ever. */
  #ping(): void {
    for (const worker of this.#workers) {
      if (worker.phase === 'starting') {
        const reason = worker.noteStartTurn()
        if (reason !== undefined)
          this.#options.log.error({ worker: worker.number, pid: worker.pid, reason }, 'a worker process that starts is ended')
        continue
      }
      if (worker.silentTurns++ >= maxSilentTurns) {
        this.#options.log.error({ worker: worker.number, pid: worker.pid }, 'a worker process hangs and is ended')
        worker.kill()
        continue
      }
      worker.channel.ask('ping', null).then(
        () => {
          worker.silentTurns = 0
        },
        () => {},
      )
    }
  }

  async #printMetrics(): Promise<PrintedMetrics> {
    const own = this.#parts.metrics.snapshot()
    const asked = [...this.#workers].map(async (worker) => {
      const asking = worker.channel.ask('snapshot', null).then(
        (snapshot) => {
          worker.metrics = snapshot
        },
        () => {},
      )
      await within(metricsMs, asking)
      return worker.metrics
    })
    // An average with a process that serves no requests says nothing.
    const ofPrimary = (await own).filter(({ aggregator }) => aggregator === 'sum' || aggregator === 'first')
    return printTotals([...(await Promise.all(asked)), ofPrimary, await this.#ended])
  }
}

/** A worker writes to a pipe, so only this process sees whether its lines end on a terminal. */
function forWorkers(config: Config): Config {
  const { telemetry } = config
  if (telemetry.logFormat !== 'auto' || !process.stdout.isTTY) return config
  return { ...config, telemetry: { ...telemetry, logFormat: 'text' } }
}
