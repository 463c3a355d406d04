/** Stage types that the engine cannot run, and their error messages. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { nearestFirst, shorten } from '@fairlead/base/names/edit-distance.ts'
import { cloudProviders } from '@fairlead/base/settings/standalone.ts'
import { withProvider } from '../submission/references.ts'
import { type StageTypes, typeNameOf, withoutProvider } from './stage-type.ts'

/** Stage types of build servers that the embedded build service cannot connect. */
const otherBuildTypes = ['wercker', 'concourse', 'googleCloudBuild', 'awsCodeBuild']

/** Types that the stages of Spinnaker's UI have, by what runs them. The embedded engine does not. */
const spinnakerTypes: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'build servers': otherBuildTypes.join(' '),
    'rolling deployments of Spinnaker':
      'bulkQuickPatch quickPatch applySourceServerGroupCapacity captureSourceServerGroupCapacity rollingPush waitForRequiredInstancesDown',
    'Amazon Web Services':
      'modifyScalingProcess modifyAwsScalingProcess upsertScalingPolicy tagImage deployCloudFormation deleteCloudFormation deleteCloudFormationChangeSet ' +
      'evaluateCloudFormationChangeSetExecution Aws.LambdaDeploymentStage Aws.LambdaDeleteStage Aws.LambdaInvokeStage ' +
      'Aws.LambdaTrafficRoutingStage Aws.LambdaUpdateCodeStage',
    Titus: 'upsertDisruptionBudget',
    'the plug-in of Gremlin': 'gremlin',
    'plug-ins of Armory': 'terraform runMultiplePipelines',
    'App Engine':
      'startServerGroup stopServerGroup startAppEngineServerGroup stopAppEngineServerGroup upsertAppEngineLoadBalancers ' +
      'editLoadBalancer createLoadBalancer deployAppEngineConfiguration',
    'Cloud Run': 'deployCloudrunManifest upsertCloudrunLoadBalancers',
    'Cloud Foundry':
      'deployService destroyService shareService unshareService createServiceBindings deleteServiceBindings createServiceKey ' +
      'deleteServiceKey cloudFoundryCreateServiceBindings cloudFoundryDeleteServiceBindings cloudFoundryCreateServiceKey ' +
      'cloudFoundryDeleteServiceKey cloudFoundryDeployService cloudFoundryDestroyService cloudFoundryShareService ' +
      'cloudFoundryUnshareService bakeCloudFoundryManifest runJobCloudFoundry',
    'older stages of manifests':
      'resizeManifest resolveDeploySourceManifest deployKubernetesManifest',
    'jobs and webhooks that the operator configures':
      'runJobConfig preconfiguredJob preconfiguredWebhook',
    'older stages of Orca':
      'canary canaryAnalysis acaTask entityTags importDeliveryConfig waitForCondition pageApplicationOwner',
  }).flatMap(([owner, types]) => types.split(' ').map((type) => [type, owner] as const)),
)

const remedy = 'set services.orca.baseUrl to an Orca that knows it'
/** Types that a message suggests. */
const mostTypes = 8

/** Why a stage whose type is missing fails, for the person who reads the definition or the execution. */
export function describeMissingType(name: string, types: StageTypes): string {
  if (otherBuildTypes.includes(name))
    return (
      `The embedded engine does not run stages of the type ${quote(name)}: run a job of a connected build server with a stage of the ` +
      `type "jenkins", or ${remedy}.`
    )
  const owner = spinnakerTypes.get(withoutProvider(name))
  return owner === undefined
    ? `There is no stage type ${quote(name)}. ${listTypes(types, name)} For any other type, such as that of a plug-in, ${remedy}.`
    : `The embedded engine does not run stages of the type ${quote(name)}, which belong to ${owner}: ${remedy}.`
}

/** Why the stage of a definition fails for its type. A type that is an expression is known once it is evaluated. */
export function describeUnknownType(stage: JsonObject, types: StageTypes): string | undefined {
  const name = typeNameIn(stage)
  if (name === '' || name.includes('${') || isKnown(types, name)) return undefined
  const key = configuredTypes.get(String(stage['alias']))
  return key === undefined
    ? describeMissingType(name, types)
    : `The stage type ${quote(name)} is one that an operator configures: add it to ${key}, or ${remedy}.`
}

/** Settings with types of their own, by the alias that Deck writes into their stages. */
const configuredTypes: ReadonlyMap<string, string> = new Map([
  ['preconfiguredWebhook', 'webhook.preconfigured'],
  ['preconfiguredJob', 'job.preconfigured.kubernetes'],
])

/** `deploy_kubernetes` is a `deploy`. */
function isKnown(types: StageTypes, name: string): boolean {
  const isForProvider = cloudProviders.some((id) => name.endsWith(`_${id}`))
  return types.has(name) || (isForProvider && types.has(withoutProvider(name)))
}

function typeNameIn(stage: JsonObject): string {
  const type = typeof stage['type'] === 'string' ? stage['type'] : ''
  return typeNameOf({
    type: type === '' ? type : withProvider(type, stage['providerType']),
    context: stage,
  })
}

function listTypes(types: StageTypes, wanted: string): string {
  const nearest = nearestFirst(types.keys(), wanted)
  const more = nearest.length > mostTypes ? `, and ${nearest.length - mostTypes} more` : ''
  return `The embedded engine runs these types, the nearest first: ${nearest.slice(0, mostTypes).join(', ')}${more}.`
}

function quote(text: string): string {
  return `"${shorten(text)}"`
}
