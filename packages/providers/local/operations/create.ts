/** createServerGroup and cloneServerGroup. */

import { definedOf, type JsonObject } from '@fairlead/base/json/values.ts'
import {
  clusterName,
  describeNameProblem,
  type NameParts,
  parseMoniker,
  serverGroupName,
} from '@fairlead/base/names/moniker.ts'
import { Command, ContainerNetwork, Readiness, Volumes } from '@fairlead/ports/image-file.ts'
import { z } from 'zod'
import { isDatabaseImage } from '../databases/database-images.ts'
import { type LocalCapacity, type LocalGroup, placeKey, type ResourceKey } from '../desired.ts'
import { buildInfoOf } from '../local-images.ts'
import { type ProgramOverrides, toProgram } from '../program.ts'
import { StartLimits } from '../settings.ts'
import { sharedVolumesOf } from '../volumes.ts'
import { capacityField, checkCapacity, findSupplies, fit, toLocalCapacity } from './fleet.ts'
import { type GivenImage, loadImage, noteImage, problemOfImage } from './given-image.ts'
import {
  countField,
  defineOperation,
  flagField,
  imageField,
  type LocalOperation,
  type LocalOperations,
  type LocalSubmission,
  type OperationParts,
  optionalField,
  optionalTextPart,
  overridesOf,
  type Problems,
  placeOf,
  programFields,
  type RunningOperation,
  type TargetPlace,
  textMap,
  textsField,
} from './parts.ts'
import { nameOfTarget, problemOfShare, sharePercent, target } from './server-groups.ts'

const GroupFields = z.object({
  ...programFields,
  application: optionalTextPart,
  stack: optionalTextPart,
  freeFormDetails: optionalTextPart,
  imageId: optionalTextPart,
  /** Has the image, if the account of the server group does not: that one gets it, too. */
  imageAccount: optionalTextPart,
  amiName: optionalTextPart,
  image: imageField('imageId', 'name'),
  instanceType: optionalTextPart,
  capacity: capacityField,
  loadBalancers: textsField,
  securityGroups: textsField,
  tags: textMap,
  labels: textMap,
  startDisabled: flagField,
  trafficPercent: optionalField(sharePercent),
  suspendedProcesses: textsField,
  sequence: optionalField(countField),
  ignoreSequence: flagField,
  source: optionalField(
    z.looseObject({
      ...target,
      account: optionalTextPart,
      region: optionalTextPart,
      useSourceCapacity: flagField,
    }),
  ),
  useSourceCapacity: flagField,
  command: optionalField(Command),
  ready: optionalField(Readiness),
  volumes: optionalField(Volumes),
  container: optionalField(ContainerNetwork),
  startLimits: optionalField(StartLimits.partial()),
})
type GroupFields = z.output<typeof GroupFields>

interface Plan {
  readonly fields: GroupFields
  readonly place: TargetPlace
  readonly cluster: string
  /** Its capacity counts where the description wants that. */
  readonly source: LocalGroup | undefined
  /** The source of a clone, whose parts count where the description has none. */
  readonly cloned: LocalGroup | undefined
}

export const creationOperations: LocalOperations = {
  createServerGroup: creation({ isClone: false }),
  cloneServerGroup: creation({ isClone: true }),
}

function creation({ isClone }: { readonly isClone: boolean }): LocalOperation {
  return defineOperation({
    fields: GroupFields.shape,
    resources: ({ fields: { application, source, loadBalancers = [], securityGroups = [] } }) => [
      application,
      source?.serverGroupName,
      source?.asgName,
      ...loadBalancers,
      ...securityGroups,
    ],
    // The secrets of a source go with its program.
    accounts: ({ fields: { source, imageAccount } }) => [
      imageAccount,
      isClone ? source?.account : undefined,
    ],
    check: (submission) => {
      const { fields } = submission
      const place = placeFor(submission, isClone)
      return [
        checkNames(namesOf(fields, isClone), isClone),
        !(isClone && imageIdOf(fields) === undefined) &&
          checkImage(submission, place, imageAccountOf(fields, isClone)),
        !isClone && !usesSourceCapacity(fields) && checkCapacity(toLocalCapacity(fields.capacity)),
        checkNamed(submission, place),
        !isClone && problemOfNewShare({ ...fields, isDisabled: fields.startDisabled }),
      ]
    },
    run: (running) => running.containers.holding(() => create(planOf(running, isClone), running)),
  })
}

