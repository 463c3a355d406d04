/** Addresses of this machine alone. */
import { isIPv4 } from 'node:net'

/** Only programs of this machine can connect. */
export function isLoopback(address: string): boolean {
  return (
    address === 'localhost' || address === '::1' || (isIPv4(address) && address.startsWith('127.'))
  )
}
