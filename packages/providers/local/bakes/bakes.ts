/** Requests for image bakes of this machine: which one is known, and what a new one builds. */
import { fileURLToPath } from 'node:url'
import { formatJson } from '@fairlead/base/json/json.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { shellWord } from '@fairlead/base/names/shell-word.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { longestFirst } from '@fairlead/model/secrets/mask-forms.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { BuilderOrder, ProgramPlaces } from '@fairlead/ports/machine.ts'
import { requireAccess } from '@fairlead/ports/rights/access.ts'
import type { ImageStore, StoredImage } from '../../images/image-store.ts'
import type { BakeQuery, Baker } from '../../provider-type.ts'
import type { LocalProvider } from '../local.ts'
import { confineFile } from '../program-sandbox.ts'
import { BakeCaches } from './bake-caches.ts'
import { bakedNameOf } from './bake-image.ts'
import { type Bake, BakeStore } from './bake-store.ts'
import { type BakePlan, type BakeSource, type BakeTemplate, planVariable } from './plan.ts'
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
import { type BakeTimes, RunningBakes } from './running-bakes.ts'
import type { BakeSettings } from './settings.ts'
import { fingerprintOf, placesOfSources } from './source-places.ts'

/** Environment variables of a process have a bound of 128 kB each. */
const maxPlanLength = 100_000

interface BakesOptions {
  readonly context: BackendContext
  readonly provider: LocalProvider
  readonly settings: BakeSettings
  readonly times: BakeTimes
}

interface BakeOrder {
  readonly request: BakeRequest
  readonly template: BakeTemplate
  readonly target: BakeTarget
  readonly sources: readonly BakeSource[]
  readonly key: string
  readonly region: string
  readonly user: string
  readonly application: string | undefined
}

export class Bakes implements Baker {
  readonly #options: BakesOptions
  readonly #store: BakeStore
  readonly #caches: BakeCaches
  readonly #running: RunningBakes
  /** The latest reading of sources for a user, by name. */
  readonly #turns = new Map<string, Promise<unknown>>()

