/** Ranges of IP addresses in CIDR notation, and lists of them. */
import { BlockList, isIP } from 'node:net'

/** `10.0.0.0/8` or `fc00::/7`; an address alone is a range of one. Undefined for anything else. */
function parseRange(text: string) {
  const [address = '', bits, ...rest] = text.split('/')
  const version = address.includes('%') ? 0 : isIP(address)
  const most = version === 4 ? 32 : 128
  if (version === 0 || rest.length > 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits)))
    return undefined
  const length = bits === undefined ? most : Number(bits)
  return length > most
    ? undefined
    : ({ address, bits: length, family: version === 4 ? 'ipv4' : 'ipv6' } as const)
}

export function isNetworkRange(text: string): boolean {
  return parseRange(text) !== undefined
}

/** @throws {Error} for a text that is no range; the message is for users */
export function toRanges(texts: readonly string[]): BlockList {
  const ranges = new BlockList()
  for (const text of texts) {
    const range = parseRange(text)
    if (range === undefined) throw new Error(`${text} is no network in CIDR notation`)
    ranges.addSubnet(range.address, range.bits, range.family)
  }
  return ranges
}

/** False for what is no IP address. */
export function isInRanges(ranges: BlockList, address: string): boolean {
  const version = isIP(address)
  return version !== 0 && ranges.check(address, version === 6 ? 'ipv6' : 'ipv4')
}
