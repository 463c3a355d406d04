/** `cleanupArtifacts`: deletes versions of an object beyond the number that its manifest allows. */
import { shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, objectsOf } from '@fairlead/base/json/values.ts'
import { kubernetes } from '../infrastructure/cloud-context.ts'
import { monitorStep, submitStep } from '../infrastructure/cloud-task.ts'
import { manifestsNote } from '../infrastructure/notes.ts'
import type { StageType, Step } from '../stage-type.ts'
import { accountContextOf, manifestStage, readManifestHead } from './manifest-context.ts'
import { promoteStep } from './promote-outputs.ts'

const toGiven = shape({ manifests: objectsOf })

const submit = submitStep('cleanupArtifacts', ({ stage }) => {
  const deployed = manifestsNote.in(stage.context)
  const { manifests: given } = toGiven(stage.context)
  // Names and annotations say which versions there are.
  const manifests = (deployed.length > 0 ? deployed : given)
    .filter(isLimited)
    .map(({ apiVersion, kind, metadata }) => ({ apiVersion, kind, metadata }))
  const cleanup = { cleanupArtifacts: { ...accountContextOf(stage), manifests } }
  return {
    operations: manifests.length > 0 ? [cleanup] : [],
    context: { cloudProvider: kubernetes },
  }
})

/** Whether it says how many of its versions stay. */
export function isLimited(manifest: JsonObject): boolean {
  return (
    readManifestHead(manifest).metadata.annotations['strategy.spinnaker.io/max-version-history'] !==
    undefined
  )
}

const { preview: _preview, ...submitAfterDeploy } = submit

/** Part of a deployment; what is deployed is known only then. */
export const cleanUpSteps: readonly Step[] = [
  submitAfterDeploy,
  monitorStep('monitorCleanup'),
  promoteStep,
]

export const cleanupArtifactsStage: StageType = manifestStage({
  type: 'cleanupArtifacts',
  steps: [submit, monitorStep('monitorCleanup')],
})
