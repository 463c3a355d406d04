/** What an environment runs of an application, by its server groups. */
import { list, or, type ShapeOf, shape, textMap } from '@fairlead/base/json/shape.ts'
import {
  isTrue,
  type JsonObject,
  numberOf,
  objectOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { parseMoniker } from '@fairlead/base/names/moniker.ts'
import type { Environment } from './declaration.ts'
import { imageLabelOf } from './images.ts'
import type { BuildReference, Commit } from './pipelines.ts'

export interface Version {
  /** Reference as deployed. */
  readonly image: string
  /** Its tag, else the beginning of its digest, else its name. */
  readonly label: string
  readonly digest?: string
  readonly commit?: Commit
  readonly build?: BuildReference
}

type State = 'up' | 'degraded' | 'down' | 'disabled' | 'empty'

interface GroupHealth {
  readonly state: State
  readonly up: number
  readonly total: number
}

/** One cluster in one region. */
export interface RunningCluster {
  readonly provider: string
  readonly account: string
  readonly region: string
  readonly cluster: string
  /** Canary or baseline, which runs beside what the environment runs. */
  readonly isCanary: boolean
  /** Server groups that serve, else the newest. The newest first. */
  readonly serverGroups: readonly Group[]
  /** All of them. */
  readonly all: readonly Group[]
  readonly versions: readonly Version[]
  /** Newer ones that have served and no longer do. */
  readonly left: readonly Version[]
  /** When it began to serve, in milliseconds since the epoch. */
  readonly sinceMs: number | undefined
  readonly health: GroupHealth
}

export interface Running {
  readonly clusters: readonly RunningCluster[]
  /** Clusters that serve, without canaries; where none does, all. The newest first. */
  readonly serving: readonly RunningCluster[]
  /** The newest first. */
  readonly versions: readonly Version[]
  /** Labels of all versions that are kept there and have come up, the newest first. */
  readonly history: readonly string[]
  /** Labels of newer versions that have served and no longer do. */
  readonly rolledBackFrom: readonly string[]
  readonly sinceMs: number | undefined
  readonly health: GroupHealth
}

const toImage = shape({ imageId: textOf, name: textOf, digest: textOf })

const toBuildInfo = shape({
  images: textsOf,
  packageName: [textOf, 'package_name'],
  version: textOf,
  commit: textOf,
  branch: textOf,
  url: [textOf, 'buildInfoUrl'],
  jenkins: shape({ name: textOf, number: numberOf, host: textOf }),
})

const versionFields = { buildInfo: toBuildInfo, image: toImage, launchConfig: toImage } as const
const toVersionFields = shape(versionFields)

const toFields = shape({
  ...versionFields,
  name: or(textOf, ''),
  provider: [or(textOf, ''), 'cloudProvider', 'type'],
  account: [or(textOf, ''), 'account', 'accountName'],
  region: or(textOf, ''),
  cluster: textOf,
  moniker: shape({ cluster: textOf, detail: textOf, sequence: numberOf }),
  createdTime: numberOf,
  servingSinceMs: numberOf,
  isDisabled: isTrue,
  disabled: isTrue,
  counts: [
    shape({ total: numberOf, up: numberOf, down: or(numberOf, 0), starting: or(numberOf, 0) }),
    'instanceCounts',
  ],
  instances: list(
    shape({
      ...{ id: textOf, healthState: textOf, launchTime: numberOf, drainsUntilMs: numberOf },
      health: list(shape({ description: textOf })),
    }),
  ),
  labels: textMap,
  serverGroupManagers: list(shape({ name: textOf })),
})

/** A server group. */
export interface Group extends ShapeOf<typeof toFields> {
  /** Says the provider; undefined: it does not. */
  readonly hasServed: boolean | undefined
  readonly total: number
  readonly up: number
  /** Record for clients. */
  readonly view: JsonObject
}

/** @param given As lists have it */
export function toGroup(given: unknown): Group {
  const view = objectOf(given)
  const fields = toFields(view)
  const { counts, instances } = fields
  const { servingSinceMs: since } = view
  return {
    ...fields,
    hasServed: since === undefined ? undefined : since !== null,
    total: counts.total ?? instances.length,
    up: counts.up ?? instances.filter(({ healthState }) => healthState === 'Up').length,
    view,
  }
}

/** @param groups Server groups of the application */
export function runningIn(
  { accounts, regions, clusters }: Environment,
  groups: readonly Group[],
): Running {
  return runningOf(
    groups.filter((group) => {
      const isHere = accounts.includes(group.account) && (regions?.includes(group.region) ?? true)
      return isHere && (clusters?.includes(clusterOf(group)) ?? true)
    }),
  )
}

/** What these server groups run together. */
export function runningOf(groups: readonly Group[]): Running {
  const own = groups.filter((group) => !isJob(group)).toSorted(byAge)
  return summaryOf(
    [...Map.groupBy(own, (group) => JSON.stringify(placeOf(group))).values()].flatMap(toCluster),
  )
}

/** What these clusters run together. */
export function summaryOf(clusters: readonly RunningCluster[]): Running {
  const good = clusters.filter(({ health, isCanary }) => health.state !== 'disabled' && !isCanary)
  const serving = (good.length > 0 ? good : clusters).toSorted(
    (a, b) => (b.sinceMs ?? 0) - (a.sinceMs ?? 0),
  )
  const kept = clusters
    .flatMap(({ all, serverGroups }) => all.filter((group) => hasServed(group, serverGroups)))
    .toSorted(byAge)
  return {
    clusters,
    serving,
    versions: distinct(serving.flatMap(({ versions }) => versions)),
    history: labelsOf(kept.flatMap(toVersions)),
    rolledBackFrom: labelsOf(serving.flatMap(({ left }) => left)),
    sinceMs: serving[0]?.sinceMs,
    health: worst(serving.map(({ health }) => health)),
  }
}

function labelsOf(versions: readonly Version[]): readonly string[] {
  return [...new Set(versions.map(({ label }) => label))]
}

/** Where its provider does not say so, what is about to start or fails has not. @param serving Those of its cluster */
export function hasServed(group: Group, serving: readonly Group[]): boolean {
  const { total, counts } = group
  return (
    group.hasServed ??
    (serving.includes(group) || total === 0 || counts.down + counts.starting < total)
  )
}

/** It ends by itself, and so serves nothing. */
function isJob({ name }: Group): boolean {
  return /^(?:job|cronJob) /i.test(name)
}

interface Aged {
  readonly createdTime?: number | null | undefined
  readonly moniker?: { readonly sequence?: number | null | undefined } | null | undefined
}

/** Negative: the first is newer. Where times are whole seconds, the numbers of a cluster decide. */
export function byAge(one: Aged, other: Aged): number {
  return (
    (other.createdTime ?? 0) - (one.createdTime ?? 0) ||
    (other.moniker?.sequence ?? 0) - (one.moniker?.sequence ?? 0)
  )
}

function placeOf(
  group: Group,
): Pick<RunningCluster, 'provider' | 'account' | 'region' | 'cluster'> {
  const { provider, account, region } = group
  return { provider, account, region, cluster: clusterOf(group) }
}

function clusterOf({ cluster, moniker, name }: Group): string {
  return cluster ?? moniker.cluster ?? parseMoniker(name).cluster ?? name
}

/** @param all The newest first */
function toCluster(all: readonly Group[]): RunningCluster[] {
  const serving = all.filter(
    ({ isDisabled, disabled, total }) => !isDisabled && !disabled && total > 0,
  )
  const serverGroups = serving.length > 0 ? serving : all.slice(0, 1)
  const up = serverGroups.reduce((sum, each) => sum + each.up, 0)
  const total = serverGroups.reduce((sum, each) => sum + each.total, 0)
  const [newest] = serverGroups
  if (newest === undefined) return []
  const versions = distinct(serverGroups.flatMap(toVersions))
  const newer =
    serving.length === 0
      ? []
      : all.slice(0, all.indexOf(newest)).filter((group) => hasServed(group, serverGroups))
  const left = distinct(newer.flatMap(toVersions)).filter(({ image }) =>
    versions.every((version) => version.image !== image),
  )
  return [
    {
      ...placeOf(newest),
      isCanary: isCanary(newest),
      serverGroups,
      all,
      versions,
      left,
      sinceMs:
        newest.servingSinceMs ??
        (left.length > 0 ? firstLaunch(newest) : undefined) ??
        newest.createdTime,
      health: { state: serving.length === 0 ? 'disabled' : stateOf(up, total), up, total },
    },
  ]
}

/** The best that is known of what a rollback has started again. */
function firstLaunch({ instances }: Group): number | undefined {
  const launches = instances.flatMap(({ launchTime }) => launchTime ?? [])
  return launches.length === 0 ? undefined : Math.min(...launches)
}

/** Tells by the last part of its name. */
function isCanary({ moniker, name }: Group): boolean {
  const detail = moniker.detail ?? parseMoniker(name).detail
  return ['canary', 'baseline'].includes(detail?.split('-').at(-1) ?? '')
}

function stateOf(up: number, total: number): State {
  return up === total ? 'up' : up === 0 ? 'down' : 'degraded'
}

function worst(all: readonly GroupHealth[]): GroupHealth {
  const up = all.reduce((sum, each) => sum + each.up, 0)
  const total = all.reduce((sum, each) => sum + each.total, 0)
  if (all.length === 0) return { state: 'empty', up, total }
  return {
    state: all.every(({ state }) => state === 'disabled') ? 'disabled' : stateOf(up, total),
    up,
    total,
  }
}

function distinct(versions: readonly Version[]): Version[] {
  return versions.filter(
    ({ image }, at) => versions.findIndex((each) => each.image === image) === at,
  )
}

/** The version of a server group, or those of its containers. */
export function versionsOf(view: JsonObject): Version[] {
  return toVersions(toVersionFields(view))
}

export function toVersions({
  buildInfo,
  image,
  launchConfig,
}: ShapeOf<typeof toVersionFields>): Version[] {
  const { images, packageName, version } = buildInfo
  if (images.length > 0) return images.map(toVersion)
  const built =
    packageName === undefined || version === undefined ? undefined : `${packageName}:${version}`
  const found = image.imageId ?? built ?? launchConfig.imageId ?? image.name
  if (found === undefined) return []
  const { digest } = image
  return [{ ...toVersion(found), ...(digest !== undefined && { digest }), ...sourceOf(buildInfo) }]
}

function toVersion(image: string): Version {
  const [, digest] = image.split('@')
  return { image, label: imageLabelOf(image), ...(digest !== undefined && { digest }) }
}

function sourceOf({
  commit: sha,
  branch,
  url,
  jenkins,
}: ShapeOf<typeof toBuildInfo>): Pick<Version, 'commit' | 'build'> {
  const { host: server, name: job, number } = jenkins
  return {
    ...(sha !== undefined && { commit: { sha, branch } }),
    ...(number !== undefined && { build: { server, job, number, url } }),
  }
}
