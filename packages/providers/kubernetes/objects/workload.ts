/** Workloads that make pods, and autoscalers: the fields that Fairlead reads. */
import { asGiven, maybe, or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { isObject, isTrue, numberOf, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { toConditions, toLabels } from '../objects.ts'
import { toPodTemplate } from './pod.ts'

const count = or(numberOf, 0)

export const toWorkload = shape({
  metadata: shape({ generation: numberOf }),
  spec: shape({
    replicas: numberOf,
    completions: numberOf,
    paused: isTrue,
    selector: shape({ matchLabels: toLabels }),
    updateStrategy: shape({ type: textOf, rollingUpdate: maybe(shape({ partition: count })) }),
    template: toPodTemplate,
    templateAsGiven: [asGiven, 'template'],
    minReadySeconds: count,
    hasDeadline: [(value) => value !== undefined, 'progressDeadlineSeconds'],
    /** Jobs: */
    backoffLimit: or(numberOf, 6),
    suspend: isTrue,
    parallelism: numberOf,
    managedBy: textOf,
  }),
  /** Whether its controller has reported a status. */
  hasStatus: [isObject, 'status'],
  status: shape({
    conditions: toConditions,
    observedGeneration: numberOf,
    replicas: count,
    updatedReplicas: numberOf,
    availableReplicas: count,
    readyReplicas: count,
    fullyLabeledReplicas: count,
    currentReplicas: count,
    currentRevision: textOf,
    updateRevision: textOf,
    /** Daemon sets: */
    desiredNumberScheduled: numberOf,
    currentNumberScheduled: count,
    updatedNumberScheduled: count,
    numberAvailable: count,
    numberReady: count,
    /** Jobs: */
    active: count,
    succeeded: count,
    failed: count,
    failedIndexes: textOf,
    completionTime: textOf,
  }),
})
export type Workload = ShapeOf<typeof toWorkload>

export const toCronJob = shape({
  spec: shape({
    suspend: isTrue,
    schedule: or(textOf, ''),
    jobTemplate: shape({ spec: shape({ template: toPodTemplate }) }),
  }),
  status: shape({ lastScheduleTime: textOf, lastSuccessfulTime: textOf, active: objectsOf }),
})

export const toAutoscaler = shape({
  spec: shape({ scaleTargetRef: shape({ kind: or(textOf, ''), name: textOf }) }),
  status: shape({ desiredReplicas: count, currentReplicas: count }),
})
