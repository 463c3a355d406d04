/** The networks that may connect to a port. */
import { isInRanges, toRanges } from '@fairlead/base/settings/network-range.ts'

/** Whether an address may connect. */
export type AllowedSources = (address: string) => boolean

/**
 * @param networks In CIDR notation, IPv4 and IPv6; undefined: all.
 * @throws {Error} for what is no network; the message is for people
 */
export function toSources(networks: readonly string[] | undefined): AllowedSources {
  if (networks === undefined) return () => true
  const alone = networks.find((network) => !network.includes('/'))
  if (alone !== undefined) throw new Error(`${alone} is no network in CIDR notation`)
  const ranges = toRanges(networks)
  return (address) => isInRanges(ranges, address)
}

/**
 * The address of a client: IPv4 on an IPv6 socket is written as IPv4, and the name of the interface is left out.
 *
 * @param address As a socket says it; undefined when the connection has just ended.
 */
export function shownAddress(address: string | undefined): string {
  if (address === undefined) return 'unknown'
  const [plain = ''] = address.split('%', 1)
  return plain.startsWith('::ffff:') ? plain.slice(7) : plain
}
