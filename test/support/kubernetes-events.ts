/** Events that a scheduler and kubelets write about pods. */
import type { KubernetesClient, KubernetesObject } from './kubernetes-client.ts'
import { type ContainerStage, now, type PodStage } from './kubernetes-pod-status.ts'

export interface PodEvent {
  readonly type?: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
}

/** Nothing waits for events. */
export interface EventRecorder {
  record(pod: KubernetesObject, event: PodEvent): void
  recordStage(pod: KubernetesObject, stage: PodStage, before?: PodStage): void
}

export function createEventRecorder(api: KubernetesClient): EventRecorder {
  const record: EventRecorder['record'] = (pod, event) => {
    const path = `/api/v1/namespaces/${pod.metadata.namespace}/events`
    api.create(path, toObject(pod, event)).catch(() => {})
  }
  return {
    record,
    recordStage: (pod, { containers }, before) => {
      const changed = containers.filter(
        ({ state }, index) => before?.containers[index]?.state.kind !== state.kind,
      )
      for (const event of changed.flatMap((container) => eventsOf(pod, container)))
        record(pod, event)
    },
  }
}

function eventsOf(pod: KubernetesObject, { name, image, state }: ContainerStage): PodEvent[] {
  const { name: podName, namespace, uid } = pod.metadata
  const started: PodEvent[] = [
    { reason: 'Pulled', message: `Container image "${image}" already present on machine` },
    { reason: 'Started', message: `Started container ${name}` },
  ]
  switch (state.kind) {
    case 'no-image':
      return [
        {
          type: 'Warning',
          reason: 'Failed',
          message: `Failed to pull image "${image}": not found`,
        },
        { reason: 'BackOff', message: `Back-off pulling image "${image}"` },
      ]
    case 'crashed': {
      const message = `Back-off restarting failed container ${name} in pod ${podName}_${namespace}(${uid})`
      return [{ type: 'Warning', reason: 'BackOff', message }]
    }
    case 'ready':
      return started
    case 'unready': {
      const message = 'Readiness probe failed: HTTP probe failed with statuscode: 503'
      return [...started, { type: 'Warning', reason: 'Unhealthy', message }]
    }
    default:
      return []
  }
}

function toObject(
  { metadata }: KubernetesObject,
  { type = 'Normal', reason, message }: PodEvent,
): object {
  const { name, namespace, uid, resourceVersion } = metadata
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { generateName: `${name}.`, namespace },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', name, namespace, uid, resourceVersion },
    type,
    reason,
    message,
    source: { component: reason.includes('Schedul') ? 'default-scheduler' : 'kubelet' },
    count: 1,
    firstTimestamp: now(),
    lastTimestamp: now(),
  }
}
