/** The list of applications from definition store and infrastructure, refreshed in the background. */
import { hash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { parseJson } from '@fairlead/base/json/json.ts'
import { splitJsonList } from '@fairlead/base/json/split-list.ts'
import { commaList } from '@fairlead/base/names/comma-list.ts'
import { parseEntityTag } from '@fairlead/base/net/validators.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import type { FastifyBaseLogger } from 'fastify'
import { checkDone, readJson, type UpstreamAnswer } from '../upstreams/answer-form.ts'
import { anonymousIdentity } from '../upstreams/identity.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'
import { Freshness } from './staleness.ts'
import { checkList } from './upstream-shape.ts'

/** Flat attributes of an application; `name` is lower-case. */
export type CachedAttributes = Record<string, unknown> & { name: string }

interface ApplicationCacheSettings {
  refreshMs: number
  /** Applications that only the infrastructure knows are left out. */
  definitionsOnly: boolean
  includedAccounts: readonly string[] | undefined
}

type SourceService = Extract<ServiceName, 'front50' | 'clouddriver'>

interface CachedApplication {
  readonly attributes: CachedAttributes
  readonly accounts: readonly string[]
}

interface Half {
  /** By their text: what was parsed once is not parsed again. Undefined for what is no application. */
  readonly entries: ReadonlyMap<string, CachedApplication | undefined>
  readonly digest: string | undefined
  readonly tag: string | undefined
}

interface Merged {
  readonly stored: readonly CachedApplication[]
  readonly running: readonly CachedApplication[]
  readonly attributes: CachedAttributes
}

const unread: Half = { entries: new Map(), digest: undefined, tag: undefined }

export class ApplicationCache {
  readonly freshness: readonly Freshness[]
  readonly #upstreams: Upstreams
  readonly #settings: ApplicationCacheSettings
  readonly #log: FastifyBaseLogger
  readonly #halves: Record<SourceService, Half> = { front50: unread, clouddriver: unread }
  readonly #freshness: Record<SourceService, Freshness>
  #list: readonly CachedAttributes[] = Object.freeze([])
  #isOutdated = false
  #merged: ReadonlyMap<string, Merged> = new Map()
  #byName = new Map<string, CachedAttributes>()
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #closed = false

  constructor(upstreams: Upstreams, settings: ApplicationCacheSettings, log: FastifyBaseLogger) {
    this.#upstreams = upstreams
    this.#settings = settings
    this.#log = log
    const { refreshMs } = settings
    this.#freshness = {
      front50: new Freshness('front50', refreshMs),
      clouddriver: new Freshness('clouddriver', refreshMs),
    }
    this.freshness = Object.values(this.#freshness)
  }

  get definitionsOnly(): boolean {
    return this.#settings.definitionsOnly
  }

  /** The merged list as of the last refresh, `[]` before the first. Frozen, and the same object until something in it changes. */
  list(): readonly CachedAttributes[] {
    return this.#list
  }

  find(name: string): CachedAttributes | undefined {
    return this.#byName.get(name.toLowerCase())
  }

  /** Adds an application that was just read from the definition store and is too new for the list, until the next refresh. */
  learn(attributes: CachedAttributes): void {
    if (this.#byName.has(attributes.name) || !isIncluded(attributes, this.#settings)) return
    this.#isOutdated = true
    this.#list = Object.freeze([...this.#list, attributes])
    this.#byName.set(attributes.name, attributes)
  }

  /**
   * Resolves when everything is in the list that was stored before the call. Never fails. A refresh that runs may have asked before
   * the latest change; one that follows it serves all who wait.
   */
  refresh(): Promise<void> {
    if (this.#running === undefined) return this.#refreshOnce()
    this.#next ??= this.#running.then(() => {
      this.#next = undefined
      return this.#refreshOnce()
    })
    return this.#next
  }

  async start(): Promise<void> {
    await this.#refreshOnce()
    if (!this.#closed)
      this.#timer = setTimeout(() => void this.start(), this.#settings.refreshMs).unref()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  #refreshOnce(): Promise<void> {
    this.#running ??= this.#load().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #load(): Promise<void> {
    await Promise.all([
      this.#loadHalf('front50', '/v2/applications', { restricted: 'false' }),
      this.#loadHalf('clouddriver', '/applications', { restricted: 'false', expand: 'true' }),
    ])
    if (!this.#isOutdated) return
    this.#isOutdated = false
    const { front50, clouddriver } = this.#halves
    this.#merged = mergeApplications(
      applicationsIn(front50),
      applicationsIn(clouddriver),
      this.#settings,
      this.#merged,
    )
    const all = [...this.#merged.values()].map(({ attributes }) => attributes)
    const now = all.filter((attributes) => isIncluded(attributes, this.#settings))
    if (areSame(now, this.#list)) return
    this.#list = Object.freeze(now)
    this.#byName = new Map(now.map((attributes) => [attributes.name, attributes]))
  }

  async #loadHalf(
    source: SourceService,
    path: string,
    query: Record<string, string>,
  ): Promise<void> {
    if (!this.#upstreams.isEnabled(source)) return
    const freshness = this.#freshness[source]
    try {
      const before = this.#halves[source]
      const headers: Record<string, string> =
        before.tag === undefined ? {} : { 'if-none-match': before.tag }
      const answer = await this.#upstreams.call(source, { path, query, headers }, anonymousIdentity)
      if (answer.status !== 304 || before.tag === undefined) {
        const digest = `${answer.status} ${hash('sha1', answer.text)}`
        const tag = parseEntityTag([answer.headers['etag']].flat()[0])
        const isSame = before.digest === digest
        const entries = isSame ? before.entries : await readEntries(answer, source, before.entries)
        this.#halves[source] = { entries, digest, tag }
        if (!isSame) this.#isOutdated = true
      }
      if (freshness.loaded())
        this.#log.info({ service: source }, 'the application list is refreshed again')
    } catch (error) {
      // A failed refresh keeps the old half: a stale list serves the page, an empty one looks like lost data.
      const isNew = freshness.failed(error)
      if (isNew && !this.#closed)
        this.#log.warn({ err: error, service: source }, 'the application list cannot be refreshed')
    }
  }
}

const sliceMs = 5

async function readEntries(
  answer: UpstreamAnswer,
  source: SourceService,
  before: ReadonlyMap<string, CachedApplication | undefined>,
): Promise<ReadonlyMap<string, CachedApplication | undefined>> {
  if (answer.status === 404) return new Map()
  checkDone(answer, source)
  const entries = new Map<string, CachedApplication | undefined>()
  try {
    let sinceMs = performance.now()
    for (const text of splitJsonList(answer.text)) {
      entries.set(text, before.has(text) ? before.get(text) : toEntry(parseJson(text)))
      if (performance.now() - sinceMs < sliceMs) continue
      await setImmediate()
      sinceMs = performance.now()
    }
    return entries
  } catch (error) {
    // Says what is wrong with the whole.
    checkList(readJson(answer, source), source)
    throw error
  }
}

function toEntry(listed: unknown): CachedApplication | undefined {
  const attributes = toAttributes(listed)
  return attributes && { attributes, accounts: accountsOfApplication(listed) }
}

function applicationsIn({ entries }: Half): CachedApplication[] {
  return [...entries.values()].filter((entry) => entry !== undefined)
}

function mergeApplications(
  stored: readonly CachedApplication[],
  running: readonly CachedApplication[],
  { definitionsOnly }: ApplicationCacheSettings,
  before: ReadonlyMap<string, Merged>,
): Map<string, Merged> {
  const [storedByName, runningByName] = [stored, running].map((entries) =>
    Map.groupBy(entries, ({ attributes }) => attributes.name),
  ) as [Map<string, CachedApplication[]>, Map<string, CachedApplication[]>]
  const names = new Set(
    definitionsOnly ? storedByName.keys() : [...storedByName.keys(), ...runningByName.keys()],
  )
  const merged = new Map<string, Merged>()
  for (const name of names) {
    const parts = { stored: storedByName.get(name) ?? [], running: runningByName.get(name) ?? [] }
    const known = before.get(name)
    const isSame =
      known !== undefined &&
      areSame(known.stored, parts.stored) &&
      areSame(known.running, parts.running)
    merged.set(name, isSame ? known : { ...parts, attributes: mergeParts(parts) })
  }
  return merged
}

function areSame(some: readonly unknown[], others: readonly unknown[]): boolean {
  return some.length === others.length && some.every((one, index) => one === others[index])
}

/** Attributes of the definition store win; the accounts seen in the infrastructure replace the stored ones. */
function mergeParts({ stored, running }: Pick<Merged, 'stored' | 'running'>): CachedAttributes {
  const [first, ...more] = stored
  let merged = first?.attributes
  for (const { attributes } of more) merged = { ...merged, ...attributes }
  for (const { attributes, accounts } of running)
    merged = mergeRunning(merged, attributes, accounts)
  return merged as CachedAttributes
}

/** One application: attributes of the infrastructure fill gaps only; its accounts replace the stored ones if there are any. */
export function mergeRunning(
  stored: CachedAttributes | undefined,
  running: CachedAttributes,
  accounts: readonly string[],
): CachedAttributes {
  const merged: CachedAttributes = { ...running }
  for (const [name, value] of Object.entries(stored ?? {})) {
    if (value !== null && value !== undefined) merged[name] = value
  }
  merged.name = running.name
  if (accounts.length > 0) merged['accounts'] = accounts.join(',')
  return merged
}

export function toAttributes(entry: unknown): CachedAttributes | undefined {
  if (typeof entry !== 'object' || entry === null) return undefined
  const { attributes, clusters, clusterNames, ...rest } = entry as Record<string, unknown>
  const flat = {
    ...(typeof attributes === 'object' ? (attributes as Record<string, unknown> | null) : {}),
    ...rest,
  }
  return typeof flat['name'] === 'string' && flat['name'].trim() !== ''
    ? { ...flat, name: flat['name'].trim().toLowerCase() }
    : undefined
}

export function accountsOfApplication(entry: unknown): string[] {
  const { clusters, clusterNames } = entry as { clusters?: unknown; clusterNames?: unknown }
  const accounts = [clusters, clusterNames].flatMap((map) =>
    typeof map === 'object' && map !== null ? Object.keys(map) : [],
  )
  return [...new Set(accounts)]
}

function isIncluded(
  { accounts }: CachedAttributes,
  { includedAccounts }: ApplicationCacheSettings,
): boolean {
  if (includedAccounts === undefined) return true
  const names = commaList(String(accounts ?? ''))
  return names.length === 0 || names.some((account) => includedAccounts.includes(account))
}
