/** Statuses that a kubelet would report for a pod, one after the other. */
import { fieldAt, objectsOf } from '../../packages/base/json/values.ts'
import { type Behaviour, type BehaviourRule, behaviourOf } from './kubernetes-behaviours.ts'
import type { KubernetesObject } from './kubernetes-client.ts'

/** A time in the life of a pod. */
export interface PodStage {
  /** Since the stage before. */
  readonly afterMs: number
  readonly containers: readonly ContainerStage[]
}

export interface ContainerStage {
  readonly name: string
  readonly image: string
  readonly state: ContainerState
}

type ContainerState =
  | { readonly kind: 'creating' | 'no-image' | 'ready' | 'unready' }
  | { readonly kind: 'crashed' | 'ended'; readonly exitCode: number }

interface Timeline {
  readonly name: string
  readonly image: string
  readonly first: ContainerState
  /** The state after some time. */
  readonly later?: { readonly afterMs: number; readonly state: ContainerState }
}

export interface PodAddresses {
  readonly hostIP: string
  readonly podIP: string
  /** RFC 3339. */
  readonly startTime: string
}

const runsMs = 100
const crashes = 3

export function stagesOf(pod: KubernetesObject, rules: readonly BehaviourRule[]): PodStage[] {
  const timelines = objectsOf(fieldAt(pod, 'spec', 'containers')).map((container) => {
    const image = String(container['image'])
    return {
      name: String(container['name']),
      image,
      ...toStates(behaviourOf(pod, image, rules), restartPolicyOf(pod)),
    }
  })
  const times = new Set([0, ...timelines.flatMap(({ later }) => later?.afterMs ?? [])])
  const ordered = [...times].sort((a, b) => a - b)
  return ordered.map((time, index) => ({
    afterMs: time - (ordered[index - 1] ?? 0),
    containers: timelines.map((timeline) => at(timeline, time)),
  }))
}

function at({ name, image, first, later }: Timeline, ms: number): ContainerStage {
  return { name, image, state: later !== undefined && later.afterMs <= ms ? later.state : first }
}

function toStates(behaviour: Behaviour, restartPolicy: string): Pick<Timeline, 'first' | 'later'> {
  switch (behaviour.kind) {
    case 'run':
      if (behaviour.afterMs === undefined) return { first: { kind: 'ready' } }
      return {
        first: { kind: 'creating' },
        later: { afterMs: behaviour.afterMs, state: { kind: 'ready' } },
      }
    case 'exit': {
      const { exitCode, afterMs = runsMs } = behaviour
      const isRestarted =
        restartPolicy === 'Always' || (restartPolicy === 'OnFailure' && exitCode !== 0)
      return {
        first: { kind: 'ready' },
        later: { afterMs, state: { kind: isRestarted ? 'crashed' : 'ended', exitCode } },
      }
    }
    case 'crash':
      return { first: { kind: 'crashed', exitCode: behaviour.exitCode } }
    case 'no-image':
    case 'unready':
      return { first: { kind: behaviour.kind } }
    case 'unschedulable':
      return { first: { kind: 'creating' } }
  }
}

function restartPolicyOf(pod: KubernetesObject): string {
  return String(pod.spec['restartPolicy'] ?? 'Always')
}

/** A strategic merge patch of the status. */
export function toStatus(
  pod: KubernetesObject,
  { containers }: PodStage,
  addresses: PodAddresses,
): object {
  const { hostIP, podIP, startTime } = addresses
  return {
    phase: phaseOf(containers),
    conditions: conditionsOf(pod, containers),
    hostIP,
    hostIPs: [{ ip: hostIP }],
    podIP,
    podIPs: [{ ip: podIP }],
    startTime,
    initContainerStatuses: objectsOf(pod.spec['initContainers']).map((container) =>
      toInitStatus(container, startTime),
    ),
    containerStatuses: containers.map((container) => toContainerStatus(container, startTime)),
  }
}

function phaseOf(containers: readonly ContainerStage[]): string {
  const kinds = containers.map(({ state }) => state.kind)
  if (kinds.some((kind) => kind === 'creating' || kind === 'no-image')) return 'Pending'
  if (kinds.some((kind) => kind !== 'ended')) return 'Running'
  const hasFailed = containers.some(({ state }) => 'exitCode' in state && state.exitCode !== 0)
  return hasFailed ? 'Failed' : 'Succeeded'
}

