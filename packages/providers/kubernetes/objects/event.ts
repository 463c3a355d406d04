/** Events about objects: the fields that Fairlead reads. */
import { or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { textOf } from '@fairlead/base/json/values.ts'

export const toEvent = shape({
  involvedObject: shape({ kind: or(textOf, ''), name: textOf, uid: textOf }),
  time: [or(textOf, ''), 'lastTimestamp', 'eventTime', 'firstTimestamp'],
  reason: textOf,
  message: textOf,
})
export type KubeEvent = ShapeOf<typeof toEvent>
