/** The parts of the primary as a worker uses them. */
import type { Socket } from 'node:net'
import type { AuditSink } from '../audit/audit-sink.ts'
import type { SinkSettings } from '../audit/settings.ts'
import type { Embedded } from '../backends/hosting/embedded.ts'
import type { BannerStore } from '../banners/banner-store.ts'
import type { Change } from '../concurrency/changes.ts'
import type { PortKind } from '../http/request-state.ts'
import type { Guesses } from '../login/form/guess-limit.ts'
import { Channel } from '../net/channel.ts'
import type { MetricSnapshot } from '../telemetry/metric-set.ts'
import type { EmbeddedState, HandedConnection, PrimaryDuties, PrimaryState, WorkerDuties, WorkerStart } from './protocol.ts'
import type { SharedParts, WorkerGroup } from './shared-parts.ts'

type Toward = Channel<WorkerDuties, PrimaryDuties>

/** The process of the worker, as far as its link to the primary goes. */
export interface WorkerEnd {
  /** The stream of the channel. */
  readonly stream: Socket
  /** Called with each connection that the primary hands over. */
  onConnection(take: (handed: HandedConnection, socket: Socket | undefined) => void): void
}

type ProcessDuties = Pick<WorkerDuties, 'drain' | 'hurry' | 'retire' | 'close'>

export class PrimaryLink {
  readonly #start: WorkerStart
  readonly #end: WorkerEnd
  readonly #channel: Toward
  readonly #embedded: RemoteEmbedded | undefined
  readonly #listeners: ((change: Change) => void)[] = []
  #state: PrimaryState
  #report: (() => Promise<MetricSnapshot[]>) | undefined
  #auditProcess: string | undefined

  constructor(end: WorkerEnd, start: WorkerStart, duties: ProcessDuties) {
    this.#start = start
    this.#end = end
    this.#state = start.state
    this.#embedded = start.state.embedded && new RemoteEmbedded(start.state.embedded)
    this.#channel = new Channel<WorkerDuties, PrimaryDuties>(end.stream, {
      ...duties,
      state: (next) => {
        this.#state = next
        this.#embedded?.update(next)
      },
      noteChange: (change) => {
        if (change.kind === 'permissions') this.#embedded?.note(change.version)
        for (const listener of this.#listeners) listener(change)
      },
      snapshot: async () => (await this.#report?.()) ?? [],
      ping: () => {},
    })
  }

  /** The worker serves from now on. */
  ready(): void {
    this.#channel.tell('ready', { auditProcess: this.#auditProcess })
  }

  /** Resolves when the primary has been told why the worker cannot serve. */
  async fail(reason: string): Promise<void> {
    this.#channel.tell('failed', reason)
    await this.flush()
  }

  /** Resolves when everything is said: before the process ends. */
  flush(): Promise<void> {
    return this.#channel.flush()
  }

  get shared(): SharedParts {
    const channel = this.#channel
    const sink = this.#start.config.audit?.sink
    return {
      embedded: this.#embedded,
      auditSink: sink === undefined || sink.kind === 'redis' ? undefined : createRelaySink(channel, sink),
      counters: { charge: (charge) => channel.ask('charge', charge).catch(() => undefined) },
      guesses: createRemoteGuesses(channel),
      completedLogins: { begin: (id) => channel.ask('beginLogin', id), complete: (id) => channel.ask('completeLogin', id) },
      bannerStore: createRemoteBannerStore(channel),
      changes: {
        publish: (change) => channel.ask('publish', change).catch(() => {}),
        follow: (listener) => void this.#listeners.push(listener),
      },
      connections: {
        addresses: this.#start.addresses,
        start: (take) => this.#end.onConnection((handed, socket) => takeConnection(channel, handed, socket, take)),
      },
      workers: this.#workers,
    }
  }

