/** `cleanupArtifacts`: deletes versions of an object beyond the number that its manifest allows. */
import { fieldAt, type JsonObject, objectsOf } from '@fairlead/base/json/values.ts'
import { kubernetes, requireAccount } from '../infrastructure/cloud-context.ts'
import { monitorStep, submitStep } from '../infrastructure/cloud-task.ts'
import type { StageType, Step } from '../stage-type.ts'
import { manifestStage } from './manifest-context.ts'
import { promoteStep } from './promote-outputs.ts'

const limitAnnotation = 'strategy.spinnaker.io/max-version-history'

const submit = submitStep('cleanupArtifacts', 'cleanupartifacts', ({ stage }) => {
  const account = requireAccount(stage.context)
  const deployed = objectsOf(stage.context['outputs.manifests'])
  const listed = deployed.length > 0 ? deployed : objectsOf(stage.context['manifests'])
  const manifests = listed.filter(isLimited).map(toHead)
  const cleanup = { cleanupArtifacts: { account, credentials: account, cloudProvider: kubernetes, manifests } }
  return { operations: manifests.length > 0 ? [cleanup] : [], context: { cloudProvider: kubernetes } }
})

/** Whether it says how many of its versions stay. */
export function isLimited(manifest: JsonObject): boolean {
  return fieldAt(manifest, 'metadata', 'annotations', limitAnnotation) !== undefined
}

/** Names and annotations say which versions there are. */
function toHead({ apiVersion, kind, metadata }: JsonObject): JsonObject {
  return { apiVersion, kind, metadata }
}

const { preview: _preview, ...submitAfterDeploy } = submit

/** As a part of a deployment; what is deployed is known only then. */
export const cleanUpSteps: readonly Step[] = [submitAfterDeploy, monitorStep('monitorCleanup'), promoteStep]

export const cleanupArtifactsStage: StageType = manifestStage({
  type: 'cleanupArtifacts',
  steps: [submit, monitorStep('monitorCleanup')],
})
