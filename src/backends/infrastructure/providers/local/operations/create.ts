/** createServerGroup and cloneServerGroup. */
import { z } from 'zod'
import { fieldOf, type JsonObject, listOf, objectOf, textOf } from '../../../../../json/values.ts'
import { clusterName, describeNameProblem, parseMoniker, serverGroupName } from '../../../../../names/moniker.ts'
import { Command, ProgramLimitsFile, Readiness } from '../../../../images/image-file.ts'
import type { StoredImage } from '../../../../images/image-store.ts'
import type { OperationRun, OperationTypes } from '../../../operation-type.ts'
import { type LocalCapacity, type LocalGroup, placeKey } from '../desired.ts'
import { buildInfoOf, findImage, hasImage } from '../local-images.ts'
import { toProgram } from '../program.ts'
import { StartLimits } from '../start-limits.ts'
import { clusterGroups, findPorts, fit } from './fleet.ts'
import {
  commitChange,
  countField,
  defineOperation,
  environment,
  flagField,
  type OperationParts,
  optionalTextPart,
  placeOf,
  seconds,
  type TargetPlace,
  textMap,
  textsField,
} from './parts.ts'
import { targetResources } from './server-groups.ts'

const CapacityFields = z.looseObject({ min: countField.nullish(), max: countField.nullish(), desired: countField.nullish() })

const GroupFields = z.looseObject({
  application: optionalTextPart,
  stack: optionalTextPart,
  freeFormDetails: optionalTextPart,
  imageId: optionalTextPart,
  amiName: optionalTextPart,
  image: z.unknown().optional(),
  instanceType: optionalTextPart,
  capacity: CapacityFields.nullish(),
  loadBalancers: textsField,
  securityGroups: textsField,
  tags: textMap,
  labels: textMap,
  startDisabled: z
    .union([z.boolean(), z.stringbool()])
    .nullish()
    .transform((value) => value ?? undefined),
  suspendedProcesses: textsField,
  sequence: countField.nullish(),
  ignoreSequence: flagField,
  source: z
    .looseObject({
      account: optionalTextPart,
      region: optionalTextPart,
      serverGroupName: optionalTextPart,
      asgName: optionalTextPart,
      useSourceCapacity: flagField,
    })
    .nullish(),
  useSourceCapacity: flagField,
  command: Command.nullish(),
  environment,
  env: environment,
  secrets: environment,
  ready: Readiness.nullish(),
  limits: ProgramLimitsFile.nullish(),
  stopSeconds: seconds.nullish(),
  startLimits: StartLimits.partial().nullish(),
})
type GroupFields = z.output<typeof GroupFields>

/** A description with what its account, region and image are. */
interface Plan {
  readonly fields: GroupFields
  readonly place: TargetPlace
  readonly application: string
  readonly cluster: string
  readonly source: LocalGroup | undefined
}

export function creationOperations(parts: OperationParts): OperationTypes {
  const resources = ({ application, source, loadBalancers, securityGroups }: JsonObject) => [
    application,
    ...targetResources(objectOf(source)),
    ...listOf(loadBalancers),
    ...listOf(securityGroups),
  ]
  return {
    createServerGroup: defineOperation({
      fields: GroupFields,
      resources,
      check: (fields, description) => {
        const place = placeOf(description, parts.settings)
        return [
          ...checkNames(fields),
          ...checkImage(fields, place, parts),
          ...(usesSourceCapacity(fields) ? [] : checkCapacity(fields.capacity)),
          ...checkCommon(fields, place, parts),
        ]
      },
      run: async (fields, run, description) => {
        const place = placeOf(description, parts.settings)
        const application = fields.application ?? ''
        const cluster = clusterName({ app: application, stack: fields.stack, detail: fields.freeFormDetails })
        const source = findSource(fields, place, cluster, parts, false)
        await create({ fields, place, application, cluster, source }, run, parts, false)
      },
    }),
    cloneServerGroup: defineOperation({
      fields: GroupFields,
      resources,
      // Its secrets go with the program.
      accounts: ({ source }) => [fieldOf(source, 'account')],
      check: (fields, description) => {
        const place = placeOfClone(fields, description, parts)
        const named = namedSource(fields)
        const own = { ...partsOf(named), ...definedNames(fields) }
        return [
          ...(fields.application === undefined && named === undefined
            ? ['application: it is missing, and no source says which one is meant.']
            : checkNames(own)),
          ...(imageIdOf(fields) === undefined ? [] : checkImage(fields, place, parts)),
          ...checkCommon(fields, place, parts),
        ]
      },
      run: async (fields, run, description) => {
        const place = placeOfClone(fields, description, parts)
        const own = { ...partsOf(namedSource(fields)), ...definedNames(fields) }
        const application = own.application ?? ''
        const cluster = clusterName({ app: application, stack: own.stack, detail: own.freeFormDetails })
        const source = findSource(fields, place, cluster, parts, true)
        if (source === undefined) throw new Error(`There is no server group to clone in the cluster ${cluster}.`)
        await create({ fields, place, application, cluster, source }, run, parts, true)
      },
    }),
  }
}

