/** Deletes what is older and more than an operator wants to keep, in small portions, and gives the space back. */
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { within } from '@fairlead/base/concurrency/within.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { itself } from '@fairlead/ports/caller.ts'
import type { StoredDefinitions } from '@fairlead/ports/definitions.ts'
import type { RetainedKind, RetentionRule, Sweep } from '@fairlead/ports/retained-kind.ts'
import type { FastifyBaseLogger } from 'fastify'
import type { RetentionSettings } from './settings.ts'
import { measureKinds, pragma } from './sizes.ts'

interface SweeperParts {
  readonly db: DatabaseSync
  readonly kinds: readonly RetainedKind[]
  readonly settings: RetentionSettings
  /** See `isNewData`. */
  readonly isNewData: boolean
  readonly isMentioned: (text: string) => boolean
  readonly definitions: Pick<StoredDefinitions, 'applications'>
  readonly log: Pick<FastifyBaseLogger, 'info' | 'error'>
}

/** The thread is left to requests for so many times of what a portion took, and at least so long. */
const pauseShare = 5
const leastPauseMs = 10
const firstMs = 60_000

/** What a kind that no operator sets is swept by, also in data from before. */
const fixedKinds: ReadonlySet<string> = new Set(['infrastructure-tasks'])

const pagesAtOnce = 50
const closeMs = 500

/** Whether what no rule keeps is deleted. */
export function isRetentionOn({ enabled }: RetentionSettings, isNewData: boolean): boolean {
  return enabled ?? isNewData
}

export class Sweeper {
  readonly #parts: SweeperParts
  readonly #closing = new AbortController()
  #running: Promise<void> = Promise.resolve()
  #sizes: Readonly<Record<string, number>> | undefined

  constructor(parts: SweeperParts) {
    this.#parts = parts
  }

  start(): void {
    const { intervalMs } = this.#parts.settings
    this.#running = this.#repeat(Math.min(firstMs, intervalMs))
  }

  /** Bytes by kind, as of the last sweep. */
  get sizes(): Readonly<Record<string, number>> | undefined {
    return this.#sizes
  }

  /** Resolves when nothing is written any more; a tool that measures a folder is not waited for. */
  async close(): Promise<void> {
    this.#closing.abort()
    await within(closeMs, this.#running)
  }

  async #repeat(ms: number): Promise<void> {
    const { signal } = this.#closing
    for (let pauseMs = ms; ; pauseMs = this.#parts.settings.intervalMs) {
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => {})
      if (signal.aborted) return
      // A disk that is full for a while, or a busy database: the next sweep goes on.
      await this.sweep().catch((err: unknown) => {
        if (!signal.aborted) this.#parts.log.error({ err }, 'old records could not be deleted')
      })
    }
  }

  /** @throws {Error} as SQLite does, and when the sweeper is closed */
  async sweep(): Promise<void> {
    const { db, kinds, settings, isNewData, isMentioned, log } = this.#parts
    const turn = this.#createTurn()
    const isOn = isRetentionOn(settings, isNewData)
    const sweep = {
      turn,
      chunkSize: settings.chunkSize,
      isMentioned,
      ruleFor: isOn ? await this.#rulesByApplication() : (rule: RetentionRule) => rule,
    }
    const deleted: Record<string, number> = {}
    for (const each of kinds) {
      const isFixed = fixedKinds.has(each.kind)
      const rule = settings[each.kind as keyof RetentionSettings] as RetentionRule | undefined
      if (isFixed || (isOn && rule !== undefined))
        deleted[each.kind] = await each.sweep(sweep, rule)
    }
    if (Object.values(deleted).some((count) => count > 0))
      log.info({ deleted }, 'old records are deleted')
    await this.#giveSpaceBack(turn)
    this.#sizes = await measureKinds(db, dirname(db.location() ?? ''), turn)
  }

  #createTurn(): () => Promise<void> {
    let sinceMs = performance.now()
    return async () => {
      const tookMs = performance.now() - sinceMs
      await sleep(Math.max(leastPauseMs, tookMs * pauseShare), undefined, {
        signal: this.#closing.signal,
        ref: false,
      })
      sinceMs = performance.now()
    }
  }

  /** A file that an older version has created reuses its free pages, and does not shrink. */
  async #giveSpaceBack(turn: () => Promise<void>): Promise<void> {
    const { db } = this.#parts
    if (pragma(db, 'auto_vacuum') !== 2) return
    while (pragma(db, 'freelist_count') > pagesAtOnce) {
      db.prepare(`PRAGMA incremental_vacuum(${pagesAtOnce})`).all()
      await turn()
    }
  }

  /** An application may say itself how long its executions and tasks are kept: `retention: {retentionDays, kept}`. */
  async #rulesByApplication(): Promise<Sweep['ruleFor']> {
    // Without its word, an application that keeps more than others would lose it: what cannot be read ends the sweep.
    const applications = await this.#parts.definitions.applications(itself)
    const own = new Map(applications.map(({ name, retention }) => [foldName(name), retention]))
    return (rule, application) => {
      const { days, kept } = own.get(foldName(application)) ?? {}
      const exception = Object.entries(rule.exceptions ?? {}).find(
        ([name]) => foldName(name) === foldName(application),
      )?.[1]
      return { ...rule, days: days ?? exception ?? rule.days, kept: kept ?? rule.kept }
    }
  }
}
