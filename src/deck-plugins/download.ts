/** Fetches lists and archives of plug-ins. */
import { createHash } from 'node:crypto'
import { addressFrom, createOutsideCalls, operatorAddress } from '../backends/outside/call-outside.ts'
import type { OutsideSettings } from '../backends/outside/settings.ts'
import { isRedirect, maxRedirects } from '../upstreams/redirects.ts'
import type { ServiceTls } from '../upstreams/service-tls.ts'
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
  /** @throws {Error} */
  list(url: string): Promise<unknown>
  /** The archive, checked against its hash if there is one. @throws {Error} */
  archive(release: PluginRelease): Promise<Buffer>
}

export function createDownloads({ restrictions, lists, front50Urls, tls = {} }: DownloadSettings): Downloads {
  const operators = [...front50Urls.map((url) => operatorAddress(url, '', tls)), ...lists.map((url) => operatorAddress(url))]
  const call = createOutsideCalls(restrictions, {
    maxAnswerBytes: maxArchiveBytes,
    timeoutMs,
    caller: 'Plugin downloads',
  })

  async function fetchBytes(url: string): Promise<Buffer> {
    let address = url
    let known = operators
    for (let followed = 0; followed <= maxRedirects; followed++) {
      const from = addressFrom(address, known)
      // Where a server of others leads is theirs, too.
      if (typeof from === 'string') known = []
      const { status, headers, bytes } = await call({ method: 'GET', url: from, headers: { accept: '*/*' }, body: undefined })
      if (status === 200) return bytes
      const [target] = [headers['location']].flat()
      if (!isRedirect(status) || target === undefined) throw new Error(`${new URL(address).host} answered ${status}`)
      address = new URL(target, address).href
    }
    throw new Error(`${new URL(url).host} redirects more than ${maxRedirects} times`)
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
