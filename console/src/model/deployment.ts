/** A deployment as its run tells it: which server groups came and went, and when; and how traffic is shared now. */
import { imageOfStage } from '../../../src/environments/images.ts'
import { type JsonObject, numberOf, objectOf, objectsOf, scalarOf, textsOf } from '../../../src/json/values.ts'
import {
  type Execution,
  instanceStatus,
  isComplete,
  type Kind,
  type Stage,
  type Status,
  stageStatus,
  titleOf,
} from './execution.ts'
import {
  countsOf,
  type Instance,
  instanceId,
  instancesOf,
  isEnabled,
  loadBalancersOf,
  type ServerGroup,
  sharersOf,
  statusOfInstance,
  versionIn,
  versionOf,
} from './server-groups.ts'

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
  shareTraffic: ['serves as any other', 'getting its share'],
}

/** After these a server group serves no more. */
const fatal = new Set(['disabled', 'removed', 'scaled down'])

const creating = new Set(['createServerGroup', 'cloneServerGroup', 'deployManifest'])

/** What a run did to one cluster. */
export type Deployment = ReturnType<typeof deploymentsOf>[number]

/** @param root Only this stage and those inside it. */
export function deploymentsOf({ stages }: Execution, root?: Stage) {
  const byId = new Map(stages.map((stage) => [stage.id, stage]))
  const lineOf = (stage: Stage | undefined): readonly Stage[] =>
    stage === undefined ? [] : [stage, ...lineOf(byId.get(stage.parentStageId ?? ''))]
  // Baseline and canary go with their analysis.
  const analysisOf = (stage: Stage) => lineOf(stage).find(({ type }) => type === 'kayentaCanary')
  const isInside = (stage: Stage) =>
    !isComplete(analysisOf(stage)?.status) && (root === undefined || lineOf(stage).some(({ id }) => id === root.id))
  const moving = stages
    .filter(({ type, startTime }) => startTime && (creating.has(type) || type in deeds))
    .filter(isInside)
    .toSorted((a, b) => (a.startTime ?? 0) - (b.startTime ?? 0))
  const byPlace = Map.groupBy(moving, (stage) => Object.values(placeOf(stage)).join('\n'))
  return [...byPlace.values()]
    .map((some) => ({
      ...toDeployment(some as [Stage, ...Stage[]]),
      ahead: aheadOf(some, stages),
      isOver: some.every((stage) => isComplete(stage.status) && analysisOf(stage) === undefined),
    }))
    .filter(({ cluster }) => cluster !== '')
}

/** What a canary that gets more of the traffic step by step does now, and what is to come: that has no time yet. */
function aheadOf(some: readonly Stage[], all: readonly Stage[]): readonly Happening[] {
  const owners = new Set(some.map(({ parentStageId }) => parentStageId))
  const isAhead = ({ context, parentStageId, status }: Stage) =>
    context['canaryStep'] !== undefined && owners.has(parentStageId) && status !== 'SUCCEEDED'
  return all.filter(isAhead).map((stage) => ({ atMs: stage.startTime ?? 0, text: titleOf(stage), kind: stageStatus(stage).kind }))
}

function placeOf({ context }: Stage) {
  const text = (...keys: readonly string[]) => keys.map((key) => scalarOf(context[key])).find((found) => found !== undefined)
  const [namespace, manifests] = Object.entries(objectOf(context['outputs.manifestNamesByNamespace']))[0] ?? []
  const ofGroup = text('serverGroupName', 'asgName')?.replace(/-v\d{3,}$/, '')
  const detail = text('freeFormDetails')
  const ofParts = [text('application'), text('stack') ?? (detail && ''), detail].filter((part) => part !== undefined).join('-')
  return {
    account: text('account', 'credentials') ?? '',
    region: text('region') ?? textsOf(context['regions'])[0] ?? text('location') ?? namespace ?? '',
    cluster: text('cluster') ?? scalarOf(objectOf(context['moniker'])['cluster']) ?? textsOf(manifests)[0] ?? ofGroup ?? ofParts,
  }
}

