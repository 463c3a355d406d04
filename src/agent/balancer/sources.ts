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
  return { allows: (address) => isIP(address) !== 0 && list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4') }
}

/**
 * Of the client: IPv4 on an IPv6 socket is written as IPv4, and the name of the interface is left out.
 *
 * @param address As a socket says it; undefined when the connection has just ended.
 */
export function plainAddress(address: string | undefined): string {
  if (address === undefined) return 'unknown'
  const [plain = ''] = address.split('%', 1)
  return plain.startsWith('::ffff:') ? plain.slice(7) : plain
}
