/** Network interfaces of this machine, as deployments need them. */
import { hostname, networkInterfaces } from 'node:os'
import type { JsonObject } from '@fairlead/base/json/values.ts'

export const loopback = '127.0.0.1'

function listInterfaces() {
  return Object.entries(networkInterfaces()).map(([name, addresses = []]) => ({ name, addresses }))
}

/** The IPv4 address of an interface, else its first one. */
export function addressOf(interfaceName: string): string | undefined {
  const addresses = listInterfaces().find(({ name }) => name === interfaceName)?.addresses ?? []
  return (addresses.find(({ family }) => family === 'IPv4') ?? addresses[0])?.address
}

export function ownNetworks(): string[] {
  const addresses = listInterfaces().flatMap((each) =>
    each.addresses.filter(({ address }) => !address.startsWith('fe80:')),
  )
  const hosts = addresses.map(({ address, family }) => `${address}/${family === 'IPv4' ? 32 : 128}`)
  return [...new Set(['127.0.0.0/8', '::1/128', ...hosts])]
}

export function dnsNameOf(host: string): string {
  return host === '0.0.0.0' || host === '::' ? hostname() : host
}

export function toNetworkViews(account: string, region: string): JsonObject[] {
  return listInterfaces().map(({ name }) => ({
    cloudProvider: 'local',
    id: name,
    name,
    account,
    region,
    deprecated: false,
  }))
}

/** One per address of an interface; its purpose is the name of the interface. */
export function toSubnetViews(
  account: string,
  region: string,
  zones: readonly string[],
): JsonObject[] {
  return listInterfaces().flatMap(({ name, addresses }) =>
    addresses.map(({ address, cidr }) => ({
      type: 'local',
      id: `${name}-${address}`,
      state: 'available',
      vpcId: name,
      cidrBlock: cidr,
      availableIpAddressCount: 1,
      account,
      region,
      availabilityZone: zones[0],
      purpose: name,
      target: null,
      deprecated: false,
    })),
  )
}

export interface PortRange {
  readonly first: number
  readonly last: number
}

/** Undefined when the text is none. A single port is a range of one. */
export function parsePortRange(text: string): PortRange | undefined {
  const match = /^\s*(\d{1,5})\s*(?:-\s*(\d{1,5})\s*)?$/.exec(text)
  if (match === null) return undefined
  const first = Number(match[1])
  const last = Number(match[2] ?? match[1])
  return first >= 1 && last <= 65_535 && first <= last ? { first, last } : undefined
}

export function isPortWithin(port: number, { first, last }: PortRange): boolean {
  return port >= first && port <= last
}
