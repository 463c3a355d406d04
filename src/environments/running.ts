/** What an environment runs of an application, by its server groups. */
import { fieldOf, isTrue, type JsonObject, numberOf, objectOf, objectsOf, textOf, textsOf } from '../json/values.ts'
import { parseMoniker } from '../names/moniker.ts'
import type { Environment } from './declaration.ts'
import { labelOf } from './images.ts'
import type { Build, Commit } from './pipelines.ts'

export interface Version {
  /** As it is deployed. */
  readonly image: string
  /** Its tag, else the beginning of its digest, else its name. */
  readonly label: string
  readonly digest?: string | undefined
  readonly commit?: Commit | undefined
  readonly build?: Build | undefined
}

type State = 'up' | 'degraded' | 'down' | 'disabled' | 'empty'

interface Health {
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
  /** Those that serve; where none does, the newest. The newest first. */
  readonly serverGroups: readonly JsonObject[]
  /** All of them. */
  readonly all: readonly JsonObject[]
  readonly versions: readonly Version[]
  /** Newer ones that have served and no longer do. */
  readonly left: readonly Version[]
  /** When it began to serve, in milliseconds since the epoch. */
  readonly sinceMs: number | undefined
  readonly health: Health
}

export interface Running {
  readonly clusters: readonly RunningCluster[]
  /** Those that serve, without canaries; where none does, all. The newest first. */
  readonly serving: readonly RunningCluster[]
  /** The newest first. */
  readonly versions: readonly Version[]
  /** Labels of all versions that are kept there and have come up, the newest first. */
  readonly history: readonly string[]
  /** Labels of newer versions that have served and no longer do. */
  readonly rolledBackFrom: readonly string[]
  readonly sinceMs: number | undefined
  readonly health: Health
}

/** @param groups Server groups of the application, as lists have them */
export function runningIn(environment: Environment, groups: readonly JsonObject[]): Running {
  return runningOf(groups.filter((group) => isIn(environment, group)))
}

/** What these server groups run together. */
export function runningOf(groups: readonly JsonObject[]): Running {
  const own = groups.filter((group) => !isJob(group)).toSorted(byAge)
  return summaryOf([...Map.groupBy(own, (group) => JSON.stringify(placeOf(group))).values()].map(toCluster))
}

/** What these clusters run together. */
export function summaryOf(clusters: readonly RunningCluster[]): Running {
  const good = clusters.filter(({ health, isCanary }) => health.state !== 'disabled' && !isCanary)
  const serving = (good.length > 0 ? good : clusters).toSorted((a, b) => (b.sinceMs ?? 0) - (a.sinceMs ?? 0))
  const kept = clusters.flatMap(({ all, serverGroups }) => all.filter((group) => hasServed(group, serverGroups))).toSorted(byAge)
  return {
    clusters,
    serving,
    versions: distinct(serving.flatMap(({ versions }) => versions)),
    history: labelsOf(kept.flatMap(versionsOf)),
    rolledBackFrom: labelsOf(serving.flatMap(({ left }) => left)),
    sinceMs: serving[0]?.sinceMs,
    health: worst(serving.map(({ health }) => health)),
  }
}

function labelsOf(versions: readonly Version[]): readonly string[] {
  return [...new Set(versions.map(({ label }) => label))]
}

/** As its provider says; where none does, what is about to start or fails has not. @param serving Those of its cluster */
export function hasServed(group: JsonObject, serving: readonly JsonObject[]): boolean {
  const { servingSinceMs, instanceCounts } = group
  if (servingSinceMs !== undefined) return servingSinceMs !== null
  const { total } = countsOf(group)
  const counts = objectOf(instanceCounts)
  const failing = (numberOf(counts['down']) ?? 0) + (numberOf(counts['starting']) ?? 0)
  return serving.includes(group) || total === 0 || failing < total
}

function isIn({ accounts, regions, clusters }: Environment, group: JsonObject): boolean {
  const { account, region, cluster } = placeOf(group)
  return accounts.includes(account) && (regions?.includes(region) ?? true) && (clusters?.includes(cluster) ?? true)
}

/** It ends by itself, and so serves nothing. */
function isJob({ name }: JsonObject): boolean {
  return /^(?:job|cronJob) /i.test(String(name))
}

function byAge(one: JsonObject, other: JsonObject): number {
  return (numberOf(other['createdTime']) ?? 0) - (numberOf(one['createdTime']) ?? 0)
}

export function accountOf({ account, accountName }: JsonObject): string {
  return textOf(account) ?? textOf(accountName) ?? ''
}