/** @param stages In the order of their starts. */
function toDeployment(stages: readonly [Stage, ...Stage[]]) {
  const makers = stages.filter(({ type }) => creating.has(type))
  const fresh = new Set(stages.filter(({ type }) => creating.has(type) || type.startsWith('enable')).flatMap(namesOf))
  const sources = makers.flatMap(({ context }) => scalarOf(objectOf(context['source'])['serverGroupName']) ?? [])
  const stopped = makers
    .filter(hasStopped)
    .flatMap(stoppedBy)
    .filter((name) => !fresh.has(name))
  const others = new Set([...sources, ...stopped, ...stages.filter(({ type }) => type in deeds).flatMap(namesOf)])
  const settings = makers[0]?.context ?? {}
  const done = stages.filter(({ type, status }) => fatal.has(deeds[type]?.[0] ?? '') && status === 'SUCCEEDED')
  const resized = stages.findLast((stage) => isResize(stage) && namesOf(stage).some((name) => fresh.has(name)))
  return {
    ...placeOf(stages[0]),
    /** Server groups that it created or gave traffic to, and those that were there before. */
    fresh: [...fresh],
    old: [...others.difference(fresh)],
    /** What became of them, by name, such as "disabled". */
    fates: new Map([
      ...stopped.map((name) => [name, 'scaled down'] as const),
      ...done.flatMap((stage) => namesOf(stage).map((name) => [name, deedOf(stage, 0)] as const)),
    ]),
    startMs: stages[0].startTime ?? 0,
    /** Instances of the new server group at the end. */
    desired: numberOf(objectOf((resized?.context ?? settings)['capacity'])['desired']),
    version: imageOfStage(settings),
    /** Percentages of the traffic that it has given to server groups; null takes one away. */
    shares: new Map(
      stages
        .filter(({ type, status }) => (type === 'shareTraffic' || creating.has(type)) && status === 'SUCCEEDED')
        .flatMap((stage) => namesOf(stage).map((name) => [name, percentIn(stage)] as const)),
    ),
    hasFailed: stages.some(({ status }) => status === 'TERMINAL'),
    events: stages.flatMap(happeningsOf).toSorted((a, b) => a.atMs - b.atMs),
  }
}

/** What a creation stops before it creates anything. */
function stoppedBy({ context }: Stage): readonly string[] {
  return objectsOf(context['source.stopped']).flatMap(({ name }) => scalarOf(name) ?? [])
}

function hasStopped({ tasks }: Stage): boolean {
  return tasks.some(({ name, status }) => name === 'waitForNoInstances' && status === 'SUCCEEDED')
}

function percentIn({ context }: Stage): number | undefined {
  return numberOf(context['percent'] ?? context['trafficPercent'])
}

function namesOf({ type, context }: Stage): readonly string[] {
  if (creating.has(type)) return Object.values(objectOf(context['deploy.server.groups'])).flatMap(textsOf)
  const chosen = objectsOf(context['chosenServerGroups']).map(({ name }) => name)
  const own = scalarOf(context['serverGroupName']) ?? scalarOf(context['asgName']) ?? context['manifestName']
  return textsOf(chosen.length > 0 ? chosen : [own])
}

/** A strategy also pins sizes for the time of the deployment, which changes no number of instances. */
function isResize({ type, name }: Stage): boolean {
  return type === 'resizeServerGroup' && !/^(Unp|P)in\b/.test(name ?? '')
}

function deedOf({ type, context }: Stage, at: 0 | 1): string {
  const share = type === 'disableServerGroup' ? numberOf(context['desiredPercentage']) : undefined
  const size = type === 'resizeServerGroup' ? numberOf(objectOf(context['capacity'])['desired']) : undefined
  const percent = type === 'shareTraffic' ? numberOf(context['percent']) : undefined
  if (percent !== undefined) return at === 0 ? `takes ${percent} % of the traffic` : `getting ${percent} % of the traffic`
  const ofShare = share === undefined ? '' : ` for ${share} % of its instances`
  return (deeds[type]?.[at] ?? '') + (size === undefined ? ofShare : ` to ${size}`)
}

interface Happening {
  readonly atMs: number
  readonly text: string
  readonly kind: Kind
}

function happeningsOf(stage: Stage): readonly Happening[] {
  const names = namesOf(stage).map(versionIn).join(', ')
  const isPin = stage.type === 'resizeServerGroup' && !isResize(stage)
  const failure: Happening = { atMs: stage.endTime ?? 0, text: `${stage.name ?? stage.type} failed`, kind: 'failed' }
  const ofStage = isPin || names === '' ? [] : stepOf(stage, `${names} ${deedOf(stage, 0)}`, `${names} is ${deedOf(stage, 1)}`)
  return [...(creating.has(stage.type) ? creationOf(stage, names) : ofStage), ...(stage.status === 'TERMINAL' ? [failure] : [])]
}

