/** Operations of this machine, by the names that clients send. */
import type { OperationTypes } from '../../infrastructure/operation-type.ts'
import { creationOperations } from './create.ts'
import { localImageOperations } from './images.ts'
import { localInstanceOperations } from './instances.ts'
import { localJobOperations } from './jobs.ts'
import { localLoadBalancerOperations } from './load-balancers.ts'
import type { LocalOperations, OperationParts } from './parts.ts'
import { localSecurityGroupOperations } from './security-groups.ts'
import { localServerGroupOperations } from './server-groups.ts'
import { localSnapshotOperations } from './snapshots.ts'
import { localVolumeOperations } from './volumes.ts'

const operations: LocalOperations = {
  ...creationOperations,
  ...localServerGroupOperations,
  ...localInstanceOperations,
  ...localLoadBalancerOperations,
  ...localSecurityGroupOperations,
  ...localJobOperations,
  ...localImageOperations,
  ...localSnapshotOperations,
  ...localVolumeOperations,
}

export function openOperations(parts: OperationParts): OperationTypes {
  return Object.fromEntries(Object.entries(operations).map(([name, open]) => [name, open(parts)]))
}
