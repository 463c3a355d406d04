/**
 * Saving many pipelines at once: the good ones are written together, the others are reported.
 * @see docs/contracts/definitions.md#batch
 */
import { isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { flatMapInTurns } from '@fairlead/base/stores/in-turns.ts'
import type { BatchReport } from '@fairlead/ports/definitions.ts'
import type { Definitions } from './collections.ts'
import {
  checkPipeline,
  checkPipelineTypes,
  checkStrictly,
  type PipelineBody,
} from './pipeline-rules.ts'

interface BatchOptions {
  readonly staleCheck: boolean
  readonly user: string
  readonly checkSaver: (pipeline: JsonObject) => void
  readonly noteHeld: (pipeline: JsonObject, before: JsonObject | undefined) => void
}

/** A failed one with what was sent, and why. */
type Checked<Accepted> = { readonly accepted: Accepted } | { readonly failed: JsonObject }

/** What is written meanwhile may take a name: so many times the entries are checked beside other requests, then once without. */
const mostRounds = 3

/** Each entry is checked in a turn of its own, between those of other requests. */
export async function saveBatch(
  definitions: Definitions,
  entries: readonly unknown[],
  options: BatchOptions,
): Promise<BatchReport> {
  const read = await flatMapInTurns(entries, (entry) => readEntry(definitions, entry), 1)
  for (let round = 1; ; round++) {
    const version = versionOf(definitions)
    const checked = await flatMapInTurns(read, createCheck(definitions, options), 1)
    const isCurrent = versionOf(definitions) === version
    if (!isCurrent && round < mostRounds) continue
    return definitions.write(() =>
      put(
        definitions,
        isCurrent ? checked : read.flatMap(createCheck(definitions, options)),
        options,
      ),
    )
  }
}

function put(
  { pipelines }: Definitions,
  checked: readonly Checked<JsonObject>[],
  { user, noteHeld }: BatchOptions,
): BatchReport {
  const accepted = checked.flatMap((one) => ('accepted' in one ? [one.accepted] : []))
  const failed = checked.flatMap((one) => ('failed' in one ? [one.failed] : []))
  for (const pipeline of accepted) {
    const key = foldName(String(pipeline['id']))
    noteHeld(pipeline, pipelines.get(key))
    pipelines.put(key, pipeline, user)
  }
  return {
    successful_pipelines_count: accepted.length,
    successful_pipelines: accepted.map((pipeline) => String(pipeline['name'])),
    failed_pipelines_count: failed.length,
    failed_pipelines: failed,
  }
}

/** Another text after each write of what entries are checked against. */
function versionOf({ pipelines, templates }: Definitions): string {
  return `${pipelines.version()} ${templates.version()}`
}

/** What depends on the entry alone. */
async function readEntry(
  definitions: Definitions,
  entry: unknown,
): Promise<[Checked<PipelineBody>]> {
  try {
    const body = checkPipelineTypes(entry)
    await checkStrictly(definitions, 'pipeline', body)
    return [{ accepted: body }]
  } catch (error) {
    return [toFailed(entry, error)]
  }
}

function createCheck(
  definitions: Definitions,
  { checkSaver, staleCheck, user }: BatchOptions,
): (read: Checked<PipelineBody>) => [Checked<JsonObject>] {
  const taken = { ids: new Set<string>(), names: new Set<string>() }
  return (read) => {
    if ('failed' in read) return [read]
    const body = read.accepted
    try {
      checkSaver(body)
      const pipeline = checkPipeline(definitions, body, { staleCheck, user })
      checkAgainstBatch(pipeline, taken)
      return [{ accepted: pipeline }]
    } catch (error) {
      return [toFailed(body, error)]
    }
  }
}

/** @throws what no rule has thrown */
function toFailed(entry: unknown, error: unknown): { failed: JsonObject } {
  if (!(error instanceof PortError)) throw error
  return {
    failed: { ...(isObject(entry) ? entry : { submitted: entry }), errorMsg: error.message },
  }
}

/** Entries are written after all were checked, so two of one batch must be compared with each other here. */
function checkAgainstBatch(
  pipeline: JsonObject,
  taken: { ids: Set<string>; names: Set<string> },
): void {
  const id = foldName(String(pipeline['id']))
  const name = JSON.stringify([
    foldName(String(pipeline['application'])),
    foldName(String(pipeline['name'])),
  ])
  if (taken.ids.has(id))
    throw new PortError(400, `An earlier entry of the batch has the same id, "${pipeline['id']}".`)
  if (taken.names.has(name)) {
    throw new PortError(
      400,
      `An earlier entry of the batch has the same name, "${pipeline['name']}", in the application "${pipeline['application']}".`,
    )
  }
  taken.ids.add(id)
  taken.names.add(name)
}