/** Without a region of its own, a clone goes where its source is. */
function placeFor(
  { fields, description, settings }: LocalSubmission<GroupFields>,
  isClone: boolean,
): TargetPlace {
  const { region: given, availabilityZones } = description
  const isGiven = given || availabilityZones !== undefined
  const region = isClone && !isGiven ? fields.source?.region : undefined
  return placeOf({ description: { ...description, ...definedOf({ region }) }, settings })
}

/** A clone has the names of its source, apart from those that are given. */
function namesOf(
  { application: app, stack, freeFormDetails: detail, source }: GroupFields,
  isClone: boolean,
): Partial<NameParts> {
  const given = definedOf({ app, stack, detail })
  const name = isClone && source !== undefined ? nameOfTarget(source) : undefined
  if (name === undefined) return given
  const inherited = parseMoniker(name)
  const parts = {
    app: inherited.app ?? undefined,
    stack: inherited.stack ?? undefined,
    detail: inherited.detail ?? undefined,
  }
  return { ...definedOf(parts), ...given }
}

function checkNames(
  { app, stack, detail }: Partial<NameParts>,
  isClone: boolean,
): string | undefined {
  if (app === undefined)
    return `application: it is missing${isClone ? ', and no source says which one is meant' : ''}.`
  const push = [stack, ...(detail ?? '').split('-')].find((part) => /^v\d{3,6}$/.test(part ?? ''))
  return (
    describeNameProblem({ app, stack, detail }) ??
    (push &&
      `"${push}" looks like the number of a server group; it may not be in a stack or detail.`)
  )
}

function imageIdOf({ imageId, image, amiName }: GroupFields): string | undefined {
  return imageId ?? image ?? amiName
}

function checkImage(
  submission: LocalSubmission<GroupFields>,
  place: TargetPlace,
  imageAccount?: string,
): string | undefined {
  const id = imageIdOf(submission.fields)
  if (id === undefined) return 'imageId: it is missing. Name an image such as shop:1.0.0.'
  return problemOfImage(id, place, submission, imageAccount)
}

/** A clone takes the image of its source along. */
function imageAccountOf(
  { imageAccount, source }: GroupFields,
  isClone: boolean,
): string | undefined {
  return imageAccount ?? (isClone ? source?.account : undefined)
}

function usesSourceCapacity({ source, useSourceCapacity }: GroupFields): boolean {
  return source?.useSourceCapacity === true || useSourceCapacity
}

/** Undefined: it can have one, or none is given. */
function problemOfNewShare({
  loadBalancers,
  isDisabled,
  trafficPercent,
}: Partial<Pick<LocalGroup, 'loadBalancers' | 'isDisabled' | 'trafficPercent'>>):
  | string
  | undefined {
  if (trafficPercent === undefined) return undefined
  if (isDisabled)
    return 'trafficPercent: a server group that starts disabled takes no requests. Leave startDisabled out.'
  if (loadBalancers?.length) return undefined
  return 'trafficPercent: there is no load balancer that could give the share. Name one in loadBalancers.'
}

function checkNamed(
  { fields, desired, users }: LocalSubmission<GroupFields>,
  place: TargetPlace,
): Problems {
  const [account, region] = [place.account.name, place.region.name]
  const missing = (field: 'loadBalancers' | 'securityGroups', kind: 'balancers' | 'firewalls') =>
    (fields[field] ?? [])
      .filter((name) => desired.get(kind, placeKey({ account, region, name })) === undefined)
      .map((name) => `${field}: "${name}" does not exist in ${account}/${region}.`)
  return [
    checkInstanceType(fields, place),
    missing('loadBalancers', 'balancers'),
    missing('securityGroups', 'firewalls'),
    users.problemOf(account),
  ]
}

/** @throws {Error} when there is no source, and there must be one */
function planOf(running: RunningOperation<GroupFields>, isClone: boolean): Plan {
  const { fields } = running
  const place = placeFor(running, isClone)
  const cluster = clusterName({ app: '', ...namesOf(fields, isClone) })
  const needsSource = isClone || usesSourceCapacity(fields)
  const source =
    namedSource(running, place) ??
    (needsSource ? newestOf(groupsOfCluster(running, place, cluster)) : undefined)
  if (isClone && source === undefined)
    throw new Error(`There is no server group to clone in the cluster ${cluster}.`)
  return { fields, place, cluster, source, cloned: isClone ? source : undefined }
}

