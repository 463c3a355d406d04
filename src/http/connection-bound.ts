/** Bound of open connections, below the number of files that the process may have open. */
import { readDescriptorLimit } from '../runtime/descriptor-limit.ts'

/** Services, stores and files need descriptors, too. */
const shareForClients = 0.75
/** An idle connection takes some 15 KB. */
const mostByDefault = 10_000

/** Connections beyond the bound that may still ask for what is served always: probes, metrics, logins. */
export const reservedConnections = 32

export function defaultMaxConnections(descriptorLimit = readDescriptorLimit()): number {
  return Math.max(1, Math.min(mostByDefault, Math.floor(descriptorLimit * shareForClients) - reservedConnections))
}
