/** A deployment as its run tells it: which server groups came and went, and when; and how traffic is shared now. */
import type { Execution, Stage } from './execution.ts'
import { numberOf, objectOf, objectsOf, textOf, textsOf } from './read.ts'
import {
  countsOf,
  type Instance,
  instancesOf,
  isEnabled,
  loadBalancersOf,
  type ServerGroup,
  statusOfInstance,
} from './server-groups.ts'
import { isComplete } from './status.ts'

interface Happening {
  readonly atMs: number
  readonly text: string
  readonly kind: 'succeeded' | 'failed' | 'running'
}

/** What a run did to one cluster. */
export interface Deployment {
  readonly account: string
  readonly region: string
  readonly cluster: string
  /** Server groups that it created or gave traffic to. */
  readonly fresh: readonly string[]
  /** Server groups that were there before. */
  readonly old: readonly string[]
  /** What became of them, by name, such as "disabled". */
  readonly fates: ReadonlyMap<string, string>
  readonly startMs: number
  /** Instances of the new server group at the end. */
  readonly desired: number | undefined
  readonly version: string | undefined
  readonly isOver: boolean
  readonly hasFailed: boolean
  /** Oldest first. */
  readonly events: readonly Happening[]
}

/** What each type of stage does to the server groups that it is about: when it has, and while it does. */
const deeds: Readonly<Record<string, readonly [done: string, doing: string]>> = {
  disableCluster: ['disabled', 'losing its traffic'],
  disableServerGroup: ['disabled', 'losing its traffic'],
  disableManifest: ['disabled', 'losing its traffic'],
  shrinkCluster: ['removed', 'being removed'],
  destroyServerGroup: ['removed', 'being removed'],
  deleteManifest: ['removed', 'being removed'],
  scaleDownCluster: ['scaled down', 'being scaled down'],
  resizeServerGroup: ['resized', 'being resized'],
  enableServerGroup: ['took traffic', 'taking traffic'],
  enableManifest: ['took traffic', 'taking traffic'],
}

/** After these a server group serves no more. */
const fatal = new Set(['disabled', 'removed', 'scaled down'])

const creating = new Set(['createServerGroup', 'cloneServerGroup', 'deployManifest'])

/** @param root Only this stage and those inside it. */
export function deploymentsOf({ stages }: Execution, root?: Stage): readonly Deployment[] {
  const parents = new Map(stages.map(({ id, parentStageId }) => [id, parentStageId]))
  const isInside = (stage: Stage) => {
    for (let id: string | null | undefined = stage.id; id; id = parents.get(id)) if (id === root?.id) return true
    return root === undefined
  }
  const moving = stages.filter(({ type, startTime }) => startTime && (creating.has(type) || type in deeds)).filter(isInside)
  const byPlace = Map.groupBy(moving, (stage) => JSON.stringify(placeOf(stage)))
  return [...byPlace].flatMap(([key, found]) => {
    const place = JSON.parse(key) as ReturnType<typeof placeOf>
    return place.cluster === ''
      ? []
      : toDeployment(
          place,
          found.toSorted((a, b) => (a.startTime ?? 0) - (b.startTime ?? 0)),
        )
  })
}

function placeOf({ context }: Stage) {
  const account = textOf(context['account']) ?? textOf(context['credentials']) ?? ''
  const region = textOf(context['region']) ?? textsOf(context['regions'])[0] ?? textOf(context['location']) ?? ''
  const cluster = textOf(context['cluster']) ?? textOf(objectOf(context['moniker'])['cluster']) ?? clusterName(context)
  return { account, region: region || (Object.keys(objectOf(context['outputs.manifestNamesByNamespace']))[0] ?? ''), cluster }
}

function clusterName(context: Stage['context']): string {
  const [manifest] = Object.values(objectOf(context['outputs.manifestNamesByNamespace'])).flatMap(textsOf)
  if (manifest !== undefined) return manifest
  const known = textOf(context['serverGroupName']) ?? textOf(context['asgName'])
  if (known !== undefined) return known.replace(/-v\d{3,}$/, '')
  const [stack, detail] = [textOf(context['stack']), textOf(context['freeFormDetails'])]
  const parts = [textOf(context['application']), stack ?? (detail === undefined ? undefined : ''), detail]
  return parts.filter((part) => part !== undefined).join('-')
}

