/**
 * Filters of pipeline lists, and the pipelines that a finished one triggers.
 *
 * @see docs/contracts/definitions.md#lists, #triggered-pipelines
 */
import { formatJson } from '@fairlead/base/json/json.ts'
import { isTrue, type JsonObject } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/stores/document-store.ts'
import type { Definitions } from './collections.ts'
import { createTriggersOf, mayBe, type TriggersOf } from './effective-triggers.ts'

export interface TriggerFilter {
  enabledPipelines: boolean | undefined
  enabledTriggers: boolean | undefined
  /** Exact trigger types; undefined means any. */
  triggerTypes: readonly string[] | undefined
}

export function isEnabled(pipeline: JsonObject): boolean {
  return !isTrue(pipeline['disabled'])
}

export function isFiltering(filter: TriggerFilter): boolean {
  return Object.values(filter).some((wanted) => wanted !== undefined)
}

/** Whether a list has the pipeline; triggers that an instance of a template inherits count like its own. */
export function passes(pipeline: JsonObject, filter: TriggerFilter, triggersOf: TriggersOf): boolean {
  if (filter.enabledPipelines !== undefined && isEnabled(pipeline) !== filter.enabledPipelines) return false
  return triggersOf(pipeline).some(
    (trigger) =>
      (filter.enabledTriggers === undefined || mayBe(trigger['enabled'], (value) => isTrue(value) === filter.enabledTriggers)) &&
      (filter.triggerTypes === undefined ||
        mayBe(trigger['type'], (value) => filter.triggerTypes?.includes(String(value)) === true)),
  )
}

/** Enabled pipelines with an enabled trigger, own or inherited, on pipeline `id` ending with `status`. */
export function triggeredBy({ pipelines, templates }: Definitions, id: string, status: string): JsonObject[] {
  const parent = pipelines.get(foldName(id))?.['id'] ?? id
  const triggersOf = createTriggersOf(templates)
  const named = pipelines.containing(`"pipeline":${formatJson(parent)}`)
  const instances = pipelines.containing('"templatedPipeline"')
  const candidates = new Map([...named, ...instances].map((pipeline) => [pipeline['id'], pipeline]))
  return [...candidates.values()].filter(
    (pipeline) => isEnabled(pipeline) && triggersOf(pipeline).some((trigger) => fires(trigger, parent, status)),
  )
}

function fires(trigger: JsonObject, parent: unknown, status: string): boolean {
  const statuses = trigger['status']
  return (
    mayBe(trigger['enabled'], isTrue) &&
    mayBe(trigger['type'], (type) => type === 'pipeline') &&
    mayBe(trigger['pipeline'], (pipeline) => pipeline === parent) &&
    (Array.isArray(statuses) ? statuses.some((each) => mayBe(each, (word) => word === status)) : mayBe(statuses, () => false))
  )
}
