/** Which pipelines a filtered list keeps, and which a finished pipeline triggers (contract, sections 4.3 and 4.8). */
import { formatJson } from '../../http/json.ts'
import { type DocumentStore, foldName, type JsonObject } from './document-store.ts'
import { isTrue } from './requests.ts'

export interface TriggerFilter {
  enabledPipelines: boolean | undefined
  enabledTriggers: boolean | undefined
  /** Exact trigger types; undefined means any. */
  triggerTypes: readonly string[] | undefined
}

export function isEnabled(pipeline: JsonObject): boolean {
  return !isTrue(pipeline['disabled'])
}

/** Whether a filter asks for anything at all. */
export function isFiltering(filter: TriggerFilter): boolean {
  return Object.values(filter).some((wanted) => wanted !== undefined)
}

export function passes(pipeline: JsonObject, filter: TriggerFilter): boolean {
  if (filter.enabledPipelines !== undefined && isEnabled(pipeline) !== filter.enabledPipelines) return false
  return triggersOf(pipeline).some(
    (trigger) =>
      (filter.enabledTriggers === undefined || isTrue(trigger['enabled']) === filter.enabledTriggers) &&
      (filter.triggerTypes === undefined || filter.triggerTypes.includes(String(trigger['type']))),
  )
}

/** Enabled pipelines with an enabled trigger on pipeline `id` ending with `status`. */
export function triggeredBy(pipelines: DocumentStore, id: string, status: string): JsonObject[] {
  const parent = pipelines.get(foldName(id))?.['id'] ?? id
  const candidates = pipelines.containing(`"pipeline":${formatJson(parent)}`)
  return candidates.filter(
    (pipeline) => isEnabled(pipeline) && triggersOf(pipeline).some((trigger) => fires(trigger, parent, status)),
  )
}

function fires(trigger: JsonObject, parent: unknown, status: string): boolean {
  const statuses = trigger['status']
  return (
    isTrue(trigger['enabled']) &&
    trigger['type'] === 'pipeline' &&
    trigger['pipeline'] === parent &&
    Array.isArray(statuses) &&
    statuses.includes(status)
  )
}

function triggersOf(pipeline: JsonObject): JsonObject[] {
  return pipeline['triggers'] as JsonObject[]
}
