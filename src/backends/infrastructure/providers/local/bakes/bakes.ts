/** Image bakes of this machine: the agent runs the builder, and the result becomes an image. */
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { formatJson } from '../../../../../json/json.ts'
import type { JsonObject } from '../../../../../json/values.ts'
import { type BackendContext, BackendError } from '../../../../backend.ts'
import type { ImageStore, StoredImage } from '../../../../images/image-store.ts'
import { withoutSecrets } from '../../../../pipelines/secret-names.ts'
import { requireAccess } from '../../../../rights/access.ts'
import type { BakeQuery, Baker } from '../../../baker.ts'
import type { BuilderOrder, Builders } from '../builders.ts'
import type { LocalProvider } from '../local.ts'
import { BakeCaches } from './bake-caches.ts'
import { adoptImage, bakedNameOf } from './bake-image.ts'
import { type Bake, BakeStore } from './bake-store.ts'
import { fingerprintOf } from './fingerprint.ts'
import { type BakePlan, type BakeTemplate, planVariable, type Source, startLine } from './plan.ts'
import {
  type BakeRequest,
  type BakeTarget,
  isFixed,
  keyOf,
  maskRequest,
  parseBakeRequest,
  secretsOf,
  sourcesOf,
  variablesOf,
} from './request.ts'
import type { BakeSettings } from './settings.ts'

export interface BakeTimes {
  /** Longest wait for a builder to start. */
  readonly startMs: number
  /** A builder that ends so soon after its start fails the request. */
  readonly settleMs: number
  /** Between two looks at builders that run. */
  readonly pollMs: number
}

/** @see docs/contracts/bakery.md#bakes */
export const bakeTimes: BakeTimes = { startMs: 30_000, settleMs: 300, pollMs: 250 }

/** Environment variables of a process have a bound of 128 kB each. */
const maxPlanLength = 100_000

interface BakesOptions {
  readonly context: BackendContext
  readonly provider: LocalProvider
  readonly settings: BakeSettings
  readonly times: BakeTimes
}

/** A request, once it is clear what it needs. */
interface BakeOrder {
  readonly request: BakeRequest
  readonly template: BakeTemplate
  readonly target: BakeTarget
  readonly sources: readonly Source[]
  readonly key: string
  readonly region: string
  readonly user: string
  readonly application: string | undefined
}

export class Bakes implements Baker {
  readonly #options: BakesOptions
  readonly #store: BakeStore
  readonly #caches: BakeCaches
  /** Requests that wait for the start of a bake, by its id. */
  readonly #starting = new Map<string, Promise<void>>()
  /** The latest reading of sources for a user, by name. */
  readonly #turns = new Map<string, Promise<unknown>>()
  readonly #closing = new AbortController()
  #watching: Promise<void> | undefined

