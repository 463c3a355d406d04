/** Fields that stages of cloud operations share: provider, account, places and target (docs/contracts/infrastructure.md#deployment-stages). */
import { shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, objectOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { clusterName, parseMoniker } from '@fairlead/base/names/moniker.ts'
import { manifestProvider } from '@fairlead/base/settings/standalone.ts'
import { clusterIn, type Effect } from '@fairlead/model/stage-types/effect.ts'
import { type CloudMoniker, toMoniker } from '@fairlead/ports/cloud-values.ts'
import { StageError } from '../../machine/failure.ts'
import type { Execution, Stage } from '../../model.ts'
import type { TaskContext } from '../stage-type.ts'
import { createdNote, foundTargetsNote } from './notes.ts'

interface CloudLocation {
  readonly provider: string
  readonly account: string
  readonly region: string
}

export interface ServerGroupTarget extends CloudLocation {
  readonly name: string
  /** Where it is known: whose server group it is, by its parts. */
  readonly moniker?: Partial<CloudMoniker>
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
  if (account === undefined)
    throw new StageError(['The stage names no account: set "credentials".'])
  return account
}

export function stageProviderOf(context: JsonObject): string {
  return (
    firstText(context, 'cloudProvider', 'cloudProviderType', 'providerType', 'provider') ??
    defaultProvider
  )
}

export function applicationOf({
  stage,
  execution,
}: {
  stage: Pick<Stage, 'context'>
  execution: Execution
}): string {
  return firstText(stage.context, 'application') ?? execution.application
}

const readPlaces = shape({
  single: [textOf, 'region', 'zone', 'namespace', 'location'],
  regions: textsOf,
  zones: textsOf,
  namespaces: textsOf,
  availabilityZones: objectOf,
})

/** Regions, zones or namespaces of the stage, each once; empty when it names none. */
export function placesOf(context: JsonObject): string[] {
  const { single, regions, zones, namespaces, availabilityZones } = readPlaces(context)
  if (single !== undefined) return [single]
  const listed = [regions, zones, namespaces].find(({ length }) => length > 0)
  return [...new Set(listed ?? Object.keys(availabilityZones))]
}

/** @throws {StageError} when the stage names none */
export function requirePlaces(context: JsonObject): [string, ...string[]] {
  const [first, ...others] = placesOf(context)
  if (first === undefined)
    throw new StageError(['The stage names no region: set "region" or "regions".'])
  return [first, ...others]
}

/** @throws {StageError} when the stage names no account or region */
export function locationOf(context: JsonObject): CloudLocation {
  return {
    provider: stageProviderOf(context),
    account: requireAccount(context),
    region: requirePlaces(context)[0],
  }
}

export function serverGroupNameOf(context: JsonObject): string | undefined {
  return firstText(context, 'serverGroupName', 'asgName')
}

const readNames = shape({
  target: textOf,
  cluster: textOf,
  moniker: toMoniker,
  serverGroup: textOf,
  stack: textOf,
  freeFormDetails: textOf,
  source: shape({ cluster: textOf }),
})

/** Word for the server group of its cluster to work on, where the stage does not name one. */
export function targetWordOf(context: JsonObject): string | undefined {
  return readNames(context).target
}

/** The cluster that the stage names, by itself or by a server group. @throws {StageError} when it names none */
export function requireCluster(context: JsonObject): string {
  const { cluster, moniker, serverGroup } = readNames(context)
  const found = cluster ?? moniker.cluster ?? parseMoniker(serverGroup ?? '').cluster
  if (!found) throw new StageError(['The stage names no cluster: set "cluster".'])
  return found
}

/** The cluster of the server group that the stage creates. */
export function createdClusterOf(context: JsonObject, application: string): string {
  const clusters = createdClustersOf(context, application)
  return clusters.find((cluster) => cluster === readNames(context).source.cluster) ?? clusters[0]
}

/** Clusters to which it may belong: one that was deployed by a manifest is named after that. */
export function createdClustersOf(context: JsonObject, application: string): [string, ...string[]] {
  const { stack, freeFormDetails: detail, moniker } = readNames(context)
  if (stageProviderOf(context) !== kubernetes)
    return [clusterName({ app: application, stack, detail })]
  if (moniker.cluster !== undefined) return [moniker.cluster]
  const parts = {
    app: application,
    stack: stack ?? moniker.stack,
    detail: detail ?? moniker.detail,
  }
  const cluster = clusterName(parts).toLowerCase()
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
  const given = serverGroupNameOf(stage.context)
  const isFound = targetWordOf(stage.context) !== undefined || given === undefined
  const found = isFound
    ? foundTargetsNote.around(context).find((each) => each.region === region)
    : undefined
  const name = found?.serverGroupName ?? given
  if (name === undefined)
    throw new StageError([
      `The stage names no server group in ${region}: set "serverGroupName" or "target".`,
    ])
  return { ...place, name }
}

/** Server groups that a stage has created. @param holder Its context or outputs */
export function createdIn(
  holder: JsonObject,
  place: Omit<CloudLocation, 'region'>,
): ServerGroupTarget[] {
  return createdNote.in(holder).map(({ location, name }) => ({ ...place, region: location, name }))
}

/** The fields by which a stage says where it works. */
export function cloudPlaceFields({
  provider,
  account,
  region,
}: Partial<CloudLocation>): JsonObject {
  return { cloudProvider: provider, credentials: account, account, region, regions: [region] }
}

/** The fields of an operation that name a server group. */
export function stageTargetFields({
  provider,
  account,
  region,
  name,
}: ServerGroupTarget): JsonObject {
  const { regions: _regions, ...place } = cloudPlaceFields({ provider, account, region })
  return { ...place, accountName: account, serverGroupName: name, asgName: name }
}

export function effectOn(
  { stage }: Pick<TaskContext, 'stage'>,
  { account, region, name }: ServerGroupTarget,
  effect: Pick<Effect, 'kind' | 'desired' | 'percent' | 'atMs'>,
): Effect {
  return { ...effect, account, region, cluster: clusterIn(stage.context, name), serverGroup: name }
}
