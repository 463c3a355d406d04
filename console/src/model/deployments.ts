/** Which version an environment runs of an application, how environments differ, and what a run has deployed. */
import type { components } from '../api/schema.d.ts'
import { isKind } from '../manifests/object.ts'
import type { Execution } from './execution.ts'
import { type Json, objectOf, objectsOf, splitList, textOf, textsOf } from './read.ts'
import { accountOf, clusterOf, countsOf, isEnabled, type ServerGroup, versionOf } from './server-groups.ts'

type Schemas = components['schemas']
export type Pipeline = Schemas['Pipeline']

/** What an environment runs of an application. */
export type Deployed = ReturnType<typeof deployedAs>

/** The environment of each account: its field, else its name. */
export type Environments = ReadonlyMap<string, string>

export function toEnvironments(accounts: readonly Schemas['Account'][]): Environments {
  return new Map(accounts.map((account) => [account.name, textOf(account['environment']) ?? account.name]))
}

type Declared = ReadonlyMap<string, readonly Schemas['DeclaredEnvironment'][]>

/** Environments that applications declare, by their names in small letters, and accounts that no others use. */
export function toDeclared(applications: readonly Schemas['ApplicationAttributes'][]) {
  const [declaring, others] = [true, false].map((wanted) => applications.filter((each) => !!each.environments?.length === wanted))
  const declared: Declared = new Map(declaring?.map(({ name, environments }) => [name.toLowerCase(), environments ?? []]))
  const open = new Set(others?.flatMap(({ accounts }) => splitList(accounts ?? '')))
  const claimed = [...declared.values()].flat().flatMap(({ accounts }) => accounts)
  return { declared, claimed: new Set(claimed.filter((account) => !open.has(account))) }
}

/** The environment of a server group: that which its application declares, else that of its account. */
export function environmentOf(group: ServerGroup, declared: Declared, environments: Environments): string {
  const account = accountOf(group)
  const own = declared
    .get(applicationOf(group))
    ?.find(({ accounts, regions = [group.region], clusters = [clusterOf(group)] }) => {
      return accounts.includes(account) && regions.includes(group.region) && clusters.includes(clusterOf(group))
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
      return [application, new Map([...byEnvironment].map(([environment, all]) => [environment, deployedAs(environment, all)]))]
    }),
  )
}

/** In small letters. */
export function applicationOf({ application, moniker }: ServerGroup): string {
  return (application ?? moniker?.app ?? '').toLowerCase()
}

function deployedAs(environment: string, all: readonly ServerGroup[]) {
  const newest = all.toSorted((a, b) => (b.createdTime ?? 0) - (a.createdTime ?? 0))
  const serving = newest.filter((group) => isEnabled(group) && countsOf(group).total > 0)
  const groups = serving.length > 0 ? serving : newest.slice(0, 1)
  const images = [...new Set(groups.flatMap((group) => versionOf(group) ?? []))]
  return {
    environment,
    /** Those that serve; where none does, the newest. */
    groups,
    /** The newest first, as their versions. */
    images,
    versions: [...new Set(images.map(versionLabel))],
    /** All versions that are kept there, newest first. */
    history: [...new Set(newest.flatMap((group) => versionOf(group) ?? []).map(versionLabel))],
    commit: textOf(objectOf(groups[0]?.buildInfo)['commit'])?.slice(0, 7),
    sinceMs: groups[0]?.createdTime ?? undefined,
    up: groups.reduce((sum, group) => sum + countsOf(group).up, 0),
    total: groups.reduce((sum, group) => sum + countsOf(group).total, 0),
  }
}

/** The tag of an image, else the beginning of its digest, else its name. */
export function versionLabel(image: string): string {
  const [named = '', digest] = image.slice(image.lastIndexOf('/') + 1).split('@')
  const tag = named.indexOf(':')
  return tag !== -1 ? named.slice(tag + 1) : (digest?.slice(digest.indexOf(':') + 1).slice(0, 8) ?? named)
}

