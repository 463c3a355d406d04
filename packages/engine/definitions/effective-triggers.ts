/** Triggers of a stored pipeline, including those inherited from its template. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import type { DocumentStore } from '@fairlead/base/stores/document-store.ts'
import { inheritLists, isTemplateInstance } from '@fairlead/model/pipeline-templates/inheritance.ts'
import { templateOf } from '@fairlead/model/pipeline-templates/references.ts'
import { readPipeline } from '@fairlead/model/pipelines/definition.ts'
import { isExpression } from '@fairlead/model/stage-types/check-stage.ts'

/** Expressions in inherited triggers are not evaluated: see `mayBe`. */
export type TriggersOf = (pipeline: JsonObject) => JsonObject[]

/** For one request: reads each template once. */
export function createTriggersOf(templates: DocumentStore): TriggersOf {
  const loaded = new Map<string, JsonObject | undefined>()
  return (pipeline) => {
    const id = isTemplateInstance(pipeline) ? templateOf(pipeline) : undefined
    if (id === undefined) return readPipeline(pipeline).triggers
    const key = foldName(id)
    if (!loaded.has(key)) loaded.set(key, templates.get(key))
    return readPipeline(inheritLists(loaded.get(key) ?? {}, pipeline)).triggers
  }
}

/** Whether a field of a trigger has the value, or an expression that may turn out to be it. */
export function mayBe(field: unknown, test: (value: unknown) => boolean): boolean {
  return test(field) || isExpression(field)
}
