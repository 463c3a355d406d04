/** Polls of many resources of one build server by conditional requests, of which those that have changed are read. */

import { parseJson } from '@fairlead/base/json/json.ts'
import { shape } from '@fairlead/base/json/shape.ts'
import { numberOf, textOf } from '@fairlead/base/json/values.ts'
import type { OutsideAnswer } from '@fairlead/base/outside/call-outside.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { FastifyBaseLogger } from 'fastify'
import type { ServerCalls } from '../server-calls.ts'
import { type ListedItem, readPages, toPagePath } from './pages.ts'

interface ChangePollParts<Item> extends UnfinishedParts<Item> {
  readonly calls: ServerCalls
  readonly log: FastifyBaseLogger
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Name of the build server, for messages. */
  readonly name: string
  /** What the token needs, as a sentence. */
  readonly advice: string
  /** Items of a whole page. */
  readonly pageLength: number
  itemsOf(body: unknown): readonly Item[]
}

interface PolledPlace {
  /** Unique: a repository, a project. */
  readonly name: string
  /** Path of its list of builds, newest first. */
  readonly path: string
  /** Number of the newest build that is known; undefined: the first page suffices. */
  readonly newest: number | undefined
  /** Builds that ran when they were last seen. */
  readonly open: readonly number[]
}

const atOnce = 4
/** Part of the rate limit that polls leave to starts and reads of builds. */
const reservedPart = 0.1

/** GitHub and Gitea prefix the names, GitLab does not. */
const toQuota = shape({
  limit: [numberOf, 'x-ratelimit-limit', 'ratelimit-limit'],
  remaining: [numberOf, 'x-ratelimit-remaining', 'ratelimit-remaining'],
  reset: [numberOf, 'x-ratelimit-reset', 'ratelimit-reset'],
})

export class ChangePolls<Item extends ListedItem> {
  readonly #parts: ChangePollParts<Item>
  readonly #unfinished: UnfinishedBuilds<Item>
  /** Entity tags by place. */
  readonly #tags = new Map<string, string>()
  /** Places whose failure is in the log already. */
  readonly #failing = new Set<string>()
  #pausedUntilMs = 0

  constructor(parts: ChangePollParts<Item>) {
    this.#parts = parts
    this.#unfinished = new UnfinishedBuilds(parts)
  }

  /**
   * Those that have changed since the last call, with builds that still ran when they left the lists; at the first call all.
   * A place that fails is logged, and left out.
   *
   * @throws {PortError} when the server cannot be reached, limits calls, or no place can be read
   */
  async read(
    places: readonly PolledPlace[],
    signal: AbortSignal,
  ): Promise<readonly BuildList<Item>[]> {
    this.#checkQuota()
    this.#forgetOthers(places)
    const waiting = [...places]
    const changes: BuildList<Item>[] = []
    const failures: unknown[] = []
    const work = async () => {
      for (
        let place = waiting.shift();
        place !== undefined && !signal.aborted;
        place = waiting.shift()
      ) {
        try {
          const items = await this.#readChanged(place, signal)
          if (items !== undefined) changes.push({ name: place.name, items })
        } catch (error) {
          failures.push(error)
          if (isUnavailable(error)) waiting.length = 0
          else if (!signal.aborted) this.#logFailure(place, error)
        }
      }
    }
    await Promise.all(Array.from({ length: atOnce }, work))
    // What has changed is handed on first: its entity tags are those of the next request.
    if (
      changes.length === 0 &&
      (failures.some(isUnavailable) || (failures.length > 0 && failures.length === places.length))
    )
      throw failures.find(isUnavailable) ?? failures[0]
    return this.#unfinished.complete(
      changes,
      (name) => places.find((place) => place.name === name)?.open ?? [],
    )
  }

  /** A further page that cannot be read leaves the tag as it is: all is read again. */
  async #readChanged(
    place: PolledPlace,
    signal: AbortSignal,
  ): Promise<readonly Item[] | undefined> {
    const { name, path } = place
    const tag = this.#tags.get(name)
    const validator = tag === undefined ? {} : { headers: { 'if-none-match': tag } }
    const answer = await this.#parts.calls.send(path, { ...validator, expects: [304], signal })
    this.#noteQuota(answer)
    const items =
      answer.status === 304
        ? undefined
        : await this.#complete(place, parseJson(answer.text), signal)
    this.#failing.delete(name)
    if (items === undefined) return undefined
    const next = textOf(answer.headers['etag'])
    if (next === undefined) this.#tags.delete(name)
    else this.#tags.set(name, next)
    return items
  }

  /** Adds further pages, up to the newest build that is known. */
  async #complete(
    { path, newest }: PolledPlace,
    first: unknown,
    signal: AbortSignal,
  ): Promise<readonly Item[] | undefined> {
    const { calls, pageLength, itemsOf } = this.#parts
    const isKnown = ({ id }: Item) => newest === undefined || id <= newest
    const load = async (page: number) => {
      const body = page === 1 ? first : await calls.load(toPagePath(path, page), { signal })
      return body === undefined ? undefined : itemsOf(body)
    }
    return readPages(load, { length: pageLength, isEnough: (items) => items.some(isKnown) })
  }

  /** @throws {PortError} 503 */
  #checkQuota(): void {
    if (this.#pausedUntilMs <= this.#parts.now()) return
    const until = new Date(this.#pausedUntilMs).toISOString()
    const text = `The rate limit of the build server "${this.#parts.name}" is nearly used up`
    throw new PortError(
      503,
      `${text}: polls pause until ${until}, and leave the rest to starts of builds.`,
    )
  }

  #noteQuota({ headers }: OutsideAnswer): void {
    const { limit, remaining, reset } = toQuota(headers)
    if (limit === undefined || remaining === undefined || reset === undefined) return
    if (remaining < limit * reservedPart) this.#pausedUntilMs = reset * 1000
  }

  #forgetOthers(places: readonly PolledPlace[]): void {
    const names = new Set(places.map(({ name }) => name))
    for (const name of this.#tags.keys()) if (!names.has(name)) this.#tags.delete(name)
    for (const name of this.#failing) if (!names.has(name)) this.#failing.delete(name)
  }

  #logFailure({ name }: PolledPlace, error: unknown): void {
    if (this.#failing.has(name)) return
    this.#failing.add(name)
    const isMissing = error instanceof PortError && error.status === 404
    const reason = isMissing
      ? `it is missing, renamed, or hidden from the token. ${this.#parts.advice}`
      : (error as Error).message
    this.#parts.log.warn(
      { buildServer: this.#parts.name },
      `builds of ${name} cannot be polled: ${reason}`,
    )
  }
}

