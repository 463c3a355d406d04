import { type Cause, formatCause } from '@fairlead/base/causes/cause.ts'
import { maybe, shape } from '@fairlead/base/json/shape.ts'
import { isTrue, type JsonObject, numberOf, objectOf } from '@fairlead/base/json/values.ts'
import type { CloudInstance, CloudServerGroup } from '@fairlead/ports/cloud-values.ts'
import { StageError } from '../../machine/failure.ts'
import { passedMs, pausedMs } from '../../machine/timeout.ts'
import { type Stage, waitingKey } from '../../model.ts'
import type { CallStep, Step, TaskContext, TaskResult } from '../stage-type.ts'
import { type ServerGroupTarget, targetOf } from './cloud-context.ts'
import { hourMs, minuteMs, pauseFor } from './cloud-task.ts'
import { mayBeMissingNote } from './notes.ts'
import {
  findServerGroupPlace,
  groupsIn,
  healthTypesOf,
  isDown,
  isInstanceUp,
  isWhole,
  isWithoutTraffic,
  readShares,
  servesAsGroup,
  wantedInstances,
} from './server-groups.ts'

/** How long a new server group may be invisible. */
const invisibleMs = 10 * minuteMs

/** Server groups that a stage waits for: its target, or those that it has created. */
export type TargetsOf = (context: TaskContext) => readonly ServerGroupTarget[]

export const itsTarget: TargetsOf = (context) => [targetOf(context)]

/** Waits until as many instances as wanted are up. @param settingsOf What says how many are wanted */
export function waitUpStep(targets: TargetsOf, settingsOf: (stage: Stage) => JsonObject): CallStep {
  return waitStep('waitForUpInstances', 2 * hourMs, (context) =>
    lookUp(context, targets, settingsOf),
  )
}

async function lookUp(
  context: TaskContext,
  targets: TargetsOf,
  settingsOf: (stage: Stage) => JsonObject,
): Promise<Lack | undefined> {
  const types = healthTypesOf(context.stage.context)
  if (types?.length === 0) return undefined
  for (const target of targets(context)) {
    const group = await context.infrastructure.serverGroup(target)
    if (group === undefined) return { missing: notVisible(context, target) }
    const lack = await lackOfUp(
      context,
      group,
      wantedInstances(settingsOf(context.stage), group),
      types,
    )
    if (lack !== undefined) return lack
  }
  return undefined
}

/** @throws {StageError} once it should be visible */
function notVisible({ execution, stage, now }: TaskContext, target: ServerGroupTarget): string {
  if (passedMs(execution, stage.startTime ?? now, now) <= invisibleMs)
    return `${target.name} is not visible yet`
  throw absentError(target)
}

function absentError({ name, region }: ServerGroupTarget): StageError {
  return new StageError([`The server group ${name} does not exist in ${region}.`])
}

/** Waits until the instances of the stage's target, which it has enabled, are up. */
export function waitEnabledStep(): Step {
  return waitStep('waitForUpInstances', 2 * hourMs, async (context) => {
    const lack = await lookUp(context, itsTarget, ({ context: settings }) => settings)
    return lack === undefined || !isWhole(context.stage.context)
      ? lack
      : followTraffic(context, lack, false)
  })
}

/** Waits until the instances of the stage's target take no traffic any more. */
export function waitDownStep(): Step {
  return waitStep('waitForDownInstances', 2 * hourMs, async (context) => {
    const settings = context.stage.context
    const types = healthTypesOf(settings)
    if (types?.length === 0) return undefined
    const target = targetOf(context)
    const group = await context.infrastructure.serverGroup(target)
    // Whether it takes traffic is for the next step to see.
    if (group === undefined || servesAsGroup(group)) return undefined
    const { instanceIdsToDisable: named } = readShares(settings)
    const concerned =
      named.length === 0 ? group.instances : group.instances.filter(({ id }) => named.includes(id))
    const up = concerned.filter((instance) => !isDown(instance, types)).length
    const share =
      named.length > 0 ? 100 : Math.min(readShares(settings).desiredPercentage ?? 100, 100)
    if (concerned.length - up >= Math.ceil((concerned.length * share) / 100)) return undefined
    const lack = { missing: `${up} instances of ${target.name} still take traffic`, group }
    return isWhole(settings) ? followTraffic(context, lack, true) : lack
  })
}

