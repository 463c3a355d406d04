/** The accounts that the infrastructure knows, kept fresh in the background. */

import { type Account, toAccount } from '@fairlead/model/environments/accounts.ts'
import type { FastifyBaseLogger } from 'fastify'
import { anonymousIdentity } from '../upstreams/identity.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'
import { Freshness } from './staleness.ts'
import { readList } from './upstream-shape.ts'

export class AccountCache {
  readonly freshness: Freshness
  readonly #upstreams: Upstreams
  readonly #refreshMs: number
  readonly #log: FastifyBaseLogger
  #accounts: readonly Account[] = []
  #timer: NodeJS.Timeout | undefined
  #closed = false
  #lastStarted = 0
  #lastRead = 0

  constructor(upstreams: Upstreams, refreshMs: number, log: FastifyBaseLogger) {
    this.freshness = new Freshness('clouddriver', refreshMs)
    this.#upstreams = upstreams
    this.#refreshMs = refreshMs
    this.#log = log
  }

  list(): readonly Account[] {
    return this.#accounts
  }

  /** Refreshes at once; a failure keeps the old list. */
  async refresh(): Promise<void> {
    if (!this.#upstreams.isEnabled('clouddriver')) return
    const number = ++this.#lastStarted
    try {
      const call = { path: '/credentials', query: { expand: 'true' } }
      const answer = await this.#upstreams.call('clouddriver', call, anonymousIdentity)
      const read = readList(answer, 'clouddriver')
        .filter(({ name }) => typeof name === 'string')
        .map(toAccount)
      // A slow answer may be from before a change that a later refresh has read.
      if (number < this.#lastRead) return
      this.#lastRead = number
      this.#accounts = read
      if (this.freshness.loaded())
        this.#log.info({ service: 'clouddriver' }, 'the account list is refreshed again')
    } catch (error) {
      if (number < this.#lastRead) return
      const isNew = this.freshness.failed(error)
      if (isNew && !this.#closed)
        this.#log.warn(
          { err: error, service: 'clouddriver' },
          'the account list cannot be refreshed',
        )
    }
  }

  async start(): Promise<void> {
    await this.refresh()
    if (!this.#closed) this.#timer = setTimeout(() => void this.start(), this.#refreshMs).unref()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }
}