/** A stage or task that has succeeded or still runs. */
function stepOf(
  { status, startTime, endTime }: Stage | Stage['tasks'][number],
  done: string,
  doing: string,
): readonly Happening[] {
  if (status === 'SUCCEEDED') return [{ atMs: endTime ?? 0, text: done, kind: 'succeeded' }]
  return startTime && !isComplete(status) ? [{ atMs: startTime, text: doing, kind: 'running' }] : []
}

/** A creation tells its steps: created, then up. */
function creationOf(stage: Stage, names: string): readonly Happening[] {
  const { type, context, tasks } = stage
  const stopped = stoppedBy(stage).map(versionIn).join(', ')
  const count = numberOf(objectOf(context['capacity'])['desired'])
  const up = count === undefined ? 'All up' : `${count} of ${count} up`
  const isFront = textsOf(context['loadBalancers']).length > 0
  // It begins empty and grows in steps of their own.
  const isRolling = scalarOf(context['strategy'])?.toLowerCase() === 'rollingredblack'
  const told: Readonly<Record<string, readonly [done: string, doing: string]>> = {
    [type]:
      type === 'deployManifest' ? ['Manifest applied', 'Applying the manifest'] : [`${names} created`, 'Creating a server group'],
    ...(stopped !== '' && { waitForNoInstances: [`${stopped} stopped`, `Stopping ${stopped}`] }),
    ...(!isRolling && { waitForUpInstances: [isFront ? `${up}, took traffic` : up, `Waiting until ${names} is up`] }),
    waitForManifestToStabilize: ['Stable', 'Waiting until it is stable'],
  }
  return tasks.flatMap((task) => {
    const texts = told[task.name]
    return texts === undefined ? [] : stepOf(task, ...texts)
  })
}

export type PictureGroup = ReturnType<typeof picturesThen>[number]

/** Of an instance; of those that are no more, the names are not known. */
type InstanceState = Status & { readonly id?: string }

function healthWords(states: readonly Status[]): string {
  const counts = Map.groupBy(states, ({ word }) => word)
  return [...counts].map(([word, { length }]) => `${length} ${word}`).join(', ') || 'no instance'
}

function isFronted(...groups: readonly ServerGroup[]): boolean {
  return groups.some((group) => loadBalancersOf(group).length > 0)
}

const maxGroups = 3

interface PictureParts {
  /** Names of the new ones; without any, the newest of several counts as new. */
  readonly fresh?: readonly string[]
  /** Of those that serve nothing, only these are shown, where given. */
  readonly old?: readonly string[]
  /** Among which those of other clusters may share the traffic. */
  readonly all?: readonly ServerGroup[] | undefined
}

/** As things are now: newest last. */
export function picturesOf(groups: readonly ServerGroup[], parts: PictureParts = {}): readonly PictureGroup[] {
  const { fresh = [], old, all = groups } = parts
  const sorted = groups
    .filter((group) => isEnabled(group) || fresh.includes(group.name) || (old?.includes(group.name) ?? true))
    .toSorted((a, b) => (a.createdTime ?? 0) - (b.createdTime ?? 0) || a.name.localeCompare(b.name))
  const newest = sorted.length > 1 ? sorted.at(-1) : undefined
  const isNew = (group: ServerGroup) => (fresh.length > 0 ? fresh.includes(group.name) : group === newest)
  // What neither serves nor is new is left out where two others have more to show.
  const quiet = sorted.filter((group) => !isNew(group) && (!isEnabled(group) || countsOf(group).total === 0))
  const dropped = new Set(quiet.slice(0, Math.max(0, sorted.length - 2)))
  const shown = sorted.filter((group) => !dropped.has(group)).slice(-maxGroups)
  return shown.map((group) => {
    const states = instancesOf(group).map((instance) => ({ ...statusOfInstance(instance), id: instanceId(instance) }))
    const share = isFronted(...shown) ? shareOf(group, sharersOf(group, all)) : undefined
    const fate = isEnabled(group) ? undefined : 'disabled'
    return {
      group,
      isNew: isNew(group),
      isGone: false,
      version: versionOf(group),
      states,
      health: healthWords(states),
      share,
      fate,
    }
  })
}

/** Its own share of the traffic; what the shares leave goes to the others, by their instances. */
export function shareOf(group: ServerGroup, groups: readonly ServerGroup[]): number {
  const own = percentOf(group)
  if (own !== undefined) return isEnabled(group) ? own / 100 : 0
  const fixed = groups.reduce((sum, other) => sum + (isEnabled(other) ? (percentOf(other) ?? 0) / 100 : 0), 0)
  const others = groups.reduce((sum, other) => sum + (percentOf(other) === undefined ? inServiceOf(other) : 0), 0)
  return ((1 - fixed) * inServiceOf(group)) / Math.max(1, others)
}

