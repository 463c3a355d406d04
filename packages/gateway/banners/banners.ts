/** Banners: announcements that administrators set and the web UI shows to all users. */
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GatewayError } from '@fairlead/base/errors.ts'
import { withoutNulls } from '@fairlead/base/json/values.ts'
import type { Redis } from '@fairlead/base/redis/redis.ts'
import { RedisRecords } from '@fairlead/base/redis/redis-records.ts'
import { isRunning } from '@fairlead/base/settings/time-span.ts'
import type { Records } from '@fairlead/base/storage/records.ts'
import { openSqliteRecords } from '@fairlead/base/storage/sqlite-records.ts'
import type { Logger } from 'pino'
import { z } from 'zod'

const maxBanners = 50
const maxAttempts = 5

const cssValue = z
  .string()
  .regex(/^[\w#%(),. -]{1,100}$/, 'a CSS value of up to 100 letters, digits and #%(),.-')
  .nullish()
const moment = z.int().min(0).max(8_640_000_000_000_000).nullish()

export const BannerChange = z
  .object({
    id: z
      .string()
      .regex(/^[\w.-]{1,100}$/, 'up to 100 letters, digits, dots, hyphens and underscores')
      .refine(
        (id) => !['all', 'refresh', '.', '..'].includes(id),
        'another name: this one has a meaning in addresses',
      )
      .nullish(),
    message: z.string().trim().min(1).describe('Text, with Markdown.'),
    color: cssValue.describe('CSS color of the text.'),
    backgroundColor: cssValue.describe('CSS color behind the text.'),
    fontSize: cssValue.describe('CSS size of the text.'),
    enabled: z.boolean().default(false),
    startTimestamp: moment.describe('Shown from then on, in milliseconds since the epoch.'),
    endTimestamp: moment.describe('Shown until then, in milliseconds since the epoch.'),
  })
  .meta({ id: 'BannerChange' })
export type BannerChange = z.infer<typeof BannerChange>

export const Banner = BannerChange.extend({
  id: z.string(),
  createdAt: z.number().describe('Milliseconds since the epoch.'),
  updatedAt: z.number().describe('Milliseconds since the epoch.'),
}).meta({ id: 'Banner' })
export type Banner = z.infer<typeof Banner>

const Document = z.array(Banner)

interface BannerSettings {
  readonly enabled: boolean
  /** How long a list is served before the store is asked again. */
  readonly refreshMs: number
  readonly maxMessageLength: number
}

interface BannerOptions {
  settings: BannerSettings
  store: Records
  log: Logger
  now: () => number
}

/** All banners are one record. Gate keeps each in a key of its own, below another prefix; those are neither read nor in the way. */
const recordKey = 'banners'

export class Banners {
  readonly #options: BannerOptions
  #loaded: { text: string | undefined; banners: readonly Banner[] } = {
    text: undefined,
    banners: [],
  }
  #dueAtMs = 0

  constructor(options: BannerOptions) {
    this.#options = options
  }

  /** Banners to show now. A store that cannot be asked leaves the last list. */
  async active(): Promise<Banner[]> {
    const { settings, log, now } = this.#options
    if (!settings.enabled) return []
    if (!isRunning(now(), this.#dueAtMs, settings.refreshMs)) {
      await this.refresh().catch((error: unknown) => {
        this.#dueAtMs = now() + settings.refreshMs
        log.warn({ err: error }, 'the banners cannot be read; the last list is shown')
      })
    }
    return this.#loaded.banners.filter((banner) => isActive(banner, now()))
  }

  async all(): Promise<readonly Banner[]> {
    await this.refresh()
    return this.#loaded.banners
  }

  async find(id: string): Promise<Banner> {
    return (await this.all()).find((one) => one.id === id) ?? missing(id)
  }

  async save({ id, ...given }: BannerChange): Promise<Banner> {
    const name = id ?? randomUUID()
    return this.#store(name, () => given)
  }

  async change(id: string, change: Partial<BannerChange>): Promise<Banner> {
    return this.#store(id, (stored) => ({ ...(stored ?? missing(id)), ...change }))
  }

  async remove(id: string): Promise<void> {
    await this.#update((banners) => {
      const left = banners.filter((one) => one.id !== id)
      if (left.length === banners.length) missing(id)
      return left
    })
  }

  async removeAll(): Promise<number> {
    let removed = 0
    await this.#update((banners) => {
      removed = banners.length
      return []
    })
    return removed
  }

  async refresh(): Promise<void> {
    const { settings, store, now } = this.#options
    if (!settings.enabled) {
      throw new GatewayError(
        'NOT_FOUND',
        'Banners are switched off. Set global-banner.enabled: true to use them.',
      )
    }
    const text = (await store.get(recordKey).catch(unavailable))?.content
    this.#loaded = { text, banners: parse(text) }
    this.#dueAtMs = now() + settings.refreshMs
  }

  async #store(
    id: string,
    next: (stored: Banner | undefined) => Omit<BannerChange, 'id'>,
  ): Promise<Banner> {
    let saved: Banner | undefined
    await this.#update((banners) => {
      const stored = banners.find((one) => one.id === id)
      const updatedAt = this.#options.now()
      const banner = withoutNulls({
        ...next(stored),
        id,
        createdAt: stored?.createdAt ?? updatedAt,
        updatedAt,
      })
      this.#check(banner)
      if (stored === undefined && banners.length >= maxBanners) {
        throw new GatewayError(
          'BAD_ARGUMENT',
          `There are ${maxBanners} banners already. Delete one first.`,
        )
      }
      saved = banner
      return [...banners.filter((one) => one !== stored), banner].sort(
        (a, b) => a.createdAt - b.createdAt,
      )
    })
    return saved as Banner
  }

  #check({ message, startTimestamp, endTimestamp }: Banner): void {
    const { maxMessageLength } = this.#options.settings
    if (message.length > maxMessageLength) {
      const advice = 'Shorten it, or raise global-banner.max-message-length.'
      throw new GatewayError(
        'BAD_ARGUMENT',
        `The message has more than ${maxMessageLength} characters. ${advice}`,
      )
    }
    if (endTimestamp != null && endTimestamp <= (startTimestamp ?? 0)) {
      throw new GatewayError('BAD_ARGUMENT', 'endTimestamp has to be later than startTimestamp.')
    }
  }

  async #update(change: (banners: readonly Banner[]) => Banner[]): Promise<void> {
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      await this.refresh()
      const { text, banners } = this.#loaded
      const next = change(banners)
      const content = JSON.stringify(next)
      if (!(await this.#options.store.put(recordKey, { content }, text ?? null).catch(unavailable)))
        continue
      this.#loaded = { text: content, banners: next }
      return
    }
    throw new GatewayError('CONFLICT', 'The banners are being changed by others. Try again.')
  }
}

