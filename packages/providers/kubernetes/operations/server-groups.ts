/** createServerGroup and cloneServerGroup: replica sets, for stages that work on every cloud provider. */

import { maybe, maybeObject, shape } from '@fairlead/base/json/shape.ts'
import {
  definedOf,
  isTrue,
  type JsonObject,
  numberOf,
  objectOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { clusterName } from '@fairlead/base/names/moniker.ts'
import { builtInKind, kindOfManifest, parseFullName } from '../kinds.ts'
import {
  annotationOf,
  artifactAnnotations,
  claimedApplications,
  ownAnnotations,
  writtenByAnnotation,
} from '../manifests/annotations.ts'
import { imageName } from '../manifests/artifacts.ts'
import { templateMetadata, withEntries, withField, withoutField } from '../manifests/edit.ts'
import { namespaceOf } from '../manifests/input.ts'
import { monikerOf } from '../manifests/moniker.ts'
import {
  annotatedLoadBalancers,
  detached,
  parseLoadBalancer,
  selectorOf,
} from '../manifests/traffic.ts'
import { toWorkload } from '../objects/workload.ts'
import { controllerOf, type KubeObject, ownerOf, toHead } from '../objects.ts'
import { selects } from '../reads/selectors.ts'
import { deploy } from './deploy.ts'
import {
  type ChangedName,
  defineManifestOperation,
  type KubernetesOperation,
  type ManifestRun,
} from './parts.ts'
import { podLabelsOf } from './pod-labels.ts'
import { type DeployFields, toDeployment } from './prepared.ts'
import { checkChanges, toChange } from './rights.ts'
import { applyShare, describePercentProblem, percentOf, sharesOf } from './share-traffic.ts'
import { allLabels, allServices, type SharedService } from './sharing.ts'
import {
  describeNamespaceProblem,
  describeObjectPlace,
  findManifestTarget,
  requireLive,
  toNamespace,
} from './targets.ts'

const readCreation = shape({
  application: textOf,
  moniker: shape({ app: textOf, stack: textOf, detail: textOf, cluster: textOf }),
  stack: textOf,
  detail: [textOf, 'freeFormDetails'],
  region: textOf,
  regions: textsOf,
  location: [textOf, 'namespace', 'location'],
  source: shape({
    account: textOf,
    name: [textOf, 'serverGroupName', 'asgName'],
    location: [textOf, 'region', 'location'],
    useSourceCapacity: isTrue,
  }),
  useSourceCapacity: isTrue,
  manifest: maybeObject,
  image: [imageOf, 'imageId', 'image'],
  capacity: shape({ desired: numberOf }),
  labels: objectOf,
  loadBalancers: textsOf,
  startDisabled: isTrue,
  trafficPercent: maybe(percentOf),
})

const toImage = shape({ id: [textOf, 'imageId', 'name'] })

function imageOf(value: unknown): string | undefined {
  return textOf(value) ?? toImage(value).id
}

function toCreation(description: JsonObject) {
  const given = readCreation(description)
  const { application, moniker, region, regions, location, source } = given
  const { stack = moniker.stack, detail = moniker.detail } = given
  const app = application ?? moniker.app
  return {
    ...given,
    app,
    /** A clone goes where its source is, unless another place is named. */
    namespace: toNamespace(region ?? regions[0] ?? location ?? source.location),
    /** `app-stack-detail` of names that are given; undefined: none beside the application. */
    cluster: app === undefined ? undefined : clusterName({ app, stack, detail }).toLowerCase(),
    hasNames: given.stack !== undefined || given.detail !== undefined,
    deployment: toDeployment(description),
  }
}
type Creation = ReturnType<typeof toCreation>

export const createServerGroup = creation({ isClone: false })
export const cloneServerGroup = creation({ isClone: true })

function creation({ isClone }: { readonly isClone: boolean }): KubernetesOperation {
  return defineManifestOperation({
    reads: toCreation,
    check: ({ app, namespace, manifest, trafficPercent, ...description }, account) => [
      app === undefined && 'application: it is missing (application.empty).',
      namespace === '' && 'region: the namespace is missing (region.empty).',
      describeNamespaceProblem(account, namespace),
      manifest && describeManifestProblem(manifest),
      describePercentProblem(trafficPercent, 'trafficPercent'),
      trafficPercent !== undefined &&
        description.startDisabled &&
        'trafficPercent: a server group that starts disabled takes no requests. Leave startDisabled out.',
      isClone &&
        description.source.name === undefined &&
        description.cluster === undefined &&
        'source: name the server group to clone in source.serverGroupName.',
    ],
    applications: ({ app, manifest }) => [
      ...(app === undefined ? [] : [app]),
      ...claimedApplications(manifest ?? {}),
    ],
    accounts: ({ source }) => (source.account === undefined ? [] : [source.account]),
    changes: (description) => {
      const { namespace, trafficPercent } = description
      const created = { namespace, name: `replicaSet ${artifactNameOf(description) ?? ''}` }
      return trafficPercent === undefined ? [created] : [created, sharesOf({ namespace })]
    },
    run: create,
  })
}

function describeManifestProblem(manifest: JsonObject): string | undefined {
  const parsed = kindOfManifest(manifest)
  if (builtInKind(parsed)?.name === 'replicaSet') return undefined
  return `manifest: server groups are replica sets, and this is a ${parsed.kind || 'manifest without kind'}. Deploy it with deployManifest.`
}

/** Name before versioning; undefined: what the source says. */
function artifactNameOf({ manifest, source, hasNames, cluster }: Creation): string | undefined {
  const { name } = toHead(manifest).metadata
  if (name !== undefined) return name
  const sourceName = parseFullName(source.name ?? '')?.name
  return sourceName !== undefined && !hasNames ? sourceName.replace(/-v\d{3,6}$/, '') : cluster
}

async function create(running: ManifestRun, description: Creation): Promise<void> {
  const { run, account } = running
  const { namespace, manifest } = description
  const ancestor = manifest === undefined ? await sourceOf(running, description) : undefined
  const template = manifest ?? (await manifestOf(running, description, ancestor))
  const inherited = ancestor === undefined ? [] : await balancersOf(running, ancestor)
  const fields = fieldsOf(description, { template, ancestor, inherited })
  await requireServices(running, description, fields)
  const { written, results } = await deploy(running, fields)
  const [group] = written
  if (group === undefined) return
  await shareWith(running, description, { namespace, name: group.name })
  if (ancestor !== undefined)
    run.report({
      ancestorServerGroupNameByRegion: { [namespace]: `replicaSet ${ancestor.metadata.name}` },
    })
  run.report({
    ...results,
    serverGroupNames: [`${namespace}:${group.name}`],
    serverGroupNameByRegion: { [namespace]: group.name },
    messages: [],
    deployedNames: [],
    deployedNamesByLocation: {},
    deployments: [
      {
        cloudProvider: 'kubernetes',
        account: account.settings.name,
        location: namespace,
        serverGroupName: group.name,
        capacity: { desired: toWorkload(group.object).spec.replicas ?? 0 },
        metadata: {},
      },
    ],
  })
}

/** Runs before anything is deployed. @throws {Error} where no service could give the share */
async function requireServices(
  running: ManifestRun,
  { trafficPercent }: Creation,
  { services, manifests }: DeployFields,
): Promise<void> {
  if (trafficPercent === undefined || services.length > 0) return
  const found = await Promise.all(manifests.map((each) => selectingServices(running, each)))
  if (found.flat().length > 0) return
  throw new Error(
    'trafficPercent: no service could give the share. Name one in loadBalancers, such as "service web".',
  )
}

async function shareWith(
  running: ManifestRun,
  { trafficPercent }: Creation,
  created: ChangedName,
): Promise<void> {
  if (trafficPercent === undefined) return
  const target = await findManifestTarget(running, created)
  const live = await requireLive(running.account, target)
  await applyShare(running, { ...target, live }, trafficPercent, true)
}

interface GroupOrigin {
  readonly template: JsonObject
  readonly ancestor: KubeObject | undefined
  readonly inherited: readonly string[]
}

function fieldsOf(
  description: Creation,
  { template, ancestor, inherited: balancers }: GroupOrigin,
): DeployFields {
  const { namespace, loadBalancers: services, source, moniker, stack, detail } = description
  const artifactName = artifactNameOf(description) ?? ''
  const inherited = ancestor && monikerOf(ancestor)
  const isOwnName =
    ancestor === undefined || artifactName !== annotationOf(ancestor, artifactAnnotations.name)
  const replicas =
    description.useSourceCapacity || source.useSourceCapacity
      ? toWorkload(ancestor).spec.replicas
      : description.capacity.desired
  const named = withField(
    withField(template, ['metadata', 'name'], artifactName),
    ['metadata', 'namespace'],
    namespace,
  )
  const sized = replicas === undefined ? named : withField(named, ['spec', 'replicas'], replicas)
  const labelled = withLabels(withImage(sized, description.image), description.labels)
  return {
    ...description.deployment,
    manifests: [labelled],
    labelSelectors: undefined,
    namespaceOverride: namespace,
    moniker: {
      app: description.app ?? '',
      // Stages that work on every cloud provider find its server groups by this name.
      cluster:
        moniker.cluster ?? (isOwnName ? description.cluster : (inherited?.cluster ?? undefined)),
      stack: stack ?? inherited?.stack ?? undefined,
      detail: detail ?? inherited?.detail ?? undefined,
    },
    isVersioned: true,
    services: services.length > 0 ? services : [...balancers],
    // With a share, its traffic comes with that.
    enablesTraffic: !description.startDisabled && description.trafficPercent === undefined,
    rolloutStrategy: '',
  }
}

/** Sets it in the container that runs another version of it, else in the first. */
function withImage(manifest: JsonObject, image: string | undefined): JsonObject {
  if (image === undefined) return manifest
  const { containers, containersAsGiven } = toWorkload(manifest).spec.template.spec
  const same = containers.findIndex((each) => imageName(each.image ?? '') === imageName(image))
  const changed = Math.max(0, same)
  return withField(
    manifest,
    ['spec', 'template', 'spec', 'containers'],
    containersAsGiven.map((each, index) => (index === changed ? { ...each, image } : each)),
  )
}

function withLabels(manifest: JsonObject, labels: JsonObject): JsonObject {
  const entries = Object.fromEntries(
    Object.entries(labels).map(([key, value]) => [key, String(value)]),
  )
  return [['metadata'], templateMetadata].reduce<JsonObject>(
    (changed, place) =>
      withEntries(changed, [...place, 'labels'], { entries, keepsExisting: false }),
    manifest,
  )
}

/** The server group that is named, else the newest of the cluster; undefined: there is none. */
async function sourceOf(
  running: ManifestRun,
  description: Creation,
): Promise<KubeObject | undefined> {
  const { source, namespace } = description
  const account = running.parts.account(source.account ?? '') ?? running.account
  const there = { ...running, account }
  if (source.name === undefined) return newestOfCluster(there, description)
  const place = toNamespace(source.location ?? namespace)
  const target = await findManifestTarget(there, { name: source.name, namespace: place })
  if (target.kind.name !== 'replicaSet')
    throw new Error(`${source.name} in ${place} cannot be cloned: only replica sets can.`)
  const live = await requireLive(account, target)
  await checkChanges(there, [toChange({ ...target, live })])
  return live
}

/** Only the application's own: others may have clusters of that name, too. */
async function newestOfCluster(
  { account, run }: ManifestRun,
  { cluster = '', app = '', namespace }: Creation,
): Promise<KubeObject | undefined> {
  const isOwn = (object: KubeObject) => foldName(ownerOf(object) ?? '') === foldName(app)
  const resource = await account.api.find({ kind: 'replicaSet', group: 'apps' })
  if (resource === undefined) return undefined
  const all = await account.api.list(resource, { namespace })
  const created = ({ metadata }: KubeObject) => metadata.creationTimestamp ?? ''
  return (
    all
      // What the operation itself has created before a crash is no source.
      .filter(
        (object) =>
          controllerOf(object) === undefined &&
          isOwn(object) &&
          isOfCluster(object, cluster) &&
          !isWrittenBy(object, run.id),
      )
      .sort(
        (one, other) =>
          created(other).localeCompare(created(one)) ||
          (monikerOf(other).sequence ?? 0) - (monikerOf(one).sequence ?? 0),
      )[0]
  )
}

function isOfCluster(object: KubeObject, cluster: string): boolean {
  return (
    monikerOf(object).cluster === cluster ||
    annotationOf(object, artifactAnnotations.name) === cluster
  )
}

function isWrittenBy(object: KubeObject, id: string): boolean {
  return annotationOf(object, writtenByAnnotation)?.startsWith(`${id}-`) === true
}

/** What a server group was made of. @throws {Error} where there is none, or a deployment makes its replica sets */
async function manifestOf(
  running: ManifestRun,
  description: Creation,
  source: KubeObject | undefined,
): Promise<JsonObject> {
  const { namespace } = description
  if (source === undefined) {
    throw new Error(
      `There is no server group of the cluster ${description.cluster} in ${namespace} to take the pods from. Give the ` +
        'first one as a manifest of kind ReplicaSet.',
    )
  }
  const { name } = source.metadata
  const owner = controllerOf(source)
  if (owner !== undefined) {
    if (description.hasNames) return standaloneOf(running, description, source)
    throw new Error(
      `${describeObjectPlace(running.account, `replicaSet ${name}`, namespace)} belongs to ${owner.kind.toLowerCase()} ${owner.name}. ` +
        'Deploy another version of that instead, or give this one a stack or details of its own.',
    )
  }
  return withoutTraffic(running, withoutOwnNotes(source), source)
}

function withoutOwnNotes({ apiVersion, kind, metadata, spec }: KubeObject): JsonObject {
  const { labels, annotations } = metadata
  const notes = [...ownAnnotations].flatMap((key) => [
    ['metadata', 'annotations', key],
    [...templateMetadata, 'annotations', key],
  ])
  return notes.reduce<JsonObject>((left, path) => withoutField(left, path), {
    apiVersion,
    kind,
    metadata: definedOf({ labels, annotations }),
    spec,
  })
}

/** A deployment sets it on its replica sets and their pods. */
const hashLabel = 'pod-template-hash'
/** Replaces it on pods of a server group that is cloned from a deployment. */
const groupLabel = 'fairlead/server-group'

/**
 * A server group of its own with the pods of a deployment: for a canary. It has none of the labels by which the deployment, or a
 * service, would take it for its own.
 *
 * @throws {Error} where the deployment would all the same
 */
async function standaloneOf(
  running: ManifestRun,
  description: Creation,
  source: KubeObject,
): Promise<JsonObject> {
  const { [hashLabel]: _hash, ...selector } = toWorkload(source).spec.selector.matchLabels
  if (
    running.parts.settings.appliesAppLabels &&
    Object.keys(selector).every((key) => key.startsWith(appLabelPrefix))
  ) {
    throw new Error(
      `replicaSet ${source.metadata.name} belongs to a deployment that selects by ${Object.keys(selector).join(', ')} alone, and would ` +
        'take the new server group for its own. Give it another label to select by, or a manifest of kind ReplicaSet here.',
    )
  }
  const name = artifactNameOf(description) ?? description.app ?? ''
  const selected = allLabels(await selectingServices(running, source))
  const own = Object.entries(podLabelsOf(source)).filter(
    ([key]) => key !== hashLabel && !Object.hasOwn(selected, key),
  )
  const bare = { ...withoutOwnNotes(source), metadata: {} }
  const matchLabels = { [groupLabel]: name }
  return withField(
    withField(bare, ['spec', 'selector'], { matchLabels }),
    [...templateMetadata, 'labels'],
    { ...Object.fromEntries(own), ...matchLabels },
  )
}

/** Labels that deployments write themselves. */
const appLabelPrefix = 'app.kubernetes.io/'

/** For a replica set of a deployment, also the services that select its pods, annotated or not. */
async function balancersOf(running: ManifestRun, ancestor: KubeObject): Promise<string[]> {
  if (controllerOf(ancestor) === undefined) return annotatedLoadBalancers(ancestor)
  const services = await selectingServices(running, ancestor)
  return services.map(({ name }) => `service ${name}`)
}

async function selectingServices(
  running: ManifestRun,
  workload: JsonObject,
): Promise<SharedService[]> {
  const labels = podLabelsOf(workload)
  const all = await allServices(running, namespaceOf(workload))
  return all.filter(({ selector }) => selects(selector, labels))
}

/** The labels of its services are added again where the new one gets traffic. */
async function withoutTraffic(
  { account }: ManifestRun,
  manifest: JsonObject,
  source: KubeObject,
): Promise<JsonObject> {
  const resource = await account.api.find({ kind: 'service', group: '' })
  let bare = withoutField(manifest, [
    'metadata',
    'annotations',
    'traffic.spinnaker.io/load-balancers',
  ])
  for (const name of annotatedLoadBalancers(source)) {
    const place = { namespace: source.metadata.namespace ?? '', name: parseLoadBalancer(name).name }
    const service = resource && (await account.api.get({ resource, ...place }))
    if (service !== undefined) bare = detached(bare, selectorOf(service, name), false)
  }
  return bare
}
