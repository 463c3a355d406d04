/** `bake`: images from a bakery, embedded or external, one child stage per region (docs/contracts/bakery.md#stage). */
import { type Cause, formatCause } from '@fairlead/base/causes/cause.ts'
import { CauseReader } from '@fairlead/base/causes/reader.ts'
import { asGiven, list, or, shape } from '@fairlead/base/json/shape.ts'
import {
  isTrue,
  type JsonObject,
  objectsOf,
  textOf,
  textsOf,
  withoutNulls,
} from '@fairlead/base/json/values.ts'
import type { BakeStatus } from '@fairlead/ports/bakery.ts'
import { expectedArtifactsById } from '../../artifacts-at-hand.ts'
import { failureRecord, StageError } from '../../machine/failure.ts'
import { graphOf } from '../../machine/graph.ts'
import type { Execution, Stage, StagePlace } from '../../model.ts'
import {
  inheritedContext,
  type StageType,
  type Step,
  type TaskContext,
  type TaskResult,
  typeNameOf,
  withoutProvider,
} from '../stage-type.ts'
import { placesOf } from './cloud-context.ts'
import { attempt, hourMs, pauseFor } from './cloud-task.ts'
import { note } from './notes.ts'

const type = 'bake'
/** Lines at the end of a log that the error of the stage shows. */
const shownLines = 10

const regionSteps: readonly Step[] = [
  { name: 'createBake', execute: createBake, timeoutMs: hourMs },
  { name: 'monitorBake', execute: monitorBake, timeoutMs: hourMs, timeoutFollowsStage: true },
  { name: 'completedBake', execute: readDetails, timeoutMs: 5 * 60_000 },
]
const collectStep: Step = { name: 'completeParallelBake', decide: collect }

export const bakeStage: StageType = {
  type,
  steps: [...regionSteps, collectStep],
  chooseSteps: (stage, execution) => (isOfRegion(stage, execution) ? regionSteps : [collectStep]),
  beforeStages(stage, execution) {
    if (isOfRegion(stage, execution)) return []
    const { regions: _regions, ...settings } = inheritedContext(stage)
    const regions = regionsOf(stage.context)
    return regions.map((region) => ({
      type: stage.type,
      name: `Bake in ${region}`,
      context: { ...settings, type, region },
    }))
  },
  forgets: ['status', 'ami', 'imageId', 'imageName', 'artifacts', 'bake.requests'],
  async onCancel(context) {
    const id = statusIdOf(context)
    if (id !== undefined) await context.bakery.cancel({ region: regionOf(context), id })
  },
}

function isOfRegion(stage: Stage, execution: Execution): boolean {
  const parent = graphOf(execution).parentOf(stage)
  return parent !== undefined && withoutProvider(typeNameOf(parent)) === type
}

const toSettings = shape({
  region: or(textOf, 'global'),
  regions: textsOf,
  /** Unless given, the bakery's default. */
  provider: [textOf, 'cloudProviderType', 'cloudProvider'],
  baseOs: textOf,
  package: or(textOf, ''),
  packageArtifactIds: textsOf,
  packageArtifacts: objectsOf,
  rebake: isTrue,
  user: textOf,
})

/** Last response of the bakery. */
const statusNote = note('status', shape({ id: textOf, resource_id: textOf, state: textOf }))
const artifactsNote = note('artifacts', objectsOf)
const bakedBeforeNote = note('previouslyBaked', isTrue)

function regionsOf(context: JsonObject): string[] {
  const { regions } = toSettings(context)
  if (regions.length > 0) return [...new Set(regions)]
  const places = placesOf(context)
  return places.length > 0 ? places : ['global']
}

function regionOf({ stage }: TaskContext): string {
  return toSettings(stage.context).region
}

function statusIdOf({ stage }: TaskContext): string | undefined {
  return statusNote.in(stage.context).id
}

async function createBake(context: TaskContext): Promise<TaskResult> {
  await checkBaseImage(context)
  const { stage, execution } = context
  const { rebake, package: bakePackageName } = toSettings(stage.context)
  const isRebake = rebake || execution.trigger.rebake
  return attempt(context, { key: 'bake.requests', ...bakeryRequests }, async () => {
    const status = await requestBake(context, isRebake)
    return {
      status: 'SUCCEEDED',
      context: { status, bakePackageName, previouslyBaked: status['state'] === 'COMPLETED' },
    }
  })
}

/** For a bakery that is not reached, or has trouble of its own; equal requests share a bake, so repeating them is safe. */
export const bakeryRequests = {
  tries: 5,
  pauseMs: 2000,
  mayPass({ details }: StageError) {
    const status = Number(details['status'] ?? 503)
    return details['isFinal'] !== true && (status >= 500 || status === 429)
  },
}

async function checkBaseImage({ stage, bakery }: TaskContext): Promise<void> {
  const { baseOs: id, provider } = toSettings(stage.context)
  if (id !== undefined && provider !== undefined) await bakery.baseImage({ provider, id })
}

function requestBake(context: TaskContext, isRebake: boolean): Promise<BakeStatus> {
  return context.bakery.start(toRequest(context), { region: regionOf(context), isRebake })
}

/** Fields of the stage that become fields of the request in snake case. */
const requestFields = [
  'package baseOs baseLabel baseAmi baseName vmType storeType amiName amiSuffix enhancedNetworking upgrade',
  'instanceType accountName organization templateFileName varFileName extendedAttributes publisher offer sku osType',
  'packageType customManagedImageName buildHost job buildNumber commitHash buildInfoUrl',
].flatMap((line) => line.split(' '))

