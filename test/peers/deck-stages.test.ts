/** Stage types that Deck offers are known, if only as those of Spinnaker's services. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createStageTypes } from '../../packages/engine/orchestration/stages/registry.ts'
import { describeUnknownType } from '../../packages/engine/orchestration/stages/unknown-types.ts'
import { defaults } from '../support/backend-settings.ts'

/** Keys, each with the alias that Deck writes beside it, if it does. */
const keys = [
  'applySourceServerGroupCapacity awsCodeBuild bake bakeManifest checkPreconditions cloneServerGroup concourse',
  'createLoadBalancer deploy deployService destroyServerGroup destroyService disableCluster disableServerGroup',
  'enableServerGroup evaluateVariables findArtifactFromExecution findImage findImageFromTags googleCloudBuild',
  'gremlin importDeliveryConfig jenkins manualJudgment monitorPipeline pipeline preconfiguredJob',
  'preconfiguredWebhook resizeServerGroup rollbackCluster runJob savePipelinesFromArtifact scaleDownCluster script',
  'shareService shrinkCluster tagImage travis unshareService upsertEntityTags wait waitForCondition webhook wercker',
  'restrictExecutionDuringTimeWindow dependsOnExecution pageApplicationOwner canary kayentaCanary',
  'deployManifest deleteManifest scaleManifest patchManifest undoRolloutManifest rollingRestartManifest',
  'findArtifactsFromResource disableManifest enableManifest runJobManifest:runJob',
  'modifyAwsScalingProcess modifyScalingProcess rollingPush deployCloudFormation deleteCloudFormation',
  'deployAppEngineConfiguration editLoadBalancer:upsertAppEngineLoadBalancers startServerGroup stopServerGroup',
  'deployCloudrunManifest editLoadBalancer:upsertCloudrunLoadBalancers mapLoadBalancers unmapLoadBalancers',
  'bakeCloudFoundryManifest cloudFoundryCreateServiceBindings cloudFoundryDeleteServiceBindings createServiceKey',
  'deleteServiceKey Aws.LambdaDeploymentStage Aws.LambdaInvokeStage Aws.LambdaTrafficRoutingStage bulkQuickPatch',
].flatMap((line) => line.split(' '))

test('every stage type of Deck is known', () => {
  const types = createStageTypes({ ...defaults, preconfigured: [] })
  for (const key of keys) {
    const [type, alias] = key.split(':')
    const problem = describeUnknownType({ type, alias }, types) ?? ''
    assert.doesNotMatch(problem, /There is no stage type/, key)
  }
})