  constructor(options: BakesOptions) {
    const { context, provider, settings } = options
    this.#options = options
    this.#store = new BakeStore(context.db)
    this.#caches = new BakeCaches({
      dataDir: provider.dataDir,
      maxBytes: settings.cacheMb * 1024 * 1024,
      users: provider.parts.users,
      accounts: this.#accounts,
      isUsed: (account) => this.#store.running().some((bake) => bake.account === account),
    })
  }

  get #builders(): Builders {
    return this.#options.provider.builders
  }

  get #images(): ImageStore {
    return this.#options.provider.parts.images
  }

  get #accounts(): string[] {
    return this.#options.provider.accounts.map(({ name }) => name)
  }

  /** As base images: the templates. */
  get baseImages(): JsonObject[] {
    return this.#options.settings.templates.map(({ id, description, details }) => {
      const shortDescription = description || id
      return { id, shortDescription, detailedDescription: details || shortDescription, packageType: 'DEB', osType: 'linux' }
    })
  }

  get(id: string): Bake | undefined {
    return this.#store.get(id)
  }

  /** Goes on with the bakes that ran when Fairlead ended, and removes what is left of others. */
  start(): void {
    try {
      this.#removeLeftovers()
    } catch (error) {
      this.#options.context.log.warn({ err: error }, 'what earlier bakes left could not be removed')
    }
    this.#watch()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#watching
  }

  async request({ region, body, user, execution, application, isRebake }: BakeQuery): Promise<Bake> {
    const request = { ...parseBakeRequest(body), ...(execution !== undefined && { spinnaker_execution_id: execution }) }
    const template = this.#findTemplate(request.base_os)
    const target = await this.#targetFor(request, region, user)
    const sources = sourcesOf(request, this.#options.settings.packages)
    const key = await this.#keyOf(request, target, user)
    const known = this.#store.ofKey(key)
    if (known !== undefined && isRebake) await this.#forget(known)
    const other = this.#store.ofKey(key)
    if (other !== undefined && this.#isReusable(other, sources)) {
      await this.#starting.get(other.id)
      return this.#store.get(other.id) ?? other
    }
    return this.#create({ request, template, target, sources, key, region, user, application })
  }

  async cancel(id: string): Promise<void> {
    const bake = this.#store.get(id)
    const isCancelled = bake?.state === 'RUNNING' && (await this.#end(bake, 'CANCELED', 'The bake was cancelled.'))
    if (!isCancelled) throw new BackendError(400, `There is no incomplete bake with status id ${id}.`)
  }

  async log(id: string): Promise<string | undefined> {
    const bake = this.#store.get(id)
    return bake?.state === 'RUNNING' ? this.#consoleOf(bake) : this.#store.logOf(id)
  }

  #findTemplate(id: string | undefined): BakeTemplate {
    const { templates } = this.#options.settings
    const template = templates.find((each) => each.id === id)
    if (template !== undefined) return template
    const known = templates.map((each) => each.id).join(', ')
    throw new BackendError(400, `There is no base image "${id ?? ''}" (base_os). There are ${known}.`)
  }

  /** The account that is named; else those that the caller may change, the first of which runs the bake. */
  async #targetFor(request: BakeRequest, region: string, user: string): Promise<BakeTarget> {
    const { accounts } = this.#options.provider.parts.settings
    const access = await requireAccess(this.#options.context, user)
    const inRegion = accounts.filter(({ regions }) => region === 'global' || regions.some(({ name }) => name === region))
    if (inRegion.length === 0) {
      const known = [...new Set(accounts.flatMap(({ regions }) => regions.map(({ name }) => name)))].join(', ')
      throw new BackendError(400, `There is no region "${region}" to bake for. There are global, ${known}.`)
    }
    const named = request.account_name
    const candidates = named === undefined ? inRegion : inRegion.filter(({ name }) => name === named)
    if (candidates.length === 0) throw new BackendError(400, `There is no account "${named}" in the region ${region}.`)
    const writable = candidates.map(({ name }) => name).filter((name) => access.mayOnAccount(name, 'WRITE'))
    const [account] = writable
    if (account !== undefined) return { account, accounts: writable.length === accounts.length ? undefined : writable }
    throw new BackendError(403, `Access denied to account ${candidates.map(({ name }) => name).join(', ')}`, {
      exception: 'AccessDenied',
    })
  }

  /** Otherwise a new one is needed. */
  #isReusable({ state, image, account }: Bake, sources: readonly Source[]): boolean {
    if (state === 'RUNNING') return true
    return image !== undefined && this.#images.get(image, account) !== undefined && isFixed(sources)
  }

  /** Requests of one user wait for each other here: reading large directories must not keep the machine busy. */
  async #keyOf(request: BakeRequest, target: BakeTarget, user: string): Promise<string> {
    const sources = sourcesOf(request, this.#options.settings.packages)
    const find = () =>
      Promise.all(sources.map((source) => fingerprintOf(source, this.#options.provider.parts.users.of(target.account))))
    const turn = (this.#turns.get(user) ?? Promise.resolve()).then(find)
    this.#turns.set(user, turn)
    try {
      return keyOf(request, target, await turn)
    } finally {
      if (this.#turns.get(user) === turn) this.#turns.delete(user)
    }
  }

  /** It stays readable by its id. */
  async #forget(bake: Bake): Promise<void> {
    const isOver = !(await this.#end(bake, 'CANCELED', 'The bake was cancelled by a new request.'))
    const current = this.#store.get(bake.id)
    if (isOver && current !== undefined) this.#store.put({ ...current, key: undefined })
  }

  async #create(order: BakeOrder): Promise<Bake> {
    const { request, template, target, key, region, user } = order
    const { context, provider } = this.#options
    const secrets = secretsOf(request, template.environment)
    const builderOrder = await this.#withSecrets(order)
    const bake: Bake = {
      id: `bake-${provider.parts.newId().toLowerCase()}`,
      key,
      state: 'RUNNING',
      region,
      ...target,
      request: maskRequest(request, secrets),
      user,
      ...bakedNameOf(request),
      secrets,
      image: undefined,
      imageName: undefined,
      createdMs: context.now(),
    }
    this.#checkRoom(user)
    this.#store.put(bake)
    const started = this.#startBuilder(bake, builderOrder).finally(() => {
      this.#starting.delete(bake.id)
      this.#watch()
    })
    this.#starting.set(bake.id, started)
    await started
    return this.#store.get(bake.id) ?? bake
  }

  /** The attributes with values of secrets, which no store and no log holds. @throws {BackendError} 400 */
  async #withSecrets(order: BakeOrder): Promise<BuilderOrder> {
    const { request, target, user, application } = order
    const place = `bake of ${request.package ?? request.base_os ?? ''} for ${target.account}`
    const use = { application, account: target.account, user, place }
    const { value, ...revealed } = await this.#options.context.secrets.reveal(request.extended_attributes, use)
    return { ...this.#toBuilderOrder({ ...order, request: { ...request, extended_attributes: value } }), revealed }
  }

  /** @throws {BackendError} 400 */
  #toBuilderOrder({ request, template, target, sources }: BakeOrder): BuilderOrder {
    const { provider, settings } = this.#options
    const { timeLimitMs, memoryMb, diskMb } = settings
    const from = this.#originOf(template, target)
    const plan: BakePlan = {
      hasContent: from !== undefined,
      sources,
      steps: template.steps,
      environment: { ...template.environment, ...variablesOf(request) },
      cache: this.#caches.open(target),
      bounds: provider.parts.settings.images,
    }
    const planText = formatJson(plan)
    if (planText.length > maxPlanLength) throw new BackendError(400, 'The extended attributes are too large.')
    return {
      command: [process.execPath, builderFile()],
      account: target.account,
      image: from && { id: from.id, digest: from.digest },
      environment: { [planVariable]: planText },
      timeLimitMs,
      memoryMb,
      diskMb,
    }
  }

  /** @throws {BackendError} 429, 503 */
  #checkRoom(user: string): void {
    const { maxRunning, maxRunningPerUser } = this.#options.settings
    const running = this.#store.running()
    const own = running.filter((bake) => bake.user === user).length
    if (own >= maxRunningPerUser) {
      throw new BackendError(
        429,
        `${own} bakes of ${user} run, which is as many as a user may have (bakery.local.max-running-per-user). ` +
          'Wait for the end of one, or cancel it.',
      )
    }
    if (running.length < maxRunning) return
    throw new BackendError(
      503,
      `${running.length} bakes run, which is as many as this machine may have (bakery.local.max-running). Try again later.`,
    )
  }

  /** All accounts that get the new image must have the one that it starts with: none gets content that only another one trusts. */
  #originOf({ from }: BakeTemplate, { account, accounts }: BakeTarget): StoredImage | undefined {
    if (from === undefined) return undefined
    const image = this.#images.get(from, account)
    const receivers = accounts ?? this.#accounts
    const without = receivers.find((name) => image === undefined || this.#images.get(from, name)?.digest !== image.digest)
    if (image !== undefined && without === undefined) return image
    throw new BackendError(
      400,
      `The base image starts with the image ${from}, which ${image === undefined ? `does not exist for the account ${account}` : `the account ${without} does not have`}.`,
    )
  }

  /** @throws {BackendError} 400 when it does not start, or fails at once */
  async #startBuilder(bake: Bake, order: BuilderOrder): Promise<void> {
    const { startMs, settleMs } = this.#options.times
    try {
      this.#builders.start(bake.id, order)
    } catch (error) {
      await this.#end(bake, 'CANCELED', (error as Error).message)
      throw error
    }
    let endMs = performance.now() + startMs
    for (let isStarted = false; ; await sleep(25)) {
      const view = this.#builders.look(bake.id)
      if (view === undefined || view.hasEnded) break
      if (!isStarted && (await this.#consoleOf(bake)).includes(startLine)) {
        isStarted = true
        endMs = performance.now() + settleMs
      }
      if (performance.now() < endMs && !this.#closing.signal.aborted) continue
      if (isStarted || this.#closing.signal.aborted) return
      const text = `The builder did not start within ${startMs / 1000} seconds. ${view.reason ?? 'The agent does not run it.'}`
      await this.#end(bake, 'CANCELED', text)
      throw new BackendError(400, text)
    }
    // A bake that was cancelled meanwhile has not failed.
    if (this.#store.get(bake.id)?.state !== 'RUNNING') return
    await this.#settle(bake)
    if (this.#store.get(bake.id)?.state !== 'CANCELED') return
    throw new BackendError(400, `The bake failed: ${this.#store.logOf(bake.id) ?? 'it has no log.'}`)
  }

  /** Looks at all bakes that run, until there are none. */
  #watch(): void {
    this.#watching ??= this.#watchAll().finally(() => {
      this.#watching = undefined
    })
  }

  async #watchAll(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      const running = this.#watched()
      if (running?.length === 0) return
      for (const bake of running ?? []) {
        try {
          const view = this.#builders.look(bake.id)
          if (view === undefined || view.hasEnded) await this.#settle(bake)
        } catch (error) {
          this.#options.context.log.warn({ err: error, bake: bake.id }, 'a bake cannot be followed at the moment')
        }
      }
      await sleep(this.#options.times.pollMs, undefined, { signal: this.#closing.signal }).catch(() => {})
    }
  }

  /** Bakes that run and have been started; undefined while the store cannot be read. */
  #watched(): Bake[] | undefined {
    try {
      return this.#store.running().filter(({ id }) => !this.#starting.has(id))
    } catch (error) {
      this.#options.context.log.warn({ err: error }, 'bakes cannot be followed at the moment')
      return undefined
    }
  }

  /** Records how a builder has ended, and takes its image over. */
  async #settle(bake: Bake): Promise<void> {
    const view = this.#builders.look(bake.id)
    if (view === undefined) return void (await this.#end(bake, 'CANCELED', 'The builder has vanished.'))
    if (view.exitCode !== 0) return void (await this.#end(bake, 'CANCELED', withRemedy(view.reason)))
    let image: StoredImage
    try {
      const template = this.#options.settings.templates.find(({ id }) => id === bake.request.base_os)
      image = this.#storedImageOf(bake) ?? (await adoptImage(this.#images, bake, { folder: view.folder, template }))
    } catch (error) {
      if (!(error instanceof BackendError)) {
        this.#options.context.log.error({ err: error, bake: bake.id }, 'the result of a bake could not be stored')
      }
      return void (await this.#end(bake, 'CANCELED', (error as Error).message))
    }
    const words = `The image ${image.id} is stored, with the digest ${image.digest}.`
    const isKept = await this.#end(bake, 'COMPLETED', words, image)
    if (!isKept && image.origin['bake'] === bake.id) this.#images.remove(image)
  }

  /** The image whose bake could not be recorded as complete, since Fairlead ended or its disk was full. */
  #storedImageOf({ id }: Bake): StoredImage | undefined {
    return this.#images.all().find(({ origin }) => origin['bake'] === id)
  }

  /** Once only: what comes later does not change the state. @returns whether it was the first */
  async #end(bake: Bake, state: 'COMPLETED' | 'CANCELED', words: string | undefined, image?: StoredImage): Promise<boolean> {
    const output = await this.#consoleOf(bake)
    const current = this.#store.get(bake.id)
    if (current?.state !== 'RUNNING') return false
    // The log first: after a crash in between, the bake still runs, and ends once more.
    this.#store.setLog(bake.id, `${output}${withoutSecrets(words ?? '', current.secrets)}\n`)
    this.#store.put({
      ...current,
      state,
      key: state === 'COMPLETED' ? current.key : undefined,
      secrets: [],
      image: image?.id,
      imageName: image && `${image.name}-${image.version}`,
    })
    this.#removeBuild(bake.id)
    await this.#caches.trim(bake).catch((error: unknown) => {
      this.#options.context.log.warn({ err: error, account: bake.account }, 'the cache of bakes could not be measured or removed')
    })
    return true
  }

  /** A folder that stays is removed at the next start. */
  #removeBuild(id: string): void {
    try {
      this.#builders.remove(id)
    } catch (error) {
      this.#options.context.log.warn({ err: error, bake: id }, 'the folder of a bake could not be removed')
    }
  }

  #removeLeftovers(): void {
    for (const id of this.#builders.ids('bake')) {
      if (this.#store.get(id)?.state !== 'RUNNING') this.#removeBuild(id)
    }
  }

  /** What the builder has written until now. */
  async #consoleOf({ id, secrets }: Bake): Promise<string> {
    return withoutSecrets(await this.#builders.console(id), secrets)
  }
}

function builderFile(): string {
  return fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? './builder.ts' : './builder.js', import.meta.url))
}

/** The agent knows limits, and not the settings that they come from. */
function withRemedy(reason: string | undefined): string | undefined {
  if (reason?.startsWith('Its working directory exceeded its limit') !== true) return reason
  return `${reason} Let the bake write less, or raise bakery.local.disk-mb.`
}