function toRequest({ stage, execution }: TaskContext): JsonObject {
  const given = requestFields.flatMap((name) => {
    const value = stage.context[name]
    return value === undefined || value === null || value === ''
      ? []
      : [[toSnakeCase(name), value] as const]
  })
  const { provider, user = execution.authentication?.user } = toSettings(stage.context)
  const artifacts = artifactsOf({ stage, execution })
  return {
    ...originOf(execution.trigger),
    ...Object.fromEntries(given),
    ...(provider !== undefined && { cloud_provider_type: provider }),
    ...(artifacts.length > 0 && { package_artifacts: artifacts }),
    user,
    spinnaker_execution_id: execution.id,
  }
}

function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

const toBuild = shape({
  job: asGiven,
  buildNumber: asGiven,
  hash: asGiven,
  buildInfo: shape({
    name: asGiven,
    number: asGiven,
    url: asGiven,
    scm: list(shape({ sha1: asGiven })),
  }),
})

/** Build and commit that started the pipeline. */
function originOf(trigger: JsonObject): JsonObject {
  const { job, buildNumber, hash, buildInfo: build } = toBuild(trigger)
  return withoutNulls({
    job: job ?? build.name,
    build_number: buildNumber ?? build.number,
    build_info_url: build.url,
    commit_hash: hash ?? build.scm[0]?.sha1,
  })
}

function artifactsOf({ stage, execution }: StagePlace): JsonObject[] {
  const { packageArtifacts, packageArtifactIds } = toSettings(stage.context)
  const expected = expectedArtifactsById({ stage, execution })
  return [
    ...packageArtifacts,
    ...packageArtifactIds.map((id) => expected.get(id)).filter((each) => each !== undefined),
  ]
}

async function monitorBake(context: TaskContext): Promise<TaskResult> {
  const id = statusIdOf(context)
  if (id === undefined) throw new StageError(['The stage has lost the id of its bake.'])
  const again = { status: 'RUNNING', pollMs: pauseFor(context) } as const
  const status = await context.bakery.status({ region: regionOf(context), id })
  if (status === undefined) return again
  const { state, result } = status
  if (state === 'COMPLETED' && result === 'SUCCESS')
    return { status: 'SUCCEEDED', context: { status } }
  if (!['COMPLETED', 'CANCELED', 'CANCELLED'].includes(String(state)))
    return { ...again, context: { status } }
  // A bake that never ran was pushed out of the queue of its bakery.
  const wasPending = statusNote.in(context.stage.context).state === 'PENDING'
  if (wasPending && state !== 'COMPLETED')
    return { ...again, context: { status: await requestBake(context, false) } }
  const { text, cause } = await describeFailure(context, id)
  const exception = failureRecord('BakeFailed', [text], cause)
  return { status: 'TERMINAL', context: { status, exception } }
}

/** Without its log the stage still fails in words. */
async function describeFailure(
  context: TaskContext,
  id: string,
): Promise<{ text: string; cause?: Cause }> {
  const region = regionOf(context)
  const log = (await context.bakery.log({ region, id }).catch(() => '')).trimEnd()
  const reader = new CauseReader()
  reader.feed(log)
  const cause = reader.end({ exitCode: 1 })
  const failed = `The bake ${id} in ${region} failed`
  if (cause !== undefined) return { text: `${failed}: ${formatCause(cause)}`, cause }
  const end =
    log === '' ? '' : ` Its log ends with:\n${log.split('\n').slice(-shownLines).join('\n')}`
  return { text: `${failed}.${end}` }
}

async function readDetails(context: TaskContext): Promise<TaskResult> {
  const status = statusNote.in(context.stage.context)
  const id = status.resource_id ?? status.id
  if (id === undefined) throw new StageError(['The stage has lost the id of its bake.'])
  const {
    ami,
    imageName,
    baseAmi: baseAmiId,
    artifact,
  } = await context.bakery.details({ region: regionOf(context), id })
  const imageId = ami ?? imageName
  const found = {
    ami: imageId,
    imageId,
    imageName,
    baseAmiId,
    artifacts: artifact === undefined ? [] : [artifact],
  }
  return { status: 'SUCCEEDED', context: found, outputs: found }
}

/** Keys of the child that later stages and the web UI read. */
const detailKeys = [
  'ami imageId imageName amiSuffix baseLabel baseOs baseAmiId storeType vmType region package cloudProvider',
  'cloudProviderType',
].flatMap((line) => line.split(' '))

function collect({ stage, execution }: TaskContext): TaskResult {
  const children = graphOf(execution)
    .childrenOf(stage, 'STAGE_BEFORE')
    .filter((each) => isOfRegion(each, execution))
  const deploymentDetails = children.map(({ context }) => ({
    ...Object.fromEntries(
      detailKeys.filter((key) => context[key] !== undefined).map((key) => [key, context[key]]),
    ),
    refId: stage.refId,
  }))
  const { ami, imageId, imageName } = children[0]?.context ?? {}
  const found = {
    deploymentDetails,
    artifacts: children.flatMap(({ context }) => artifactsNote.in(context)),
    ...(children.length === 1 && { ami, imageId, imageName }),
  }
  const previouslyBaked =
    children.length > 0 && children.every(({ context }) => bakedBeforeNote.in(context))
  return { status: 'SUCCEEDED', context: { ...found, previouslyBaked }, outputs: found }
}
