/** createServerGroup and cloneServerGroup: replica sets, for stages that work on every cloud provider. */

import {
  fieldAt,
  fieldOf,
  isObject,
  isTrue,
  type JsonObject,
  numberOf,
  objectOf,
  objectsOf,
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
import { monikerOf } from '../manifests/moniker.ts'
import {
  annotatedLoadBalancers,
  detached,
  parseLoadBalancer,
  selectorOf,
} from '../manifests/traffic.ts'
import { controllerOf, type KubeObject, ownerOf } from '../objects.ts'
import { selects } from '../reads/selectors.ts'
import { deploy } from './deploy.ts'
import {
  type ChangedName,
  defineManifestOperation,
  type KubernetesOperation,
  type ManifestRun,
} from './parts.ts'
import type { Labels } from './pod-labels.ts'
import { type DeployFields, deployFieldsOf } from './prepared.ts'
import { checkChanges, toChange } from './rights.ts'
import { applyShare, describePercentProblem, sharesOf } from './share-traffic.ts'
import { allLabels, allServices, type SharedService } from './sharing.ts'
import {
  describeNamespaceProblem,
  describeObjectPlace,
  findManifestTarget,
  requireLive,
  toNamespace,
} from './targets.ts'

export const createServerGroup = creation({ isClone: false })
export const cloneServerGroup = creation({ isClone: true })

function creation({ isClone }: { readonly isClone: boolean }): KubernetesOperation {
  return defineManifestOperation({
    check: (description, account) => [
      applicationOf(description) === undefined && 'application: it is missing (application.empty).',
      namespaceOf(description) === '' && 'region: the namespace is missing (region.empty).',
      describeNamespaceProblem(account, namespaceOf(description)),
      describeManifestProblem(description),
      description['trafficPercent'] !== undefined &&
        describePercentProblem(description['trafficPercent'], 'trafficPercent'),
      hasShare(description) &&
        isTrue(description['startDisabled']) &&
        'trafficPercent: a server group that starts disabled takes no requests. Leave startDisabled out.',
      isClone &&
        textOf(sourceNameOf(description)) === undefined &&
        clusterOf(description) === undefined &&
        'source: name the server group to clone in source.serverGroupName.',
    ],
    applications: (description) => [
      ...(applicationOf(description) === undefined ? [] : [String(applicationOf(description))]),
      ...claimedApplications(objectOf(description['manifest'])),
    ],
    accounts: ({ source }) =>
      [textOf(fieldOf(source, 'account'))].filter((name) => name !== undefined),
    changes: (description) => {
      const namespace = namespaceOf(description)
      const created = { namespace, name: `replicaSet ${artifactNameOf(description) ?? ''}` }
      return description['trafficPercent'] === undefined
        ? [created]
        : [created, sharesOf({ namespace })]
    },
    run: create,
  })
}

function applicationOf({ application, moniker }: JsonObject): string | undefined {
  return textOf(application) ?? textOf(fieldOf(moniker, 'app'))
}

/** A clone goes where its source is, unless another place is named. */
function namespaceOf({ region, regions, namespace, location, source }: JsonObject): string {
  const given = textOf(region) ?? textsOf(regions)[0] ?? textOf(namespace) ?? textOf(location)
  return toNamespace(given ?? fieldOf(source, 'region') ?? fieldOf(source, 'location'))
}

function describeManifestProblem({ manifest }: JsonObject): string | undefined {
  if (!isObject(manifest)) return undefined
  const parsed = kindOfManifest(manifest)
  if (builtInKind(parsed)?.name === 'replicaSet') return undefined
  return `manifest: server groups are replica sets, and this is a ${parsed.kind || 'manifest without kind'}. Deploy it with deployManifest.`
}

/** `app-stack-detail` of names that are given; undefined: none beside the application. */
function clusterOf(description: JsonObject): string | undefined {
  const moniker = objectOf(description['moniker'])
  const stack = textOf(description['stack']) ?? textOf(moniker['stack'])
  const detail = textOf(description['freeFormDetails']) ?? textOf(moniker['detail'])
  const app = applicationOf(description)
  return app === undefined ? undefined : clusterName({ app, stack, detail }).toLowerCase()
}

function sourceNameOf({ source }: JsonObject): string | undefined {
  return textOf(fieldOf(source, 'serverGroupName')) ?? textOf(fieldOf(source, 'asgName'))
}

/** Before versioning; undefined: what the source says. */
function artifactNameOf(description: JsonObject): string | undefined {
  const named = textOf(fieldAt(description, 'manifest', 'metadata', 'name'))
  if (named !== undefined) return named
  const { stack, freeFormDetails } = description
  const source = parseFullName(sourceNameOf(description) ?? '')?.name
  const hasNames = textOf(stack) !== undefined || textOf(freeFormDetails) !== undefined
  return source !== undefined && !hasNames
    ? source.replace(/-v\d{3,6}$/, '')
    : clusterOf(description)
}

async function create(running: ManifestRun): Promise<void> {
  const { description, run, account } = running
  const namespace = namespaceOf(description)
  const { manifest } = description
  const ancestor = isObject(manifest) ? undefined : await sourceOf(running, namespace)
  const template = isObject(manifest) ? manifest : await manifestOf(running, ancestor, namespace)
  const inherited = ancestor === undefined ? [] : await balancersOf(running, ancestor)
  const fields = fieldsOf(running, { template, ancestor, namespace, inherited })
  await requireServices(running, fields)
  const { written, results } = await deploy(running, fields)
  const [group] = written
  if (group === undefined) return
  await shareWith(running, { namespace, name: group.name })
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
        capacity: { desired: numberOf(fieldAt(group.object, 'spec', 'replicas')) ?? 0 },
        metadata: {},
      },
    ],
  })
}

