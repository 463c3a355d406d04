/** Results of operations, where clients and expressions read them: keys with a dot in context and outputs of the stage. */
import { definedOf, type JsonObject, listOf, objectOf, objectsOf } from '@fairlead/base/json/values.ts'
import type { Step, TaskContext, TaskResult } from '../stage-type.ts'

const promoted = ['manifests', 'manifestNamesByNamespace', 'boundArtifacts', 'createdArtifacts'] as const
/** A copy of the whole manifest within itself. */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration'

/** Takes the first value that any task of the stage has for each key. */
export const promoteStep: Step = { name: 'promoteOutputs', decide: promote }

function promote({ stage }: TaskContext): TaskResult {
  const tasks = objectsOf(stage.context['kato.tasks'])
  const results = tasks.flatMap(({ resultObjects }) => objectsOf(resultObjects))
  const found: JsonObject = {}
  for (const key of promoted) {
    const value = results.map((result) => result[key]).find((each) => each !== undefined && each !== null)
    if (value === undefined) continue
    found[`outputs.${key}`] = key === 'manifests' ? listOf(value).map(toOutput) : value
    if (key === 'createdArtifacts') found['artifacts'] = value
  }
  // One copy of the manifests is enough.
  return { status: 'SUCCEEDED', context: { ...found, 'kato.tasks': tasks.map(withoutManifests) }, outputs: found }
}

/** An object of a cluster without values of secrets, which its copy of the manifest has too. */
export function toOutput(manifest: unknown): JsonObject {
  const { metadata, data, stringData, ...rest } = objectOf(manifest)
  const { managedFields: _fields, annotations, ...shown } = objectOf(metadata)
  const { [lastApplied]: _copy, ...kept } = objectOf(annotations)
  const values = rest['kind'] === 'Secret' ? {} : definedOf({ data, stringData })
  return { ...rest, ...values, metadata: { ...shown, ...(annotations !== undefined && { annotations: kept }) } }
}

function withoutManifests(task: JsonObject): JsonObject {
  const results = objectsOf(task['resultObjects'])
  return { ...task, resultObjects: results.map(({ manifests: _manifests, ...result }) => result) }
}

/** A stage with `noOutput` hands nothing to later stages. */
export const clearOutputsStep: Step = {
  name: 'clearOutputs',
  decide: ({ stage }) => ({
    status: 'SUCCEEDED',
    outputs: Object.fromEntries(Object.keys(stage.outputs).map((key) => [key, undefined])),
  }),
}

/** Objects that the stage has deployed, as `location` and full name. */
export function deployedNames(context: JsonObject): { location: string; name: string }[] {
  return Object.entries(objectOf(context['outputs.manifestNamesByNamespace'])).flatMap(([location, names]) =>
    listOf(names).map((name) => ({ location, name: String(name) })),
  )
}
