/** All stage types that the engine knows. */

import type { OutsideSettings } from '@fairlead/base/outside/settings.ts'
import { stageDescriptions } from '@fairlead/model/stage-types/all.ts'
import type { ManifestSettings } from '../settings.ts'
import { deleteApplicationStage, upsertApplicationStages } from './applications.ts'
import { artifactStages } from './artifacts.ts'
import { createBuildStages } from './builds/build-stages.ts'
import type { ScriptSettings } from './builds/settings.ts'
import { canaryStages } from './canaries/kayenta-canary.ts'
import { checkPreconditionsStage } from './check-preconditions.ts'
import { deployRevisionStage } from './deploy-revision.ts'
import { evaluateVariablesStage } from './evaluate-variables.ts'
import { executionWindowStage } from './execution-window.ts'
import { bakeStage } from './infrastructure/bake.ts'
import { clusterStages } from './infrastructure/cluster-stages.ts'
import {
  cloneServerGroupStages,
  createServerGroupStage,
  deployStage,
} from './infrastructure/deploy.ts'
import { findImageStages } from './infrastructure/find-image.ts'
import { instanceStages } from './infrastructure/instances.ts'
import { destroyJobStage, runCommandStage, runJobStage } from './infrastructure/jobs.ts'
import { withoutNotes } from './infrastructure/notes.ts'
import { rollbackClusterStage, rollbackServerGroupStage } from './infrastructure/rollback.ts'
import { serverGroupStages } from './infrastructure/server-group-operations.ts'
import { simpleOperationStages } from './infrastructure/simple-operations.ts'
import { determineTargetStage } from './infrastructure/targets.ts'
import { bakeManifestStage } from './manifests/bake-manifest.ts'
import { cleanupArtifactsStage } from './manifests/clean-up.ts'
import { deployManifestStage, planManifestStage } from './manifests/deploy-manifest.ts'
import { checkManifestDriftStage } from './manifests/drift.ts'
import { findArtifactsStage } from './manifests/find-artifacts.ts'
import { guardManifest, noGuard } from './manifests/guards.ts'
import { operationStages } from './manifests/operations.ts'
import { preconfiguredJobStage } from './manifests/preconfigured-jobs.ts'
import { runJobStages } from './manifests/run-job.ts'
import { manualJudgmentStage } from './manual-judgment.ts'
import { dependsOnExecutionStage, monitorPipelineStage } from './other-executions.ts'
import { pipelineStage } from './pipeline.ts'
import { pipelineTemplateStages } from './pipeline-templates.ts'
import { savePipelinesFromArtifactStage } from './pipelines-from-artifact.ts'
import { preconfiguredWebhookStage } from './preconfigured-webhook.ts'
import { projectStages } from './projects.ts'
import { promoteStage } from './promotion/promote.ts'
import type { StageType, StageTypes } from './stage-type.ts'
import { storedPipelineStages } from './stored-pipelines.ts'
import { verifyStage } from './verification/verify.ts'
import { waitStage, waitUntilStage } from './wait.ts'
import { webhookStage } from './webhook.ts'

const types: readonly StageType[] = [
  checkPreconditionsStage,
  dependsOnExecutionStage,
  deployRevisionStage,
  evaluateVariablesStage,
  executionWindowStage,
  manualJudgmentStage,
  monitorPipelineStage,
  // Nothing to do: it ends SKIPPED, and what requires it goes on.
  { type: 'noop', steps: [] },
  pipelineStage,
  waitStage,
  waitUntilStage,
  webhookStage,
  runCommandStage,
  deleteApplicationStage,
  ...artifactStages,
  ...storedPipelineStages,
  savePipelinesFromArtifactStage,
  ...projectStages,
  ...upsertApplicationStages,
  ...pipelineTemplateStages,
]

/** Types of deployments, over the contract of the infrastructure service, embedded or external. */
const infrastructureTypes: readonly StageType[] = [
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
  verifyStage,
  ...canaryStages,
  promoteStage,
]

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

const builtIn = [...types, ...infrastructureTypes.map(forgetful)]

function createManifestStages({ guards, absenceMs }: ManifestSettings): StageType[] {
  return [
    bakeManifestStage,
    deployManifestStage(absenceMs),
    planManifestStage,
    checkManifestDriftStage,
    ...operationStages({ absenceMs, guard: guards ? guardManifest : noGuard }),
    findArtifactsStage,
    cleanupArtifactsStage,
    ...runJobStages,
  ]
}

/** What the configuration says about stage types. */
interface StageTypeSettings extends Pick<OutsideSettings, 'preconfigured'> {
  readonly manifests: ManifestSettings
  readonly script: ScriptSettings
}

/** Includes the types that the configuration adds. */
export function createStageTypes({
  preconfigured,
  manifests,
  script,
}: StageTypeSettings): StageTypes {
  const own = [...builtIn, ...createBuildStages(script), ...createManifestStages(manifests)]
  const described = own.map(
    (type): StageType => ({ ...type, description: stageDescriptions.get(type.type) }),
  )
  const added = [
    ...preconfigured.map(preconfiguredWebhookStage),
    ...manifests.jobs.map(preconfiguredJobStage),
  ]
  return new Map([...described, ...added].map((type) => [type.type, type]))
}