function toDeployment(place: ReturnType<typeof placeOf>, stages: readonly Stage[]): Deployment {
  const makers = stages.filter(({ type }) => creating.has(type))
  const fresh = stages.filter(({ type }) => creating.has(type) || type.startsWith('enable')).flatMap(namesOf)
  const sources = makers.flatMap(({ context }) => textOf(objectOf(context['source'])['serverGroupName']) ?? [])
  const others = stages.filter(({ type }) => type in deeds).flatMap(namesOf)
  const settings = makers[0]?.context ?? {}
  const done = stages.filter(({ type, status }) => fatal.has(deeds[type]?.[0] ?? '') && status === 'SUCCEEDED')
  const resized = stages.filter((stage) => isResize(stage) && fresh.includes(namesOf(stage)[0] ?? ''))
  return {
    ...place,
    fresh: [...new Set(fresh)],
    old: [...new Set([...sources, ...others])].filter((name) => !fresh.includes(name)),
    fates: new Map(done.flatMap((stage) => namesOf(stage).map((name) => [name, deedOf(stage, 0)] as const))),
    startMs: stages[0]?.startTime ?? 0,
    desired: numberOf(objectOf((resized.at(-1)?.context ?? settings)['capacity'])['desired']),
    version: textOf(settings['imageId']) ?? textOf(settings['amiName']),
    isOver: stages.every(({ status }) => isComplete(status)),
    hasFailed: stages.some(({ status }) => status === 'TERMINAL'),
    events: stages.flatMap(happeningsOf).toSorted((a, b) => a.atMs - b.atMs),
  }
}

function namesOf({ type, context }: Stage): readonly string[] {
  if (type in deeds && Array.isArray(context['chosenServerGroups'])) {
    return objectsOf(context['chosenServerGroups']).flatMap(({ name }) => textOf(name) ?? [])
  }
  if (creating.has(type)) return Object.values(objectOf(context['deploy.server.groups'])).flatMap(textsOf)
  return [textOf(context['serverGroupName']) ?? textOf(context['asgName']) ?? textOf(context['manifestName'])].flatMap(
    (name) => name ?? [],
  )
}

/** A strategy also pins sizes for the time of the deployment, which changes no number of instances. */
function isResize({ type, name }: Stage): boolean {
  return type === 'resizeServerGroup' && !/^(Unp|P)in\b/.test(name ?? '')
}

function deedOf({ type, context }: Stage, at: 0 | 1): string {
  const share = type === 'disableServerGroup' ? numberOf(context['desiredPercentage']) : undefined
  const size = type === 'resizeServerGroup' ? numberOf(objectOf(context['capacity'])['desired']) : undefined
  const more = share === undefined ? (size === undefined ? '' : ` to ${size}`) : ` for ${share} % of its instances`
  return (deeds[type]?.[at] ?? '') + more
}

function happeningsOf(stage: Stage): readonly Happening[] {
  const names = namesOf(stage).map(versionIn).join(', ')
  const { startTime, endTime, status } = stage
  const own = creating.has(stage.type) ? creationOf(stage, names) : []
  if (status === 'TERMINAL') return [...own, { atMs: endTime ?? 0, text: `${stage.name ?? stage.type} failed`, kind: 'failed' }]
  const isPin = stage.type === 'resizeServerGroup' && !isResize(stage)
  if (creating.has(stage.type) || isPin || names === '' || !startTime) return own
  if (status === 'SUCCEEDED' && endTime) return [{ atMs: endTime, text: `${names} ${deedOf(stage, 0)}`, kind: 'succeeded' }]
  return isComplete(status) ? [] : [{ atMs: startTime, text: `${names} is ${deedOf(stage, 1)}`, kind: 'running' }]
}

/** A creation tells its steps: created, then up. */
function creationOf({ type, context, tasks }: Stage, names: string): readonly Happening[] {
  const count = numberOf(objectOf(context['capacity'])['desired'])
  const isFront = textsOf(context['loadBalancers']).length > 0
  // It begins empty and grows in steps of their own.
  const isRolling = textOf(context['strategy'])?.toLowerCase() === 'rollingredblack'
  const told: Readonly<Record<string, readonly [done: string, doing: string]>> = {
    [type]:
      type === 'deployManifest' ? ['Manifest applied', 'Applying the manifest'] : [`${names} created`, 'Creating a server group'],
    waitForUpInstances: [
      `${count === undefined ? 'All' : `${count} of ${count}`} up${isFront ? ', took traffic' : ''}`,
      `Waiting until ${names} is up`,
    ],
    waitForManifestToStabilize: ['Stable', 'Waiting until it is stable'],
  }
  return tasks.flatMap(({ name, status, startTime, endTime }): readonly Happening[] => {
    const texts = told[name]
    if (texts === undefined || !startTime || (isRolling && name === 'waitForUpInstances')) return []
    if (status === 'SUCCEEDED' && endTime) return [{ atMs: endTime, text: texts[0], kind: 'succeeded' }]
    return status === 'RUNNING' ? [{ atMs: startTime, text: texts[1], kind: 'running' }] : []
  })
}

/** `v008` where the name has a number. */
export function versionIn(name: string): string {
  return /v\d{3,}$/.exec(name)?.[0] ?? name
}

export interface PictureGroup {
  readonly group: ServerGroup
  readonly isNew: boolean
  /** "2 up, 1 starting"; undefined where it is not known. */
  readonly health: string | undefined
  /** From 0 to 1; undefined where no load balancer stands in front of any of them. */
  readonly share: number | undefined
  /** Such as "disabled"; undefined where it serves. */
  readonly fate: string | undefined
  /** The run tells of it, and it is gone. */
  readonly isGone: boolean
}

