/** Tasks, server groups, objects … of any provider, read from the form in which clients have them. */
import { toCause } from '@fairlead/base/causes/cause.ts'
import {
  asGiven,
  list,
  maybe,
  objectList,
  or,
  type Reader,
  type ShapeOf,
  shape,
  withAll,
} from '@fairlead/base/json/shape.ts'
import {
  isObject,
  isTrue,
  type JsonObject,
  numberOf,
  objectOf,
  objectsOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'

/** Bytes of entity tags as JSON: of one entity, whose reads return all, and of a submission for several. */
export const maxTagBytes = { entity: 256 * 1024, bulk: 512 * 1024 } as const

const text = or(textOf, '')
const count = or(numberOf, 0)

export const toNamed = shape({ name: textOf })

export interface PlacedName {
  readonly location: string
  readonly name: string
}

/** Names from lists by region or namespace. */
export function placedNames(byLocation: unknown): PlacedName[] {
  return Object.entries(objectOf(byLocation)).flatMap(([location, names]) =>
    textsOf(names).map((name) => ({ location, name })),
  )
}

const toResult = withAll(
  shape({
    type: textOf,
    message: textOf,
    details: textsOf,
    operation: textOf,
    notice: textOf,
    /** New server groups, as `region:name`. */
    serverGroupNames: textsOf,
    serverGroupNameByRegion: objectOf,
    jobs: [placedNames, 'deployedNamesByLocation'],
    loadBalancers: objectOf,
    /** Instances that a partial disable takes out. */
    instanceIdsToDisable: textsOf,
    manifests: objectsOf,
    manifestNames: [placedNames, 'manifestNamesByNamespace'],
    differences: list(
      withAll(shape({ name: text, namespace: textOf, change: textOf, message: textOf })),
    ),
  }),
)
export type CloudResult = ShapeOf<typeof toResult>

const readTask = withAll(
  shape({
    id: String,
    status: shape({ status: textOf, completed: isTrue, failed: isTrue }),
    history: list(shape({ status: textOf })),
    results: [list(toResult), 'resultObjects'],
  }),
)
export type CloudTask = ShapeOf<typeof readTask>

/** Undefined: there is none. */
export function toCloudTask(view: unknown): CloudTask | undefined {
  return isObject(view) ? readTask(view) : undefined
}

export interface CloudCapacity {
  readonly min: number
  readonly max: number
  readonly desired: number
}

export const toCapacity: Reader<CloudCapacity> = shape({ min: count, max: count, desired: count })

/** Providers without bounds report the desired number alone. */
const toBoundedCapacity = shape({
  min: [count, 'min', 'desired'],
  max: [count, 'max', 'desired'],
  desired: count,
})

const toHealth = shape({
  type: text,
  state: text,
  healthClass: textOf,
  description: textOf,
  discoveryType: textOf,
  /** In a row. */
  failedStarts: numberOf,
  /** False: it never will. */
  canStart: (value: unknown) => value !== false,
  ipAddress: textOf,
  port: numberOf,
})
export type CloudHealth = ShapeOf<typeof toHealth>

export const toCloudInstance = shape({
  id: [text, 'id', 'name'],
  healthState: or(textOf, 'Unknown'),
  launchTime: count,
  /** It takes no more requests, and open connections may keep it until then. */
  drainsUntilMs: numberOf,
  /** Its name; full forms alone tell it. */
  serverGroup: textOf,
  health: list(toHealth),
})
export type CloudInstance = ShapeOf<typeof toCloudInstance>

export const toMoniker = shape({
  app: textOf,
  cluster: textOf,
  stack: textOf,
  detail: textOf,
  sequence: numberOf,
})
export type CloudMoniker = ShapeOf<typeof toMoniker>

export const toVolumes = list(
  shape({
    name: text,
    shared: isTrue,
    writers: (value: unknown) => (value === 'many' ? ('many' as const) : ('one' as const)),
  }),
)
export type CloudVolume = ReturnType<typeof toVolumes>[number]

export const toCloudImage = withAll(
  shape({
    imageId: [textOf, 'imageId', 'ami', 'name'],
    imageName: [textOf, 'imageName', 'name'],
    /** Lists by region. */
    amis: placedNames,
    attributes: shape({ creationDate: textOf }),
    volumes: toVolumes,
  }),
)
export type CloudImage = ShapeOf<typeof toCloudImage>

const readServerGroup = withAll(
  shape({
    name: text,
    provider: [text, 'cloudProvider', 'type'],
    account: [textOf, 'account', 'accountName'],
    region: text,
    zones: textsOf,
    disabled: isTrue,
    isDisabled: isTrue,
    createdTime: count,
    moniker: maybe(toMoniker),
    capacity: toBoundedCapacity,
    instances: list(toCloudInstance),
    launchConfig: objectOf,
    image: objectOf,
    buildInfo: (value: unknown) => value,
    volumes: toVolumes,
    /** Undefined where nothing tells of them. */
    loadBalancers: (value: unknown) =>
      Array.isArray(value) ? (value as readonly unknown[]) : undefined,
    /** Its share of the traffic, where it has one of its own. */
    trafficPercent: numberOf,
    startLimits: shape({ seconds: numberOf, failures: numberOf }),
    /** What it belongs to. */
    serverGroupManagers: list(toNamed),
  }),
)

/** @param account Of those that name none */
export function serverGroupReader(account: string) {
  return (view: unknown) => {
    const { launchConfig, image, disabled, ...group } = readServerGroup(view)
    return {
      ...group,
      account: group.account ?? account,
      isDisabled: disabled || group.isDisabled,
      image: toCloudImage({ ...launchConfig, ...image }),
    } as const
  }
}
export type CloudServerGroup = ShapeOf<ReturnType<typeof serverGroupReader>>

/** The server groups of a cluster. */
export function clusterReader(account: string): Reader<CloudServerGroup[]> {
  const read = shape({ serverGroups: objectList(serverGroupReader(account)) })
  return (view) => read(view).serverGroups
}

export const toCloudLoadBalancer = withAll(
  shape({
    name: text,
    account: text,
    listeners: list(shape({ externalPort: numberOf })),
    /** Hosts as they are reached, with their certificates; empty where the provider does not say. */
    served: objectsOf,
    /** Why its ports are closed, in sentences. */
    problems: textsOf,
  }),
)
export type CloudLoadBalancer = ShapeOf<typeof toCloudLoadBalancer>

/** `value` is the sum of what is counted (unit `Count`), the average of all else. */
const toDatapoint = shape({ atMs: [numberOf, 'timestamp'], value: [numberOf, 'sum', 'average'] })

/** Values of one metric of a server group. */
export const toStatistics = shape({
  datapoints: list(toDatapoint),
  latest: toDatapoint,
  unit: textOf,
})
export type CloudStatistics = ShapeOf<typeof toStatistics>

const toState = shape({ state: isTrue, message: textOf })

/** An object of a cluster with its state. */
export const toCloudManifest = shape({
  manifest: objectOf,
  moniker: maybe(toMoniker),
  status: shape({
    stable: toState,
    available: toState,
    failed: toState,
    reasons: textsOf,
    hopeless: isTrue,
  }),
  /** From a provider that knows the state of every kind. */
  health: shape({
    state: textOf,
    sentence: textOf,
    reason: textOf,
    final: isTrue,
    failsAfterMs: numberOf,
    warning: textOf,
  }),
  reasons: textsOf,
  cause: toCause,
  /** Waiting for it is pointless. */
  hopeless: isTrue,
  warnings: objectsOf,
  events: objectsOf,
  artifacts: (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []),
})
export type CloudManifest = ShapeOf<typeof toCloudManifest>

/** Coordinates of an object have its name alone, or the full one. */
/** An answer with the cause of a failure. */
export const toCaused = shape({ cause: toCause })

export function toFullName(coordinates: unknown, usual: string): string | undefined {
  const { kind, name } = shape({ kind: or(textOf, usual), name: textOf })(coordinates)
  return name === undefined || name.includes(' ') ? name : `${kind} ${name}`
}

const toDetails = shape({
  pod: [textOf, 'pod', 'podName'],
  container: [textOf, 'container', 'containerName'],
  exitCode: (value: unknown) =>
    value === undefined || value === null || value === '' ? undefined : String(value),
  message: textOf,
  reason: textOf,
})

export const toCloudJob = withAll(
  shape({
    jobState: textOf,
    name: textOf,
    reason: textOf,
    message: textOf,
    completionDetails: toDetails,
    /** A sentence, or its parts. */
    failureDetails: (value: unknown) => textOf(value) ?? toDetails(value),
    pods: list(shape({ name: textOf, status: shape({ phase: textOf }) })),
    cause: toCause,
  }),
)
export type CloudJob = ShapeOf<typeof toCloudJob>

export const toDrift = withAll(
  shape({
    account: textOf,
    namespace: textOf,
    name: text,
    manager: textOf,
    /** Milliseconds since the epoch, or a time as text. */
    since: (value: unknown) =>
      typeof value === 'number' ? new Date(value).toISOString() : textOf(value),
    deleted: isTrue,
    note: textOf,
    fields: textsOf,
  }),
)
export type CloudDrift = ShapeOf<typeof toDrift>

/** A tag of a server group. */
const toEntityTag = shape({ name: textOf, value: objectOf })
export type EntityTag = ShapeOf<typeof toEntityTag>

export const toTagged = shape({ tags: objectList(toEntityTag) })

export const toSecurityGroup = shape({
  hasRules: [(rules: unknown) => Array.isArray(rules) && rules.length > 0, 'inboundRules'],
})

/** Names of the account in a description: one of three synonyms. */
export const accountOf = (description: JsonObject) =>
  ['credentials', 'account', 'accountName'].map((name) => textOf(description[name])).find(Boolean)

/** Output of an instance: one text, or one for each container. */
export const toOutput = shape({
  output: (output: unknown) =>
    typeof output === 'string' ? [output] : objectsOf(output).map((part) => String(part['output'])),
})

const toHits = shape({
  results: objectList(shape({ application: or(asGiven, ''), name: [asGiven, 'name', 'id'] })),
})

/** Names of the found resources that belong to an application. */
export function namesOwnedBy(application: string, found: unknown): string[] {
  return toHits(found).results.flatMap((hit) =>
    String(hit.application).toLowerCase() === application.toLowerCase() ? String(hit.name) : [],
  )
}

export function toNonEmpty(properties: unknown): JsonObject | undefined {
  return isObject(properties) && Object.keys(properties).length > 0 ? properties : undefined
}
