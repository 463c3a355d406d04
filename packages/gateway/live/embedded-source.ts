/** Changes of the embedded engine: one connection to its feed for all streams of this process. */
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { BackOff } from '@fairlead/base/concurrency/back-off.ts'
import { within } from '@fairlead/base/concurrency/within.ts'
import { GatewayError } from '@fairlead/base/errors.ts'
import { readJsonLines } from '@fairlead/base/json/json-lines.ts'
import { isObject } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import type { Connection } from '@fairlead/proxy/connection.ts'
import type { FastifyBaseLogger } from 'fastify'
import { jsonObject, readJson } from '../upstreams/answer-form.ts'
import { createTarget, sendTarget, type UpstreamTarget } from '../upstreams/call-target.ts'
import { anonymousIdentity } from '../upstreams/identity.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'
import type { ChangeSource, LiveSubject, RunChange, Snapshot, Watch, Watcher } from './source.ts'

interface EmbeddedSourceOptions {
  upstreams: Upstreams
  log: FastifyBaseLogger
}

interface ChangeLine extends RunChange {
  readonly type: 'PIPELINE' | 'ORCHESTRATION'
  readonly application: string
}

/** The engine gives a sign every ten seconds. */
const silenceMs = 30_000
/** The feed outlives its last stream for this time: browsers reconnect. */
const lingerMs = 30_000
/** A worker that restarts is back within this time. */
const openMs = 15_000
const reopenPauses = { firstMs: 50, longestMs: 5000 }

export class EmbeddedSource implements ChangeSource {
  readonly parts = ['executions', 'tasks'] as const
  readonly #options: EmbeddedSourceOptions
  readonly #watchers = new Map<string, Set<Watcher>>()
  #feed: AbortController | undefined
  /** Resolves once the feed is open; snapshots wait for it, so that nothing lies between the two. */
  #open = Promise.withResolvers<void>()
  #isOpen = false
  #linger: NodeJS.Timeout | undefined

  constructor(options: EmbeddedSourceOptions) {
    this.#options = options
  }

  watch(subject: LiveSubject, watcher: Watcher): Watch {
    const key = keyOf(subject)
    const watchers = this.#watchers.getOrInsertComputed(key, () => new Set())
    watchers.add(watcher)
    clearTimeout(this.#linger)
    if (this.#feed === undefined) void this.#follow()
    return {
      snapshot: async (since) => {
        await this.#awaitFeed()
        return this.#snapshot(subject, since)
      },
      close: () => {
        watchers.delete(watcher)
        if (watchers.size === 0 && this.#watchers.get(key) === watchers) this.#watchers.delete(key)
        if (this.#watchers.size === 0)
          this.#linger = setTimeout(() => this.close(), lingerMs).unref()
      },
    }
  }

  close(): void {
    clearTimeout(this.#linger)
    this.#feed?.abort()
    this.#feed = undefined
    this.#lost()
  }

  async #awaitFeed(): Promise<void> {
    if (this.#isOpen) return
    await within(openMs, this.#open.promise, () => {
      throw new GatewayError(
        'UPSTREAM_UNREACHABLE',
        'orca does not answer. Try again in a moment.',
        {
          upstream: { service: 'orca' },
        },
      )
    })
  }

  async #snapshot({ kind, name }: LiveSubject, since: string | undefined): Promise<Snapshot> {
    const query =
      kind === 'application'
        ? { application: name, ...(since !== undefined && { since }) }
        : { id: name }
    const answer = await this.#options.upstreams.call(
      'orca',
      { path: pathTo`/changes`, query },
      anonymousIdentity,
    )
    if (answer.status === 404) throw unknown(kind, name)
    const snapshot = readJson(answer, 'orca', jsonObject) as Omit<Snapshot, 'changes'> & {
      changes: ChangeLine[]
    }
    if (kind !== 'application' && snapshot.changes.some(({ type }) => type !== typeOf(kind)))
      throw unknown(kind, name)
    return snapshot
  }

  async #follow(): Promise<void> {
    const feed = new AbortController()
    this.#feed = feed
    const backOff = new BackOff(reopenPauses)
    for (let isFirst = true; !feed.signal.aborted; ) {
      try {
        for await (const line of this.#lines(feed.signal)) {
          if (isChange(line)) this.#tell(line)
          else {
            backOff.reset()
            this.#opened(isFirst)
            isFirst = false
          }
        }
      } catch (error) {
        if (!feed.signal.aborted)
          this.#options.log.info(
            { err: error },
            'the feed of changes broke off and is opened again',
          )
      }
      // A closed feed has said so itself, and another one may be open by now.
      if (feed.signal.aborted) return
      for (const watcher of this.#lost()) watcher.stale(true)
      await sleep(backOff.nextMs(), undefined, { ref: false })
    }
  }

  #opened(isFirst: boolean): void {
    this.#isOpen = true
    this.#open.resolve()
    if (isFirst) return
    for (const watcher of this.#all()) {
      watcher.stale(false)
      watcher.lost()
    }
  }

  #lost(): Watcher[] {
    if (!this.#isOpen) return []
    this.#open = Promise.withResolvers<void>()
    this.#isOpen = false
    return this.#all()
  }

  #all(): Watcher[] {
    return [...this.#watchers.values()].flatMap((watchers) => [...watchers])
  }

  #tell(change: ChangeLine): void {
    for (const watcher of this.#watchers.get(`run ${change.id}`) ?? []) watcher.changed(change)
    for (const watcher of this.#watchers.get(`application ${foldName(change.application)}`) ?? []) {
      if (change.type === 'PIPELINE') watcher.changed(change)
      else watcher.tasksChanged()
    }
  }

  async *#lines(signal: AbortSignal): AsyncGenerator<unknown> {
    const { upstreams } = this.#options
    const call = { path: '/changes/feed', readTimeoutMs: silenceMs }
    const endpoint = upstreams.choose('orca', call, anonymousIdentity)
    await endpoint.enter(call, signal)
    try {
      const target = createTarget(endpoint, call, {
        identity: upstreams.sendsIdentity ? anonymousIdentity : {},
      })
      yield* readJsonLines(openFeed(endpoint.takeConnection(), target, signal))
    } finally {
      endpoint.leave()
    }
  }
}

function openFeed(connection: Connection, target: UpstreamTarget, signal: AbortSignal): Readable {
  let isOver = false
  const feed = new Readable({
    encoding: 'utf8',
    signal,
    read: () => {
      if (!isOver) connection.resume()
    },
    destroy(error, done) {
      if (!isOver) connection.destroy()
      done(error)
    },
  })
  sendTarget(target, connection, {
    onInformation() {},
    onHead({ status }) {
      if (status !== 200) feed.destroy(new Error(`The feed of changes answered ${status}.`))
    },
    onBody(piece) {
      if (!feed.push(Buffer.from(piece))) connection.pause()
    },
    onEnd() {
      isOver = true
      feed.push(null)
    },
    onFailure({ error }) {
      isOver = true
      feed.destroy(error)
    },
  })
  return feed
}

function isChange(line: unknown): line is ChangeLine {
  return isObject(line) && typeof line['id'] === 'string'
}

function keyOf({ kind, name }: LiveSubject): string {
  return kind === 'application' ? `application ${foldName(name)}` : `run ${name}`
}

function typeOf(kind: LiveSubject['kind']): ChangeLine['type'] {
  return kind === 'task' ? 'ORCHESTRATION' : 'PIPELINE'
}

export function unknown(kind: LiveSubject['kind'], name: string): GatewayError {
  return new GatewayError('NOT_FOUND', `There is no ${kind} with the id "${name}".`)
}