/** @throws {Error} when it does not exist */
function namedSource(
  { fields, desired }: RunningOperation<GroupFields>,
  place: TargetPlace,
): LocalGroup | undefined {
  const { source } = fields
  const name = source && nameOfTarget(source)
  if (name === undefined) return undefined
  const account = source?.account ?? place.account.name
  const region = source?.region ?? place.region.name
  const found = desired.groupAt(account, region, name)
  if (found === undefined)
    throw new Error(`The source server group ${name} does not exist in ${account}/${region}.`)
  return found
}

function groupsOfCluster(
  { desired }: OperationParts,
  { account, region }: TargetPlace,
  cluster: string,
): LocalGroup[] {
  return [...desired.groupsOf(parseMoniker(cluster).app ?? '')].filter(
    (group) =>
      group.account === account.name &&
      group.region === region.name &&
      parseMoniker(group.name).cluster === cluster,
  )
}

function newestOf(groups: readonly LocalGroup[]): LocalGroup | undefined {
  return groups.toSorted((one, other) => other.createdMs - one.createdMs)[0]
}

function imageFor(
  { fields, place, source, cloned }: Plan,
  running: RunningOperation,
): Promise<GivenImage> {
  const imageAccount = imageAccountOf(fields, cloned !== undefined)
  const use = { place, cloned, given: fields.container, imageAccount }
  return loadImage(imageIdOf(fields) ?? source?.image.id ?? '', use, running)
}

async function create(plan: Plan, running: RunningOperation): Promise<void> {
  const { fields, place, cluster } = plan
  const { context, run, change } = running
  const account = place.account.name
  const region = place.region.name
  const capacity = capacityOf(plan)
  const image = await imageFor(plan, running)
  const base = toGroup(plan, image, running)
  const misplaced = problemOfNewShare(base)
  if (misplaced !== undefined) throw new Error(misplaced)
  await backUpVolumes(base, newestOf(groupsOfCluster(running, place, cluster)), {
    ...running,
    cluster: { name: cluster, account, region },
  })
  const supplies = await findSupplies(running, account, capacity.desired, [
    { ...base, name: cluster, account, region },
  ])
  change(() => {
    const siblings = groupsOfCluster(running, place, cluster)
    const name = nextName(cluster, siblings, fields)
    const ancestor = newestOf(siblings)
    if (ancestor !== undefined)
      run.report({ ancestorServerGroupNameByRegion: { [region]: ancestor.name } })
    const group: LocalGroup = {
      ...base,
      account,
      region,
      name,
      // Targets compare the times, so two groups of a cluster never have the same.
      createdMs: Math.max(context.now(), ...siblings.map(({ createdMs }) => createdMs + 1)),
      capacity,
    }
    const problem = problemOfShare(running.desired, group)
    if (problem !== undefined) throw new Error(problem)
    run.note(
      `Creating server group ${name} in ${account}/${region} of image ${image.id} with ${capacity.desired} instances.`,
    )
    noteImage(image, account, running)
    fit(running, group, supplies, `The server group ${name} was created.`)
    const notice = noticeOfRivals(running, group)
    if (notice !== undefined) run.note(notice)
    run.report({ ...toDeployResult(group), ...definedOf({ notice }) })
  })
}

/** Programs of two versions write where one is expected; undefined: they do not. */
function noticeOfRivals({ desired }: OperationParts, group: LocalGroup): string | undefined {
  const instances = [...desired.all('instances')]
  const [found] = desired
    .stayingInstances(group)
    .flatMap((instance) => sharedVolumesOf(instance, instances))
    .filter(({ other }) => other.leaving === undefined)
  if (found === undefined) return undefined
  const { volume, other } = found
  return (
    `${group.name} and ${other.group ?? other.id} write into the volume "${volume.name}" at the same time. If the program does not bear that, ` +
    `use the strategy "recreate" and add "writers: one" to the volume; if it does, add "writers: many".`
  )
}

/** Runs before another version writes into them. @throws {Error} when they cannot be copied */
async function backUpVolumes(
  { program, image }: Pick<LocalGroup, 'program' | 'image'>,
  ancestor: LocalGroup | undefined,
  { volumes, run, cluster }: RunningOperation & { readonly cluster: ResourceKey },
): Promise<void> {
  const isSame =
    ancestor?.image.digest === image.digest &&
    ancestor.program.container?.reference === program.container?.reference
  // A database is backed up by a program that knows it.
  if (program.volumes === undefined || isSame || isDatabaseImage(image)) return
  const copy = await run.releaseWhile(() => volumes.backUp(cluster, ancestor?.image.version))
  if (copy !== undefined) run.note(`The volumes of ${cluster.name} are backed up in ${copy}.`)
}

