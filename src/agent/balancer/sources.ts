/** The networks that may connect to a port. */
import { BlockList, isIP } from 'node:net'

export interface Sources {
  readonly allows: (address: string) => boolean
}

/**
 * @param networks In CIDR notation, IPv4 and IPv6; undefined: all.
 * @throws {Error} for what is no network; the message is for people
 */
export function toSources(networks: readonly string[] | undefined): Sources {
  if (networks === undefined) return { allows: () => true }
  const list = new BlockList()
  for (const network of networks) {
    const [, address = '', bits] = /^([\d.]+|[\da-f:.]+)\/(\d{1,3})$/i.exec(network) ?? []
    const family = isIP(address)
    if (family === 0 || Number(bits) > (family === 4 ? 32 : 128)) throw new Error(`${network} is no network in CIDR notation`)
    list.addSubnet(address, Number(bits), family === 4 ? 'ipv4' : 'ipv6')
  }
  return { allows: (address) => list.check(address, address.includes(':') ? 'ipv6' : 'ipv4') }
}

/** IPv4 addresses that arrive on an IPv6 socket are written as IPv4. */
export function plainAddress(address: string): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address
}
