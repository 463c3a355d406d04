/** Builds that still run while newer ones push them out of the lists that polls read. */
import type { JsonObject } from '../../../json/values.ts'
import { PortError } from '../../../ports/port-error.ts'

interface UnfinishedParts {
  numberOf(item: JsonObject): number
  isRunning(item: JsonObject): boolean
  /** Undefined: it has been deleted. */
  load(place: string, number: number): Promise<JsonObject | undefined>
}

interface BuildList {
  /** Repository or project. */
  readonly name: string
  /** As the server describes them, newest first. */
  readonly items: readonly JsonObject[]
}

/** Of each place; the newest. */
const mostKept = 20

interface RunningBuilds {
  /** In the newest list: the next list that differs tells more of them. */
  readonly listed: readonly number[]
  /** In no list: each is read. */
  readonly unlisted: readonly number[]
}

export class UnfinishedBuilds {
  readonly #parts: UnfinishedParts
  /** By place. */
  readonly #running = new Map<string, RunningBuilds>()
  /** Places whose list has been seen. */
  readonly #known = new Set<string>()

  constructor(parts: UnfinishedParts) {
    this.#parts = parts
  }

  /**
   * @param lists Those that have changed
   * @param openOf Builds of a place that ran when they were last seen, before a restart
   * @returns the lists, with the builds that still ran when they left them
   */
  async complete(lists: readonly BuildList[], openOf: (place: string) => readonly number[]): Promise<readonly BuildList[]> {
    for (const { name, items } of lists) this.#note(name, items, openOf)
    const added = await Promise.all([...this.#running].map(async ([name, { unlisted }]) => this.#loadAll(name, unlisted)))
    const all = Map.groupBy([...lists, ...added.filter(({ items }) => items.length > 0)], ({ name }) => name)
    return [...all].map(([name, parts]) => ({ name, items: parts.flatMap(({ items }) => items) }))
  }

  #note(name: string, items: readonly JsonObject[], openOf: (place: string) => readonly number[]): void {
    const { numberOf, isRunning } = this.#parts
    const numbers = new Set(items.map(numberOf))
    const { listed = [], unlisted = [] } = this.#running.get(name) ?? {}
    const before = this.#known.has(name) ? [] : openOf(name)
    this.#known.add(name)
    const gone = [...new Set([...listed, ...unlisted, ...before])].filter((number) => !numbers.has(number))
    this.#set(name, { listed: items.filter(isRunning).map(numberOf), unlisted: gone.sort((a, b) => a - b).slice(-mostKept) })
  }

  async #loadAll(name: string, numbers: readonly number[]): Promise<BuildList> {
    const loaded = await Promise.all(numbers.map((number) => this.#load(name, number)))
    const stillRunning = numbers.filter((_number, index) => {
      const item = loaded[index]
      return item === 'failed' || (item !== undefined && this.#parts.isRunning(item))
    })
    this.#set(name, { listed: this.#running.get(name)?.listed ?? [], unlisted: stillRunning })
    return { name, items: loaded.filter((item) => item !== undefined && item !== 'failed') }
  }

  /** A build that cannot be read now is read at the next poll. */
  async #load(name: string, number: number): Promise<JsonObject | 'failed' | undefined> {
    try {
      return await this.#parts.load(name, number)
    } catch (error) {
      if (error instanceof PortError) return 'failed'
      throw error
    }
  }

  #set(name: string, running: RunningBuilds): void {
    if (running.listed.length + running.unlisted.length === 0) this.#running.delete(name)
    else this.#running.set(name, running)
  }
}
