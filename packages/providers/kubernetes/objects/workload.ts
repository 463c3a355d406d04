/** Deployments, replica, stateful and daemon sets, jobs, cron jobs and autoscalers: the fields that Fairlead reads. */
import { asGiven, maybe, or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { isObject, isTrue, numberOf, textOf } from '@fairlead/base/json/values.ts'
import { toConditions, toLabels } from '../objects.ts'
import { toPodTemplate } from './pod.ts'

const count = or(numberOf, 0)

export const toWorkload = shape({
  metadata: shape({ generation: numberOf }),
  spec: shape({
    replicas: numberOf,
    completions: or(numberOf, 1),
    paused: isTrue,
    selector: shape({ matchLabels: toLabels }),
    updateStrategy: shape({ type: textOf, rollingUpdate: maybe(shape({ partition: count })) }),
    template: toPodTemplate,
    templateAsGiven: [asGiven, 'template'],
    /** Of cron jobs. */
    jobTemplate: shape({ spec: shape({ template: toPodTemplate }) }),
    /** Of autoscalers. */
    scaleTargetRef: shape({ kind: or(textOf, ''), name: textOf }),
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
    /** Of daemon sets. */
    desiredNumberScheduled: numberOf,
    currentNumberScheduled: count,
    updatedNumberScheduled: count,
    numberAvailable: count,
    numberReady: count,
    /** Of jobs. */
    active: count,
    succeeded: count,
    completionTime: textOf,
    /** Of autoscalers. */
    desiredReplicas: count,
  }),
})
export type Workload = ShapeOf<typeof toWorkload>
