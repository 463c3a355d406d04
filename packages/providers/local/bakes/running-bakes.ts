/** Bakes that run: the agent runs their builders, and the result of each becomes an image. */

import { setTimeout as sleep } from 'node:timers/promises'
import { adviseOnOutgoing } from '@fairlead/base/outside/outgoing-advice.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { withoutSecrets } from '@fairlead/model/secrets/secret-names.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { BuilderOrder } from '@fairlead/ports/machine.ts'
import type { ImageStore, StoredImage } from '../../images/image-store.ts'
import type { Builders } from '../builders.ts'
import type { LocalProvider } from '../local.ts'
import type { BakeCaches } from './bake-caches.ts'
import { adoptImage } from './bake-image.ts'
import type { Bake, BakeStore } from './bake-store.ts'
import { startLine } from './plan.ts'
import type { BakeSettings } from './settings.ts'

export interface BakeTimes {
  readonly startMs: number
  /** A builder that ends so soon after its start fails the request. */
  readonly settleMs: number
  readonly pollMs: number
}

/** @see docs/contracts/bakery.md#bakes */
export const bakeTimes: BakeTimes = { startMs: 30_000, settleMs: 300, pollMs: 250 }

interface RunningBakesOptions {
  readonly context: Pick<BackendContext, 'log'>
  readonly provider: LocalProvider
  readonly settings: Pick<BakeSettings, 'templates'>
  readonly times: BakeTimes
  readonly store: BakeStore
  readonly caches: BakeCaches
}

export class RunningBakes {
  readonly #options: RunningBakesOptions
  readonly #store: BakeStore
  readonly #builders: Builders
  readonly #images: ImageStore
  readonly #starting = new Map<string, Promise<void>>()
  readonly #closing = new AbortController()
  #watching: Promise<void> | undefined

  constructor(options: RunningBakesOptions) {
    this.#options = options
    this.#store = options.store
    this.#builders = options.provider.builders
    this.#images = options.provider.parts.images
  }

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

  /** Starts the builder of a new bake. @throws {PortError} 400 when it does not start, or fails at once */
  async add(bake: Bake, order: BuilderOrder): Promise<void> {
    const started = this.#start(bake, order).finally(() => {
      this.#starting.delete(bake.id)
      this.#watch()
    })
    this.#starting.set(bake.id, started)
    await started
  }

  /** Waits while the builder starts. @throws as `add` */
  async started(id: string): Promise<void> {
    await this.#starting.get(id)
  }

  async #start(bake: Bake, order: BuilderOrder): Promise<void> {
    const { startMs, settleMs } = this.#options.times
    try {
      this.#builders.start(bake.id, order)
    } catch (error) {
      await this.end(bake, 'CANCELED', (error as Error).message)
      throw error
    }
    let endMs = performance.now() + startMs
    for (let isStarted = false; ; await sleep(25)) {
      const view = this.#builders.look(bake.id)
      if (view === undefined || view.hasEnded) break
      if (!isStarted && (await this.consoleOf(bake)).includes(startLine)) {
        isStarted = true
        endMs = performance.now() + settleMs
      }
      if (performance.now() < endMs && !this.#closing.signal.aborted) continue
      if (isStarted || this.#closing.signal.aborted) return
      const text = `The builder did not start within ${startMs / 1000} seconds. ${view.reason ?? 'The agent does not run it.'}`
      await this.end(bake, 'CANCELED', text)
      throw new PortError(400, text)
    }
    // A bake that was cancelled meanwhile has not failed.
    if (this.#store.get(bake.id)?.state !== 'RUNNING') return
    await this.#settle(bake)
    if (this.#store.get(bake.id)?.state !== 'CANCELED') return
    throw new PortError(400, `The bake failed: ${this.#store.logOf(bake.id) ?? 'it has no log.'}`)
  }

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
          this.#options.context.log.warn(
            { err: error, bake: bake.id },
            'a bake cannot be followed at the moment',
          )
        }
      }
      await sleep(this.#options.times.pollMs, undefined, { signal: this.#closing.signal }).catch(
        () => {},
      )
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

  async #settle(bake: Bake): Promise<void> {
    const view = this.#builders.look(bake.id)
    if (view === undefined)
      return void (await this.end(bake, 'CANCELED', 'The builder has vanished.'))
    if (view.exitCode !== 0) {
      const advice = adviseOnOutgoing(await this.consoleOf(bake), bake.account)
      return void (await this.end(
        bake,
        'CANCELED',
        [withRemedy(view.reason) ?? '', advice].filter(Boolean).join('\n'),
      ))
    }
    let image: StoredImage
    try {
      const template = this.#options.settings.templates.find(
        ({ id }) => id === bake.request.base_os,
      )
      image =
        this.#storedImageOf(bake) ??
        (await adoptImage(this.#images, bake, { folder: view.folder, template }))
    } catch (error) {
      if (!(error instanceof PortError)) {
        this.#options.context.log.error(
          { err: error, bake: bake.id },
          'the result of a bake could not be stored',
        )
      }
      return void (await this.end(bake, 'CANCELED', (error as Error).message))
    }
    const words = `The image ${image.id} is stored, with the digest ${image.digest}.`
    const isKept = await this.end(bake, 'COMPLETED', words, image)
    if (!isKept && image.origin['bake'] === bake.id) this.#images.remove(image)
  }

  /** The image whose bake could not be recorded as complete, since Fairlead ended or its disk was full. */
  #storedImageOf({ id }: Bake): StoredImage | undefined {
    return this.#images.all().find(({ origin }) => origin['bake'] === id)
  }

  /** Once only: what comes later does not change the state. @returns whether it was the first */
  async end(
    bake: Bake,
    state: 'COMPLETED' | 'CANCELED',
    words: string | undefined,
    image?: StoredImage,
  ): Promise<boolean> {
    const output = await this.consoleOf(bake)
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
    await this.#options.caches.trim(bake).catch((error: unknown) => {
      this.#options.context.log.warn(
        { err: error, account: bake.account },
        'the cache of bakes could not be measured or removed',
      )
    })
    return true
  }

  /** A folder that stays is removed at the next start. */
  #removeBuild(id: string): void {
    try {
      this.#builders.remove(id)
    } catch (error) {
      this.#options.context.log.warn(
        { err: error, bake: id },
        'the folder of a bake could not be removed',
      )
    }
  }

  #removeLeftovers(): void {
    for (const id of this.#builders.ids('bake')) {
      if (this.#store.get(id)?.state !== 'RUNNING') this.#removeBuild(id)
    }
  }

  async consoleOf({ id, secrets }: Bake): Promise<string> {
    return withoutSecrets(await this.#builders.console(id), secrets)
  }
}

/** The agent knows limits, and not the settings that they come from. */
function withRemedy(reason: string | undefined): string | undefined {
  if (reason?.startsWith('Its working directory exceeded its limit') !== true) return reason
  return `${reason} Let the bake write less, or raise bakery.local.disk-mb.`
}
