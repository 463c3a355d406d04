/** Reasons why an object does not become stable, a sentence each: from its pods, their owners and events. */
import { formatCause, type Cause as OutputCause } from '@fairlead/base/causes/cause.ts'
import { CauseReader } from '@fairlead/base/causes/reader.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { type KubeEvent, toEvent } from '../objects/event.ts'
import {
  type ContainerCause,
  type ContainerStatus,
  type Pod,
  type PodStatus,
  toPod,
} from '../objects/pod.ts'
import { toWorkload, type Workload } from '../objects/workload.ts'
import { conditionIn, type KubeObject } from '../objects.ts'

export interface WaitReason {
  readonly text: string
  /** The line of its output that says why. */
  readonly cause?: OutputCause
  /** Waiting does not help. */
  readonly isHopeless: boolean
}

interface ReasonSources {
  /** What is waited for, and what it owns besides pods, such as replica sets. */
  readonly objects: readonly KubeObject[]
  readonly pods: readonly KubeObject[]
  readonly events: readonly JsonObject[]
  /** Newest output of crashed containers, by `<pod>/<container>`. */
  readonly logs?: ReadonlyMap<string, string>
}

/** Causes that pods share are reported once. Those that waiting cannot end come first. */
export function reasonsOf({
  objects,
  pods,
  events,
  logs = new Map(),
}: ReasonSources): WaitReason[] {
  const read = events.map(toEvent).sort((one, other) => other.time.localeCompare(one.time))
  const eventsOf = (object: KubeObject) => read.filter((event) => isAbout(event, object))
  const living = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  const ofPods = living.flatMap((pod) => {
    const { name } = pod.metadata
    const causes = podCauses(name, toPod(pod), { events: eventsOf(pod), logs })
    return causes.map((cause) => ({ ...cause, pod: name }))
  })
  const reasons = [
    ...objects.flatMap((object) => objectReasons(object, eventsOf(object))),
    ...together(ofPods),
  ]
  return reasons.sort((one, other) => Number(other.isHopeless) - Number(one.isHopeless))
}

interface CrashedContainer {
  readonly pod: string
  readonly container: string
  /** Whether its output is that of the run before. */
  readonly isPrevious: boolean
}

/** Containers whose output says why they ended. */
export function crashedContainers(pods: readonly KubeObject[]): CrashedContainer[] {
  return pods.flatMap((pod) =>
    containersOf(toPod(pod).status)
      .filter((container) => crashOf(container) !== undefined)
      .map(({ name, state }) => ({
        pod: pod.metadata.name,
        container: name,
        isPrevious: state.terminated === undefined,
      })),
  )
}

interface Cause extends WaitReason {
  /** The same for pods that have the same cause. */
  readonly key: string
}

function together(causes: readonly (Cause & { readonly pod: string })[]): WaitReason[] {
  const byKey = Map.groupBy(causes, ({ key }) => key)
  return [...byKey.values()].flatMap((same) => {
    const [first] = same
    if (first === undefined) return []
    const { text, isHopeless, pod, cause: found } = first
    const where =
      same.length === 1
        ? `pod ${pod}`
        : `${new Set(same.map((each) => each.pod)).size} pods, such as ${pod}`
    return [{ text: text.replace('{pods}', where), isHopeless, ...(found && { cause: found }) }]
  })
}

function cause(
  text: string,
  { key = text, isHopeless = false }: { key?: string; isHopeless?: boolean } = {},
): Cause {
  return { text, key, isHopeless }
}

/** An object of the same name that existed before has events, too. */
export function isAbout(
  { involvedObject: about }: KubeEvent,
  { kind, metadata }: KubeObject,
): boolean {
  if (about.kind.toLowerCase() !== kind.toLowerCase()) return false
  return about.uid === undefined || metadata.uid === undefined
    ? about.name === metadata.name
    : about.uid === metadata.uid
}

function messageOf(
  events: readonly KubeEvent[],
  reason: string,
  pattern = /./s,
): string | undefined {
  return events.find(
    (event) =>
      event.reason === reason && event.message !== undefined && pattern.test(event.message),
  )?.message
}

function objectReasons(object: KubeObject, events: readonly KubeEvent[]): WaitReason[] {
  const workload = toWorkload(object)
  const { conditions } = workload.status
  const name = `${object.kind} ${object.metadata.name}`
  const reasons: WaitReason[] = []
  const progressing = conditionIn(conditions, 'Progressing')
  if (progressing?.reason === 'ProgressDeadlineExceeded') {
    reasons.push({ text: `${name} exceeded its progress deadline.`, isHopeless: true })
  }
  const failed = object.kind === 'Job' ? conditionIn(conditions, 'Failed') : undefined
  if (failed?.status === 'True') {
    const detail = failed.message ?? failed.reason
    reasons.push({
      text: `${name} failed${detail === undefined ? '' : `: ${ended(detail)}`}`,
      isHopeless: true,
    })
  }
  const failure = conditionIn(conditions, 'ReplicaFailure')
  const failureText = failure?.status === 'True' ? failure.message : undefined
  const refusal = failureText ?? (isShort(workload) ? messageOf(events, 'FailedCreate') : undefined)
  if (refusal !== undefined && object.kind !== 'Deployment') {
    const isQuota = /exceeded quota/.test(refusal)
    reasons.push({
      text: `${name} cannot create pods${isQuota ? ' because of a quota' : ''}: ${ended(refusal)}`,
      isHopeless: false,
    })
  }
  return reasons
}

