/** The accounts that the infrastructure knows, kept fresh in the background. */
import type { FastifyBaseLogger } from 'fastify'
import { anonymousIdentity } from '../upstreams/identity.ts'
import { readJson } from '../upstreams/read-answer.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'
import { Freshness } from './staleness.ts'
import { checkList } from './upstream-shape.ts'

/** One account as clouddriver reports it; names of roles in `permissions` are lower case. */
export type AccountRecord = Readonly<Record<string, unknown>> & { readonly name: string }

export interface AccountCache {
  /** All accounts as of the last good refresh, `[]` before the first. Never changed in place. */
  list(): readonly AccountRecord[]
  readonly freshness: Freshness
  /** Refreshes at once; a failure keeps the old list. */
  refresh(): Promise<void>
  start(): void
  close(): void
}

/** @see docs/reference/operations.md, getAccountsUsingGET */
export function createAccountCache(upstreams: Upstreams, refreshMs: number, log: FastifyBaseLogger): AccountCache {
  const freshness = new Freshness('clouddriver', refreshMs)
  let accounts: readonly AccountRecord[] = []
  let timer: NodeJS.Timeout | undefined
  let closed = false
  let lastStarted = 0
  /** The refresh that the list comes from. */
  let lastRead = 0

  async function refresh(): Promise<void> {
    if (!upstreams.isEnabled('clouddriver')) return
    const number = ++lastStarted
    try {
      const answer = await upstreams.call('clouddriver', { path: '/credentials', query: { expand: 'true' } }, anonymousIdentity)
      const read = checkList(readJson(answer, 'clouddriver'), 'clouddriver').filter(isAccount)
      // A slow answer may be from before a change that a later refresh has read.
      if (number < lastRead) return
      lastRead = number
      accounts = read
      if (freshness.loaded()) log.info({ service: 'clouddriver' }, 'the account list is refreshed again')
    } catch (error) {
      if (number < lastRead) return
      const isNew = freshness.failed(error)
      if (isNew && !closed) log.warn({ err: error, service: 'clouddriver' }, 'the account list cannot be refreshed')
    }
  }

  async function loop(): Promise<void> {
    await refresh()
    if (!closed) timer = setTimeout(loop, refreshMs).unref()
  }

  return {
    freshness,
    list: () => accounts,
    refresh,
    start: () => void loop(),
    close: () => {
      closed = true
      clearTimeout(timer)
    },
  }
}

function isAccount(entry: unknown): entry is AccountRecord {
  return typeof entry === 'object' && entry !== null && typeof (entry as { name?: unknown }).name === 'string'
}
