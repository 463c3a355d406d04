/** Charts of Helm repositories: `helm/chart`. */

import { parseJson } from '@fairlead/base/json/json.ts'
import { maybeObject, objectList, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, objectOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import {
  authorizationHeader,
  loadLogin,
  loginKeys,
} from '@fairlead/base/outside/account-credentials.ts'
import { addressFrom, operatorAddress } from '@fairlead/base/outside/call-outside.ts'
import { createSource, type SourceGet, shownAddress } from '@fairlead/base/outside/source-calls.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { httpAddress } from '@fairlead/base/settings/setting.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import semver from 'semver'
import { parse } from 'yaml'
import { z } from 'zod'
import { type Artifact, type ArtifactAccount, listedAccounts } from './account-type.ts'
import { ContentCache, parseDigest } from './digests.ts'

const toEntries = objectList(shape({ version: textOf, digest: textOf, urls: textsOf }))
type HelmEntry = ShapeOf<typeof toEntries>[number]

const toIndex = shape({ entries: maybeObject })

interface HelmIndex {
  names(): string[]
  /** Entries of a chart's versions; empty for an unknown chart. */
  entriesOf(name: string): HelmEntry[]
}

class HelmIndexError extends Error {
  override readonly name = 'HelmIndexError'
}

/** Larger texts without the usual layout are not parsed: that would take too long. */
const maxFreeFormLength = 2 * 1024 * 1024

/** @throws {HelmIndexError} */
export function parseHelmIndex(text: string): HelmIndex {
  const sections = findSections(text)
  if (sections === undefined) return indexOf(parseWhole(text))
  return {
    names: () => [...sections.keys()],
    entriesOf: (name) => toEntries(objectOf(parseYaml(sections.get(name) ?? ''))[name]),
  }
}

/** The lines of each chart: the index is a block of YAML, as Helm writes it. @returns undefined for any other layout */
function findSections(text: string): ReadonlyMap<string, string> | undefined {
  const lines = text.split(/\r?\n/)
  const first = lines.findIndex((line) => /^entries:\s*(?:#.*)?$/.test(line)) + 1
  if (first === 0) return undefined
  const after = lines.findIndex((line, index) => index >= first && /^[^\s#-]/.test(line))
  const block = lines.slice(first, after === -1 ? undefined : after)
  const indentation =
    /^ +/.exec(block.find((line) => /^ *[^\s#]/.test(line)) ?? '')?.[0].length ?? 0
  if (indentation === 0) return undefined
  const isKey = (line: string) =>
    /^[^\s#-].*?:(?:\s|$)/.test(line.slice(indentation)) && line.slice(0, indentation).trim() === ''
  const starts = block.flatMap((line, index) => (isKey(line) ? [index] : []))
  const sections = starts.map((start, place) => block.slice(start, starts[place + 1]).join('\n'))
  return new Map(sections.map((section) => [nameOf(section), section]))
}

/** The name may be quoted. */
function nameOf(section: string): string {
  const key = section.slice(0, Math.max(0, section.search(/:(?:\s|$)/)))
  return String(parseYaml(key.trim()))
}

function parseWhole(text: string): JsonObject {
  const isJson = text.trimStart().startsWith('{')
  if (!isJson && text.length > maxFreeFormLength)
    throw new HelmIndexError('it is too large for its layout')
  const { entries } = toIndex(isJson ? readJson(text) : parseYaml(text))
  if (entries === undefined) throw new HelmIndexError('it has no entries')
  return entries
}

function indexOf(entries: JsonObject): HelmIndex {
  return {
    names: () => Object.keys(entries),
    entriesOf: (name) => toEntries(entries[name]),
  }
}

function readJson(text: string): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    throw new HelmIndexError((error as Error).message)
  }
}

function parseYaml(text: string): unknown {
  try {
    return parse(text, { maxAliasCount: 0 })
  } catch (error) {
    throw new HelmIndexError((error as Error).message)
  }
}

const HelmAccount = z.strictObject({
  ...loginKeys,
  repository: httpAddress.describe(
    'Address of the repository; its index is `index.yaml` below it.',
  ),
})
type HelmAccount = z.infer<typeof HelmAccount>

export const helmArtifacts = listedAccounts({
  id: 'helm',
  enabled: 'Fetch artifacts of type `helm/chart`.',
  accounts: 'Helm repositories, each with its login.',
  account: HelmAccount,
  open: openAccounts,
})

function openAccounts(
  accounts: readonly HelmAccount[],
  { settings: { outside } }: BackendContext,
): ArtifactAccount[] {
  const cache = new ContentCache()
  return accounts.map((account) => {
    const open = createSource({ outside, configured: account.repository })
    const repository = new Repository(account, cache)
    return {
      name: account.name,
      types: ['helm/chart'],
      fetch: (artifact) => repository.fetch(artifact, open()),
      names: async () => reading(account, (await repository.loadIndex(open())).names).toSorted(),
      versions: async (name) => versionsOf(await repository.entriesOf(name, open())),
      digestOf: async (name, version) =>
        (await repository.entriesOf(name, open())).find((entry) => entry.version === version)
          ?.digest,
    }
  })
}

/** Larger ones are loaded each time. */
const maxKeptLength = 8 * 1024 * 1024

class Repository {
  readonly #account: HelmAccount
  readonly #cache: ContentCache
  #kept: { readonly tag: string; readonly index: HelmIndex } | undefined

  constructor(account: HelmAccount, cache: ContentCache) {
    this.#account = account
    this.#cache = cache
  }

  async loadIndex(get: SourceGet): Promise<HelmIndex> {
    const kept = this.#kept
    const answer = await get(operatorAddress(this.#account.repository, '/index.yaml'), {
      credentials: await this.#credentials(),
      headers: kept === undefined ? {} : { 'if-none-match': kept.tag },
      expects: kept === undefined ? [] : [304],
    })
    if (answer.status === 304 && kept !== undefined) return kept.index
    const index = reading(this.#account, () => parseHelmIndex(answer.text))
    const tag = answer.headers['etag']
    this.#kept =
      typeof tag === 'string' && answer.bytes.length <= maxKeptLength ? { tag, index } : undefined
    return index
  }

  async entriesOf(name: string, get: SourceGet): Promise<HelmEntry[]> {
    const index = await this.loadIndex(get)
    return reading(this.#account, () => index.entriesOf(name))
  }

  async fetch({ name: chart, version: wanted, type }: Artifact, get: SourceGet): Promise<Buffer> {
    if (chart === undefined)
      throw new PortError(400, `An artifact of type ${type} needs the name of a chart as "name".`)
    const entry = chooseEntry(await this.entriesOf(chart, get), wanted)
    const place = shownAddress(this.#account.repository)
    if (entry === undefined)
      throw new PortError(
        404,
        `The repository ${place} has no chart ${chart}${wanted === undefined ? '' : ` ${wanted}`}.`,
      )
    const [url] = entry.urls
    const address = url === undefined ? null : URL.parse(url, `${this.#account.repository}/`)
    if (address === null || !/^https?:$/.test(address.protocol)) {
      const advice =
        address?.protocol === 'oci:'
          ? ' It is in a registry: use an artifact of type helm/image.'
          : ''
      throw new PortError(
        502,
        `The repository ${place} gives no address of the chart ${chart}.${advice}`,
      )
    }
    const isOwn = address.origin === new URL(this.#account.repository).origin
    const credentials = isOwn ? await this.#credentials() : {}
    const load = async () =>
      (
        await get(addressFrom(address.href, [operatorAddress(this.#account.repository)]), {
          credentials,
        })
      ).bytes
    const digest = parseDigest(entry.digest ?? '')
    return digest === undefined
      ? load()
      : this.#cache.fetch(this.#account.name, digest, shownAddress(address.href), load)
  }

  async #credentials(): Promise<Record<string, string>> {
    return authorizationHeader(await loadLogin(this.#account))
  }
}

/** @throws {PortError} 502 for an index that cannot be read */
function reading<T>({ repository }: HelmAccount, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof HelmIndexError)) throw error
    throw new PortError(
      502,
      `${shownAddress(repository)}/index.yaml is no index of a Helm repository: ${error.message}.`,
    )
  }
}

function versionsOf(entries: readonly HelmEntry[]): string[] {
  const versions = entries.flatMap(({ version }) => version ?? [])
  return versions.toSorted((a, b) =>
    semver.valid(a) && semver.valid(b) ? semver.rcompare(a, b) : 0,
  )
}

/** A version, a range such as `^1.2`, or without either the newest that is no preview. */
function chooseEntry(
  entries: readonly HelmEntry[],
  wanted: string | undefined,
): HelmEntry | undefined {
  const exact = wanted && entries.find(({ version }) => version === wanted)
  if (exact) return exact
  const versions = versionsOf(entries)
  const found =
    semver.maxSatisfying(versions, wanted ?? '*') ??
    (wanted === undefined ? versions[0] : undefined)
  return found === undefined ? undefined : entries.find(({ version }) => version === found)
}
