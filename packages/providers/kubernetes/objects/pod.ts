/** Pods, and specifications of pods in templates: the fields that Fairlead reads. */
import { list, maybe, objectList, or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { isObject, isTrue, numberOf, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { toConditions, toLabels } from '../objects.ts'

const toContainer = shape({ name: textOf, image: textOf, restartPolicy: textOf })

const toPodSpec = shape({
  nodeName: textOf,
  initContainers: list(toContainer),
  containers: list(toContainer),
  containersAsGiven: [objectsOf, 'containers'],
  ephemeralContainers: list(toContainer),
  restartPolicy: or(textOf, 'Always'),
  schedulingGates: objectList(shape({ name: String })),
  readinessGates: objectList(shape({ conditionType: String })),
})

export const toPodTemplate = shape({
  metadata: shape({ labels: toLabels }),
  spec: toPodSpec,
})

/** Why a container waits, or how it ended. */
const toCause = maybe(
  shape({
    exitCode: numberOf,
    signal: numberOf,
    reason: textOf,
    message: textOf,
    finishedAt: textOf,
  }),
)
const toStates = shape({ running: isObject, terminated: toCause, waiting: toCause })
const toContainers = list(
  shape({
    name: or(textOf, ''),
    image: or(textOf, ''),
    ready: isTrue,
    started: isTrue,
    restartCount: or(numberOf, 0),
    state: toStates,
    lastState: toStates,
  }),
)

export const toPodStatus = shape({
  phase: textOf,
  reason: textOf,
  message: textOf,
  conditions: toConditions,
  initContainerStatuses: toContainers,
  containerStatuses: toContainers,
})

export const toPod = shape({ spec: toPodSpec, status: toPodStatus })
export type Pod = ShapeOf<typeof toPod>
export type PodStatus = Pod['status']
export type ContainerStatus = PodStatus['containerStatuses'][number]
export type ContainerCause = NonNullable<ContainerStatus['state']['waiting']>