/** What a load balancer reports of those that it sends requests to, as lists of server groups have it. */
export function sharersIn(balancer: JsonObject | undefined): readonly ServerGroup[] {
  const { name, account, region } = objectOf(balancer)
  return objectsOf(balancer?.['serverGroups']).map((group) => {
    const instances = objectsOf(group['instances']).map(({ name: instance, health }) => {
      return { name: String(instance), healthState: objectOf(health)['state'] === 'InService' ? 'Up' : 'OutOfService' }
    })
    return { account, region, ...group, loadBalancers: [name], instances } as ServerGroup
  })
}

const percentOf = (group: ServerGroup) => numberOf(group['trafficPercent'])

/** Instances that get requests of a load balancer. */
function inServiceOf(group: ServerGroup): number {
  if (!isEnabled(group) || !isFronted(group)) return 0
  const instances = instancesOf(group)
  return instances.length === 0 ? countsOf(group).up : instances.filter(isInService).length
}

function isInService({ health, healthState }: Instance): boolean {
  const records = objectsOf(health).flatMap(({ loadBalancers }) => objectsOf(loadBalancers))
  return records.length === 0 ? healthState === 'Up' : records.some(({ state }) => state === 'InService')
}

/** As it was when the run ended, whatever has happened since. @param others That share its load balancers now */
export function picturesThen(deployment: Deployment, groups: readonly ServerGroup[], others: readonly ServerGroup[] = []) {
  const { fresh, old, fates, shares, desired, version, account, region, hasFailed } = deployment
  const foundOf = (name: string): ServerGroup | undefined => groups.find((group) => group.name === name)
  const fateOf = (name: string) => fates.get(name) ?? (hasFailed && fresh.includes(name) ? 'failed' : undefined)
  const totalOf = (name: string, found = foundOf(name)) =>
    (fresh.includes(name) ? desired : undefined) ?? (found && countsOf(found).total)
  const serving = [...fresh, ...old].filter((name) => fateOf(name) === undefined)
  const rest = serving.filter((name) => shares.get(name) === undefined)
  const free = 1 - serving.reduce((sum, name) => sum + (shares.get(name) ?? 0), 0) / 100
  /** Undefined where the run does not say it: others had a part of it, or how many instances shared it is not known. */
  const shareThen = (name: string) => {
    const own = shares.get(name)
    if (own !== undefined) return own / 100
    if (others.some((other) => inServiceOf(other) > 0)) return undefined
    const all = rest.reduce((sum, each) => sum + (totalOf(each) ?? Number.NaN), 0)
    const share = rest.length === 1 ? free : (free * (totalOf(name) ?? 0)) / all
    return Number.isNaN(share) ? undefined : share
  }
  return [...old.slice(1 - maxGroups), ...fresh].map((name) => {
    const isNew = fresh.includes(name)
    const found = foundOf(name)
    const fate = fateOf(name)
    const total = totalOf(name) ?? 0
    const state = instanceStatus(fate === undefined ? 'Up' : 'OutOfService')
    const states = Array<InstanceState>(fate === 'removed' ? 0 : total).fill(state)
    return {
      group: found ?? { name, account, region },
      isNew,
      /** The run tells of it, and it is gone. */
      isGone: found === undefined,
      version: (found && versionOf(found)) ?? (isNew ? version : undefined),
      /** Of its instances. */
      states,
      /** "2 up, 1 starting"; undefined where it is not known. */
      health: found === undefined && !isNew ? undefined : healthWords(states),
      /** From 0 to 1; undefined where no load balancer stands in front of any of them. */
      share: isFronted(...groups) ? (fate === undefined ? shareThen(name) : 0) : undefined,
      /** Such as "disabled"; undefined where it serves. */
      fate,
    }
  })
}

/** The picture in one sentence, for the head of it and for readers. */
export function sentenceOf(pictures: readonly PictureGroup[]): string {
  const parts = pictures.map(({ group, health, share, fate }) => {
    const part = share === 1 ? 'all traffic' : share === 0 ? 'no traffic' : `${percent(share ?? 0)} of the traffic`
    const traffic = share === undefined ? undefined : `takes ${part}`
    return `${versionIn(group.name)} ${[fate === undefined ? traffic : `is ${fate}`, health].filter(Boolean).join(', ')}`
  })
  return `${parts.toReversed().join('; ')}.`
}

export function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}
