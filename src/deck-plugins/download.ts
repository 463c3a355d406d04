/** Fetches lists and archives of plug-ins. */
import { createHash } from 'node:crypto'
import {
  addressFrom,
  createOutsideCalls,
  followRedirects,
  hrefOf,
  type OperatorAddress,
  operatorAddress,
} from '../backends/outside/call-outside.ts'
import type { OutsideSettings } from '../backends/outside/settings.ts'
import type { ServiceTls } from '../services/service-tls.ts'
import type { PluginRelease } from './releases.ts'

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

export function createDownloads({ restrictions, lists, front50Urls, tls = {} }: DownloadSettings): Downloads {
  const operators = [...front50Urls.map((url) => operatorAddress(url, '', tls)), ...lists.map((url) => operatorAddress(url))]
  const call = createOutsideCalls(restrictions, {
    maxAnswerBytes: maxArchiveBytes,
    timeoutMs,
    caller: 'Plugin downloads',
  })

  async function fetchBytes(address: string): Promise<Buffer> {
    const ask = (url: string | OperatorAddress) => call({ method: 'GET', url, headers: { accept: '*/*' }, body: undefined })
    const { answer, url } = await followRedirects(addressFrom(address, operators), operators, ask)
    if (answer.status !== 200) throw new Error(`${new URL(hrefOf(url)).host} answered ${answer.status}`)
    return answer.bytes
  }

  async function archive({ url, sha512sum }: PluginRelease): Promise<Buffer> {
    const base = front50Urls[0]
    const address = (text: string) => new URL(text, base && `${base}/`).href
    const bytes = await fetchBytes(address(url))
    if (sha512sum === undefined) return bytes
    // Some repositories name a file with the hash in place of the hash.
    const text = sha512sum.includes('/') ? (await fetchBytes(address(sha512sum))).toString('utf8') : sha512sum
    const hash = createHash('sha512').update(bytes).digest('hex')
    if (text.trim().split(/\s/, 1)[0]?.toLowerCase() !== hash) throw new Error('its SHA-512 sum differs from the listed one')
    return bytes
  }

  return { list: async (url) => JSON.parse((await fetchBytes(url)).toString('utf8')) as unknown, archive }
}