/** Waits until the service shows the target as disabled; nothing to wait for while only a part of it is. */
export function waitDisabledStep(): Step {
  return waitStep('waitForDisabledServerGroup', hourMs / 2, async (context) => {
    if (!isWhole(context.stage.context)) return undefined
    const group = await context.infrastructure.serverGroup(targetOf(context))
    if (group === undefined || group.isDisabled || isWithoutTraffic(group)) return undefined
    return followTraffic(context, { missing: `${group.name} still counts as enabled`, group }, true)
  })
}

/** Waits until the target has exactly the instances that it should, and, while it is enabled, until they are up. */
export function waitCapacityStep(): Step {
  return waitStep('waitForCapacityMatch', 2 * hourMs, async (context) => {
    const settings = context.stage.context
    const target = targetOf(context)
    const group = await context.infrastructure.serverGroup(target)
    if (group === undefined && mayBeMissingNote.in(settings)) return undefined
    if (group === undefined) throw absentError(target)
    const total = group.instances.length
    const { desired } = group.capacity
    const wanted = wantedInstances(settings, group)
    const isLacking =
      readShares(settings).targetHealthyDeployPercentage === undefined
        ? total !== desired
        : total < wanted
    if (isLacking) return `${group.name} has ${total} instances, ${desired} are wanted`
    const types = healthTypesOf(settings)
    return group.isDisabled || types?.length === 0
      ? undefined
      : lackOfUp(context, group, wanted, types)
  })
}

function isDraining({ drainsUntilMs }: CloudInstance): boolean {
  return drainsUntilMs !== undefined
}

/**
 * Waits until server groups are gone from their clusters.
 *
 * @param mayDrain Whether it is enough that open connections alone keep their instances
 */
export function waitGoneStep(targets: TargetsOf = itsTarget, mayDrain = false): Step {
  return waitForEach('waitForDestroyedServerGroup', targets, async (context, target) => {
    const place = await findServerGroupPlace(context, target)
    const groups = place === undefined ? [] : await groupsIn(context, place, target.region)
    const found = groups.find(({ name }) => name === target.name)
    const isOver = mayDrain && found?.instances.every(isDraining) && found.instances.length > 0
    return found !== undefined && !isOver ? `${target.name} still exists` : undefined
  })
}

/** Waits until the server groups have no instance left. @param mayDrain As of `waitGoneStep` */
export function waitEmptyStep(targets: TargetsOf, mayDrain = false): Step {
  return waitForEach('waitForNoInstances', targets, async ({ infrastructure }, target) => {
    const { instances } = (await infrastructure.serverGroup(target)) ?? { instances: [] }
    const left = instances.filter((instance) => !mayDrain || !isDraining(instance)).length
    return left > 0 ? `${target.name} still has ${left} instances` : undefined
  })
}

/** Waits until no instance of the server groups takes traffic; disabling lasts at least as long as connections may drain. */
export function waitAllDownStep(
  targets: TargetsOf,
  drainMs: (context: TaskContext) => number,
): Step {
  const look: LookAt = async ({ stage, infrastructure }, target) => {
    const types = healthTypesOf(stage.context)
    const group = await infrastructure.serverGroup(target)
    const up = group === undefined || types?.length === 0 ? 0 : servingIn(group, types)
    return up > 0 ? `${up} instances of ${target.name} still take traffic` : undefined
  }
  return waitForEach('waitForClusterDisable', targets, look, (context) => {
    const { execution, stage, now } = context
    const remainingMs = drainMs(context) - passedMs(execution, stage.startTime ?? now, now)
    return targets(context).length > 0 && remainingMs > 0
      ? `connections drain for ${Math.ceil(remainingMs / 1000)} s more`
      : undefined
  })
}

type LookAt = (context: TaskContext, target: ServerGroupTarget) => Promise<string | undefined>

/** @param finish What is missing once nothing is missing of any of them */
function waitForEach(
  name: string,
  targets: TargetsOf,
  look: LookAt,
  finish: (context: TaskContext) => string | undefined = () => undefined,
): Step {
  return waitStep(name, hourMs / 2, async (context) => {
    for (const target of targets(context)) {
      const missing = await look(context, target)
      if (missing !== undefined) return missing
    }
    return finish(context)
  })
}

