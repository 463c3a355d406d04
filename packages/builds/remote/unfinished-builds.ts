/** Builds that still run while newer ones push them out of the lists that polls read. */
import { PortError } from '@fairlead/ports/port-error.ts'
import type { ListedItem } from './pages.ts'

export interface UnfinishedParts<Item> {
  isRunning(item: Item): boolean
  /** Undefined: it has been deleted. */
  load(place: string, number: number): Promise<Item | undefined>
}

export interface BuildList<Item> {
  /** Repository or project. */
  readonly name: string
  /** As the server describes them, newest first. */
  readonly items: readonly Item[]
}

/** Of each place; the newest. */
const mostKept = 20

interface RunningBuilds {
  /** In the newest list: the next list that differs tells more of them. */
  readonly listed: readonly number[]
  /** In no list: each is read. */
  readonly unlisted: readonly number[]
}

export class UnfinishedBuilds<Item extends ListedItem> {
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
  async complete(lists: readonly BuildList<Item>[], openOf: (place: string) => readonly number[]): Promise<BuildList<Item>[]> {
    for (const { name, items } of lists) this.#note(name, items, openOf)
    const added = await Promise.all([...this.#running].map(async ([name, running]) => this.#loadAll(name, running)))
    const all = Map.groupBy([...lists, ...added.filter(({ items }) => items.length > 0)], ({ name }) => name)
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
    return { name, items: loaded.flatMap((item) => (item === undefined || item === 'failed' ? [] : [item])) }
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
