/**
 * Saving many pipelines at once: the good ones are written together, the others are reported.
 * @see docs/contracts/definitions.md#batch
 */
import { isObject, type JsonObject } from '../../json/values.ts'
import { BackendError } from '../backend.ts'
import { foldName } from '../document-store.ts'
import type { Definitions } from './collections.ts'
import { checkPipeline, checkPipelineTypes } from './pipeline-rules.ts'

interface BatchReport {
  successful_pipelines_count: number
  successful_pipelines: string[]
  failed_pipelines_count: number
  failed_pipelines: JsonObject[]
}

export function saveBatch(
  definitions: Definitions,
  entries: readonly unknown[],
  { staleCheck, user, checkSaver }: { staleCheck: boolean; user: string; checkSaver: (pipeline: JsonObject) => void },
): BatchReport {
  return definitions.write(() => {
    const failed: JsonObject[] = []
    const accepted: JsonObject[] = []
    const taken = { ids: new Set<string>(), names: new Set<string>() }
    for (const entry of entries) {
      try {
        const body = checkPipelineTypes(entry)
        checkSaver(body)
        const pipeline = checkPipeline(definitions, body, { staleCheck, user })
        checkAgainstBatch(pipeline, taken)
        accepted.push(pipeline)
      } catch (error) {
        if (!(error instanceof BackendError)) throw error
        failed.push({ ...(isObject(entry) ? entry : { submitted: entry }), errorMsg: error.message })
      }
    }
    for (const pipeline of accepted) definitions.pipelines.put(foldName(String(pipeline['id'])), pipeline, user)
    return {
      successful_pipelines_count: accepted.length,
      successful_pipelines: accepted.map((pipeline) => String(pipeline['name'])),
      failed_pipelines_count: failed.length,
      failed_pipelines: failed,
    }
  })
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