/** Before anything is deployed. @throws {Error} where no service could give the share */
async function requireServices(
  running: ManifestRun,
  { services, manifests }: DeployFields,
): Promise<void> {
  if (!hasShare(running.description) || services.length > 0) return
  const found = await Promise.all(
    objectsOf(manifests).map((each) => selectingServices(running, each as KubeObject)),
  )
  if (found.flat().length > 0) return
  throw new Error(
    'trafficPercent: no service could give the share. Name one in loadBalancers, such as "service web".',
  )
}

function hasShare({ trafficPercent }: JsonObject): boolean {
  return numberOf(trafficPercent) !== undefined
}

async function shareWith(running: ManifestRun, created: ChangedName): Promise<void> {
  const percent = numberOf(running.description['trafficPercent'])
  if (percent === undefined) return
  const target = await findManifestTarget(running, created)
  await applyShare(
    running,
    { ...target, live: await requireLive(running.account, target) },
    percent,
    true,
  )
}

interface Creation {
  readonly template: JsonObject
  readonly ancestor: KubeObject | undefined
  readonly namespace: string
  readonly inherited: readonly string[]
}

function fieldsOf(
  { description }: ManifestRun,
  { template, ancestor, namespace, inherited: balancers }: Creation,
): DeployFields {
  const { loadBalancers, startDisabled, labels } = description
  const artifactName = artifactNameOf(description) ?? ''
  const inherited = ancestor === undefined ? undefined : monikerOf(ancestor)
  const isOwnName =
    ancestor === undefined || artifactName !== annotationOf(ancestor, artifactAnnotations.name)
  const given = textOf(fieldAt(description, 'moniker', 'cluster'))
  const services = textsOf(loadBalancers)
  const replicas = usesSourceCapacity(description)
    ? numberOf(fieldAt(ancestor, 'spec', 'replicas'))
    : numberOf(fieldAt(description, 'capacity', 'desired'))
  const named = withField(
    withField(template, ['metadata', 'name'], artifactName),
    ['metadata', 'namespace'],
    namespace,
  )
  const sized = replicas === undefined ? named : withField(named, ['spec', 'replicas'], replicas)
  const labelled = withLabels(withImage(sized, imageOf(description)), objectOf(labels))
  return {
    ...deployFieldsOf({
      ...description,
      manifests: [labelled],
      labelSelectors: undefined,
      namespaceOverride: namespace,
    }),
    moniker: {
      app: applicationOf(description) ?? '',
      // Stages that work on every cloud provider find its server groups by this name.
      cluster: given ?? (isOwnName ? clusterOf(description) : (inherited?.cluster ?? undefined)),
      stack: textOf(description['stack']) ?? inherited?.stack ?? undefined,
      detail: textOf(description['freeFormDetails']) ?? inherited?.detail ?? undefined,
    },
    isVersioned: true,
    services: services.length > 0 ? services : [...balancers],
    // With a share, its traffic comes with that.
    enablesTraffic: !isTrue(startDisabled) && !hasShare(description),
    rolloutStrategy: '',
  }
}

function usesSourceCapacity({ source, useSourceCapacity }: JsonObject): boolean {
  return isTrue(useSourceCapacity) || isTrue(fieldOf(source, 'useSourceCapacity'))
}

function imageOf({ imageId, image }: JsonObject): string | undefined {
  return (
    textOf(imageId) ??
    textOf(image) ??
    textOf(fieldOf(image, 'imageId')) ??
    textOf(fieldOf(image, 'name'))
  )
}

