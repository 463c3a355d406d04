/** All operations of the provider `kubernetes`, by the names that clients send. */
import type { OperationTypes } from '../../infrastructure/operation-type.ts'
import type { KubernetesParts } from '../parts.ts'
import { cleanupArtifacts } from './cleanup.ts'
import { deleteManifest } from './delete.ts'
import { deployManifest, runJob } from './deploy.ts'
import type { KubernetesOperation } from './parts.ts'
import { patchManifest } from './patch.ts'
import { planManifest } from './plan.ts'
import {
  pauseRolloutManifest,
  resumeRolloutManifest,
  rollingRestartManifest,
  undoRolloutManifest,
} from './rollouts.ts'
import {
  destroyServerGroup,
  resizeServerGroup,
  scaleManifest,
  terminateInstances,
} from './scale.ts'
import { cloneServerGroup, createServerGroup } from './server-groups.ts'
import { shareTraffic } from './share-traffic.ts'
import {
  disableManifest,
  disableServerGroup,
  enableManifest,
  enableServerGroup,
} from './traffic.ts'

const all: Readonly<Record<string, KubernetesOperation>> = {
  deployManifest,
  planManifest,
  deleteManifest,
  patchManifest,
  scaleManifest,
  undoRolloutManifest,
  pauseRolloutManifest,
  resumeRolloutManifest,
  rollingRestartManifest,
  enableManifest,
  disableManifest,
  cleanupArtifacts,
  runJob,
  createServerGroup,
  cloneServerGroup,
  destroyServerGroup,
  enableServerGroup,
  disableServerGroup,
  resizeServerGroup,
  shareTraffic,
  terminateInstances,
}

export function createKubernetesOperations(parts: KubernetesParts): OperationTypes {
  return Object.fromEntries(Object.entries(all).map(([name, create]) => [name, create(parts)]))
}
