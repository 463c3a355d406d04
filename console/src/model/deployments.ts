/** Version of an application that an environment runs, and how environments differ. */

import { type JsonObject, objectsOf } from '@fairlead/base/json/values.ts'
import { meansSame } from '@fairlead/model/environments/order.ts'
import { runningOf, toGroup } from '@fairlead/model/environments/running.ts'
import type { Schemas } from '../api/schema.d.ts'
import { isKind } from '../manifests/object.ts'
import { splitList } from './names.ts'
import type { Environments } from './run-deployments.ts'
import { accountOf, clusterOf, type ServerGroup } from './server-groups.ts'
import { accountIn } from './stage-output.ts'

export type Pipeline = Schemas['Pipeline']

/** What an environment runs of an application. */
export type Deployed = ReturnType<typeof deployedAs>

type Declared = ReadonlyMap<string, readonly Schemas['DeclaredEnvironment'][]>

/** Environments that applications declare, by their names in small letters, and accounts that no others use or deploy to. */
export function toDeclared(
  applications: readonly Schemas['ApplicationAttributes'][],
  pipelines: readonly Pipeline[] = [],
) {
  const [declaring, others] = [true, false].map((wanted) =>
    applications.filter((each) => !!each.environments?.length === wanted),
  )
  const declared: Declared = new Map(
    declaring?.map(({ name, environments }) => [name.toLowerCase(), environments ?? []]),
  )
  const free = pipelines.filter(({ application }) => !declared.has(application.toLowerCase()))
  const reached = free.flatMap((pipeline) => wayOf(pipeline, new Map()))
  const open = new Set([
    ...(others?.flatMap(({ accounts }) => splitList(accounts ?? '')) ?? []),
    ...reached,
  ])
  const claimed = [...declared.values()].flat().flatMap(({ accounts }) => accounts)
  return { declared, claimed: new Set(claimed.filter((account) => !open.has(account))) }
}

/** Names an account by the declared environment if all that declare it agree, and that differs in meaning. */
export function withDeclaredNames(environments: Environments, declared: Declared): Environments {
  const all = [...declared.values()].flat()
  return new Map(
    [...environments].map(([account, own]) => {
      const names = all.flatMap(({ name, accounts }) => (accounts.includes(account) ? [name] : []))
      const [name = own] = new Set(names).size === 1 ? names : []
      return [account, meansSame(name, own) ? name : own]
    }),
  )
}

/** The environment of a server group: that which its application declares, else that of its account. */
export function environmentOf(
  group: ServerGroup,
  declared: Declared,
  environments: Environments,
): string {
  const account = accountOf(group)
  const own = declared
    .get(applicationOf(group))
    ?.find(({ accounts, regions = [group.region], clusters = [clusterOf(group)] }) => {
      return (
        accounts.includes(account) &&
        regions.includes(group.region) &&
        clusters.includes(clusterOf(group))
      )
    })
  return own?.name ?? environments.get(account) ?? account
}

/** By application, in small letters, and environment. */
export function toDeployed(groups: readonly ServerGroup[], nameOf: (group: ServerGroup) => string) {
  const shown = groups.filter(({ name }) => !isKind(name, 'job'))
  const byApplication = Map.groupBy(shown, applicationOf)
  return new Map(
    [...byApplication].map(([application, own]) => {
      const byEnvironment = Map.groupBy(own, nameOf)
      return [
        application,
        new Map(
          [...byEnvironment].map(([environment, all]) => [
            environment,
            deployedAs(environment, all),
          ]),
        ),
      ]
    }),
  )
}

/** In small letters. */
export function applicationOf({ application, moniker }: ServerGroup): string {
  return (application ?? moniker?.app ?? '').toLowerCase()
}

function deployedAs(environment: string, all: readonly ServerGroup[]) {
  const { serving, versions, history, rolledBackFrom, sinceMs, health } = runningOf(
    all.map(toGroup),
  )
  return {
    environment,
    /** Server groups that serve; where none does, the newest. */
    groups: serving.flatMap(({ serverGroups }) =>
      serverGroups.map(({ view }) => view as ServerGroup),
    ),
    /** The newest first, as their versions. */
    images: versions.map(({ image }) => image),
    versions: [...new Set(versions.map(({ label }) => label))],
    /** All versions that are kept there and have come up, newest first. */
    history,
    /** Newer versions that have served and no longer do. */
    rolledBackFrom,
    commit: versions[0]?.commit?.sha.slice(0, 7),
    sinceMs,
    up: health.up,
    total: health.total,
  }
}

/** How a deployment stands to that of an earlier environment, in words; undefined where both are the same. */
export function differenceOf(one: Deployed, earlier: Deployed): string | undefined {
  const [version = '', other = ''] = [one.versions[0], earlier.versions[0]]
  if (one.versions.toSorted().join('\n') === earlier.versions.toSorted().join('\n'))
    return undefined
  if (one.versions.length > 1 || earlier.versions.length > 1)
    return `differs from ${earlier.environment}`
  const behind = earlier.history.indexOf(version)
  if (behind > 0)
    return `behind ${earlier.environment} by ${behind === 1 ? '1 version' : `${behind} versions`}`
  const step = one.history.includes(other) ? 1 : compareNumbers(version, other)
  const word = step === 0 ? 'differs from' : step > 0 ? 'ahead of' : 'behind'
  return `${word} ${earlier.environment}`
}

/** Compares versions such as `v2.10.1-rc1` by their numbers; 0 where those are none or the same. */
function compareNumbers(left: string, right: string) {
  const [a, b] = [left, right].map((version) => /^v?(\d+(?:\.\d+)+)/.exec(version)?.[1])
  return a === undefined || b === undefined ? 0 : a.localeCompare(b, 'en', { numeric: true })
}

/** What a pipeline deploys to: clusters, and stages with manifests. */
export function targetsOf({ stages }: Pick<Pipeline, 'stages'>): readonly JsonObject[] {
  return objectsOf(stages)
    .filter(({ type }) => type === 'deploy' || type === 'deployManifest')
    .flatMap((stage) => (stage['type'] === 'deploy' ? objectsOf(stage['clusters']) : [stage]))
}

/** Environments to which a pipeline deploys, in the order of its stages. */
export function wayOf(
  pipeline: Pick<Pipeline, 'stages'>,
  environments: Environments,
): readonly string[] {
  const accounts = targetsOf(pipeline).flatMap((target) => accountIn(target) ?? [])
  return [...new Set(accounts.map((account) => environments.get(account) ?? account))]
}
