/** A pipeline definition, as all that store, start or show one read it. */
import { type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { isTrue, objectsOf, textOf } from '@fairlead/base/json/values.ts'

/** What it says; the JSON that it was read from is what is stored and started. */
export const readPipeline = shape({
  id: textOf,
  name: textOf,
  application: textOf,
  isDisabled: [isTrue, 'disabled'],
  triggers: objectsOf,
  stages: objectsOf,
  expectedArtifacts: objectsOf,
  notifications: objectsOf,
})
export type Pipeline = ShapeOf<typeof readPipeline>