/** Without a region of its own, a clone goes where its source is. */
function placeOfClone(fields: GroupFields, description: JsonObject, { settings }: OperationParts): TargetPlace {
  const region =
    textOf(description['region']) ?? (description['availabilityZones'] === undefined ? fields.source?.region : undefined)
  return placeOf({ ...description, ...(region !== undefined && { region }) }, settings)
}

interface NameFields {
  readonly application?: string | undefined
  readonly stack?: string | undefined
  readonly freeFormDetails?: string | undefined
}

function partsOf(name: string | undefined): NameFields {
  if (name === undefined) return {}
  const { app, stack, detail } = parseMoniker(name)
  return { application: app ?? undefined, stack: stack ?? undefined, freeFormDetails: detail ?? undefined }
}

function definedNames({ application, stack, freeFormDetails }: GroupFields): NameFields {
  const given = Object.entries({ application, stack, freeFormDetails }).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given)
}

function checkNames({ application, stack, freeFormDetails }: NameFields): string[] {
  if (application === undefined) return ['application: it is missing.']
  const problem = describeNameProblem({ app: application, stack, detail: freeFormDetails })
  if (problem !== undefined) return [problem]
  const push = [stack, ...(freeFormDetails ?? '').split('-')].find((part) => /^v\d{3,6}$/.test(part ?? ''))
  return push === undefined ? [] : [`"${push}" looks like the number of a server group; it may not be in a stack or detail.`]
}

function imageIdOf({ imageId, image, amiName }: GroupFields): string | undefined {
  return imageId ?? textOf(image) ?? textOf(objectOf(image)['imageId']) ?? textOf(objectOf(image)['name']) ?? amiName
}

function checkImage(fields: GroupFields, { account, region }: TargetPlace, parts: OperationParts): string[] {
  const id = imageIdOf(fields)
  if (id === undefined) return ['imageId: it is missing. Name an image such as shop:1.0.0.']
  const image = findImage(parts.images, id, account.name)
  if (image !== undefined && hasImage(image, account.name, region.name, parts.settings)) return []
  return [`imageId: the image "${id}" does not exist for the account ${account.name} in ${region.name}.`]
}

function usesSourceCapacity({ source, useSourceCapacity }: GroupFields): boolean {
  return source?.useSourceCapacity === true || useSourceCapacity
}

function checkCapacity(capacity: Partial<LocalCapacity> | GroupFields['capacity']): string[] {
  const { min, max, desired } = toCapacity(capacity, { min: 1, max: 1, desired: 1 })
  if (min <= desired && desired <= max) return []
  return [`capacity: min ${min}, desired ${desired} and max ${max} do not fit: min ≤ desired ≤ max must hold.`]
}

/** Parts that are not given come from `otherwise`, as far as they fit to those that are. */
function toCapacity(given: Partial<LocalCapacity> | GroupFields['capacity'], otherwise: LocalCapacity): LocalCapacity {
  const { min, max, desired } = given ?? {}
  const wanted = desired ?? min ?? max ?? otherwise.desired
  return {
    desired: desired ?? wanted,
    min: min ?? (desired === undefined && given === undefined ? otherwise.min : wanted),
    max: max ?? (desired === undefined && given === undefined ? otherwise.max : wanted),
  }
}