function conditionsOf(pod: KubernetesObject, containers: readonly ContainerStage[]): object[] {
  const unready = containers.filter(({ state }) => state.kind !== 'ready').map(({ name }) => name)
  const phase = phaseOf(containers)
  const isOver = phase === 'Succeeded' || phase === 'Failed'
  const reason = isOver ? (phase === 'Failed' ? 'PodFailed' : 'PodCompleted') : 'ContainersNotReady'
  const why =
    unready.length === 0
      ? {}
      : {
          reason,
          ...(!isOver && { message: `containers with unready status: [${unready.join(' ')}]` }),
        }
  const gates = closedGatesOf(pod)
  const gated =
    gates.length === 0
      ? {}
      : {
          reason: 'ReadinessGatesNotReady',
          message: `corresponding condition of pod readiness gate "${gates[0]}" does not exist or is not "True".`,
        }
  return [
    condition(pod, 'PodReadyToStartContainers', !isOver),
    condition(pod, 'Initialized', true, phase === 'Succeeded' ? { reason: 'PodCompleted' } : {}),
    condition(
      pod,
      'Ready',
      unready.length === 0 && gates.length === 0,
      unready.length === 0 ? gated : why,
    ),
    condition(pod, 'ContainersReady', unready.length === 0, why),
    condition(pod, 'PodScheduled', true),
  ]
}

/** Types of the conditions that others have to make true before the pod is ready. */
export function closedGatesOf(pod: KubernetesObject): string[] {
  const conditions = objectsOf(pod.status['conditions'])
  const isTrue = (type: string) =>
    conditions.some((condition) => condition['type'] === type && condition['status'] === 'True')
  return objectsOf(pod.spec['readinessGates'])
    .map((gate) => String(gate['conditionType']))
    .filter((type) => !isTrue(type))
}

export function condition(
  pod: KubernetesObject,
  type: string,
  holds: boolean,
  why: { reason?: string; message?: string } = {},
): object {
  const status = holds ? 'True' : 'False'
  const before = objectsOf(pod.status['conditions']).find((found) => found['type'] === type)
  const lastTransitionTime = before?.['status'] === status ? before['lastTransitionTime'] : now()
  return {
    type,
    status,
    lastTransitionTime,
    reason: why.reason ?? null,
    message: why.message ?? null,
  }
}

function toInitStatus(
  { name, image, restartPolicy }: Record<string, unknown>,
  startTime: string,
): object {
  const container = { name: String(name), image: String(image) }
  const isSidecar = restartPolicy === 'Always'
  if (isSidecar) return toContainerStatus({ ...container, state: { kind: 'ready' } }, startTime)
  return {
    ...toContainerStatus({ ...container, state: { kind: 'ended', exitCode: 0 } }, startTime),
    ready: true,
  }
}

function toContainerStatus({ name, image, state }: ContainerStage, startedAt: string): object {
  const isStarted = state.kind === 'ready' || state.kind === 'unready'
  const ended = 'exitCode' in state ? toTerminated(name, state.exitCode, startedAt) : undefined
  const hasStarted = isStarted || ended !== undefined
  return {
    name,
    image,
    imageID: hasStarted ? `test.fairlead/${image}` : '',
    ...(hasStarted && { containerID: `test://${name}` }),
    ready: state.kind === 'ready',
    started: isStarted,
    restartCount: state.kind === 'crashed' ? crashes : 0,
    state: toState(name, image, state, startedAt),
    lastState: state.kind === 'crashed' ? { terminated: ended } : {},
  }
}

function toState(name: string, image: string, state: ContainerState, startedAt: string): object {
  switch (state.kind) {
    case 'creating':
      return { waiting: { reason: 'ContainerCreating' } }
    case 'no-image':
      return {
        waiting: { reason: 'ImagePullBackOff', message: `Back-off pulling image "${image}"` },
      }
    case 'crashed':
      return {
        waiting: {
          reason: 'CrashLoopBackOff',
          message: `back-off 40s restarting failed container=${name}`,
        },
      }
    case 'ended':
      return { terminated: toTerminated(name, state.exitCode, startedAt) }
    default:
      return { running: { startedAt } }
  }
}

function toTerminated(name: string, exitCode: number, startedAt: string): object {
  return {
    exitCode,
    reason: exitCode === 0 ? 'Completed' : 'Error',
    startedAt,
    finishedAt: now(),
    containerID: `test://${name}`,
  }
}

/** In seconds, as kubelets write times. */
export function now(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, 'Z')
}