  constructor(options: BakesOptions) {
    const { context, provider, settings } = options
    this.#options = options
    this.#store = new BakeStore(context.db)
    this.#caches = new BakeCaches({
      dataDir: provider.dataDir,
      maxBytes: settings.cacheMb * 1024 * 1024,
      userOf: provider.parts.users.of,
      accounts: this.#accounts,
      isUsed: (account) => this.#store.running().some((bake) => bake.account === account),
    })
    this.#running = new RunningBakes({ ...options, store: this.#store, caches: this.#caches })
  }

  get #images(): ImageStore {
    return this.#options.provider.parts.images
  }

  get #accounts(): string[] {
    return this.#options.provider.accounts.map(({ name }) => name)
  }

  get baseImages(): JsonObject[] {
    return this.#options.settings.templates.map(({ id, description, details }) => {
      const shortDescription = description || id
      return {
        id,
        shortDescription,
        detailedDescription: details || shortDescription,
        packageType: 'DEB',
        osType: 'linux',
      }
    })
  }

  get(id: string): Bake | undefined {
    return this.#store.get(id)
  }

  /** Goes on with the bakes that ran when Fairlead ended, and removes what is left of others. */
  start(): void {
    this.#running.start()
  }

  close(): Promise<void> {
    return this.#running.close()
  }

  async request({
    region,
    body,
    user,
    execution,
    application,
    isRebake,
  }: BakeQuery): Promise<Bake> {
    const request = {
      ...parseBakeRequest(body),
      ...(execution !== undefined && { spinnaker_execution_id: execution }),
    }
    const template = this.#findTemplate(request.base_os)
    const target = await this.#targetFor(request, region, user)
    const sources = sourcesOf(request, this.#options.settings.packages)
    const key = await this.#keyOf(request, target, user)
    const known = this.#store.ofKey(key)
    if (known !== undefined && isRebake) await this.#forget(known)
    const order = { request, template, target, sources, key, region, user, application }
    return this.#reuse(order) ?? this.#create(order)
  }

  async cancel(id: string): Promise<void> {
    const bake = this.#store.get(id)
    const isCancelled =
      bake?.state === 'RUNNING' &&
      (await this.#running.end(bake, 'CANCELED', 'The bake was cancelled.'))
    if (!isCancelled) throw new PortError(400, `There is no incomplete bake with status id ${id}.`)
  }

  async log(id: string): Promise<string | undefined> {
    const bake = this.#store.get(id)
    return bake?.state === 'RUNNING' ? this.#running.consoleOf(bake) : this.#store.logOf(id)
  }

  #findTemplate(id: string | undefined): BakeTemplate {
    const { templates } = this.#options.settings
    const template = templates.find((each) => each.id === id)
    if (template !== undefined) return template
    const known = templates.map((each) => each.id).join(', ')
    throw new PortError(400, `There is no base image "${id ?? ''}" (base_os). There are ${known}.`)
  }

  /** The account that is named; else those that the caller may change, the first of which runs the bake. */
  async #targetFor(request: BakeRequest, region: string, user: string): Promise<BakeTarget> {
    const { accounts } = this.#options.provider.parts.settings
    const access = await requireAccess(this.#options.context, user)
    const inRegion = accounts.filter(
      ({ regions }) => region === 'global' || regions.some(({ name }) => name === region),
    )
    if (inRegion.length === 0) {
      const known = [
        ...new Set(accounts.flatMap(({ regions }) => regions.map(({ name }) => name))),
      ].join(', ')
      throw new PortError(
        400,
        `There is no region "${region}" to bake for. There are global, ${known}.`,
      )
    }
    const named = request.account_name
    const candidates =
      named === undefined ? inRegion : inRegion.filter(({ name }) => name === named)
    if (candidates.length === 0)
      throw new PortError(400, `There is no account "${named}" in the region ${region}.`)
    const writable = candidates
      .map(({ name }) => name)
      .filter((name) => access.mayOnAccount(name, 'WRITE'))
    const [account] = writable
    if (account !== undefined)
      return { account, accounts: writable.length === accounts.length ? undefined : writable }
    throw new PortError(
      403,
      `Access denied to account ${candidates.map(({ name }) => name).join(', ')}`,
      {
        exception: 'AccessDenied',
      },
    )
  }

  /** @returns undefined at once where a new one is needed */
  #reuse({ key, sources }: BakeOrder): Promise<Bake> | undefined {
    const bake = this.#store.ofKey(key)
    if (bake === undefined || !this.#isReusable(bake, sources)) return undefined
    return this.#running.started(bake.id).then(() => this.#store.get(bake.id) ?? bake)
  }

  #isReusable({ state, image, account }: Bake, sources: readonly BakeSource[]): boolean {
    if (state === 'RUNNING') return true
    return image !== undefined && this.#images.get(image, account) !== undefined && isFixed(sources)
  }

  /** Requests of one user wait for each other here: reading large directories must not keep the machine busy. */
  async #keyOf(request: BakeRequest, target: BakeTarget, user: string): Promise<string> {
    const sources = sourcesOf(request, this.#options.settings.packages)
    const find = () =>
      Promise.all(
        sources.map((source) =>
          fingerprintOf(source, this.#options.provider.parts.users.of(target.account)),
        ),
      )
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
    const isOver = !(await this.#running.end(
      bake,
      'CANCELED',
      'The bake was cancelled by a new request.',
    ))
    const current = this.#store.get(bake.id)
    if (isOver && current !== undefined) this.#store.put({ ...current, key: undefined })
  }

  async #create(order: BakeOrder): Promise<Bake> {
    const { request, template, target, key, region, user } = order
    const { context, provider } = this.#options
    const secrets = secretsOf(request, template.environment)
    const id = `bake-${provider.parts.newId().toLowerCase()}`
    const builderOrder = await this.#withSecrets(order, id)
    // An equal request may have come meanwhile.
    const twin = this.#reuse(order)
    if (twin !== undefined) return twin
    const bake: Bake = {
      id,
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
    await this.#running.add(bake, builderOrder)
    return this.#store.get(bake.id) ?? bake
  }

  /** The attributes with values of secrets, which no store and no log holds. @throws {PortError} 400 */
  async #withSecrets(order: BakeOrder, id: string): Promise<BuilderOrder> {
    const { request, target, user, application } = order
    const place = `bake of ${request.package ?? request.base_os ?? ''} for ${target.account}`
    const use = { application, account: target.account, user, place }
    const { context, provider } = this.#options
    const [{ value, secrets, versions }, given] = await Promise.all([
      context.ports.secrets.reveal(request.extended_attributes, use),
      provider.parts.variables.reveal(target.account, use),
    ])
    const revealed = { ...order, id, request: { ...request, extended_attributes: value } }
    const builderOrder = await this.#toBuilderOrder(revealed, given.value)
    const all = {
      secrets: longestFirst([...secrets, ...given.secrets]),
      versions: [...versions, ...given.versions],
    }
    return { ...builderOrder, revealed: all }
  }

  /** @throws {PortError} 400, and 500 where this machine has no sandbox */
  async #toBuilderOrder(
    { id, request, template, target, sources }: BakeOrder & { readonly id: string },
    account: BakePlan['account'],
  ): Promise<BuilderOrder> {
    const { provider, settings } = this.#options
    const { timeLimitMs, memoryMb, diskMb, processes } = settings
    const from = this.#originOf(template, target)
    const plan: BakePlan = {
      hasContent: from !== undefined,
      sources,
      steps: template.steps,
      account,
      environment: { ...template.environment, ...variablesOf(request) },
      cache: this.#caches.open(target),
      bounds: provider.parts.settings.images,
    }
    const planText = formatJson(plan)
    if (planText.length > maxPlanLength)
      throw new PortError(400, 'The extended attributes are too large.')
    return {
      command: await this.#commandOf({ id, account: target.account, cache: plan.cache }, sources),
      account: target.account,
      image: from && { id: from.id, digest: from.digest },
      environment: { [planVariable]: planText },
      timeLimitMs,
      memoryMb,
      diskMb,
      processes,
    }
  }

  /** Two processes, since what fetches the sources sees keys, and folders of this machine, that are no affair of the steps. */
  async #commandOf(
    places: Omit<ProgramPlaces, 'readable' | 'sources'>,
    sources: readonly BakeSource[],
  ): Promise<string[]> {
    const { dataDir, parts } = this.#options.provider
    const { packages } = this.#options.settings
    const uid = parts.users.of(places.account)?.uid ?? process.getuid?.()
    const { readable } = parts.settings
    const phases = [
      confineFile([builderFile(), 'fetch'], parts, {
        ...places,
        readable: [],
        sources: placesOfSources(sources, { dataDir, packages, uid }),
      }),
      confineFile([builderFile(), 'build'], parts, { ...places, readable }),
    ]
    return [
      '/bin/sh',
      '-c',
      (await Promise.all(phases)).map((command) => command.map(shellWord).join(' ')).join(' && '),
    ]
  }

  /** @throws {PortError} 429, 503 */
  #checkRoom(user: string): void {
    const { maxRunning, maxRunningPerUser } = this.#options.settings
    const running = this.#store.running()
    const own = running.filter((bake) => bake.user === user).length
    if (own >= maxRunningPerUser) {
      throw new PortError(
        429,
        `${own} bakes of ${user} run, which is as many as a user may have (bakery.local.max-running-per-user). ` +
          'Wait for the end of one, or cancel it.',
      )
    }
    if (running.length < maxRunning) return
    throw new PortError(
      503,
      `${running.length} bakes run, which is as many as this machine may have (bakery.local.max-running). Try again later.`,
    )
  }

  /** All accounts that get the new image must have the one that it starts with: none gets content that only another one trusts. */
  #originOf({ from }: BakeTemplate, { account, accounts }: BakeTarget): StoredImage | undefined {
    if (from === undefined) return undefined
    const image = this.#images.get(from, account)
    const receivers = accounts ?? this.#accounts
    const without = receivers.find(
      (name) => image === undefined || this.#images.get(from, name)?.digest !== image.digest,
    )
    if (image !== undefined && without === undefined) return image
    throw new PortError(
      400,
      `The base image starts with the image ${from}, which ${image === undefined ? `does not exist for the account ${account}` : `the account ${without} does not have`}.`,
    )
  }
}

function builderFile(): string {
  return fileURLToPath(
    new URL(import.meta.url.endsWith('.ts') ? './builder.ts' : './builder.js', import.meta.url),
  )
}