/** One by one from the source. */
function toClonedCapacity(given: GroupFields['capacity'], source: LocalCapacity): LocalCapacity {
  return { min: given?.min ?? source.min, max: given?.max ?? source.max, desired: given?.desired ?? source.desired }
}

function checkCommon(fields: GroupFields, { account, region }: TargetPlace, { desired, users }: OperationParts): string[] {
  const { instanceType, loadBalancers = [], securityGroups = [] } = fields
  const missing = (kind: 'balancers' | 'firewalls', names: readonly string[]) =>
    names.filter((name) => desired.get(kind, placeKey({ account: account.name, region: region.name, name })) === undefined)
  const problem = users.problemOf(account.name)
  return [
    ...(instanceType === undefined || account.instanceTypes.includes(instanceType)
      ? []
      : [`instanceType: "${instanceType}" is none of ${account.instanceTypes.join(', ')}.`]),
    ...missing('balancers', loadBalancers).map(
      (name) => `loadBalancers: "${name}" does not exist in ${account.name}/${region.name}.`,
    ),
    ...missing('firewalls', securityGroups).map(
      (name) => `securityGroups: "${name}" does not exist in ${account.name}/${region.name}.`,
    ),
    ...(problem === undefined ? [] : [problem]),
  ]
}

function namedSource({ source }: GroupFields): string | undefined {
  return source?.serverGroupName ?? source?.asgName
}

/** The named one; else, for a clone or for its capacity, the newest of the cluster. @throws {Error} when the named one is missing */
function findSource(
  fields: GroupFields,
  { account, region }: TargetPlace,
  cluster: string,
  parts: OperationParts,
  isClone: boolean,
): LocalGroup | undefined {
  const name = namedSource(fields)
  if (name !== undefined) {
    const at = { account: fields.source?.account ?? account.name, region: fields.source?.region ?? region.name }
    const found = parts.desired.groupAt(at.account, at.region, name)
    if (found === undefined) throw new Error(`The source server group ${name} does not exist in ${at.account}/${at.region}.`)
    return found
  }
  if (!isClone && !usesSourceCapacity(fields)) return undefined
  return newestOf(clusterGroups(parts, account.name, region.name, cluster))
}

function newestOf(groups: readonly LocalGroup[]): LocalGroup | undefined {
  return groups.reduce<LocalGroup | undefined>(
    (newest, group) => (newest === undefined || group.createdMs > newest.createdMs ? group : newest),
    undefined,
  )
}

async function create(plan: Plan, run: OperationRun, parts: OperationParts, isClone: boolean): Promise<void> {
  const { fields, place, cluster } = plan
  const account = place.account.name
  const region = place.region.name
  const capacity = capacityOf(plan, isClone)
  const image = requireImage(plan, parts)
  const ports = await findPorts(parts, account, capacity.desired)
  commitChange(parts, run, () => {
    const siblings = clusterGroups(parts, account, region, cluster)
    const name = nextName(cluster, siblings, fields)
    const ancestor = newestOf(siblings)
    if (ancestor !== undefined) run.report({ ancestorServerGroupNameByRegion: { [region]: ancestor.name } })
    const group: LocalGroup = {
      ...toGroup(plan, image, parts, isClone),
      account,
      region,
      name,
      // Targets compare the times, so two groups of a cluster never have the same.
      createdMs: Math.max(parts.context.now(), ...siblings.map(({ createdMs }) => createdMs + 1)),
      capacity,
    }
    run.note(`Creating server group ${name} in ${account}/${region} of image ${image.id} with ${capacity.desired} instances.`)
    fit(parts, group, ports, `The server group ${name} was created.`)
    run.report(toDeployResult(group))
  })
}

/** @throws {Error} when it is to be the source's and there is none */
function capacityOf({ fields, source }: Plan, isClone: boolean): LocalCapacity {
  if (usesSourceCapacity(fields)) {
    if (source !== undefined) return source.capacity
    throw new Error(
      'There is no source to take the capacity from: the capacity must be given for the first deployment of a cluster.',
    )
  }
  const capacity =
    isClone && source !== undefined
      ? toClonedCapacity(fields.capacity, source.capacity)
      : toCapacity(fields.capacity, { min: 1, max: 1, desired: 1 })
  const [problem] = checkCapacity(capacity)
  if (problem !== undefined) throw new Error(problem)
  return capacity
}

