/** Limits of pipelines and of starts by one another, for the embedded store and engine. */
import { formatJson } from '@fairlead/base/json/json.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import {
  byteCount,
  type SettingsOf,
  setting,
  settings,
  whole,
} from '@fairlead/base/settings/setting.ts'

/** Bounds within which the embedded store and engine accept work. */
export const pipelineLimitKeys = settings({
  stages: setting('pipelines.max-stages', whole(1).default(1000)).describe(
    'Maximum number of stages of a pipeline in the embedded store and engine. With the stages that stages add, an execution may ' +
      'have four times as many.',
  ),
  /** Entries of all `requisiteStageRefIds`. */
  requisites: setting('pipelines.max-requisites', whole(1).default(10_000)).describe(
    'Maximum number of dependencies among the stages of a pipeline: the entries of every `requisiteStageRefIds`.',
  ),
  /** Entries of each list but the stages. */
  entries: setting('pipelines.max-entries', whole(1).default(1000)).describe(
    'Maximum number of entries of each other list in a pipeline, strategy, template, project or record of notifications: triggers, ' +
      'parameters, applications and so on; also of definitions that one request saves.',
  ),
  /** Bytes of a definition as JSON. */
  bytes: setting('pipelines.max-size', byteCount.prefault('4MB')).describe(
    'Maximum size of a pipeline as JSON, of a list of them that one request saves, and of the result of one step of a stage. An execution may have four times as much; a ' +
      'larger one is ended.',
  ),
  /** Bound of each definition's history. */
  versions: setting('pipelines.max-versions', whole(1).default(500)).describe(
    'Maximum number of versions in the history of each pipeline, strategy, application, project, template and other definition of ' +
      'the embedded store. A save deletes the oldest ones. Snapshots are kept without limit.',
  ),
  depth: setting('pipelines.max-depth', whole(0).default(20)).describe(
    'Maximum depth of pipelines that start one another, by stages or by triggers.',
  ),
  descendants: setting('pipelines.max-descendants', whole(0).default(500)).describe(
    'Maximum number of executions that one execution may start, directly or indirectly.',
  ),
})
export type PipelineLimits = Readonly<SettingsOf<typeof pipelineLimitKeys>>

/** An execution may have so many times the stages and the size of a definition. */
export const executionFactor = 4

/** What is wrong with the number of definitions that are saved at once: a sentence that says what to do, or undefined. */
export function describeBatch(
  definitions: readonly unknown[],
  { entries: most }: PipelineLimits,
): string | undefined {
  if (definitions.length <= most) return undefined
  return `The batch has ${definitions.length} definitions; ${most} are allowed. Send it in parts, or raise pipelines.max-entries.`
}

/**
 * What is wrong with the size of a document: a sentence that says what to do, or undefined.
 *
 * @param what How the sentence begins: `The definition`.
 * @param document Or its bytes, where they are known.
 */
export function describeOversize(
  what: string,
  document: unknown,
  most: number,
): string | undefined {
  const bytes = typeof document === 'number' ? document : Buffer.byteLength(formatJson(document))
  if (bytes <= most) return undefined
  return `${what} has ${bytes} bytes; ${most} are allowed. Move large texts into artifacts, or raise pipelines.max-size.`
}

/** What is wrong with the number of stages and of their dependencies: a sentence that says what to do, or undefined. */
export function describeExcess(
  stages: readonly Record<string, unknown>[],
  limits: PipelineLimits,
): string | undefined {
  if (stages.length > limits.stages) {
    return `The pipeline has ${stages.length} stages; ${limits.stages} are allowed. Split it, or raise pipelines.max-stages.`
  }
  let requisites = 0
  for (const { requisiteStageRefIds: list } of stages)
    requisites += Array.isArray(list) ? list.length : 0
  if (requisites <= limits.requisites) return undefined
  return (
    `The stages have ${requisites} dependencies (requisiteStageRefIds); ${limits.requisites} are allowed. ` +
    'Leave out those that follow from others, or raise pipelines.max-requisites.'
  )
}

/**
 * What is wrong with the length of a list that a document has, other than its stages: a sentence that says what to do, or
 * undefined. Each event goes through all triggers of a pipeline, and each run through its parameters and artifacts.
 *
 * @param what What has the list: `pipeline`.
 */
export function describeLongList(
  what: string,
  document: JsonObject,
  { entries: most }: PipelineLimits,
): string | undefined {
  for (const [name, list] of Object.entries(document)) {
    if (name === 'stages' || !Array.isArray(list) || list.length <= most) continue
    return `"${name}" of the ${what} has ${list.length} entries; ${most} are allowed. Split it, or raise pipelines.max-entries.`
  }
  return undefined
}