function healthWords(group: ServerGroup): string {
  const counts = Map.groupBy(instancesOf(group), (instance) => statusOfInstance(instance).word)
  return [...counts].map(([word, { length }]) => `${length} ${word}`).join(', ') || 'no instance'
}

const maxGroups = 3

/**
 * As things are now: newest last.
 *
 * @param fresh Names of the new ones; without any, the newest of several counts as new.
 * @param old Of those that serve nothing, only these are shown, where given.
 */
export function picturesOf(
  groups: readonly ServerGroup[],
  fresh: readonly string[] = [],
  old?: readonly string[],
): readonly PictureGroup[] {
  const isAbout = (group: ServerGroup) => isEnabled(group) || fresh.includes(group.name) || (old?.includes(group.name) ?? true)
  const sorted = groups
    .filter(isAbout)
    .toSorted((a, b) => (a.createdTime ?? 0) - (b.createdTime ?? 0) || a.name.localeCompare(b.name))
  const newest = fresh.length > 0 ? fresh : sorted.length > 1 ? sorted.slice(-1).map(({ name }) => name) : []
  // What neither serves nor is new is left out where two others have more to show.
  const isQuiet = (group: ServerGroup) => !newest.includes(group.name) && (!isEnabled(group) || countsOf(group).total === 0)
  const quiet = sorted.filter(isQuiet)
  const dropped = new Set(quiet.slice(0, Math.max(0, sorted.length - 2)))
  const shown = sorted.filter((group) => !dropped.has(group)).slice(-maxGroups)
  const shares = shown.map(inServiceOf)
  const all = shares.reduce((sum, share) => sum + share, 0)
  const isFronted = shown.some((group) => loadBalancersOf(group).length > 0)
  return shown.map((group, at) => ({
    group,
    isNew: newest.includes(group.name),
    share: isFronted ? (all === 0 ? 0 : (shares[at] ?? 0) / all) : undefined,
    health: healthWords(group),
    fate: isEnabled(group) ? undefined : 'disabled',
    isGone: false,
  }))
}

/** Instances that get requests of a load balancer. */
function inServiceOf(group: ServerGroup): number {
  if (!isEnabled(group) || loadBalancersOf(group).length === 0) return 0
  return instancesOf(group).filter(isInService).length || (instancesOf(group).length === 0 ? countsOf(group).up : 0)
}

function isInService({ health, healthState }: Instance): boolean {
  const records = objectsOf(health).flatMap(({ loadBalancers }) => objectsOf(loadBalancers))
  return records.length === 0 ? healthState === 'Up' : records.some((record) => record['state'] === 'InService')
}

/** As it was when the run ended, whatever has happened since. */
export function picturesThen(deployment: Deployment, groups: readonly ServerGroup[]): readonly PictureGroup[] {
  const { fresh, old, fates, desired, version, account, region, hasFailed } = deployment
  const known = (name: string) => groups.find((group) => group.name === name)
  const isFronted = groups.some((group) => loadBalancersOf(group).length > 0)
  const sharers = [...(hasFailed ? [] : fresh), ...old].filter((name) => !fates.has(name)).length
  return [...old.slice(1 - maxGroups), ...fresh].map((name) => {
    const isNew = fresh.includes(name)
    const fate = fates.get(name) ?? (isNew && hasFailed ? 'failed' : undefined)
    const serves = fate === undefined
    const found = known(name)
    const total = (isNew ? desired : undefined) ?? (found && countsOf(found).total) ?? 0
    const healthState = serves ? 'Up' : 'OutOfService'
    const instances = Array.from({ length: fate === 'removed' ? 0 : total }, (_, at) => ({ name: `${at}`, healthState }))
    const then: ServerGroup = {
      ...found,
      ...{ name, account, region, isDisabled: !serves, instances, instanceCounts: null },
      launchConfig: found?.launchConfig ?? (isNew ? { imageId: version } : null),
    }
    const health = found === undefined && !isNew ? undefined : healthWords(then)
    return {
      group: then,
      health,
      isNew,
      share: isFronted ? (serves ? 1 / sharers : 0) : undefined,
      fate,
      isGone: found === undefined,
    }
  })
}

/** The picture in one sentence, for the head of it and for readers. */
export function sentenceOf(pictures: readonly PictureGroup[]): string {
  const parts = pictures.map(({ group, health, share, fate }) => {
    const traffic =
      share === undefined
        ? undefined
        : share === 1
          ? 'takes all traffic'
          : share > 0
            ? `takes ${percent(share)} of the traffic`
            : 'takes no traffic'
    return `${versionIn(group.name)} ${[fate === undefined ? traffic : `is ${fate}`, health].filter(Boolean).join(', ')}`
  })
  return `${parts.toReversed().join('; ')}.`
}

export function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}
