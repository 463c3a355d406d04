/** Every operation of the public API, in the order of the documentation. */
import { applicationOperations } from './applications.ts'
import { authOperations } from './auth.ts'
import { bakeryOperations } from './bakery.ts'
import { beyondOperations } from './beyond/all.ts'
import { buildOperations } from './builds.ts'
import { clusterOperations } from './clusters.ts'
import { credentialOperations } from './credentials.ts'
import { executionOperations } from './executions.ts'
import { createAccessOperations } from './explain-access.ts'
import { expressionOperations } from './expressions.ts'
import { imageOperations } from './images.ts'
import { instanceOperations } from './instances.ts'
import { jobOperations } from './jobs.ts'
import { loadBalancerOperations } from './load-balancers.ts'
import { networkOperations } from './networks.ts'
import type { Operation } from './operation.ts'
import { pipelineStartOperations } from './pipeline-starts.ts'
import { pipelineOperations } from './pipelines.ts'
import { projectOperations } from './projects.ts'
import { searchOperations } from './search.ts'
import { securityGroupOperations } from './security-groups.ts'
import { serverGroupOperations } from './server-groups.ts'
import { snapshotOperations } from './snapshots.ts'
import { strategyOperations } from './strategies.ts'
import { systemOperations } from './system.ts'
import { taskOperations } from './tasks.ts'

export const allOperations: readonly Operation[] = [
  ...networkOperations,
  ...applicationOperations,
  ...pipelineOperations,
  ...pipelineStartOperations,
  ...strategyOperations,
  ...executionOperations,
  ...expressionOperations,
  ...taskOperations,
  ...authOperations,
  ...createAccessOperations(() => allOperations),
  ...bakeryOperations,
  ...buildOperations,
  ...clusterOperations,
  ...serverGroupOperations,
  ...credentialOperations,
  ...imageOperations,
  ...instanceOperations,
  ...jobOperations,
  ...loadBalancerOperations,
  ...projectOperations,
  ...searchOperations,
  ...securityGroupOperations,
  ...snapshotOperations,
  ...beyondOperations,
  ...systemOperations,
]