/** In the container that runs another version of it, else in the first. */
function withImage(manifest: JsonObject, image: string | undefined): JsonObject {
  if (image === undefined) return manifest
  const path = ['spec', 'template', 'spec', 'containers']
  const containers = objectsOf(fieldAt(manifest, ...path))
  const same = containers.findIndex(
    (container) => imageName(textOf(container['image']) ?? '') === imageName(image),
  )
  const changed = Math.max(0, same)
  return withField(
    manifest,
    path,
    containers.map((container, index) => (index === changed ? { ...container, image } : container)),
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
async function sourceOf(running: ManifestRun, namespace: string): Promise<KubeObject | undefined> {
  const { description, parts } = running
  const { source } = description
  const name = sourceNameOf(description)
  const from = parts.account(textOf(fieldOf(source, 'account')) ?? '') ?? running.account
  if (name === undefined) return newestOfCluster({ ...running, account: from }, namespace)
  const place = toNamespace(fieldOf(source, 'region') ?? fieldOf(source, 'location') ?? namespace)
  const target = await findManifestTarget({ ...running, account: from }, { name, namespace: place })
  if (target.kind.name !== 'replicaSet')
    throw new Error(`${name} in ${place} cannot be cloned: only replica sets can.`)
  const live = await requireLive(from, target)
  await checkChanges({ ...running, account: from }, [toChange({ ...target, live })])
  return live
}

/** Of the application itself: others may have clusters of that name, too. */
async function newestOfCluster(
  { account, description, run }: ManifestRun,
  namespace: string,
): Promise<KubeObject | undefined> {
  const cluster = clusterOf(description) ?? ''
  const isOwn = (object: KubeObject) =>
    foldName(ownerOf(object) ?? '') === foldName(applicationOf(description) ?? '')
  const resource = await account.api.find({ kind: 'replicaSet', group: 'apps' })
  if (resource === undefined) return undefined
  const all = await account.api.list(resource, { namespace })
  const created = ({ metadata }: KubeObject) => metadata.creationTimestamp ?? ''
  return (
    all
      // What the operation itself has created before a crash is no source.
      .filter(
        (object) =>
          controllerOf(object) === undefined && isOwn(object) && isOfCluster(object, cluster),
      )
      .filter((object) => !isWrittenBy(object, run.id))
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
  source: KubeObject | undefined,
  namespace: string,
): Promise<JsonObject> {
  if (source === undefined) {
    throw new Error(
      `There is no server group of the cluster ${clusterOf(running.description)} in ${namespace} to take the pods from. Give the ` +
        'first one as a manifest of kind ReplicaSet.',
    )
  }
  const { name } = source.metadata
  const owner = controllerOf(source)
  if (owner !== undefined) {
    const { stack, freeFormDetails } = running.description
    if (textOf(stack) !== undefined || textOf(freeFormDetails) !== undefined)
      return standaloneOf(running, source)
    throw new Error(
      `${describeObjectPlace(running.account, `replicaSet ${name}`, namespace)} belongs to ${owner.kind.toLowerCase()} ${owner.name}. ` +
        'Deploy another version of that instead, or give this one a stack or details of its own.',
    )
  }
  const bare = withoutOwnNotes(source)
  const { labels, annotations } = objectOf(bare['metadata'])
  return withoutTraffic(
    running,
    {
      ...bare,
      metadata: {
        ...(isObject(labels) && { labels }),
        ...(isObject(annotations) && { annotations }),
      },
    },
    source,
  )
}

function withoutOwnNotes({ apiVersion, kind, metadata, spec }: KubeObject): JsonObject {
  const notes = [...ownAnnotations].flatMap((key) => [
    ['metadata', 'annotations', key],
    [...templateMetadata, 'annotations', key],
  ])
  return notes.reduce<JsonObject>((left, path) => withoutField(left, path), {
    apiVersion,
    kind,
    metadata,
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
async function standaloneOf(running: ManifestRun, source: KubeObject): Promise<JsonObject> {
  const { description, parts } = running
  const app = applicationOf(description) ?? ''
  const { [hashLabel]: _hash, ...selector } = objectOf(
    fieldAt(source, 'spec', 'selector', 'matchLabels'),
  ) as Labels
  if (
    parts.settings.appliesAppLabels &&
    Object.keys(selector).every((key) => key.startsWith(appLabelPrefix))
  ) {
    throw new Error(
      `replicaSet ${source.metadata.name} belongs to a deployment that selects by ${Object.keys(selector).join(', ')} alone, and would ` +
        'take the new server group for its own. Give it another label to select by, or a manifest of kind ReplicaSet here.',
    )
  }
  const bare = withoutOwnNotes(source)
  const name = artifactNameOf(description) ?? app
  const labels = objectOf(fieldAt(bare, ...templateMetadata, 'labels'))
  const selected = allLabels(await selectingServices(running, source))
  const own = Object.entries(labels).filter(
    ([key]) => key !== hashLabel && !Object.hasOwn(selected, key),
  )
  const spec = withField(objectOf(bare['spec']), ['selector'], {
    matchLabels: { [groupLabel]: name },
  })
  return withField(
    { apiVersion: source.apiVersion, kind: source.kind, metadata: {}, spec },
    [...templateMetadata, 'labels'],
    {
      ...Object.fromEntries(own),
      [groupLabel]: name,
    },
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
  { metadata, spec }: KubeObject,
): Promise<SharedService[]> {
  const labels = objectOf(fieldAt({ spec }, ...templateMetadata, 'labels')) as Labels
  const all = await allServices(running, metadata.namespace)
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
