/**
 * Saving many pipelines at once: the good ones are written together, the others are reported.
 * @see docs/contracts/definitions.md#batch
 */
import { isObject, type JsonObject } from '../../json/values.ts'
import { BackendError } from '../backend.ts'
import { foldName } from '../document-store.ts'
import { flatMapInTurns } from '../in-turns.ts'
import type { Definitions } from './collections.ts'
import { checkPipeline, checkPipelineTypes } from './pipeline-rules.ts'

interface BatchReport {
  successful_pipelines_count: number
  successful_pipelines: string[]
  failed_pipelines_count: number
  failed_pipelines: JsonObject[]
}

interface BatchOptions {
  readonly staleCheck: boolean
  readonly user: string
  readonly checkSaver: (pipeline: JsonObject) => void
}

type Judged = { readonly accepted: JsonObject } | { readonly failed: JsonObject }

/** Other requests have their turn while the entries are checked. */
export async function saveBatch(
  definitions: Definitions,
  entries: readonly unknown[],
  options: BatchOptions,
): Promise<BatchReport> {
  const { pipelines, write } = definitions
  const version = versionOf(definitions)
  const checked = await flatMapInTurns(entries, createJudge(definitions, options))
  return write(() => {
    // What was written meanwhile may have taken a name.
    const judged = versionOf(definitions) === version ? checked : entries.flatMap(createJudge(definitions, options))
    const accepted = judged.flatMap((one) => ('accepted' in one ? [one.accepted] : []))
    const failed = judged.flatMap((one) => ('failed' in one ? [one.failed] : []))
    for (const pipeline of accepted) pipelines.put(foldName(String(pipeline['id'])), pipeline, options.user)
    return {
      successful_pipelines_count: accepted.length,
      successful_pipelines: accepted.map((pipeline) => String(pipeline['name'])),
      failed_pipelines_count: failed.length,
      failed_pipelines: failed,
    }
  })
}

/** Another text after each write of what entries are checked against. */
function versionOf({ pipelines, templates }: Definitions): string {
  return `${pipelines.version()} ${templates.version()}`
}

/** Judges the entries of one batch, in order. */
function createJudge(definitions: Definitions, { checkSaver, ...options }: BatchOptions): (entry: unknown) => [Judged] {
  const taken = { ids: new Set<string>(), names: new Set<string>() }
  return (entry) => {
    try {
      const body = checkPipelineTypes(entry)
      checkSaver(body)
      const pipeline = checkPipeline(definitions, body, options)
      checkAgainstBatch(pipeline, taken)
      return [{ accepted: pipeline }]
    } catch (error) {
      if (!(error instanceof BackendError)) throw error
      return [{ failed: { ...(isObject(entry) ? entry : { submitted: entry }), errorMsg: error.message } }]
    }
  }
}

/** Entries are written after all were checked, so two of one batch must be compared with each other here. */
function checkAgainstBatch(pipeline: JsonObject, taken: { ids: Set<string>; names: Set<string> }): void {
  const id = foldName(String(pipeline['id']))
  const name = JSON.stringify([foldName(String(pipeline['application'])), foldName(String(pipeline['name']))])
  if (taken.ids.has(id)) throw new BackendError(400, `An earlier entry of the batch has the same id, "${pipeline['id']}".`)
  if (taken.names.has(name)) {
    throw new BackendError(
      400,
      `An earlier entry of the batch has the same name, "${pipeline['name']}", in the application "${pipeline['application']}".`,
    )
  }
  taken.ids.add(id)
  taken.names.add(name)
}
