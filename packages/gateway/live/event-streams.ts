/** Event streams of all clients: who listens to what, within bounds, and for how long. */
import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { GatewayError } from '@fairlead/base/errors.ts'
import type { FastifyBaseLogger } from 'fastify'
import type { IdentityHeaders } from '../upstreams/identity.ts'
import { type Allowance, EventStream, eventStreamType, formatEvent } from './event-stream.ts'
import type { PartChanges } from './part-changes.ts'
import type { LiveSettings } from './settings.ts'
import {
  type ApplicationPart,
  type ChangeSource,
  isOlder,
  type LiveSubject,
  type RunChange,
  type Snapshot,
  type Watch,
} from './source.ts'

interface EventStreamsOptions {
  source: ChangeSource
  partChanges?: PartChanges
  settings: LiveSettings
  log: FastifyBaseLogger
  rightsVersion: () => number
  onChanged: () => void
  now?: () => number
}

export interface StreamClient {
  readonly subject: LiveSubject
  readonly client: ServerResponse
  readonly lastEventId: string | undefined
  readonly caller: string
  readonly identity: IdentityHeaders
  readonly checkRights: () => Promise<void>
  readonly onWrite: (characters: number) => void
  readonly begin: () => Promise<Record<string, string | string[]>>
}

const checkMs = 1000
const maxHeldCharacters = 16 * 1024 * 1024

/** Listeners to one subject share one watch of the source. */
interface Topic {
  readonly subject: LiveSubject
  readonly streams: Map<EventStream, StreamClient>
  readonly watch: Watch
  readonly stopParts: (() => void) | undefined
  version: string | undefined
  recovery: StreamRecovery | undefined
}

interface StreamRecovery {
  readonly since: string | undefined
  readonly told: Map<string, string>
}

/** Headers of a stream: no cache or proxy keeps, packs or buffers it. */
export const streamHeaders = {
  'content-type': eventStreamType,
  'cache-control': 'no-cache, no-store, no-transform',
  'x-accel-buffering': 'no',
} as const

export class EventStreams {
  readonly #options: EventStreamsOptions
  readonly #now: () => number
  readonly #parts: readonly ApplicationPart[]
  readonly #topics = new Map<string, Topic>()
  readonly #streams = new Set<EventStream>()
  readonly #counts = new Map<string, number>()
  readonly #allowance: Allowance = { held: 0, maxHeld: maxHeldCharacters }
  #opened = 0
  #checks: NodeJS.Timeout | undefined
  #beatAtMs = 0
  #closed = false

  constructor(options: EventStreamsOptions) {
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
    this.#parts = [...options.source.parts, ...(options.partChanges?.parts ?? [])]
  }

  get size(): number {
    return this.#streams.size
  }

  /**
   * Opens a stream; it goes on after the promise has been resolved.
   *
   * @throws {GatewayError} TOO_MANY_STREAMS, SHUTTING_DOWN, NOT_FOUND, and those of calls to services, before anything was written
   * @throws {Error} when the client has left meanwhile
   */
  async open(listener: StreamClient): Promise<void> {
    const release = this.#reserve(listener.caller)
    const { subject, client, lastEventId } = listener
    const stream = new EventStream({
      ...listener,
      allowance: this.#allowance,
      rightsVersion: this.#options.rightsVersion,
      now: this.#now,
      onClose: () => {
        release()
        this.#leave(topic, stream)
      },
    })
    const topic = this.#join(subject, stream, listener)
    let snapshot: Snapshot
    try {
      snapshot = await topic.watch.snapshot(lastEventId)
    } catch (error) {
      if (stream.hasEnded && !client.destroyed) throw stopping()
      stream.end('unavailable')
      throw error
    }
    topic.version ??= snapshot.version
    this.#options.onChanged()
    if (stream.hasEnded && !client.destroyed) throw stopping()
    const headers = await listener.begin()
    if (stream.hasEnded) return void client.destroy()
    client.writeHead(200, { ...headers, ...streamHeaders })
    client.flushHeaders()
    this.#streams.add(stream)
    this.#checkRegularly()
    this.#greet(stream, topic, snapshot, lastEventId)
  }

