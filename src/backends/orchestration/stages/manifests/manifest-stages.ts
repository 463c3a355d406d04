/** Stages of manifests: all of the types, and those that the configuration adds. */
import type { ManifestSettings } from '../../settings.ts'
import type { StageType } from '../stage-type.ts'
import { bakeManifestStage } from './bake-manifest.ts'
import { cleanupArtifactsStage } from './clean-up.ts'
import { deployManifestStage, planManifestStage } from './deploy-manifest.ts'
import { checkManifestDriftStage } from './drift.ts'
import { findArtifactsStage } from './find-artifacts.ts'
import { guardManifest, noGuard } from './guards.ts'
import { operationStages } from './operations.ts'
import { preconfiguredJobStage } from './preconfigured-jobs.ts'
import { runJobStages } from './run-job.ts'

export function createManifestStages({ guards, absenceMs }: Pick<ManifestSettings, 'guards' | 'absenceMs'>): StageType[] {
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

export function preconfiguredJobStages({ jobs }: Pick<ManifestSettings, 'jobs'>): StageType[] {
  return jobs.map(preconfiguredJobStage)
}
