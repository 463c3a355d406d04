/** `savePipelinesFromArtifact`: stores the pipelines and declared environments of applications that a file has. */
import { fieldOf, isObject, type JsonObject, objectsOf, textsOf } from '@fairlead/base/json/values.ts'
import { parseYamlStream } from '@fairlead/base/json/yaml.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import { StageError } from '../machine/failure.ts'
import { fetchArtifact, requireArtifact } from './manifests/artifacts.ts'
import { job, type StageType, type TaskContext, type TaskResult } from './stage-type.ts'

const what = 'The artifact with the pipelines'

export const savePipelinesFromArtifactStage: StageType = job('savePipelinesFromArtifact', saveFromArtifact, {
  timeoutMs: 5 * 60_000,
})

interface Declared {
  readonly application: string
  readonly pipelines: readonly JsonObject[]
  /** Undefined: those that are stored stay. */
  readonly environments: unknown
}

/** What fails does not keep the rest from being stored. */
async function saveFromArtifact(context: TaskContext): Promise<TaskResult> {
  const settings = context.stage.context
  const artifact = requireArtifact(context, what, {
    id: settings['pipelinesArtifactId'],
    artifact: settings['pipelinesArtifact'],
  })
  const declared = toDeclared(await fetchArtifact(context, what, artifact))
  const faults: string[] = []
  for (const each of declared) if (each.environments !== undefined) faults.push(...(await saveEnvironments(context, each)))
  const entries = (await Promise.all(declared.map((each) => toEntries(context, each)))).flat()
  const save = () => context.call('front50', { method: 'POST', path: '/pipelines/batchUpdate', body: entries })
  const body = entries.length === 0 ? undefined : (await save()).body
  const failed = objectsOf(fieldOf(body, 'failed_pipelines'))
  faults.push(
    ...failed.map(({ application, name, errorMsg }) => `${String(name)} of ${String(application)}: ${String(errorMsg)}`),
  )
  if (faults.length > 0) throw new StageError(faults)
  return { status: 'SUCCEEDED', context: { bulksave: body } }
}

/** By application: a list of pipelines, or an object with `pipelines` and `environments`. @throws {StageError} */
function toDeclared(content: unknown): Declared[] {
  const documents = typeof content === 'string' ? parse(content) : [content]
  if (!documents.every(isObject)) throw new StageError([`${what} must be an object with a field for each application.`])
  return documents
    .flatMap((document) => Object.entries(document))
    .map(([application, value]) => {
      const { pipelines = [], environments, ...others }: JsonObject = isObject(value) ? value : { pipelines: value }
      const [unknown] = Object.keys(others)
      if (unknown === undefined && Array.isArray(pipelines) && pipelines.every(isObject))
        return { application, pipelines, environments }
      const wrong = unknown === undefined ? 'pipelines that are no list of objects' : `the field "${unknown}"`
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
async function saveEnvironments({ call }: TaskContext, { application, environments }: Declared): Promise<string[]> {
  const path = pathTo`/v2/applications/${application}`
  const body = { name: application, environments }
  const { status, body: answer } = await call('front50', { method: 'PATCH', path, body }, [400, 403])
  const errors = textsOf(fieldOf(answer, 'errors'))
  return status < 400 ? [] : [`${application}: ${errors.length > 0 ? errors.join(' ') : fieldOf(answer, 'message')}`]
}

/** A pipeline of the same name is replaced. */
async function toEntries({ call }: TaskContext, { application, pipelines }: Declared): Promise<JsonObject[]> {
  if (pipelines.length === 0) return []
  const { body } = await call('front50', { method: 'GET', path: pathTo`/pipelines/${application}` }, [404])
  const stored = new Map(objectsOf(body).map(({ name, id }) => [foldName(String(name)), id]))
  return pipelines.map((pipeline) => {
    const id = pipeline['id'] ?? stored.get(foldName(String(pipeline['name'])))
    return { ...pipeline, application, ...(id !== undefined && { id }) }
  })
}
