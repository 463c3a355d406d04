/** Documents of a stage: written into it, or read from an artifact as a stream of YAML. */
import { list, shape } from '@fairlead/base/json/shape.ts'
import { isObject, type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { parseYamlStream } from '@fairlead/base/json/yaml.ts'
import { stageFields } from '@fairlead/model/stage-types/common.ts'
import { sourced } from '@fairlead/model/stage-types/manifests.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
import { executionScope } from '../../expressions/scopes.ts'
import { withSummary } from '../../expressions/stage-evaluation.ts'
import { evaluateTree } from '../../expressions/template.ts'
import { StageError } from '../../machine/failure.ts'
import type { Stage, StagePlace } from '../../model.ts'
import { attempt, type SubmitStep } from '../infrastructure/cloud-task.ts'
import type { Step, TaskContext, TaskResult } from '../stage-type.ts'
import { bindableArtifacts, fetchArtifact, hasItsContent, requireArtifact } from './artifacts.ts'
import { isFromArtifact } from './manifest-context.ts'
import { packedDocuments } from './packed-documents.ts'

/** YAML as Kubernetes reads it. */
const yamlForm = { version: '1.1', merges: true } as const
const fetches = { key: 'manifests.fetches', tries: 10, pauseMs: 200 }
const what = 'The manifest artifact'
const asksAgainMs = 250

interface DocumentSource {
  /** Key of the documents that are written into the stage. */
  readonly key: 'manifests' | 'patchBody' | 'manifest'
  /** What the documents add to the context. @throws {StageError} */
  readonly toContext: (documents: readonly JsonObject[], stage: Stage) => JsonObject
  /** What outputs have of it in place of long texts. */
  readonly toOutputs?: (context: JsonObject) => JsonObject
}

/** Reads the documents of the stage and the artifacts that may be bound in them; both reach context and outputs. */
export function resolveStep(name: string, source: DocumentSource): Step {
  const written = (place: StagePlace) =>
    toResult(place, source, writtenDocuments(place.stage, source.key))
  return {
    name,
    timeoutMs: 5 * 60_000,
    preview: async (context) => {
      if (!isFromArtifact(context.stage))
        return { operations: [], context: written(context).context }
      if (!hasItsContent(artifactOf(context))) return undefined
      return { operations: [], context: (await readDocuments(context, source)).context }
    },
    execute: async (context) =>
      isFromArtifact(context.stage) ? readDocuments(context, source) : written(context),
  }
}

/** What an artifact holds is known once it is resolved, and nothing is previewed before. */
export function previewedOnceResolved(submit: SubmitStep): Step {
  const isOpen = (stage: Stage) =>
    isFromArtifact(stage) && !Array.isArray(stage.context['optionalArtifacts'])
  return {
    ...submit,
    preview: async (context) => (isOpen(context.stage) ? undefined : submit.preview(context)),
  }
}

function toResult(
  place: StagePlace,
  { toContext, toOutputs = (context) => context }: DocumentSource,
  documents: readonly JsonObject[],
): TaskResult {
  const artifacts = bindableArtifacts(place)
  const found = { ...toContext(documents, place.stage), ...artifacts }
  const { context } = place.stage
  // What the author requires is looked up again after a restart.
  const given = context['manifests.required'] ?? context['requiredArtifacts'] ?? []
  return {
    status: 'SUCCEEDED',
    context: { ...found, 'manifests.required': given },
    outputs: toOutputs(found),
  }
}

/** @throws {StageError} when there are none, or one is no object */
function writtenDocuments({ context }: Stage, key: DocumentSource['key']): JsonObject[] {
  const packed = key === 'manifests' ? packedDocuments(context) : undefined
  if (packed !== undefined) return packed
  const value = context[key]
  if (value === undefined || value === null)
    throw new StageError([
      `The stage has no "${key}": write it there, or set "source" to artifact.`,
    ])
  return toDocuments([value], `"${key}"`)
}

/** Lists within lists are one list; what is empty is left out. */
function toDocuments(values: readonly unknown[], where: string): JsonObject[] {
  const found = values
    .flat(Infinity)
    .flatMap((value): unknown => (typeof value === 'string' ? parseDocuments(value, where) : value))
  return found
    .flat(Infinity)
    .filter((each) => each !== null && each !== undefined)
    .map((each, index) => {
      if (isObject(each)) return each
      throw new StageError([
        `Document ${index + 1} of ${where} is no object, but ${Array.isArray(each) ? 'a list' : typeof each}.`,
      ])
    })
}

/** Reads files like `kubectl`. @throws {StageError} */
export function parseDocuments(text: string, where: string): unknown[] {
  try {
    // Files that were joined may each begin with a byte order mark.
    return parseYamlStream(text.replaceAll(/^\uFEFF/gm, ''), yamlForm)
  } catch (error) {
    throw new StageError([`${where} is not YAML: ${(error as Error).message}.`])
  }
}

/** @throws {StageError} when the stage names no artifact that exists */
function artifactOf(place: StagePlace): JsonObject {
  const {
    manifestArtifactId: id,
    manifestArtifact: artifact,
    manifestArtifactAccount: account,
  } = readFields(sourced, place.stage.context)
  return requireArtifact(place, what, { id, artifact, account })
}

const readProblems = list(shape({ description: textOf }))

async function readDocuments(context: TaskContext, source: DocumentSource): Promise<TaskResult> {
  const settings = {
    ...readFields(sourced, context.stage.context),
    ...readFields(stageFields, context.stage.context),
  }
  const artifact = artifactOf(context)
  return attempt(context, fetches, async () => {
    const content = await fetchArtifact(context, what, artifact)
    const documents = toDocuments([content], 'the manifest artifact')
    if (settings.skipExpressionEvaluation) return toResult(context, source, documents)
    const { value, summary } = evaluateTree(documents, {
      scope: executionScope(context),
      now: context.now,
      meter: context.meter,
    })
    if (context.answers.pending.length > 0) return { status: 'RUNNING', pollMs: asksAgainMs }
    const problems = Object.values(summary)
      .flatMap(readProblems)
      .flatMap(({ description = [] }) => description)
    if (problems.length > 0 && settings.failOnFailedExpressions) throw new StageError(problems)
    const result = toResult(context, source, value)
    return { ...result, context: { ...result.context, ...withSummary(context.stage, summary) } }
  })
}