  /** The first events: nothing that the client has seen already. */
  #greet(
    stream: EventStream,
    { subject }: Topic,
    { version, isComplete, changes }: Snapshot,
    lastEventId: string | undefined,
  ): void {
    if (subject.kind === 'application') {
      const { settings } = this.#options
      if (lastEventId === undefined)
        stream.notify('ready', { parts: this.#parts, heartbeatMs: settings.heartbeatMs }, version)
      // What has changed of them while the client was away is not known.
      else for (const part of this.#parts) if (part !== 'executions') tellPart(stream, part)
    }
    if (!isComplete) stream.resync(version, 'gap')
    const unseen = changes.filter((change) => change.version !== lastEventId)
    stream.start(unseen.map((change) => [change.id, toEvent(subject, change)]))
  }

  /** Ends all streams one after the other, so that clients come back to other replicas while this one drains. */
  async drain(forMs: number): Promise<void> {
    const streams = [...this.#streams]
    for (const [index, stream] of streams.entries()) {
      if (this.#closed) return
      stream.end('stopping')
      if (index % 10 === 9) await pause((forMs * 10) / streams.length, undefined, { ref: false })
    }
  }

  close(): void {
    this.#closed = true
    clearInterval(this.#checks)
    for (const stream of [
      ...this.#streams,
      ...[...this.#topics.values()].flatMap(({ streams }) => [...streams.keys()]),
    ]) {
      stream.end('stopping')
    }
    this.#options.source.close?.()
  }

  #reserve(caller: string): () => void {
    const { maxStreams, maxStreamsPerUser } = this.#options.settings
    if (this.#closed) throw stopping()
    const count = this.#counts.get(caller) ?? 0
    if (count >= maxStreamsPerUser) {
      throw tooMany(
        `You have ${count} event streams open, which is the limit. Close some, or raise live.maxStreamsPerUser.`,
        429,
      )
    }
    if (this.#opened >= maxStreams) {
      throw tooMany(
        `This replica serves ${this.#opened} event streams, which is the limit. Poll instead, or raise live.maxStreams.`,
      )
    }
    this.#opened++
    this.#counts.set(caller, count + 1)
    return () => {
      this.#opened--
      const left = (this.#counts.get(caller) ?? 1) - 1
      if (left > 0) this.#counts.set(caller, left)
      else this.#counts.delete(caller)
    }
  }

  #join(subject: LiveSubject, stream: EventStream, listener: StreamClient): Topic {
    const key = `${subject.kind} ${subject.name}`
    const known = this.#topics.get(key)
    if (known !== undefined) {
      known.streams.set(stream, listener)
      return known
    }
    const streams = new Map([[stream, listener]])
    const partChanged = (part: ApplicationPart) => {
      this.#options.onChanged()
      for (const each of streams.keys()) tellPart(each, part)
    }
    const isOfApplication = subject.kind === 'application'
    const stopParts = isOfApplication
      ? this.#options.partChanges?.watch(subject.name, partChanged)
      : undefined
    const watch = this.#options.source.watch(subject, {
      changed: (change) => {
        this.#options.onChanged()
        topic.recovery?.told.set(change.id, change.version)
        tell(topic, change)
      },
      tasksChanged: () => partChanged('tasks'),
      lost: () => {
        if (isOfApplication && this.#parts.includes('tasks')) partChanged('tasks')
        void this.#recover(topic)
      },
      stale: (isStale) => {
        for (const each of streams.keys())
          each.notify(isStale ? 'stale' : 'fresh', { service: 'orca' })
      },
      refused: () => streams.keys().next().value?.end('access'),
      identity: () => streams.values().next().value?.identity ?? listener.identity,
    })
    // The source reports nothing before this function has returned.
    const topic: Topic = {
      subject,
      streams,
      watch,
      stopParts,
      version: undefined,
      recovery: undefined,
    }
    this.#topics.set(key, topic)
    return topic
  }

  #leave(topic: Topic, stream: EventStream): void {
    this.#streams.delete(stream)
    if (this.#streams.size === 0) {
      clearInterval(this.#checks)
      this.#checks = undefined
    }
    if (!topic.streams.delete(stream) || topic.streams.size > 0) return
    topic.watch.close()
    topic.stopParts?.()
    const key = `${topic.subject.kind} ${topic.subject.name}`
    if (this.#topics.get(key) === topic) this.#topics.delete(key)
  }

  async #recover(topic: Topic): Promise<void> {
    const { since, told } = topic.recovery ?? {
      since: topic.version,
      told: new Map<string, string>(),
    }
    const recovery: StreamRecovery = { since, told }
    topic.recovery = recovery
    try {
      const { version, isComplete, changes } = await topic.watch.snapshot(since)
      // The source has lost count again: the later snapshot has what this one has.
      if (topic.recovery !== recovery) return
      topic.recovery = undefined
      this.#options.onChanged()
      const newest = newestOf(version, topic.version)
      for (const change of changes)
        if (!isOlder(change.version, told.get(change.id) ?? change.version)) tell(topic, change)
      topic.version = newest
      if (!isComplete) for (const stream of topic.streams.keys()) stream.resync(version, 'gap')
    } catch (error) {
      if (topic.recovery !== recovery) return
      topic.recovery = undefined
      this.#options.log.info(
        { err: error, subject: topic.subject },
        'event streams end, since their state cannot be read',
      )
      for (const stream of topic.streams.keys()) stream.end('unavailable')
    }
  }

  #checkRegularly(): void {
    this.#checks ??= setInterval(() => this.#check(), checkMs).unref()
  }

  #check(): void {
    const { settings } = this.#options
    const nowMs = this.#now()
    this.#options.partChanges?.look(nowMs)
    const beats = nowMs - this.#beatAtMs >= settings.heartbeatMs
    if (beats) this.#beatAtMs = nowMs
    for (const stream of this.#streams) {
      if (nowMs - stream.beganAtMs >= settings.maxAgeMs) stream.end('age')
      else if (beats) stream.beat()
      void stream.check()
    }
  }
}

/** Events about a part have no id: what they say holds for all that a client has. */
function tellPart(stream: EventStream, part: ApplicationPart): void {
  stream.push(`part ${part}`, {
    version: undefined,
    text: formatEvent('changed', JSON.stringify({ part })),
  })
}

function tell(topic: Topic, change: RunChange): void {
  const { subject, streams } = topic
  topic.version = change.version
  const event = toEvent(subject, change)
  for (const stream of streams.keys()) {
    if (change.summary === undefined && subject.kind !== 'application')
      stream.end('removed', event.text)
    else stream.push(change.id, event)
  }
}

function newestOf(version: string, other: string | undefined): string {
  return other !== undefined && isOlder(version, other) ? other : version
}

function toEvent(
  { kind }: LiveSubject,
  { id, version, summary }: RunChange,
): { version: string; text: string } {
  if (summary === undefined)
    return { version, text: formatEvent('removed', JSON.stringify({ id }), version) }
  return { version, text: formatEvent(kind === 'task' ? 'task' : 'execution', summary, version) }
}

function stopping(): GatewayError {
  return new GatewayError('SHUTTING_DOWN', 'This replica is stopping. Connect again.')
}

function tooMany(message: string, status = 503): GatewayError {
  return new GatewayError('TOO_MANY_STREAMS', message, { status, headers: { 'retry-after': '10' } })
}