/** How many instances take traffic. */
function servingIn(group: CloudServerGroup, types: readonly string[] | undefined): number {
  if (servesAsGroup(group))
    return group.isDisabled || isWithoutTraffic(group) ? 0 : group.instances.length
  return group.instances.filter((instance) => !isDown(instance, types)).length
}

/** @throws {StageError} when the instances will not come up: the limits of their starts are reached */
async function lackOfUp(
  context: TaskContext,
  group: CloudServerGroup,
  wanted: number,
  types: readonly string[] | undefined,
): Promise<Lack | undefined> {
  const { instances, name } = group
  const down = instances.filter((instance) => !isInstanceUp(instance, types))
  const up = instances.length - down.length
  if (up >= wanted) return undefined
  const missing = `${up} of ${wanted} instances of ${name} are up`
  return {
    ...(await followStarts(context, group, {
      down,
      dispensable: instances.length - wanted,
      missing,
    })),
    group,
  }
}

interface Lack {
  readonly missing: string
  readonly group?: CloudServerGroup
  /** What the step notes in the context of the stage. */
  readonly notes?: JsonObject
}

/** Results of earlier looks; those of another run of the stage do not count. */
const readLooks = shape({
  traffic: [shape({ run: numberOf, wasReached: isTrue, reversedMs: numberOf }), 'waiting.traffic'],
  starts: [shape({ run: numberOf, sinceMs: numberOf, failed: maybe(objectOf) }), 'waiting.starts'],
})

function looksOf({ context, startTime = 0 }: Stage): Partial<ReturnType<typeof readLooks>> {
  return Object.fromEntries(
    Object.entries(readLooks(context)).filter(([, { run }]) => run === startTime),
  )
}

/** A service may show what was before the operation for so long. */
const staleMs = 5 * minuteMs
/** One that has shown the effect of the operation shows another state because of another operation. */
const reversedMs = 10_000

/**
 * The wait would last to its end once another stage, task or user has turned the traffic of the server group the other way.
 *
 * @throws {StageError}
 */
function followTraffic(
  { execution, stage, now }: TaskContext,
  lack: Lack,
  isDisabling: boolean,
): Lack {
  const { group, notes } = lack
  if (group === undefined) return lack
  const { traffic: before } = looksOf(stage)
  const isReversed = group.isDisabled !== isDisabling
  const wasReached = before?.wasReached === true || !isReversed
  const sinceMs = isReversed ? (before?.reversedMs ?? now) : undefined
  if (
    sinceMs !== undefined &&
    passedMs(execution, sinceMs, now) >= (wasReached ? reversedMs : staleMs)
  ) {
    const [wanted, other] = isDisabling ? ['disabled', 'enabled'] : ['enabled', 'disabled']
    throw new StageError([
      `${group.name} was ${wanted} and is ${other} now: another stage, task or user has ${other} it meanwhile. Run this again if it should be ${wanted}.`,
    ])
  }
  const traffic = { run: stage.startTime ?? 0, wasReached, reversedMs: sinceMs }
  return { ...lack, notes: { ...notes, 'waiting.traffic': traffic } }
}

const maxReason = 300

interface StartingInstances {
  readonly down: readonly CloudInstance[]
  /** So many instances need not come up. */
  readonly dispensable: number
  readonly missing: string
}

/**
 * Instances have a time to come up, and a number of starts that may fail; services that report no such limits set none.
 *
 * @throws {StageError}
 */
