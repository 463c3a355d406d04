/** `bakeManifest`: manifests that Helm, Helmfile or Kustomize renders, as an artifact for later stages. */
import {
  fieldOf,
  type JsonObject,
  objectsOf,
  textOf,
  withoutNulls,
} from '@fairlead/base/json/values.ts'
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
  const renderer = (textOf(settings['templateRenderer']) ?? '').toUpperCase()
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
  const overrides = settings['overrides'] ?? {}
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

function inputsOf(place: StagePlace): JsonObject[] {
  const { inputArtifacts, inputArtifact } = place.stage.context
  const listed = objectsOf(inputArtifacts)
  return (listed.length > 0 ? listed : objectsOf([inputArtifact])).map(
    ({ id, artifact, account }) =>
      requireArtifact(place, 'The input artifact', { id, artifact, account }),
  )
}

function outputNameOf(settings: JsonObject): string {
  const expected = objectsOf(settings['expectedArtifacts'])
  const [only] = expected
  const name = textOf(fieldOf(only?.['matchArtifact'], 'name'))
  if (expected.length === 1 && name !== undefined) return name
  throw new StageError([
    `The stage expects ${expected.length} artifacts and produces one: set "expectedArtifacts" to one with "matchArtifact.name".`,
  ])
}
