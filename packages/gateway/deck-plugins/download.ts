/** Fetches lists and archives of plug-ins. */
import { createHash } from 'node:crypto'
import {
  addressFrom,
  createOutsideCalls,
  followRedirects,
  hrefOf,
  type OperatorAddress,
  operatorAddress,
} from '@fairlead/base/outside/call-outside.ts'
import type { OutsideSettings } from '@fairlead/base/outside/settings.ts'
import type { ServiceTls } from '@fairlead/base/services/service-tls.ts'
import { zipEntries } from '@fairlead/base/storage/zip.ts'
import semver from 'semver'
import { z } from 'zod'

const maxArchiveBytes = 32 * 1024 * 1024
const timeoutMs = 30_000

export interface DownloadSettings {
  /** Release addresses come from users; these restrictions hold for them as for those of stages. */
  readonly restrictions: OutsideSettings
  /** Addresses of lists, whose hosts may be internal. */
  readonly lists: readonly string[]
  /** Addresses of front50, whose binaries are fetched like its list; undefined where it is embedded or off. */
  readonly front50Urls: readonly string[]
  readonly tls: ServiceTls | undefined
}

export interface Downloads {
  list(url: string): Promise<unknown>
  archive(release: PluginRelease): Promise<Buffer>
}

export function createDownloads({
  restrictions,
  lists,
  front50Urls,
  tls = {},
}: DownloadSettings): Downloads {
  const operators = [
    ...front50Urls.map((url) => operatorAddress(url, '', tls)),
    ...lists.map((url) => operatorAddress(url)),
  ]
  const call = createOutsideCalls(restrictions, {
    maxAnswerBytes: maxArchiveBytes,
    timeoutMs,
    caller: 'Plugin downloads',
  })

  async function fetchBytes(address: string): Promise<Buffer> {
    const ask = (url: string | OperatorAddress) =>
      call({ method: 'GET', url, headers: { accept: '*/*' }, body: undefined })
    const { answer, url } = await followRedirects(addressFrom(address, operators), operators, ask)
    if (answer.status !== 200)
      throw new Error(`${new URL(hrefOf(url)).host} answered ${answer.status}`)
    return answer.bytes
  }

  async function archive({ url, sha512sum }: PluginRelease): Promise<Buffer> {
    const base = front50Urls[0]
    const address = (text: string) => new URL(text, base && `${base}/`).href
    const bytes = await fetchBytes(address(url))
    if (sha512sum === undefined) return bytes
    // Some repositories name a file with the hash in place of the hash.
    const text = sha512sum.includes('/')
      ? (await fetchBytes(address(sha512sum))).toString('utf8')
      : sha512sum
    const hash = createHash('sha512').update(bytes).digest('hex')
    if (text.trim().split(/\s/, 1)[0]?.toLowerCase() !== hash)
      throw new Error('its SHA-512 sum differs from the listed one')
    return bytes
  }

  return {
    list: async (url) => JSON.parse((await fetchBytes(url)).toString('utf8')) as unknown,
    archive,
  }
}

const maxBytes = 8 * 1024 * 1024
const maxFiles = 500
/** Within a bundle for several services. */
const deckArchive = 'deck.zip'

/**
 * A release is an archive of Deck's files, or one that holds an archive for each service. Only files outside of folders have an
 * address, so no other is unpacked.
 *
 * @throws {Error} the archive is damaged, too large, or not for Deck
 */
export async function readBundle(archive: Uint8Array): Promise<ReadonlyMap<string, Buffer>> {
  const inner = await unpack(archive, (name) => name === deckArchive, maxArchiveBytes)
  return unpack(inner.get(deckArchive) ?? archive, (name) => !/[/\\]|\.zip$/.test(name), maxBytes)
}

async function unpack(
  archive: Uint8Array,
  isWanted: (name: string) => boolean,
  most: number,
): Promise<ReadonlyMap<string, Buffer>> {
  const files = new Map<string, Buffer>()
  let left = most
  for (const entry of zipEntries(archive)) {
    if (!isWanted(entry.name)) continue
    if (files.size === maxFiles) throw new Error(`it has more than ${maxFiles} files`)
    const bytes = await entry.unpack(left)
    if (bytes === undefined) throw new Error(`it has more than ${most} bytes`)
    left -= bytes.length
    files.set(entry.name, bytes)
  }
  return files
}

const Release = z.looseObject({
  version: z.string().regex(/^[\w.+-]{1,100}$/),
  url: z.string(),
  requires: z.string().nullish(),
  sha512sum: z.string().nullish(),
})

const Plugin = z.looseObject({
  id: z.string().regex(/^[\w.-]{1,200}$/),
  name: z.string().nullish(),
  releases: z.array(z.unknown()),
})

export interface PluginRelease {
  readonly id: string
  readonly name: string
  readonly version: string
  readonly url: string
  readonly sha512sum: string | undefined
  readonly isForDeck: boolean
}

export function readReleases(list: unknown): PluginRelease[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((entry) => {
    const plugin = Plugin.safeParse(entry)
    if (!plugin.success) return []
    const { id, name, releases } = plugin.data
    return releases.flatMap((one) => {
      const release = Release.safeParse(one)
      if (!release.success) return []
      const { version, url, requires, sha512sum } = release.data
      return [
        {
          id,
          name: name || id,
          version,
          url,
          sha512sum: sha512sum || undefined,
          isForDeck: /\bdeck\b/i.test(requires ?? ''),
        },
      ]
    })
  })
}

export function chooseRelease(
  releases: readonly PluginRelease[],
  id: string,
  version: string | undefined,
): PluginRelease | undefined {
  const own = releases.filter((release) => release.id === id)
  if (version !== undefined) return own.find((release) => release.version === version)
  return own
    .filter(({ isForDeck }) => isForDeck)
    .sort(byVersion)
    .at(-1)
}

function byVersion(left: PluginRelease, right: PluginRelease): number {
  const [one, other] = [
    semver.coerce(left.version, { includePrerelease: true }),
    semver.coerce(right.version, { includePrerelease: true }),
  ]
  return one === null || other === null ? (one === null ? -1 : 1) : semver.compare(one, other)
}