  get #workers(): WorkerGroup {
    return {
      isFirst: this.#start.isFirst,
      count: () => this.#state.workers,
      printMetrics: () => this.#channel.ask('printMetrics', null),
      reportMetrics: (snapshot) => {
        this.#report = snapshot
        return { close: async () => this.#channel.tell('lastMetrics', await snapshot()) }
      },
      nameAuditProcess: (name) => {
        this.#auditProcess = name
      },
    }
  }
}

/** The primary keeps a connection until it hears of its arrival, and gives it to another worker if this one dies before. */
function takeConnection(
  channel: Toward,
  { id, kind }: HandedConnection,
  socket: Socket | undefined,
  take: (kind: PortKind, socket: Socket) => void,
): void {
  channel.tell('taken', id)
  void channel.flush()
  const close = () => channel.tell('closed', 1)
  // Without one, the client has gone meanwhile.
  if (socket === undefined) {
    close()
  } else {
    socket.once('close', close)
    take(kind, socket)
  }
}

class RemoteEmbedded implements Embedded {
  readonly #ready = Promise.withResolvers<void>()
  #state: EmbeddedState

  constructor(state: EmbeddedState) {
    this.#state = state
    if (state.isListening) this.#ready.resolve()
  }

  get ready(): Promise<void> {
    return this.#ready.promise
  }

  update({ embedded }: PrimaryState): void {
    if (embedded === undefined) return
    this.#state = { ...embedded, permissionVersion: this.#state.permissionVersion }
    this.note(embedded.permissionVersion)
    if (embedded.isListening) this.#ready.resolve()
  }

  note(permissionVersion: number): void {
    this.#state = { ...this.#state, permissionVersion: Math.max(permissionVersion, this.#state.permissionVersion) }
  }

  isListening(): boolean {
    return this.#state.isListening
  }

  permissionVersion(): number {
    return this.#state.permissionVersion
  }

  address(): string | undefined {
    return this.#state.address
  }

  /** The primary has the state in its own metrics. */
  async observe(): Promise<undefined> {
    return undefined
  }
}

function createRemoteGuesses(channel: Toward): Guesses {
  return {
    begin: async (guess, unlockedAtMs) => {
      const answer = await channel.ask('beginGuess', { guess, unlockedAtMs })
      if ('waitMs' in answer) return { kind: 'wait', waitMs: answer.waitMs }
      const end = (outcome: 'succeeded' | 'withdrawn') => channel.tell('endGuess', { id: answer.id, outcome })
      return { kind: 'judged', succeed: () => end('succeeded'), withdraw: () => end('withdrawn') }
    },
  }
}

function createRemoteBannerStore(channel: Toward): BannerStore {
  return {
    load: async () => (await channel.ask('loadBanners', null)) ?? undefined,
    replace: (before, after) => channel.ask('replaceBanners', { before: before ?? null, after }),
  }
}

/** Appends through the primary, which alone writes the chain and looks for interrupted changes; reads the stored lines directly. */
function createRelaySink(channel: Toward, settings: SinkSettings): AuditSink {
  return {
    append: (events) => channel.ask('append', events),
    find: settings.kind === 'stdout' ? undefined : (query) => channel.ask('findAudit', query),
    lines: settings.kind === 'stdout' ? undefined : () => readLines(settings),
    removeBefore: async () => {},
    removeBeyond: (maxBytes) => channel.ask('trimAudit', maxBytes),
    close: async () => {},
  }
}

async function* readLines(settings: SinkSettings): AsyncIterable<string> {
  if (settings.kind === 'sqlite') {
    const { readAuditFile } = await import('../audit/sqlite-sink.ts')
    yield* readAuditFile(settings.file)
  } else if (settings.kind === 'file') {
    const [{ listAuditFiles }, { linesOf }] = await Promise.all([import('../audit/file-sink.ts'), import('../audit/lines.ts')])
    for (const file of listAuditFiles(settings.file)) yield* linesOf(file)
  }
}
