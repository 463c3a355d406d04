/** Stages that make artifacts of texts, bind expected ones, and take them from runs of other pipelines. */
import { formatJson } from '@fairlead/base/json/json.ts'
import { definedOf, isTrue, type JsonObject, objectOf, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { bindExpected, type Candidates } from '../artifact-binding.ts'
import { artifactsOfExecution, artifactsSeenBy, distinctArtifacts } from '../artifacts-at-hand.ts'
import { StageError } from '../machine/failure.ts'
import type { Stage } from '../model.ts'
import type { Status } from '../statuses.ts'
import { withBinding } from './manifests/produced-artifacts.ts'
import type { StageType, TaskContext, TaskResult } from './stage-type.ts'

const evaluateArtifactsStage: StageType = withBinding({
  type: 'evaluateArtifacts',
  steps: [{ name: 'evaluateArtifacts', decide: evaluate }],
  forgets: ['artifacts', 'resolvedExpectedArtifacts'],
})

/** The texts are evaluated by now, with the rest of the stage. */
function evaluate({ stage }: TaskContext): TaskResult {
  const made = objectsOf(stage.context['artifactContents']).flatMap(({ id, name, contents }) => {
    const text = typeof contents === 'string' || contents === undefined || contents === null ? contents : formatJson(contents)
    return text ? [{ id, artifact: toEmbedded(name, text) }] : []
  })
  const resolved = made.filter(({ id }) => textOf(id) !== undefined)
  const found = {
    artifacts: made.map(({ artifact }) => artifact),
    resolvedExpectedArtifacts: resolved.map(({ id, artifact }) => ({ id, boundArtifact: artifact })),
  }
  return { status: 'SUCCEEDED', context: found, outputs: found }
}

function toEmbedded(name: unknown, text: string): JsonObject {
  const reference = Buffer.from(text, 'utf8').toString('base64')
  return definedOf({ type: 'embedded/base64', name: textOf(name), reference, artifactAccount: 'embedded-artifact' })
}

const bindArtifactStage: StageType = {
  type: 'bindArtifact',
  steps: [{ name: 'bindArtifact', decide: bind }],
  forgets: ['artifacts', 'resolvedExpectedArtifacts'],
}

function bind(context: TaskContext): TaskResult {
  const { execution, newestRunOf } = context
  return bound(expectedBy(context.stage), {
    among: artifactsSeenBy(context),
    prior() {
      const run = newestRunOf(textOf(execution.pipelineConfigId) ?? '')
      return run === undefined ? [] : artifactsOfExecution(run)
    },
    missing: 'Neither the trigger nor the stages before have brought an artifact',
  })
}

const findArtifactFromExecutionStage: StageType = {
  type: 'findArtifactFromExecution',
  steps: [{ name: 'findArtifactFromExecution', execute: find, readsOnly: true, timeoutMs: 60_000 }],
  forgets: ['artifacts', 'resolvedExpectedArtifacts'],
}

async function find(context: TaskContext): Promise<TaskResult> {
  const { pipeline, executionOptions } = context.stage.context
  const expected = expectedBy(context.stage)
  const statuses = wantedStatuses(objectOf(executionOptions))
  const run = context.newestRunOf(String(pipeline ?? ''), statuses)
  if (run === undefined) {
    const title = textOf(pipeline) === undefined ? 'the pipeline, which is not set,' : `the pipeline ${String(pipeline)}`
    throw new StageError([
      `There is no execution of ${title} with the status ${statuses.join(' or ')}. Run it, or change executionOptions.`,
    ])
  }
  await context.require('READ', run.application)
  const found = bound(expected, {
    among: artifactsOfExecution(run),
    missing: `The execution ${run.id} of the pipeline "${run.name ?? ''}" has no artifact`,
  })
  return { ...found, context: { ...found.context, sourceExecutionId: run.id } }
}

/** Without any option: those that succeeded. */
function wantedStatuses({ succeeded, terminal, running }: JsonObject): Status[] {
  const wanted: Status[] = [
    ...(isTrue(succeeded) ? (['SUCCEEDED'] as const) : []),
    ...(isTrue(terminal) ? (['TERMINAL'] as const) : []),
    ...(isTrue(running) ? (['RUNNING'] as const) : []),
  ]
  return wanted.length === 0 ? ['SUCCEEDED'] : wanted
}

/** @throws {StageError} when it expects nothing */
function expectedBy({ context }: Stage): JsonObject[] {
  const expected = [...objectsOf(context['expectedArtifacts']), ...objectsOf([context['expectedArtifact']])]
  if (expected.length > 0) return expected
  throw new StageError(['The stage expects no artifact. Describe one in expectedArtifacts.'])
}

function bound(expected: readonly JsonObject[], candidates: Candidates): TaskResult {
  const resolved = bindExpected(expected, candidates)
  const artifacts = distinctArtifacts(resolved.map(({ boundArtifact }) => boundArtifact))
  const found = { artifacts, resolvedExpectedArtifacts: resolved }
  return { status: 'SUCCEEDED', context: found, outputs: found }
}

export const artifactStages: readonly StageType[] = [evaluateArtifactsStage, bindArtifactStage, findArtifactFromExecutionStage]
