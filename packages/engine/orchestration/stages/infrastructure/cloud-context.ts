/** Fields that stages of cloud operations share: provider, account, places and target (docs/contracts/infrastructure.md#deployment-stages). */
import { fieldOf, type JsonObject, objectOf, objectsOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { clusterName, parseMoniker } from '@fairlead/base/names/moniker.ts'
import { manifestProvider } from '@fairlead/base/settings/standalone.ts'
import { clusterIn, type Effect } from '@fairlead/model/stage-types/effect.ts'
import { StageError } from '../../machine/failure.ts'
import type { TaskContext } from '../stage-type.ts'

export interface CloudLocation {
  readonly provider: string
  readonly account: string
  readonly region: string
}

/** One server group, as the infrastructure service is asked for it. */
export interface ServerGroupTarget extends CloudLocation {
  readonly name: string
  /** Where it is known: whose server group it is, by its parts. */
  readonly moniker?: JsonObject
}

/** Names of its objects say nothing about their owners: those are read. */
export const kubernetes = manifestProvider

/** Spinnaker's default for stages without a provider. */
const defaultProvider = 'aws'

/** The first of some fields that holds a text. */
export function firstText(context: JsonObject, ...keys: readonly string[]): string | undefined {
  return keys.map((key) => textOf(context[key])).find(Boolean)
}

export function stageAccountOf(context: JsonObject): string | undefined {
  return firstText(context, 'account.name', 'account', 'credentials', 'accountName')
}

/** @throws {StageError} when the stage names none */
export function requireAccount(context: JsonObject): string {
  const account = stageAccountOf(context)
  if (account === undefined) throw new StageError(['The stage names no account: set "credentials".'])
  return account
}

export function stageProviderOf(context: JsonObject): string {
  return firstText(context, 'cloudProvider', 'cloudProviderType', 'providerType', 'provider') ?? defaultProvider
}

/** Regions, zones or namespaces of the stage, each once; empty when it names none. */
export function placesOf(context: JsonObject): string[] {
  const single = firstText(context, 'region', 'zone', 'namespace', 'location')
  const lists = ['regions', 'zones', 'namespaces'].map((key) => textsOf(context[key])).find((list) => list.length > 0)
  const zones = Object.keys(objectOf(context['availabilityZones']))
  if (single !== undefined) return [single]
  return [...new Set(lists ?? zones)]
}

/** @throws {StageError} when the stage names none */
export function requirePlaces(context: JsonObject): [string, ...string[]] {
  const [first, ...others] = placesOf(context)
  if (first === undefined) throw new StageError(['The stage names no region: set "region" or "regions".'])
  return [first, ...others]
}

/** @throws {StageError} when the stage names no account or region */
export function locationOf(context: JsonObject): CloudLocation {
  return { provider: stageProviderOf(context), account: requireAccount(context), region: requirePlaces(context)[0] }
}

export function serverGroupNameOf(context: JsonObject): string | undefined {
  return firstText(context, 'serverGroupName', 'asgName')
}

/** The cluster that the stage names, by itself or by a server group. @throws {StageError} when it names none */
export function requireCluster(context: JsonObject): string {
  const cluster =
    textOf(context['cluster']) ??
    textOf(fieldOf(context['moniker'], 'cluster')) ??
    parseMoniker(textOf(context['serverGroup']) ?? '').cluster
  if (!cluster) throw new StageError(['The stage names no cluster: set "cluster".'])
  return cluster
}

/** The cluster of the server group that the stage creates. */
export function createdClusterOf(context: JsonObject, application: string): string {
  const clusters = createdClustersOf(context, application)
  return clusters.find((cluster) => cluster === fieldOf(context['source'], 'cluster')) ?? clusters[0]
}

/** Clusters to which it may belong: one that was deployed by a manifest is named after that. */
export function createdClustersOf(context: JsonObject, application: string): [string, ...string[]] {
  const { stack, freeFormDetails, moniker } = context
  const own = { app: application, stack: textOf(stack), detail: textOf(freeFormDetails) }
  if (stageProviderOf(context) !== kubernetes) return [clusterName(own)]
  const [given, ofStack, ofDetail] = ['cluster', 'stack', 'detail'].map((part) => textOf(fieldOf(moniker, part)))
  if (given !== undefined) return [given]
  const cluster = clusterName({ ...own, stack: own.stack ?? ofStack, detail: own.detail ?? ofDetail }).toLowerCase()
  return [cluster, `replicaSet ${cluster}`]
}

/**
 * The server group that the stage works on: by its name, else the one that `determineTargetServerGroup` found in its region.
 *
 * @throws {StageError} when it names none
 */
export function targetOf(context: TaskContext): ServerGroupTarget {
  const { stage } = context
  const place = locationOf(stage.context)
  const { region } = place
  const name = serverGroupNameOf(stage.context)
  if (textOf(stage.context['target']) === undefined && name !== undefined) return { ...place, name }
  const found = objectsOf(context.read('targetReferences')).find((each) => each['region'] === region)
  const foundName = textOf(found?.['serverGroupName']) ?? name
  if (foundName === undefined)
    throw new StageError([`The stage names no server group in ${region}: set "serverGroupName" or "target".`])
  return { ...place, name: foundName }
}

/** Key of context and outputs of a stage: server groups that it has created, by their regions. */
export const createdKey = 'deploy.server.groups'

/** @param names Lists of server groups by their regions, as under `createdKey` */
export function groupsByRegion(names: unknown, place: Pick<CloudLocation, 'provider' | 'account'>): ServerGroupTarget[] {
  return Object.entries(objectOf(names)).flatMap(([region, here]) => textsOf(here).map((name) => ({ ...place, region, name })))
}

/** The fields by which a stage says where it works. */
export function cloudPlaceFields({ provider, account, region }: Partial<CloudLocation>): JsonObject {
  return { cloudProvider: provider, credentials: account, account, region, regions: [region] }
}

/** The fields of an operation that name a server group. */
export function stageTargetFields({ provider, account, region, name }: ServerGroupTarget): JsonObject {
  return {
    credentials: account,
    accountName: account,
    account,
    cloudProvider: provider,
    region,
    serverGroupName: name,
    asgName: name,
  }
}

export function effectOn(
  { stage }: Pick<TaskContext, 'stage'>,
  { account, region, name }: ServerGroupTarget,
  effect: Pick<Effect, 'kind' | 'desired' | 'percent' | 'atMs'>,
): Effect {
  return { ...effect, account, region, cluster: clusterIn(stage.context, name), serverGroup: name }
}

/** What clients read about the target in the stage's context. */
export function targetContext({ account, region, name }: ServerGroupTarget): JsonObject {
  return { 'deploy.account.name': account, 'deploy.server.groups': { [region]: [name] }, serverGroupName: name, asgName: name }
}