/** @throws {Error} when it is to be the source's and there is none */
function capacityOf({ fields, source, cloned }: Plan): LocalCapacity {
  if (usesSourceCapacity(fields)) {
    if (source !== undefined) return source.capacity
    throw new Error(
      'There is no source to take the capacity from: the capacity must be given for the first deployment of a cluster.',
    )
  }
  const capacity = toLocalCapacity(fields.capacity, cloned?.capacity)
  const problem = checkCapacity(capacity)
  if (problem !== undefined) throw new Error(problem)
  return capacity
}

function toGroup(
  { fields, place, cloned }: Plan,
  image: GivenImage,
  { settings }: OperationParts,
): Omit<LocalGroup, 'account' | 'region' | 'name' | 'createdMs' | 'capacity'> {
  const { account, region, zones } = place
  const beside =
    cloned?.account === account.name && cloned.region === region.name ? cloned : undefined
  const hasAllZones = zones.length === region.zones.length
  return {
    zones: (hasAllZones ? beside?.zones : undefined) ?? zones,
    isDisabled: fields.startDisabled,
    servingSinceMs: null,
    image: { id: image.id, name: image.name, version: image.version, digest: image.digest },
    buildInfo: image.stored && buildInfoOf(image.stored),
    program: toProgram(image.program, overridesOfGroup(fields), cloned?.program),
    instanceType:
      fields.instanceType ??
      cloned?.instanceType ??
      defaultInstanceType(place, settings.defaultInstanceType),
    loadBalancers: fields.loadBalancers ?? beside?.loadBalancers ?? [],
    ...definedOf({ trafficPercent: fields.trafficPercent }),
    securityGroups: fields.securityGroups ?? beside?.securityGroups ?? [],
    tags: fields.tags ?? cloned?.tags ?? {},
    labels: fields.labels ?? cloned?.labels ?? {},
    suspendedProcesses: fields.suspendedProcesses ?? [],
    startLimits: fields.startLimits ?? cloned?.startLimits,
    isLeaving: false,
    activities: [],
  }
}

function overridesOfGroup({ command, ready, volumes, ...fields }: GroupFields): ProgramOverrides {
  return { ...overridesOf(fields), command, ready, volumes }
}

export function checkInstanceType(
  { instanceType }: { readonly instanceType: string | undefined },
  { account }: TargetPlace,
): string | undefined {
  if (instanceType === undefined || account.instanceTypes.includes(instanceType)) return undefined
  return `instanceType: "${instanceType}" is none of ${account.instanceTypes.join(', ')}.`
}

export function defaultInstanceType(
  { account }: TargetPlace,
  configured: string | undefined,
): string {
  const { instanceTypes } = account
  return (
    [configured, 'unlimited', ...instanceTypes].find(
      (name) => name !== undefined && instanceTypes.includes(name),
    ) ?? 'unlimited'
  )
}

const sequences = 1000

/** @see docs/contracts/infrastructure.md#names */
function nextName(
  cluster: string,
  siblings: readonly LocalGroup[],
  { sequence, ignoreSequence }: GroupFields,
): string {
  const taken = new Set(siblings.map(({ name }) => name))
  if (ignoreSequence || sequence !== undefined) {
    const name =
      ignoreSequence || sequence === undefined ? cluster : serverGroupName(cluster, sequence)
    if (taken.has(name)) throw new Error(`The server group ${name} exists already.`)
    return name
  }
  const newest = newestOf(siblings)
  const first = newest === undefined ? 0 : (parseMoniker(newest.name).sequence ?? 0) + 1
  for (let step = 0; step < sequences; step++) {
    const name = serverGroupName(cluster, (first + step) % sequences)
    if (!taken.has(name)) return name
  }
  throw new Error(
    `All names of the cluster ${cluster} are taken; destroy server groups that are no longer needed.`,
  )
}

function toDeployResult({ account, region, name, capacity }: LocalGroup): JsonObject {
  return {
    serverGroupNames: [`${region}:${name}`],
    serverGroupNameByRegion: { [region]: name },
    messages: [],
    deployedNames: [],
    deployedNamesByLocation: {},
    createdArtifacts: [],
    deployments: [
      {
        cloudProvider: 'local',
        account,
        location: region,
        serverGroupName: name,
        capacity,
        metadata: {},
      },
    ],
  }
}
