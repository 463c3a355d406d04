/** The list of applications from definition store and infrastructure, refreshed in the background. */
import { hash } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import { anonymousIdentity } from '../upstreams/identity.ts'
import type { ServiceName } from '../upstreams/services.ts'
import { readJson, type Upstreams } from '../upstreams/upstreams.ts'
import { Freshness } from './staleness.ts'
import { checkList } from './upstream-shape.ts'

/** Flat attributes of an application; `name` is lower-case. */
export type Attributes = Record<string, unknown> & { name: string }

export interface ApplicationCacheSettings {
  /** Pause between the end of one refresh and the start of the next. */
  refreshMs: number
  /** Applications that only the infrastructure knows are left out. */
  definitionsOnly: boolean
  /** Keep only applications that use one of these accounts, or none; undefined keeps all. */
  includedAccounts: readonly string[] | undefined
}

export interface ApplicationCache {
  /** Whether applications that only the infrastructure knows are left out. */
  readonly definitionsOnly: boolean
  /** The merged list as of the last refresh, `[]` before the first. Frozen, and the same object until something in it changes. */
  list(): readonly Attributes[]
  /** Of the two halves of the list. */
  readonly freshness: readonly Freshness[]
  /** The cached attributes of one application, by name without case. */
  find(name: string): Attributes | undefined
  /** Adds an application that was just read from the definition store and is too new for the list, until the next refresh. */
  learn(attributes: Attributes): void
  /** Resolves when everything is in the list that was stored before the call. Never fails. */
  refresh(): Promise<void>
  start(): void
  close(): void
}

type Source = Extract<ServiceName, 'front50' | 'clouddriver'>

/** @see docs/reference/operations.md, getAllApplicationsUsingGET */
export function createApplicationCache(
  upstreams: Upstreams,
  settings: ApplicationCacheSettings,
  log: FastifyBaseLogger,
): ApplicationCache {
  const halves: Record<Source, unknown[]> = { front50: [], clouddriver: [] }
  const freshness: Record<Source, Freshness> = {
    front50: new Freshness('front50', settings.refreshMs),
    clouddriver: new Freshness('clouddriver', settings.refreshMs),
  }
  /** What each half was parsed from. */
  const digests: Record<Source, string | undefined> = { front50: undefined, clouddriver: undefined }
  let merged: readonly Attributes[] = Object.freeze([])
  /** Differs from what the halves say. */
  let isOutdated = false
  let byName = new Map<string, Attributes>()
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let closed = false

  async function load(source: Source, path: string, query: Record<string, string>): Promise<void> {
    if (!upstreams.isEnabled(source)) return
    try {
      const answer = await upstreams.call(source, { path, query }, anonymousIdentity)
      const digest = `${answer.status} ${hash('sha1', answer.text)}`
      if (digests[source] !== digest) {
        halves[source] = answer.status === 404 ? [] : checkList(readJson(answer, source), source)
        digests[source] = digest
        isOutdated = true
      }
      freshness[source].loaded()
    } catch (error) {
      freshness[source].failed()
      // A failed refresh keeps the old half: a stale list serves the page, an empty one looks like lost data.
      if (!closed) log.warn({ err: error, service: source }, 'the application list could not be refreshed')
    }
  }

  async function refresh(): Promise<void> {
    await Promise.all([
      load('front50', '/v2/applications', { restricted: 'false' }),
      load('clouddriver', '/applications', { restricted: 'false', expand: 'true' }),
    ])
    if (!isOutdated) return
    isOutdated = false
    merged = Object.freeze(mergeApplications(halves.front50, halves.clouddriver, settings))
    byName = new Map(merged.map((attributes) => [attributes.name, attributes]))
  }

  function refreshOnce(): Promise<void> {
    running ??= refresh().finally(() => {
      running = undefined
    })
    return running
  }

  /** A refresh that runs may have asked before the latest change; one that follows it serves all who wait. */
  function refreshAfresh(): Promise<void> {
    if (running === undefined) return refreshOnce()
    next ??= running.then(() => {
      next = undefined
      return refreshOnce()
    })
    return next
  }

  async function loop(): Promise<void> {
    await refreshOnce()
    if (!closed) timer = setTimeout(loop, settings.refreshMs).unref()
  }

  function learn(attributes: Attributes): void {
    if (byName.has(attributes.name)) return
    const included = mergeApplications([attributes], [], settings)
    if (included.length > 0) isOutdated = true
    merged = Object.freeze([...merged, ...included])
    for (const one of included) byName.set(one.name, one)
  }

  return {
    definitionsOnly: settings.definitionsOnly,
    freshness: Object.values(freshness),
    list: () => merged,
    find: (name) => byName.get(name.toLowerCase()),
    learn,
    refresh: refreshAfresh,
    start: () => void loop(),
    close: () => {
      closed = true
      clearTimeout(timer)
    },
  }
}

/** Attributes of the definition store win; the accounts seen in the infrastructure replace the stored ones. */
function mergeApplications(
  stored: readonly unknown[],
  running: readonly unknown[],
  settings: Pick<ApplicationCacheSettings, 'definitionsOnly' | 'includedAccounts'>,
): Attributes[] {
  const applications = new Map<string, Attributes>()
  for (const entry of stored) {
    const attributes = toAttributes(entry)
    if (attributes !== undefined) applications.set(attributes.name, { ...applications.get(attributes.name), ...attributes })
  }
  for (const entry of running) {
    const attributes = toAttributes(entry)
    if (attributes === undefined || (settings.definitionsOnly && !applications.has(attributes.name))) continue
    applications.set(attributes.name, mergeRunning(applications.get(attributes.name), attributes, accountsOf(entry)))
  }
  const all = [...applications.values()]
  const included = settings.includedAccounts
  return included === undefined ? all : all.filter((attributes) => usesAccount(attributes, included))
}

/** One application: attributes of the infrastructure fill gaps only; its accounts replace the stored ones if there are any. */
export function mergeRunning(stored: Attributes | undefined, running: Attributes, accounts: readonly string[]): Attributes {
  const merged: Attributes = { ...running }
  for (const [name, value] of Object.entries(stored ?? {})) {
    if (value !== null && value !== undefined) merged[name] = value
  }
  merged.name = running.name
  if (accounts.length > 0) merged['accounts'] = accounts.join(',')
  return merged
}

/** Flattens an application of either service: `attributes` are lifted, clusters dropped, the name lower-cased. */
export function toAttributes(entry: unknown): Attributes | undefined {
  if (typeof entry !== 'object' || entry === null) return undefined
  const { attributes, clusters, clusterNames, ...rest } = entry as Record<string, unknown>
  const flat = { ...(typeof attributes === 'object' ? (attributes as Record<string, unknown> | null) : {}), ...rest }
  return typeof flat['name'] === 'string' && flat['name'].trim() !== ''
    ? { ...flat, name: flat['name'].trim().toLowerCase() }
    : undefined
}

/** Accounts in which the infrastructure sees clusters of the application. */
export function accountsOf(entry: unknown): string[] {
  const { clusters, clusterNames } = entry as { clusters?: unknown; clusterNames?: unknown }
  const accounts = [clusters, clusterNames].flatMap((map) => (typeof map === 'object' && map !== null ? Object.keys(map) : []))
  return [...new Set(accounts)]
}

function usesAccount(attributes: Attributes, included: readonly string[]): boolean {
  const accounts = String(attributes['accounts'] ?? '')
    .split(',')
    .map((account) => account.trim())
    .filter((account) => account !== '')
  return accounts.length === 0 || accounts.some((account) => included.includes(account))
}
