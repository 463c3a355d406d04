/** Deployments of a promotion: as its target was deployed last, with other images. */

import { list, or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import {
  isObject,
  type JsonObject,
  objectOf,
  objectsOf,
  parseObject,
  textOf,
} from '@fairlead/base/json/values.ts'
import { parseMoniker } from '@fairlead/base/names/moniker.ts'
import { findUnknownPlaces } from '@fairlead/model/environments/accounts.ts'
import type { Environment } from '@fairlead/model/environments/declaration.ts'
import { imagesIn, repositoryOf } from '@fairlead/model/environments/images.ts'
import { deploysTo, toTarget } from '@fairlead/model/environments/pipelines.ts'
import {
  type Running,
  type RunningCluster,
  runningIn,
  versionsOf,
} from '@fairlead/model/environments/running.ts'
import { placedNames } from '@fairlead/ports/cloud-values.ts'
import { StageError } from '../../machine/failure.ts'
import type { Stage } from '../../model.ts'
import { createdClustersOf, kubernetes } from '../infrastructure/cloud-context.ts'
import { withoutNotes } from '../infrastructure/notes.ts'
import { withoutResults } from '../manifests/manifest-context.ts'
import { documentsOf } from '../manifests/packed-documents.ts'
import type { NewStage, TaskContext } from '../stage-type.ts'
import { type PromotionPlaces, promotionSettingsOf } from './places.ts'

/** Where a cluster of the environment before is to run. */
interface PromotionTarget {
  readonly source: RunningCluster
  readonly account: string
  readonly region: string
  readonly cluster: string
  /** What runs there; undefined before the first deployment. */
  readonly present: RunningCluster | undefined
}

export interface PlannedDeployment {
  readonly stage: NewStage
  readonly cluster: string
  /** Nothing of it runs there yet. */
  readonly isFirst: boolean
  /** A server group of it for a canary, as `deploy` takes it; undefined where nothing says how it is made. */
  readonly canary: JsonObject | undefined
}

/** One for each cluster and place whose images differ. @throws {StageError} when one cannot be deployed */
export async function plannedDeployments(
  context: TaskContext,
  places: PromotionPlaces,
  running: Running,
): Promise<PlannedDeployment[]> {
  const there = runningIn(places.to, places.groups)
  const targets = running.clusters.flatMap((source) => targetsOfCluster(source, places, there))
  const changed = targets.filter(
    ({ source, present }) => present === undefined || !runsSame(source, present),
  )
  const gone = changed.find(({ account }) => !places.accounts.has(account))
  if (gone !== undefined)
    throw new StageError(
      findUnknownPlaces({ ...places.to, accounts: [gone.account] }, places.accounts),
    )
  const former = formerDeployments(context, places)
  const { application } = promotionSettingsOf(context)
  const toStage = (target: PromotionTarget) =>
    target.source.provider === kubernetes
      ? manifestStage(context, target, former)
      : serverGroupStage(context, target, former)
  return Promise.all(
    changed.map(async (target) => {
      const { cluster, present } = target
      const stage = await toStage(target)
      return {
        stage,
        cluster,
        isFirst: present === undefined,
        canary: canaryOf(target, stage, application),
      }
    }),
  )
}

/** Takes the pods of what runs there, in Kubernetes. */
function canaryOf(
  { source, account, region, cluster, present }: PromotionTarget,
  { type, context }: NewStage,
  application: string,
): JsonObject | undefined {
  if (type !== 'deployManifest') return type === 'createServerGroup' ? context : undefined
  const there = present?.versions.map(({ image }) => image) ?? []
  const [imageId, ...others] = source.versions.flatMap(({ image }) =>
    there.includes(image) ? [] : [image],
  )
  if (imageId === undefined || others.length > 0) return undefined
  const place = { application, account, credentials: account, cloudProvider: kubernetes, region }
  return { ...place, stack: cluster.split(' ').at(-1), imageId }
}

function runsSame(source: RunningCluster, present: RunningCluster): boolean {
  const keysOf = ({ versions }: RunningCluster) =>
    versions
      .map(({ image, digest }) => `${image} ${digest ?? ''}`)
      .toSorted()
      .join('\n')
  return present.health.state !== 'disabled' && keysOf(source) === keysOf(present)
}

/** @throws {StageError} where several versions run, or no cluster of the other environment corresponds */
function targetsOfCluster(
  source: RunningCluster,
  { from, to }: PromotionPlaces,
  there: Running,
): PromotionTarget[] {
  if (source.provider !== kubernetes && source.versions.length > 1) {
    const versions = source.versions.map(({ label }) => label).join(' and ')
    throw new StageError([
      `${source.cluster} runs ${versions} in ${from.name}: it is promoted once it runs one version.`,
    ])
  }
  const cluster = counterpartOf(source.cluster, from, to)
  const present = there.clusters.filter((each) => each.cluster === cluster)
  if (present.length > 0)
    return present.map((each) => ({
      source,
      account: each.account,
      region: each.region,
      cluster,
      present: each,
    }))
  const regions = to.regions ?? [source.region]
  return to.accounts.flatMap((account) =>
    regions.map((region) => ({ source, account, region, cluster, present: undefined })),
  )
}

/** The cluster of the same name; where both environments list clusters, the one at the same position. */
function counterpartOf(cluster: string, from: Environment, to: Environment): string {
  if (to.clusters === undefined || to.clusters.includes(cluster)) return cluster
  const counterpart = to.clusters[from.clusters?.indexOf(cluster) ?? -1]
  if (counterpart !== undefined) return counterpart
  throw new StageError([
    `No cluster of ${to.name} corresponds to ${cluster}: the environments must list their clusters in the same order.`,
  ])
}

const toPipeline = shape({ id: textOf, stages: list(shape({ clusters: objectsOf })) })

const toDeployed = shape({
  account: textOf,
  credentials: textOf,
  strategy: textOf,
  namespaceOverride: textOf,
  manifests: objectsOf,
  created: [placedNames, 'deploy.server.groups'],
})

/** A stage that has deployed, and what its context says about it. */
interface DoneStage extends ShapeOf<typeof toDeployed> {
  readonly stage: Stage
}

/** Stages that have deployed to the environment, the latest first; then what pipelines would deploy. */
interface FormerDeployments {
  readonly done: readonly DoneStage[]
  readonly defined: readonly JsonObject[]
}

function formerDeployments(
  { newestRunOf }: TaskContext,
  { to, pipelines }: PromotionPlaces,
): FormerDeployments {
  const concerned = pipelines.filter((pipeline) => deploysTo(pipeline, to)).map(toPipeline)
  const runs = concerned.flatMap(({ id }) =>
    id === undefined ? [] : (newestRunOf(id, ['SUCCEEDED']) ?? []),
  )
  const done = runs.flatMap(({ stages }) => stages).filter(({ status }) => status === 'SUCCEEDED')
  return {
    done: done
      .toSorted((a, b) => (b.endTime ?? 0) - (a.endTime ?? 0))
      .map((stage) => ({
        ...toDeployed(stage.context),
        manifests: documentsOf(stage.context),
        stage,
      })),
    defined: concerned.flatMap(({ stages }) => stages.flatMap(({ clusters }) => clusters)),
  }
}

function isIn({ account, credentials }: DoneStage, target: PromotionTarget): boolean {
  return account === target.account || credentials === target.account
}

/** Repeats the creation of its newest server group, else a pipeline's, else clones. */
async function serverGroupStage(
  context: TaskContext,
  target: PromotionTarget,
  former: FormerDeployments,
): Promise<NewStage> {
  const { source, account, region, cluster } = target
  const { application } = promotionSettingsOf(context)
  const image = await imageOf(context, source)
  const place = {
    application,
    account,
    credentials: account,
    region,
    regions: [region],
    cloudProvider: source.provider,
    imageAccount: source.account,
  }
  const name = `Deploy ${cluster} in ${account}/${region}`
  const created = former.done.find((each) => hasCreated(each, target))
  const { type, context: before } = created?.stage ?? {}
  if (before !== undefined && type !== 'createServerGroup') {
    const clone = cloneOf(target, created?.strategy)
    return {
      type: 'cloneServerGroup',
      name,
      context: { ...withoutImage(before), ...place, ...clone, imageId: image },
    }
  }
  const given = before ?? former.defined.find((each) => wouldCreate(each, application, target))
  if (given !== undefined)
    return {
      type: 'createServerGroup',
      name,
      context: { ...withoutImage(given), ...place, imageId: image },
    }
  return {
    type: 'cloneServerGroup',
    name,
    context: { ...place, ...cloneOf(target), imageId: image },
  }
}

/** Image by its full name. @throws {StageError} */
async function imageOf(
  context: TaskContext,
  { account, region, serverGroups, cluster }: RunningCluster,
): Promise<string> {
  const name = serverGroups[0]?.name ?? ''
  const group =
    name === '' ? undefined : await context.infrastructure.serverGroup({ account, region, name })
  const [version] = versionsOf(group?.all ?? {})
  if (version !== undefined) return version.image
  throw new StageError([
    `The image that ${cluster} runs in ${account}/${region} is not known, so it cannot be promoted.`,
  ])
}

const creations: ReadonlySet<string> = new Set([
  'createServerGroup',
  'cloneServerGroup',
  'copyLastAsg',
])

function hasCreated(done: DoneStage, target: PromotionTarget): boolean {
  if (!isIn(done, target) || !creations.has(done.stage.type)) return false
  const names = done.created.flatMap(({ location, name }) =>
    location === target.region ? [name] : [],
  )
  return target.present?.all.some(({ name }) => names.includes(name)) ?? false
}

const toOwner = shape({ application: textOf })

function wouldCreate(
  fields: JsonObject,
  application: string,
  { account, region, cluster }: PromotionTarget,
): boolean {
  const meant = toTarget(fields)
  const isThere = meant.regions.length === 0 || meant.regions.includes(region)
  const { application: own = application } = toOwner(fields)
  return meant.account === account && isThere && createdClustersOf(fields, own).includes(cluster)
}

function withoutImage(context: JsonObject): JsonObject {
  const {
    image: _image,
    amiName: _name,
    imageId: _id,
    imageArtifactId: _artifact,
    source: _source,
    ...kept
  } = withoutNotes(context)
  return kept
}

/** A clone of what runs there, else of what the environment before runs, with its name. */
function cloneOf({ source, cluster, present }: PromotionTarget, strategy = 'redblack'): JsonObject {
  const from = present ?? source
  const { stack, detail } = parseMoniker(cluster)
  return {
    source: { account: from.account, region: from.region, serverGroupName: from.all[0]?.name },
    stack: stack ?? '',
    freeFormDetails: detail ?? '',
    useSourceCapacity: true,
    strategy: present === undefined ? '' : strategy,
  }
}

/** The manifests that were deployed there last, with the images of the environment before. @throws {StageError} */
async function manifestStage(
  context: TaskContext,
  target: PromotionTarget,
  { done }: FormerDeployments,
): Promise<NewStage> {
  const { account, region, cluster, source } = target
  const images = source.versions.map(({ image }) => image)
  const deployed = done.find((each) => hasDeployed(each, target))
  const before = deployed?.manifests ?? [await loadApplied(context, target)]
  const manifests = before.map((manifest) => withImages(manifest, images)) as JsonObject[]
  const after = imagesIn(manifests)
  if (!images.some((image) => after.includes(image))) {
    throw new StageError([
      `The manifests of ${cluster} in ${account}/${region} use none of the images ${images.join(', ')}.`,
    ])
  }
  const settings = deployed === undefined ? {} : withoutResults(deployed.stage.context)
  return {
    type: 'deployManifest',
    name: `Deploy ${cluster} in ${account}/${region}`,
    context: {
      ...settings,
      account,
      credentials: account,
      cloudProvider: kubernetes,
      source: 'text',
      manifests,
      skipExpressionEvaluation: true,
      requiredArtifacts: [],
      requiredArtifactIds: [],
      moniker: { ...toNamed(settings).moniker, app: promotionSettingsOf(context).application },
    },
  }
}

/** Whether a stage has deployed an image of the cluster to its namespace. */
function hasDeployed(done: DoneStage, target: PromotionTarget): boolean {
  const { stage, manifests, namespaceOverride } = done
  if (stage.type !== 'deployManifest' || !isIn(done, target)) return false
  const isThere = (manifest: JsonObject) =>
    (namespaceOverride ?? toPlaced(manifest).metadata.namespace) === target.region
  const repositories = imagesIn(manifests).map(repositoryOf)
  return (
    manifests.some(isThere) &&
    target.source.versions.some(({ image }) => repositories.includes(repositoryOf(image)))
  )
}

const toNamed = shape({ moniker: objectOf, metadata: objectOf })

const toPlaced = shape({ metadata: shape({ namespace: textOf }) })

const toLive = shape({
  manifest: shape({
    metadata: shape({
      annotations: shape({
        applied: [or(textOf, ''), 'kubectl.kubernetes.io/last-applied-configuration'],
      }),
    }),
  }),
})

/** The manifest that was applied last, in the namespace of the target. @throws {StageError} where the object does not say */
async function loadApplied(
  context: TaskContext,
  { account, region, present, source }: PromotionTarget,
): Promise<JsonObject> {
  const from = present ?? source
  const [group] = from.serverGroups
  const manager = group?.serverGroupManagers[0]?.name
  const name = manager === undefined ? String(group?.name) : `deployment ${manager}`
  const found = toLive(
    await context.infrastructure.manifest({ ...from, name, includeEvents: false }),
  )
  const applied = parseObject(found.manifest.metadata.annotations.applied)
  if (applied === undefined) {
    throw new StageError([
      `${name} in ${account}/${region} does not say how it was deployed: deploy it once by a pipeline.`,
    ])
  }
  return { ...applied, metadata: { ...toNamed(applied).metadata, namespace: region } }
}

/** Replaces images of the same repositories. */
function withImages(value: unknown, images: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((each) => withImages(each, images))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      if (key !== 'image' || typeof each !== 'string') return [key, withImages(each, images)]
      return [key, images.find((image) => repositoryOf(image) === repositoryOf(each)) ?? each]
    }),
  )
}