/** How a deployment stands to that of an earlier environment, in words; undefined where both are the same. */
export function differenceOf(one: Deployed, earlier: Deployed): string | undefined {
  const [version = '', other = ''] = [one.versions[0], earlier.versions[0]]
  if (one.versions.toSorted().join('\n') === earlier.versions.toSorted().join('\n')) return undefined
  if (one.versions.length > 1 || earlier.versions.length > 1) return `differs from ${earlier.environment}`
  const behind = earlier.history.indexOf(version)
  if (behind > 0) return `behind ${earlier.environment} by ${behind === 1 ? '1 version' : `${behind} versions`}`
  const step = one.history.includes(other) ? 1 : compareNumbers(version, other)
  const word = step === 0 ? 'differs from' : step > 0 ? 'ahead of' : 'behind'
  return `${word} ${earlier.environment}`
}

/** Of versions such as `v2.10.1-rc1`, by their numbers; 0 where those are none or the same. */
function compareNumbers(left: string, right: string): number {
  const [a, b] = [left, right].map((version) => /^v?(\d+(?:\.\d+)+)/.exec(version)?.[1])
  return a === undefined || b === undefined ? 0 : a.localeCompare(b, 'en', { numeric: true })
}

/** What a pipeline deploys to: clusters, and stages with manifests. */
export function targetsOf({ stages }: Pick<Pipeline, 'stages'>): readonly Json[] {
  return objectsOf(stages)
    .filter(({ type }) => type === 'deploy' || type === 'deployManifest')
    .flatMap((stage) => (stage['type'] === 'deploy' ? objectsOf(stage['clusters']) : [stage]))
}

export function accountIn({ account, credentials }: Json): string | undefined {
  return textOf(account) ?? textOf(credentials)
}

/** Accounts to which a pipeline deploys, in the order of its stages. */
export function accountsOf(pipeline: Pick<Pipeline, 'stages'>): readonly string[] {
  return [...new Set(targetsOf(pipeline).flatMap((target) => accountIn(target) ?? []))]
}

const usualOrder = [/dev|local|sandbox/i, /test|qa/i, /stag|pre|uat/i, /prod|live/i]

/**
 * In the order of promotion: as applications declare and pipelines deploy to them, else as their names say.
 *
 * @param declared Names in the order of promotion, of applications
 */
export function inOrder(
  names: readonly string[],
  pipelines: readonly Pipeline[],
  environments: Environments,
  declared: readonly (readonly string[])[] = [],
): readonly string[] {
  const reached = pipelines.map((pipeline) => [...new Set(accountsOf(pipeline).map((name) => environments.get(name) ?? name))])
  const chains = [...declared, ...reached]
  const leads = (one: string, other: string) =>
    chains.some((chain) => chain.includes(one) && chain.indexOf(one) < chain.indexOf(other))
  const rank = (name: string) => {
    const at = usualOrder.findIndex((pattern) => pattern.test(name))
    return at === -1 ? usualOrder.length - 1.5 : at
  }
  const sorted = names.toSorted((a, b) => rank(a) - rank(b) || a.localeCompare(b))
  const visited = new Set<string>()
  const visit = (name: string): readonly string[] => {
    if (visited.has(name)) return []
    visited.add(name)
    // Pipelines that go both ways say nothing.
    const earlier = sorted.filter((one) => leads(one, name) && !leads(name, one))
    return [...earlier.flatMap(visit), name]
  }
  return sorted.flatMap(visit)
}

/** What a run has put where: an image, or the name of a manifest's object, and accounts. */
export function deploymentsOf({ stages }: Execution) {
  const found = stages.flatMap(({ type, status, context, outputs }) => {
    const account = textOf(context['account']) ?? textOf(context['credentials'])
    if (status !== 'SUCCEEDED' || account === undefined) return []
    if (type === 'deployManifest')
      return imagesIn(outputs['manifests'] ?? context['manifests']).map((image) => ({ image, account }))
    const image = textOf(context['imageId'])
    return image !== undefined && context['deploy.server.groups'] !== undefined ? [{ image, account }] : []
  })
  const byImage = Map.groupBy(found, ({ image }) => image)
  return [...byImage].map(([image, all]) => ({ image, accounts: [...new Set(all.map(({ account }) => account))] }))
}

/** Of all containers of manifests. */
export function imagesIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return [...new Set(value.flatMap(imagesIn))]
  if (typeof value !== 'object' || value === null) return []
  const { image, ...rest } = value as Json
  return [...new Set([...textsOf([image]), ...Object.values(rest).flatMap(imagesIn)])]
}
