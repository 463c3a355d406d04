/** Whether the addresses of a host are those of this machine. Nothing is ordered before. */
import { Resolver } from 'node:dns/promises'
import { BlockList, isIPv4 } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { AcmeSettings } from './settings.ts'

const tries = 2
const timeoutMs = 5000

export class HostAddresses {
  readonly #resolver = new Resolver({ timeout: timeoutMs, tries })
  readonly #configured: readonly string[]

  constructor({ addresses, resolvers }: Pick<AcmeSettings, 'addresses' | 'resolvers'>) {
    this.#configured = addresses
    if (resolvers.length > 0) this.#resolver.setServers(resolvers)
  }

  /** For people; undefined: all addresses of the host are this machine's. */
  async problemOf(host: string): Promise<string | undefined> {
    const [v4, v6] = await Promise.all([
      this.#resolve(() => this.#resolver.resolve4(host)),
      this.#resolve(() => this.#resolver.resolve6(host)),
    ])
    if (typeof v4 === 'string' || typeof v6 === 'string')
      return `The addresses of ${host} cannot be looked up: ${[v4, v6].find((found) => typeof found === 'string')}. Correct its DNS zone, or the name servers of this machine.`
    if (v4.length === 0 && v6.length === 0)
      return `${host} has no A and no AAAA record. Add one with the address of this machine${this.#advice()}.`
    const own = this.#own()
    const isOwn = (address: string) => own.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
    const strange = [
      ...v4.map((address) => ['A', address] as const),
      ...v6.map((address) => ['AAAA', address] as const),
    ].find(([, address]) => !isOwn(address))
    if (strange === undefined) return undefined
    const [type, address] = strange
    return `The ${type} record of ${host} is ${address}, which is not this machine${this.#advice()}. Correct or remove it; if requests for it arrive here, add it to local.front.acme.addresses.`
  }

  /** Addresses, none, or why they are unknown. */
  async #resolve(look: () => Promise<string[]>): Promise<string[] | string> {
    try {
      return await look()
    } catch (error) {
      const { code = 'EUNKNOWN' } = error as NodeJS.ErrnoException
      return code === 'ENODATA' || code === 'ENOTFOUND' ? [] : code
    }
  }

  /** Interfaces change while Fairlead runs. */
  #own(): BlockList {
    const own = new BlockList()
    for (const address of this.#addresses())
      own.addAddress(address, isIPv4(address) ? 'ipv4' : 'ipv6')
    return own
  }

  #addresses(): string[] {
    const interfaces = Object.values(networkInterfaces()).flatMap((found = []) => found)
    return [...this.#configured, ...interfaces.map(({ address }) => address)]
  }

  #advice(): string {
    const outer = [
      ...this.#configured,
      ...Object.values(networkInterfaces())
        .flatMap((found = []) => found)
        .filter(({ internal, address }) => !internal && !address.startsWith('fe80:'))
        .map(({ address }) => address),
    ].slice(0, 4)
    return outer.length === 0 ? '' : ` (${outer.join(', ')})`
  }
}