/** The server is away or limits calls, so its other places cannot be read either. */
function isUnavailable(error: unknown): boolean {
  return error instanceof PortError && error.status === 503
}

interface UnfinishedParts<Item> {
  isRunning(item: Item): boolean
  /** Undefined: it has been deleted. */
  load(place: string, number: number): Promise<Item | undefined>
}

interface BuildList<Item> {
  /** Repository or project. */
  readonly name: string
  /** In the form of the server, newest first. */
  readonly items: readonly Item[]
}

/** Builds kept per place, the newest. */
const mostKept = 20

interface RunningBuilds {
  /** Running builds of the newest list: the next list that differs tells more of them. */
  readonly listed: readonly number[]
  /** Running builds in no list: each is read. */
  readonly unlisted: readonly number[]
}

class UnfinishedBuilds<Item extends ListedItem> {
  readonly #parts: UnfinishedParts<Item>
  /** By place, once its list has been seen. */
  readonly #running = new Map<string, RunningBuilds>()

  constructor(parts: UnfinishedParts<Item>) {
    this.#parts = parts
  }

  /**
   * @param lists Those that have changed
   * @param openOf Builds of a place that ran when they were last seen, before a restart
   * @returns the lists, with the builds that still ran when they left them
   */
  async complete(
    lists: readonly BuildList<Item>[],
    openOf: (place: string) => readonly number[],
  ): Promise<BuildList<Item>[]> {
    for (const { name, items } of lists) this.#note(name, items, openOf)
    const added = await Promise.all(
      [...this.#running].map(async ([name, running]) => this.#loadAll(name, running)),
    )
    const all = Map.groupBy(
      [...lists, ...added.filter(({ items }) => items.length > 0)],
      ({ name }) => name,
    )
    return [...all].map(([name, parts]) => ({ name, items: parts.flatMap(({ items }) => items) }))
  }

  #note(name: string, items: readonly Item[], openOf: (place: string) => readonly number[]): void {
    const numbers = new Set(items.map(({ id }) => id))
    const { listed, unlisted } = this.#running.get(name) ?? { listed: [], unlisted: openOf(name) }
    const gone = [...new Set([...listed, ...unlisted])].filter((number) => !numbers.has(number))
    this.#running.set(name, {
      listed: items.filter((item) => this.#parts.isRunning(item)).map(({ id }) => id),
      unlisted: gone.sort((a, b) => a - b).slice(-mostKept),
    })
  }

  async #loadAll(name: string, { listed, unlisted }: RunningBuilds): Promise<BuildList<Item>> {
    const loaded = await Promise.all(unlisted.map((number) => this.#load(name, number)))
    const stillRunning = unlisted.filter((_number, index) => {
      const item = loaded[index]
      return item === 'failed' || (item !== undefined && this.#parts.isRunning(item))
    })
    this.#running.set(name, { listed, unlisted: stillRunning })
    return {
      name,
      items: loaded.flatMap((item) => (item === undefined || item === 'failed' ? [] : [item])),
    }
  }

  /** A build that cannot be read now is read at the next poll. */
  async #load(name: string, number: number): Promise<Item | 'failed' | undefined> {
    try {
      return await this.#parts.load(name, number)
    } catch (error) {
      if (error instanceof PortError) return 'failed'
      throw error
    }
  }
}
