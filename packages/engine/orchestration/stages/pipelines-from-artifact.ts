/** `savePipelinesFromArtifact`: stores the pipelines and declared environments of applications that a file has. */

import { isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import { parseYamlStream } from '@fairlead/base/json/yaml.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { savePipelinesFromArtifact } from '@fairlead/model/stage-types/definitions.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
import { StageError } from '../machine/failure.ts'
import { fetchArtifact, requireArtifact } from './manifests/artifacts.ts'
import { job, type StageType, type TaskContext, type TaskResult } from './stage-type.ts'

const what = 'The artifact with the pipelines'

export const savePipelinesFromArtifactStage: StageType = job(
  'savePipelinesFromArtifact',
  saveFromArtifact,
  {
    timeoutMs: 5 * 60_000,
  },
)

interface Declared {
  readonly application: string
  readonly pipelines: readonly JsonObject[]
  /** Undefined: those that are stored stay. */
  readonly environments: unknown
}

/** What fails does not keep the rest from being stored. */
async function saveFromArtifact(context: TaskContext): Promise<TaskResult> {
  const settings = readFields(savePipelinesFromArtifact.fields, context.stage.context)
  const artifact = requireArtifact(context, what, {
    id: settings.pipelinesArtifactId,
    artifact: settings.pipelinesArtifact,
  })
  const declared = toDeclared(await fetchArtifact(context, what, artifact))
  const faults: string[] = []
  for (const each of declared)
    if (each.environments !== undefined) faults.push(...(await saveEnvironments(context, each)))
  const entries = (await Promise.all(declared.map((each) => toEntries(context, each)))).flat()
  const bulksave =
    entries.length === 0
      ? undefined
      : await context.definitions.savePipelines(entries, { staleCheck: false })
  for (const { application, name, errorMsg } of bulksave?.failed_pipelines ?? [])
    faults.push(`${String(name)} of ${String(application)}: ${String(errorMsg)}`)
  if (faults.length > 0) throw new StageError(faults)
  return { status: 'SUCCEEDED', context: { bulksave } }
}

/** By application: a list of pipelines, or an object with `pipelines` and `environments`. @throws {StageError} */
function toDeclared(content: unknown): Declared[] {
  const documents = typeof content === 'string' ? parse(content) : [content]
  if (!documents.every(isObject))
    throw new StageError([`${what} must be an object with a field for each application.`])
  return documents
    .flatMap((document) => Object.entries(document))
    .map(([application, value]) => {
      const {
        pipelines = [],
        environments,
        ...others
      }: JsonObject = isObject(value) ? value : { pipelines: value }
      const [unknown] = Object.keys(others)
      if (unknown === undefined && Array.isArray(pipelines) && pipelines.every(isObject))
        return { application, pipelines, environments }
      const wrong =
        unknown === undefined ? 'pipelines that are no list of objects' : `the field "${unknown}"`
      throw new StageError([
        `${what} has for ${application} ${wrong}: write a list of pipelines, or "pipelines" and "environments".`,
      ])
    })
}

function parse(text: string): unknown[] {
  try {
    return parseYamlStream(text, { version: '1.1', merges: true })
  } catch (error) {
    throw new StageError([`${what} is neither JSON nor YAML: ${(error as Error).message}.`])
  }
}

/** @returns why they are not stored */
async function saveEnvironments(
  { definitions }: TaskContext,
  { application, environments }: Declared,
): Promise<string[]> {
  try {
    await definitions.updateApplication({ name: application, environments })
    return []
  } catch (error) {
    const isRefusal =
      error instanceof StageError && [400, 403].includes(Number(error.details['status']))
    if (!isRefusal) throw error
    return [`${application}: ${error.errors.join(' ')}`]
  }
}

/** A pipeline of the same name is replaced. */
async function toEntries(
  { definitions }: TaskContext,
  { application, pipelines }: Declared,
): Promise<JsonObject[]> {
  if (pipelines.length === 0) return []
  const stored = new Map(
    (await definitions.pipelinesOf(application)).map(({ name, id }) => [
      foldName(String(name)),
      id,
    ]),
  )
  return pipelines.map((pipeline) => {
    const id = pipeline['id'] ?? stored.get(foldName(String(pipeline['name'])))
    return { ...pipeline, application, ...(id !== undefined && { id }) }
  })
}