/** Released steps are never edited. */
export const bannerMigrations = [
  `INSERT INTO banners SELECT '${recordKey}', former(), 9007199254740991, NULL WHERE former() IS NOT NULL`,
]

interface BannerPlace {
  dataDir: string
  redis: Redis | undefined
  now: () => number
  log: Logger
}

/** In the Redis of all replicas, or else in the data directory, file `banners.db`; earlier versions wrote `banners.json`. */
export function openBannerRecords({ dataDir, redis, now, log }: BannerPlace): Records {
  if (redis !== undefined) return new RedisRecords(redis, { prefix: 'fairlead:', now })
  const formerFile = join(dataDir, 'banners.json')
  const former = () => (existsSync(formerFile) ? readFileSync(formerFile, 'utf8') : null)
  const moves = { owner: 'banners', migrations: bannerMigrations, functions: { former } }
  return openSqliteRecords(join(dataDir, 'banners.db'), 'banners', { now, log, moves })
}

function isActive({ enabled, startTimestamp, endTimestamp }: Banner, nowMs: number): boolean {
  return (
    enabled && nowMs >= (startTimestamp ?? 0) && nowMs < (endTimestamp ?? Number.POSITIVE_INFINITY)
  )
}

/** What another version wrote and cannot be read is nothing, and the next change replaces it. */
function parse(text: string | undefined): Banner[] {
  if (text === undefined) return []
  try {
    return Document.parse(JSON.parse(text))
  } catch {
    return []
  }
}

function missing(id: string): never {
  throw new GatewayError(
    'NOT_FOUND',
    `There is no banner "${id}". GET /banners/all lists all of them.`,
  )
}

function unavailable(cause: unknown): never {
  throw new GatewayError(
    'BANNERS_UNAVAILABLE',
    'The store of the banners cannot be used. Try again in a moment.',
    { cause },
  )
}
