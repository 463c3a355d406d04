/** The accounts that the infrastructure knows, kept fresh in the background. */
import type { FastifyBaseLogger } from 'fastify'
import { anonymousIdentity } from '../upstreams/identity.ts'
import { readJson, type Upstreams } from '../upstreams/upstreams.ts'
import { Freshness } from './staleness.ts'
import { checkList } from './upstream-shape.ts'

/** One account as clouddriver reports it; names of roles in `permissions` are lower case. */
export type Account = Readonly<Record<string, unknown>> & { readonly name: string }

export interface AccountCache {
  /** All accounts as of the last good refresh, `[]` before the first. Never changed in place. */
  list(): readonly Account[]
  readonly freshness: Freshness
  /** Refreshes at once; a failure keeps the old list. */
  refresh(): Promise<void>
  start(): void
  close(): void
}

/** @see docs/reference/operations.md, getAccountsUsingGET */
export function createAccountCache(upstreams: Upstreams, refreshMs: number, log: FastifyBaseLogger): AccountCache {
  const freshness = new Freshness('clouddriver', refreshMs)
  let accounts: readonly Account[] = []
  let timer: NodeJS.Timeout | undefined
  let closed = false

  async function refresh(): Promise<void> {
    if (!upstreams.isEnabled('clouddriver')) return
    try {
      const answer = await upstreams.call('clouddriver', { path: '/credentials', query: { expand: 'true' } }, anonymousIdentity)
      accounts = checkList(readJson(answer, 'clouddriver'), 'clouddriver').filter(isAccount)
      freshness.loaded()
    } catch (error) {
      freshness.failed()
      if (!closed) log.warn({ err: error, service: 'clouddriver' }, 'the account list could not be refreshed')
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

function isAccount(entry: unknown): entry is Account {
  return typeof entry === 'object' && entry !== null && typeof (entry as { name?: unknown }).name === 'string'
}
