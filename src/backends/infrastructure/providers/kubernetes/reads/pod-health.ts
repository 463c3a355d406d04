/** Health of pods: a record for the pod, and for each of its containers. */
import { fieldAt, isTrue, type JsonObject, objectOf, objectsOf, textOf } from '../../../../../json/values.ts'
import type { HealthRecord, HealthState } from '../../../model.ts'

const stateOfPhase: Readonly<Record<string, HealthState>> = { Pending: 'Down', Running: 'Up' }
const healthClass = 'platform'

export function healthOf(pod: JsonObject): HealthRecord[] {
  const phase = textOf(fieldAt(pod, 'status', 'phase')) ?? ''
  const statuses = objectsOf(fieldAt(pod, 'status', 'containerStatuses'))
  const containers = objectsOf(fieldAt(pod, 'spec', 'containers')).flatMap(({ name }) => textOf(name) ?? [])
  return [
    { type: 'kubernetes/pod', source: 'Pod', healthClass, state: stateOfPhase[phase] ?? 'Unknown' },
    ...containers.map((container) =>
      toContainerRecord(
        container,
        statuses.find(({ name }) => name === container),
      ),
    ),
  ]
}

/** With the reason where it waits or has ended, such as `CrashLoopBackOff`. */
function toContainerRecord(name: string, status: JsonObject | undefined): HealthRecord {
  const { waiting, terminated } = objectOf(status?.['state'])
  const description = textOf(fieldAt(waiting ?? terminated, 'reason'))
  return {
    type: 'kubernetes/container',
    source: `Container ${name}`,
    healthClass,
    state: isTrue(status?.['ready']) ? 'Up' : 'Down',
    ...(description !== undefined && { description }),
  }
}
