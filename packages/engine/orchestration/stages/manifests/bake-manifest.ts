/** `bakeManifest`: manifests that Helm, Helmfile or Kustomize renders, as an artifact for later stages. */
import { asGiven, list, maybe, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, scalarOf, textOf, withoutNulls } from '@fairlead/base/json/values.ts'
import { bakeManifest } from '@fairlead/model/stage-types/manifests.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
import { StageError } from '../../machine/failure.ts'
import type { StagePlace } from '../../model.ts'
import { bakeryRequests } from '../infrastructure/bake.ts'
import { attempt } from '../infrastructure/cloud-task.ts'
import type { StageType, TaskContext, TaskResult } from '../stage-type.ts'
import { requireArtifact } from './artifacts.ts'
import { manifestStage } from './manifest-context.ts'
import { bindStep } from './produced-artifacts.ts'

const renderers = ['HELM2', 'HELM3', 'HELMFILE', 'KUSTOMIZE', 'KUSTOMIZE4', 'KUSTOMIZE5']

export const bakeManifestStage: StageType = manifestStage({
  type: 'bakeManifest',
  steps: [{ name: 'createBake', execute: createBake, timeoutMs: 5 * 60_000 }, bindStep],
})

async function createBake(context: TaskContext): Promise<TaskResult> {
  const { renderer, body } = toRequest(context)
  return attempt(context, { key: 'manifests.bakes', ...bakeryRequests }, async () => {
    const found = { artifacts: [await context.bakery.bakeManifest(body, renderer)] }
    return { status: 'SUCCEEDED', context: found, outputs: found }
  })
}

/** @throws {StageError} when the stage names no renderer, no input, or not exactly one output */
function toRequest(place: StagePlace): { renderer: string; body: JsonObject } {
  const settings = place.stage.context
  const { templateRenderer = '', overrides } = readFields(bakeManifest.fields, settings)
  const renderer = templateRenderer.toUpperCase()
  if (!renderers.includes(renderer))
    throw new StageError([
      `The renderer "${renderer}" is unknown: set "templateRenderer" to one of ${renderers.join(', ')}.`,
    ])
  const inputs = inputsOf(place)
  const [first] = inputs
  if (first === undefined)
    throw new StageError([
      'The stage has no input: set "inputArtifacts", the chart or overlay first.',
    ])
  const outputArtifactName = outputNameOf(settings)
  const input = renderer.startsWith('KUSTOMIZE')
    ? { inputArtifact: first }
    : { inputArtifacts: inputs }
  const fields = [
    'outputName overrides rawOverrides namespace apiVersions kubeVersion includeCRDs environment helmChartFilePath',
    'helmfileFilePath kustomizeFilePath',
  ].flatMap((line) => line.split(' '))
  const given = Object.fromEntries(fields.map((key) => [key, settings[key]]))
  return {
    renderer,
    body: withoutNulls({
      ...given,
      overrides,
      ...input,
      outputArtifactName,
      templateRenderer: renderer,
    }),
  }
}

const toInput = shape({ id: scalarOf, artifact: asGiven, account: textOf })
const toInputs = shape({ inputArtifacts: list(toInput), inputArtifact: maybe(toInput) })

function inputsOf(place: StagePlace): JsonObject[] {
  const { inputArtifacts: listed, inputArtifact: single } = toInputs(place.stage.context)
  const inputs = listed.length === 0 && single !== undefined ? [single] : listed
  return inputs.map((each) => requireArtifact(place, 'The input artifact', each))
}

const toOutput = shape({
  expectedArtifacts: list(shape({ matchArtifact: shape({ name: textOf }) })),
})

function outputNameOf(settings: JsonObject): string {
  const { expectedArtifacts: expected } = toOutput(settings)
  const name = expected[0]?.matchArtifact.name
  if (expected.length === 1 && name !== undefined) return name
  throw new StageError([
    `The stage expects ${expected.length} artifacts and produces one: set "expectedArtifacts" to one with "matchArtifact.name".`,
  ])
}