/** The image as the account of the server group has it, also for a clone from another account. @throws {Error} */
function requireImage({ fields, place, source }: Plan, parts: OperationParts): StoredImage {
  const id = imageIdOf(fields) ?? source?.image.id ?? ''
  const { account, region } = place
  const image = findImage(parts.images, id, account.name)
  if (image !== undefined && hasImage(image, account.name, region.name, parts.settings)) return image
  throw new Error(`The image "${id}" does not exist for the account ${account.name} in ${region.name}.`)
}

function toGroup(
  { fields, place, source }: Plan,
  image: StoredImage,
  { settings }: OperationParts,
  isClone: boolean,
): Omit<LocalGroup, 'account' | 'region' | 'name' | 'createdMs' | 'capacity'> {
  const inherited = isClone ? source : undefined
  const isSamePlace = inherited?.account === place.account.name && inherited.region === place.region.name
  const zonesGiven = place.zones.length < place.region.zones.length
  return {
    zones: !zonesGiven && isSamePlace ? inherited.zones : place.zones,
    isDisabled: fields.startDisabled ?? false,
    image: { id: image.id, name: image.name, version: image.version, digest: image.digest },
    buildInfo: buildInfoOf(image),
    program: toProgram(
      image.program,
      {
        command: fields.command ?? undefined,
        environment: fields.environment ?? fields.env,
        secrets: fields.secrets,
        ready: fields.ready ?? undefined,
        limits: fields.limits ?? undefined,
        stopSeconds: fields.stopSeconds ?? undefined,
      },
      inherited?.program,
    ),
    instanceType: fields.instanceType ?? inherited?.instanceType ?? defaultInstanceType(place, settings.defaultInstanceType),
    loadBalancers: fields.loadBalancers ?? (isSamePlace ? inherited.loadBalancers : []),
    securityGroups: fields.securityGroups ?? (isSamePlace ? inherited.securityGroups : []),
    tags: fields.tags ?? inherited?.tags ?? {},
    labels: fields.labels ?? inherited?.labels ?? {},
    suspendedProcesses: fields.suspendedProcesses ?? [],
    startLimits: fields.startLimits ?? inherited?.startLimits,
    isLeaving: false,
    activities: [],
  }
}

export function defaultInstanceType({ account }: Pick<TargetPlace, 'account'>, configured: string | undefined): string {
  const { instanceTypes } = account
  return (
    [configured, 'unlimited', ...instanceTypes].find((name) => name !== undefined && instanceTypes.includes(name)) ?? 'unlimited'
  )
}

const sequences = 1000

/** @see docs/contracts/infrastructure.md#names */
function nextName(cluster: string, siblings: readonly LocalGroup[], { sequence, ignoreSequence }: GroupFields): string {
  const taken = new Set(siblings.map(({ name }) => name))
  if (ignoreSequence || (sequence !== undefined && sequence !== null)) {
    const name = ignoreSequence ? cluster : serverGroupName(cluster, sequence as number)
    if (taken.has(name)) throw new Error(`The server group ${name} exists already.`)
    return name
  }
  const newest = newestOf(siblings)
  const first = newest === undefined ? 0 : (parseMoniker(newest.name).sequence ?? 0) + 1
  for (let step = 0; step < sequences; step++) {
    const name = serverGroupName(cluster, (first + step) % sequences)
    if (!taken.has(name)) return name
  }
  throw new Error(`All names of the cluster ${cluster} are taken; destroy server groups that are no longer needed.`)
}

/** What stages read of a task that has created a server group. */
function toDeployResult({ account, region, name, capacity }: LocalGroup): JsonObject {
  return {
    serverGroupNames: [`${region}:${name}`],
    serverGroupNameByRegion: { [region]: name },
    messages: [],
    deployedNames: [],
    deployedNamesByLocation: {},
    createdArtifacts: [],
    deployments: [{ cloudProvider: 'local', account, location: region, serverGroupName: name, capacity, metadata: {} }],
  }
}
