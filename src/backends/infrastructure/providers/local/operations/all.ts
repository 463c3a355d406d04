/** Operations of this machine, by the names that clients send. */
import type { OperationTypes } from '../../../operation-type.ts'
import { creationOperations } from './create.ts'
import { imageOperations } from './images.ts'
import { instanceOperations } from './instances.ts'
import { jobOperations } from './jobs.ts'
import { loadBalancerOperations } from './load-balancers.ts'
import type { LocalOperations, OperationParts } from './parts.ts'
import { securityGroupOperations } from './security-groups.ts'
import { serverGroupOperations } from './server-groups.ts'
import { snapshotOperations } from './snapshots.ts'

const operations: LocalOperations = {
  ...creationOperations,
  ...serverGroupOperations,
  ...instanceOperations,
  ...loadBalancerOperations,
  ...securityGroupOperations,
  ...jobOperations,
  ...imageOperations,
  ...snapshotOperations,
}

export function openOperations(parts: OperationParts): OperationTypes {
  return Object.fromEntries(Object.entries(operations).map(([name, open]) => [name, open(parts)]))
}
