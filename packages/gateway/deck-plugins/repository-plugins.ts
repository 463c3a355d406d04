/** Plug-ins of Deck that front50 and other repositories list: read again and again, and fetched when needed. */

import { BoundedMap } from '@fairlead/base/caches/bounded-map.ts'
import { GatewayError } from '@fairlead/base/errors.ts'
import type { FastifyBaseLogger } from 'fastify'
import type { DeckPlugin } from '../operations/deck-plugins.ts'
import { readJson } from '../upstreams/answer-form.ts'
import { anonymousIdentity } from '../upstreams/identity.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'
import {
  chooseRelease,
  createDownloads,
  type DownloadSettings,
  type Downloads,
  type PluginRelease,
  readBundle,
  readReleases,
} from './download.ts'
import type { DeckPluginSettings } from './settings.ts'

interface RepositoryOptions {
  readonly settings: DeckPluginSettings
  readonly downloads: DownloadSettings
  readonly upstreams: Upstreams
  readonly log: FastifyBaseLogger
}

type Files = ReadonlyMap<string, Buffer>

const maxVersions = 20

export class RepositoryPlugins {
  readonly #options: RepositoryOptions
  readonly #downloads: Downloads
  /** Releases of enabled plug-ins, by repository; a failed read keeps what was there. */
  readonly #releases = new Map<string, readonly PluginRelease[]>()
  /** By id and version. Undefined: it could not be fetched, which is tried again after the next refresh. */
  readonly #files = new BoundedMap<string, Promise<Files | undefined>>(maxVersions)
  #current: readonly DeckPlugin[] | undefined
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: RepositoryOptions) {
    this.#options = options
    this.#downloads = createDownloads(options.downloads)
  }

  start(): void {
    void this.#loop()
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  manifest(): readonly DeckPlugin[] {
    if (this.#current !== undefined) return this.#current
    throw new GatewayError(
      'PLUGINS_UNAVAILABLE',
      'The lists of Deck plugins have not been read yet. Try again in a minute.',
    )
  }

  /** Any release of an enabled plug-in: a page that is open may still use an older one. @throws {GatewayError} PLUGINS_UNAVAILABLE */
  async asset(id: string, version: string, name: string): Promise<Buffer | undefined> {
    this.manifest()
    const release = this.#known().find((one) => one.id === id && one.version === version)
    if (release === undefined) return undefined
    const files = await this.#filesOf(release)
    if (files !== undefined) return files.get(name)
    throw new GatewayError(
      'PLUGINS_UNAVAILABLE',
      `The Deck plugin ${id} cannot be fetched. The log of Fairlead has the reason.`,
    )
  }

  async #loop(): Promise<void> {
    await this.#refresh()
    if (!this.#isClosed)
      this.#timer = setTimeout(() => void this.#loop(), this.#options.settings.refreshMs).unref()
  }

  async #refresh(): Promise<void> {
    const { enabled, lists, asksFront50 } = this.#options.settings
    const reads = lists.map((url) => this.#readList(url, () => this.#downloads.list(url)))
    if (asksFront50 && this.#options.upstreams.isEnabled('front50'))
      reads.push(this.#readList('front50', () => this.#askFront50()))
    await Promise.all(reads)
    for (const [key, files] of this.#files) if ((await files) === undefined) this.#files.delete(key)
    const chosen = [...enabled].map(([id, version]) => ({
      id,
      release: chooseRelease(this.#known(), id, version),
    }))
    const missing = chosen.filter(({ release }) => release === undefined).map(({ id }) => id)
    if (missing.length > 0 && this.#current === undefined)
      this.#options.log.warn(
        { plugins: missing },
        'no repository lists a release for Deck of these enabled plugins',
      )
    const fetched = await Promise.all(
      chosen.map(async ({ release }) =>
        release && (await this.#filesOf(release)) !== undefined ? [release] : [],
      ),
    )
    // Without any list, an empty manifest would look as if no plugin were enabled.
    if (this.#releases.size > 0)
      this.#current = fetched.flat().map(({ id, name, version }) => ({ id, name, version }))
  }

  #known(): PluginRelease[] {
    return [...this.#releases.values()].flat()
  }

  async #readList(name: string, read: () => Promise<unknown>): Promise<void> {
    try {
      const { enabled } = this.#options.settings
      this.#releases.set(
        name,
        readReleases(await read()).filter(({ id }) => enabled.has(id)),
      )
    } catch (error) {
      this.#options.log.warn({ err: error, repository: name }, 'a list of plugins cannot be read')
    }
  }

  async #askFront50(): Promise<unknown> {
    return readJson(
      await this.#options.upstreams.call('front50', { path: '/pluginInfo' }, anonymousIdentity),
      'front50',
    )
  }

  #filesOf(release: PluginRelease): Promise<Files | undefined> {
    const key = `${release.id}@${release.version}`
    const known = this.#files.get(key)
    if (known !== undefined) return known
    const files = this.#fetch(release, key)
    this.#files.set(key, files)
    return files
  }

  async #fetch(release: PluginRelease, key: string): Promise<Files | undefined> {
    try {
      return await readBundle(await this.#downloads.archive(release))
    } catch (error) {
      this.#options.log.warn({ err: error, plugin: key }, 'a plugin of Deck cannot be fetched')
      return undefined
    }
  }
}