export async function followStarts(
  context: TaskContext,
  group: CloudServerGroup | undefined,
  { down, dispensable, missing }: StartingInstances,
): Promise<Lack> {
  const { stage, execution, now } = context
  const { seconds, failures } = group?.startLimits ?? {}
  const isNew = (group?.createdTime ?? 0) >= (stage.startTime ?? now)
  const { starts: known } = looksOf(stage)
  const sinceMs = known?.sinceMs ?? now
  // What failed before this stage does not count.
  const failed =
    known?.failed ??
    (isNew ? {} : Object.fromEntries(down.map((each) => [each.id, failedStarts(each)])))
  const faults = down.flatMap((instance) =>
    startFault(instance, numberOf(failed[instance.id]) ?? 0, failures).map((fault) => ({
      fault,
      instance,
    })),
  )
  const [first] = faults
  if (first !== undefined && faults.length > dispensable) {
    const { text, cause } = await whyDown(context, group, first.instance)
    throw new StageError([`${missing}; ${first.fault}${text}`], { cause })
  }
  const reason = down.flatMap(reasonsOf).at(0)
  const told = reason === undefined ? missing : `${missing}; ${reason}`
  const waitedMs = passedMs(execution, sinceMs, now) - pausedMs(execution, sinceMs, now)
  if (seconds !== undefined && waitedMs >= seconds * 1000) {
    const { text, cause } = await whyDown(context, group, down[0])
    const limit = 'This is the limit of "start" of "health" in an app file, else of "startLimits".'
    throw new StageError(
      [`${told.replace(/\.$/, '')}. They were not up within ${seconds} s. ${limit}${text}`],
      { cause },
    )
  }
  return {
    missing: told,
    notes: { 'waiting.starts': { run: stage.startTime ?? 0, sinceMs, failed } },
  }
}

const lastLines = 8
const maxOutput = 1000

interface DownReason {
  /** Starts with a line break; empty where there is none. */
  readonly text: string
  readonly cause?: Cause
}

/** The line of its output that says why, else what the program of an instance wrote last. */
async function whyDown(
  { infrastructure }: TaskContext,
  group: CloudServerGroup | undefined,
  instance: CloudInstance | undefined,
): Promise<DownReason> {
  if (group === undefined || instance === undefined) return { text: '' }
  const { account, region, provider } = group
  const { id } = instance
  const cause = await infrastructure.cause({ account, region, id }).catch(() => undefined)
  if (cause !== undefined && cause.stream !== 'system')
    return { text: `\nThe output of ${id} says why: ${formatCause(cause)}`, cause }
  // Whatever keeps the output away must not take the place of the failure itself.
  const parts = await infrastructure
    .output({ provider, account, region, id, lastLines })
    .catch(() => [])
  const text = (parts.length === 1 ? String(parts[0]) : '').trim()
  return { text: text && `\nThe last output of ${id}:\n${text.slice(-maxOutput)}`, cause }
}

/** Why the instance will not start; nothing while it still may. */
function startFault(
  instance: CloudInstance,
  before: number,
  limit = Number.POSITIVE_INFINITY,
): string[] {
  const { id, health } = instance
  const [reason = id] = reasonsOf(instance)
  if (health.some(({ canStart }) => !canStart)) return [reason]
  const failed = failedStarts(instance)
  // Fewer than before: it ran well in between.
  const counted = failed < before ? failed : failed - before
  const isDownNow = health.some(
    (record) => record.failedStarts !== undefined && record.state === 'Down',
  )
  return isDownNow && counted >= limit
    ? [`${reason} It failed to start ${counted} times in a row.`]
    : []
}

function failedStarts({ health }: CloudInstance): number {
  return Math.max(0, ...health.map((record) => record.failedStarts ?? 0))
}

function reasonsOf({ id, health }: CloudInstance): string[] {
  const reason = health.map(({ description }) => description).find(Boolean)
  return reason === undefined ? [] : [`${id}: ${reason.slice(0, maxReason)}`]
}

const noNotes = {
  [waitingKey]: undefined,
  'waiting.traffic': undefined,
  'waiting.starts': undefined,
}

/** Waits while something is missing. @param look What that is; undefined once the wait is over. */
export function waitStep(
  name: string,
  timeoutMs: number,
  look: (context: TaskContext) => Promise<Lack | string | undefined>,
): CallStep {
  return {
    name,
    timeoutMs,
    execute: async (context): Promise<TaskResult> => {
      const lack = await look(context)
      if (lack === undefined) return { status: 'SUCCEEDED', context: noNotes }
      const { missing, notes } = typeof lack === 'string' ? { missing: lack } : lack
      return {
        status: 'RUNNING',
        context: { [waitingKey]: missing, ...notes },
        pollMs: pauseFor(context),
      }
    },
  }
}