function placeOf(group: JsonObject): Pick<RunningCluster, 'provider' | 'account' | 'region' | 'cluster'> {
  const { cloudProvider, type, region, cluster, moniker, name } = group
  return {
    provider: textOf(cloudProvider) ?? textOf(type) ?? '',
    account: accountOf(group),
    region: textOf(region) ?? '',
    cluster: textOf(cluster) ?? textOf(fieldOf(moniker, 'cluster')) ?? parseMoniker(String(name)).cluster ?? String(name),
  }
}

/** @param all The newest first */
function toCluster(all: readonly JsonObject[]): RunningCluster {
  const serving = all.filter((group) => !isDisabled(group) && countsOf(group).total > 0)
  const serverGroups = serving.length > 0 ? serving : all.slice(0, 1)
  const counts = serverGroups.map(countsOf)
  const up = counts.reduce((sum, each) => sum + each.up, 0)
  const total = counts.reduce((sum, each) => sum + each.total, 0)
  const [newest = {}] = serverGroups
  const versions = distinct(serverGroups.flatMap(versionsOf))
  const newer = serving.length === 0 ? [] : all.slice(0, all.indexOf(newest)).filter((group) => hasServed(group, serverGroups))
  const left = distinct(newer.flatMap(versionsOf)).filter(({ image }) => versions.every((version) => version.image !== image))
  return {
    ...placeOf(newest),
    isCanary: isCanary(newest),
    serverGroups,
    all,
    versions,
    left,
    sinceMs:
      numberOf(newest['servingSinceMs']) ??
      (left.length > 0 ? firstLaunch(newest) : undefined) ??
      numberOf(newest['createdTime']),
    health: { state: serving.length === 0 ? 'disabled' : stateOf(up, total), up, total },
  }
}

/** Of what a rollback has started again, the best that is known. */
function firstLaunch({ instances }: JsonObject): number | undefined {
  const launches = objectsOf(instances).flatMap(({ launchTime }) => numberOf(launchTime) ?? [])
  return launches.length === 0 ? undefined : Math.min(...launches)
}

/** By the word that the last part of its name is. */
function isCanary({ moniker, name }: JsonObject): boolean {
  const detail = textOf(fieldOf(moniker, 'detail')) ?? parseMoniker(String(name)).detail
  return ['canary', 'baseline'].includes(detail?.split('-').at(-1) ?? '')
}

function isDisabled({ isDisabled: own, disabled }: JsonObject): boolean {
  return isTrue(own) || isTrue(disabled)
}

function countsOf({ instanceCounts, instances }: JsonObject): { readonly up: number; readonly total: number } {
  const counts = objectOf(instanceCounts)
  const listed = objectsOf(instances)
  return {
    total: numberOf(counts['total']) ?? listed.length,
    up: numberOf(counts['up']) ?? listed.filter(({ healthState }) => healthState === 'Up').length,
  }
}

function stateOf(up: number, total: number): State {
  return up === total ? 'up' : up === 0 ? 'down' : 'degraded'
}

function worst(all: readonly Health[]): Health {
  const up = all.reduce((sum, each) => sum + each.up, 0)
  const total = all.reduce((sum, each) => sum + each.total, 0)
  if (all.length === 0) return { state: 'empty', up, total }
  return { state: all.every(({ state }) => state === 'disabled') ? 'disabled' : stateOf(up, total), up, total }
}

function distinct(versions: readonly Version[]): Version[] {
  return versions.filter(({ image }, at) => versions.findIndex((each) => each.image === image) === at)
}

/** The version of a server group, or those of its containers. */
export function versionsOf({ buildInfo, image, launchConfig }: JsonObject): Version[] {
  const info = objectOf(buildInfo)
  const images = textsOf(info['images'])
  if (images.length > 0) return images.map(toVersion)
  const [name, version] = [textOf(info['package_name']), textOf(info['version'])]
  const built = name === undefined || version === undefined ? undefined : `${name}:${version}`
  const found =
    textOf(fieldOf(image, 'imageId')) ?? built ?? textOf(fieldOf(launchConfig, 'imageId')) ?? textOf(fieldOf(image, 'name'))
  if (found === undefined) return []
  const digest = textOf(fieldOf(image, 'digest'))
  return [{ ...toVersion(found), ...(digest !== undefined && { digest }), ...sourceOf(info) }]
}

function toVersion(image: string): Version {
  const [, digest] = image.split('@')
  return { image, label: labelOf(image), ...(digest !== undefined && { digest }) }
}

function sourceOf(info: JsonObject): Pick<Version, 'commit' | 'build'> {
  const sha = textOf(info['commit'])
  const { name, number, host } = objectOf(info['jenkins'])
  const build = { server: textOf(host), job: textOf(name), number: numberOf(number), url: textOf(info['buildInfoUrl']) }
  return {
    ...(sha !== undefined && { commit: { sha, branch: textOf(info['branch']) } }),
    ...(build.number !== undefined && { build }),
  }
}