/** Whether pods are missing, so that an old event still counts. */
function isShort({ spec, status }: Workload): boolean {
  const there = status.replicas + status.currentNumberScheduled + status.active + status.succeeded
  return there < (spec.replicas ?? status.desiredNumberScheduled ?? 1)
}

interface PodSources {
  readonly events: readonly KubeEvent[]
  readonly logs: ReadonlyMap<string, string>
}

function podCauses(name: string, { spec, status }: Pod, { events, logs }: PodSources): Cause[] {
  const { phase, reason, message } = status
  const scheduled = conditionIn(status.conditions, 'PodScheduled')
  if (scheduled?.status === 'False' && spec.nodeName === undefined) {
    const why = scheduled.message ?? messageOf(events, 'FailedScheduling') ?? 'no node fits.'
    return [cause(`No node can run {pods}: ${ended(why)}`)]
  }
  const specified = [...spec.initContainers, ...spec.containers]
  const found = containersOf(status).flatMap((container) => {
    const image = specified.find((each) => each.name === container.name)?.image
    // The image of the status may be an id.
    const named = { ...container, image: image ?? container.image }
    return containerCauses(named, events, logs.get(`${name}/${container.name}`))
  })
  if (found.length > 0) return found
  const volume =
    phase === 'Pending'
      ? (messageOf(events, 'FailedMount') ?? messageOf(events, 'FailedAttachVolume'))
      : undefined
  if (volume !== undefined) return [cause(`A volume of {pods} cannot be mounted: ${ended(volume)}`)]
  if (phase !== 'Failed') return []
  const why = [reason, message].filter((text) => text !== undefined)
  return [
    cause(`The phase of {pods} is Failed${why.length === 0 ? '.' : `: ${ended(why.join(', '))}`}`),
  ]
}

interface Container extends ContainerStatus {
  readonly isInit: boolean
}

function containersOf({ initContainerStatuses, containerStatuses }: PodStatus): Container[] {
  return [
    ...initContainerStatuses.map((status) => ({ ...status, isInit: true })),
    ...containerStatuses.map((status) => ({ ...status, isInit: false })),
  ]
}

const pullReasons =
  /^(?:ErrImagePull|ImagePullBackOff|RegistryUnavailable|ImageInspectError|InvalidImageName|ErrImageNeverPull)$/
const hopelessPulls = /^(?:InvalidImageName|ErrImageNeverPull)$/

function containerCauses(
  container: Container,
  events: readonly KubeEvent[],
  log: string | undefined,
): Cause[] {
  const { name, image, state, ready } = container
  const { reason = '', message } = state.waiting ?? {}
  if (pullReasons.test(reason)) {
    const told = messageOf(events, 'Failed', /pull|image/i) ?? message ?? reason
    const text = `The image ${image} of the container ${name} cannot be pulled in {pods}: ${ended(told)}`
    return [cause(text, { key: `pull ${image} ${name}`, isHopeless: hopelessPulls.test(reason) })]
  }
  if (/^CreateContainer(?:Config)?Error$|^RunContainerError$/.test(reason)) {
    const isMissing =
      reason === 'CreateContainerConfigError' &&
      /not found|couldn't find key|non-existent/i.test(message ?? '')
    const text = `The container ${name} cannot be created in {pods}: ${ended(message ?? reason)}`
    return [cause(text, { isHopeless: isMissing })]
  }
  const crash = crashOf(container)
  if (crash !== undefined) return [crashCause(container, crash, log)]
  if (!state.running || ready || container.isInit) return []
  const probe = messageOf(events, 'Unhealthy')
  return [
    probe === undefined
      ? cause(`The container ${name} runs and is not ready in {pods}.`)
      : cause(`A probe of the container ${name} fails in {pods}: ${ended(probe)}`, {
          key: `probe ${name}`,
        }),
  ]
}

/** How it ended, if that was no success and it does not run. */
function crashOf({ state, lastState, ready }: ContainerStatus): ContainerCause | undefined {
  const terminated = state.terminated ?? lastState.terminated
  return terminated?.exitCode === 0 || (state.running && ready) ? undefined : terminated
}

const shownLines = 5
const shownCharacters = 600

function crashCause(
  { name, restartCount: restarts }: Container,
  crash: ContainerCause,
  log: string | undefined,
): Cause {
  const how =
    crash.reason === 'OOMKilled'
      ? 'was killed because it exceeded its memory limit (OOMKilled)'
      : `ended with exit code ${crash.exitCode ?? 'unknown'}${crash.signal ? ` (signal ${crash.signal})` : ''}`
  const output = log ?? crash.message ?? ''
  const reader = new CauseReader({ tool: 'pod' })
  reader.feed(output)
  const found = reader.end({
    exitCode: crash.exitCode,
    isOutOfMemory: crash.reason === 'OOMKilled',
  })
  const lines = output.trimEnd().split('\n').slice(-shownLines).join('\n').slice(-shownCharacters)
  const again =
    restarts === 0 ? '' : restarts === 1 ? ' after 1 restart' : ` after ${restarts} restarts`
  const why =
    found === undefined || found.stream === 'system'
      ? lines && ` Its last output: ${lines}`
      : ` Its output says why: ${formatCause(found)}`
  const text = `The container ${name} ${how} in {pods}${again}.${why}`
  return { ...cause(text, { key: `crash ${name} ${how}` }), ...(found && { cause: found }) }
}

function ended(text: string): string {
  const trimmed = text.trim()
  return /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`
}
