/** Stage types of deployments, over the contract of the infrastructure service, embedded or external. */
import type { StageType } from '../stage-type.ts'
import { bakeStage } from './bake.ts'
import { clusterStages } from './cluster-stages.ts'
import { cloneServerGroupStages, createServerGroupStage, deployStage } from './deploy.ts'
import { findImageFromTagsStage, findImageStages } from './find-image.ts'
import { instanceStages } from './instances.ts'
import { destroyJobStage, runJobStage } from './jobs.ts'
import { rollbackClusterStage, rollbackServerGroupStage } from './rollback.ts'
import { serverGroupStages, withoutNotes } from './server-group-operations.ts'
import { simpleOperationStages } from './simple-operations.ts'
import { determineTargetStage } from './targets.ts'

export const infrastructureStageTypes: readonly StageType[] = [
  bakeStage,
  deployStage,
  createServerGroupStage,
  ...cloneServerGroupStages,
  ...serverGroupStages,
  determineTargetStage,
  ...clusterStages,
  rollbackServerGroupStage,
  rollbackClusterStage,
  ...instanceStages,
  ...simpleOperationStages,
  runJobStage,
  destroyJobStage,
  ...findImageStages,
  findImageFromTagsStage,
].map(forgetful)

/** A restarted stage looks at everything again: what its last run has noted is gone. */
function forgetful(type: StageType): StageType {
  return {
    ...type,
    prepareRestart(stage) {
      type.prepareRestart?.(stage)
      stage.context = withoutNotes(stage.context)
    },
  }
}
