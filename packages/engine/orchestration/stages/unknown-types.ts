/** Stage types that the engine cannot run, and their error messages. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { nearestFirst, shorten } from '@fairlead/base/names/edit-distance.ts'
import { cloudProviders } from '@fairlead/base/settings/standalone.ts'
import { withProvider } from '../submission/references.ts'
import { toStageHead } from './described-fields.ts'
import { type StageTypes, typeNameOf, withoutProvider } from './stage-type.ts'

/** Stage types of build servers that the embedded build service cannot connect. */
const otherBuildTypes = ['wercker', 'concourse', 'googleCloudBuild', 'awsCodeBuild']

/** Types that the stages of Spinnaker's UI have, by what they need. The embedded engine does not run them. */
const spinnakerTypes: ReadonlySet<string> = new Set(
  [
    ...otherBuildTypes,
    // Server groups.
    'bulkQuickPatch quickPatch',
    'applySourceServerGroupCapacity captureSourceServerGroupCapacity modifyScalingProcess modifyAwsScalingProcess rollingPush',
    'tagImage waitForRequiredInstancesDown',
    'upsertDisruptionBudget gremlin',
    'startServerGroup stopServerGroup startAppEngineServerGroup stopAppEngineServerGroup',
    // Load balancers, security groups, and what applications of a cloud provider need besides.
    'upsertAppEngineLoadBalancers editLoadBalancer createLoadBalancer',
    'deployAppEngineConfiguration',
    'deployCloudrunManifest upsertCloudrunLoadBalancers bakeCloudFoundryManifest upsertScalingPolicy',
    'cloudFoundryDeployService cloudFoundryDestroyService cloudFoundryShareService cloudFoundryUnshareService',
    'cloudFoundryCreateServiceBindings cloudFoundryDeleteServiceBindings cloudFoundryCreateServiceKey cloudFoundryDeleteServiceKey',
    'deployService destroyService shareService unshareService createServiceBindings deleteServiceBindings createServiceKey deleteServiceKey',
    'deployCloudFormation deleteCloudFormation deleteCloudFormationChangeSet evaluateCloudFormationChangeSetExecution',
    'Aws.LambdaDeploymentStage Aws.LambdaDeleteStage Aws.LambdaInvokeStage Aws.LambdaTrafficRoutingStage Aws.LambdaUpdateCodeStage',
    // Manifests.
    'resizeManifest resolveDeploySourceManifest deployKubernetesManifest',
    // Jobs, checks and artifacts.
    'runJobConfig preconfiguredJob preconfiguredWebhook',
    'canary canaryAnalysis acaTask entityTags',
    'importDeliveryConfig waitForCondition',
    'pageApplicationOwner',
  ].flatMap((line) => line.split(' ')),
)

const remedy = 'set services.orca.baseUrl to an Orca that knows it'
/** Stages that a message names. */
const mostNamed = 10
/** Types that a message suggests. */
const mostTypes = 20

/** Why a stage whose type is missing fails, for the person who reads the definition or the execution. */
export function describeMissingType(name: string, types: StageTypes): string {
  if (otherBuildTypes.includes(name))
    return (
      `The embedded engine does not run stages of the type ${quote(name)}: run a job of a connected build server with a stage of the ` +
      `type "jenkins", or ${remedy}.`
    )
  if (spinnakerTypes.has(withoutProvider(name)))
    return `The embedded engine does not run stages of the type ${quote(name)}: ${remedy}.`
  return `There is no stage type ${quote(name)}. ${listTypes(types, name)} For any other type, ${remedy}.`
}

/**
 * What is wrong with the types of the stages of a definition: a sentence that says what to do, or undefined. Types that only the
 * services of Spinnaker run are no fault, and neither is a stage that has no type yet.
 */
export function describeUnknownTypes(
  stages: readonly JsonObject[],
  types: StageTypes,
): string | undefined {
  const unknown = stages.flatMap((stage, index): { place: string; name: string }[] => {
    const { name: title } = toStageHead(stage)
    const place = title === undefined ? String(index + 1) : quote(title)
    const name = typeNameIn(stage)
    // A type that is an expression is known once it is evaluated.
    const isExpected =
      name === '' || name.includes('${') || spinnakerTypes.has(withoutProvider(name))
    return isExpected || isKnown(types, name) ? [] : [{ place, name }]
  })
  const [first] = unknown
  if (first === undefined) return undefined
  const faults = unknown
    .slice(0, mostNamed)
    .map(({ place, name }) => `Stage ${place} has the unknown type ${quote(name)}.`)
  const more =
    unknown.length > mostNamed
      ? [`${unknown.length - mostNamed} more stages have unknown types.`]
      : []
  return [
    ...faults,
    ...more,
    listTypes(types, first.name),
    `For any other type, ${remedy}; a pipeline that is not to run yet can be saved with "disabled": true.`,
  ].join(' ')
}

/** Types in a definition that only the services of Spinnaker run, each once. */
export function typesRunElsewhere(stages: readonly JsonObject[], types: StageTypes): string[] {
  const names = stages
    .map(typeNameIn)
    .filter((name) => !isKnown(types, name) && spinnakerTypes.has(withoutProvider(name)))
  return [...new Set(names)]
}

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
