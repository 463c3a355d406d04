/** Results of operations, where clients and expressions read them: keys with a dot in context and outputs of the stage. */
import { list, maybe } from '@fairlead/base/json/shape.ts'
import { definedOf, type JsonObject, objectOf } from '@fairlead/base/json/values.ts'
import { tasksNote } from '../infrastructure/notes.ts'
import type { Step, TaskContext, TaskResult } from '../stage-type.ts'

/** A copy of the whole manifest within itself. */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration'

/** Takes the first value that any task of the stage has for each key. */
export const promoteStep: Step = { name: 'promoteOutputs', decide: promote }

function promote({ stage }: TaskContext): TaskResult {
  const tasks = tasksNote.in(stage.context)
  const results = tasks.flatMap((task) => task.results)
  const first = (key: string) =>
    results.map(({ all }) => all[key]).find((each) => each !== undefined && each !== null)
  const manifests = first('manifests')
  const created = first('createdArtifacts')
  const found = definedOf({
    'outputs.manifests': maybe(list(toOutput))(manifests),
    'outputs.manifestNamesByNamespace': first('manifestNamesByNamespace'),
    'outputs.boundArtifacts': first('boundArtifacts'),
    'outputs.createdArtifacts': created,
    'outputs.warnings': first('warnings'),
    artifacts: created,
  })
  // One copy of the manifests is enough.
  const slim = tasks.map((task) => ({
    ...task,
    all: { ...task.all, resultObjects: task.results.map(withoutManifests) },
  }))
  return { status: 'SUCCEEDED', context: { ...found, ...tasksNote.as(slim) }, outputs: found }
}

function withoutManifests({
  all: { manifests: _manifests, ...result },
}: {
  all: JsonObject
}): JsonObject {
  return result
}

/** An object of a cluster without values of secrets, which its copy of the manifest has too. */
export function toOutput(manifest: unknown): JsonObject {
  const { metadata, data, stringData, ...rest } = objectOf(manifest)
  const { managedFields: _fields, annotations, ...shown } = objectOf(metadata)
  const { [lastApplied]: _copy, ...kept } = objectOf(annotations)
  const values = rest['kind'] === 'Secret' ? {} : definedOf({ data, stringData })
  return {
    ...rest,
    ...values,
    metadata: { ...shown, ...(annotations !== undefined && { annotations: kept }) },
  }
}

/** A stage with `noOutput` hands nothing to later stages. */
export const clearOutputsStep: Step = {
  name: 'clearOutputs',
  decide: ({ stage }) => ({
    status: 'SUCCEEDED',
    outputs: Object.fromEntries(Object.keys(stage.outputs).map((key) => [key, undefined])),
  }),
}
