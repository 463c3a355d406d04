/** Stages that make artifacts of texts, bind expected ones, and take them from runs of other pipelines. */
import { formatJson } from '@fairlead/base/json/json.ts'
import { list, shape } from '@fairlead/base/json/shape.ts'
import { definedOf, type JsonObject, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { findArtifactFromExecution } from '@fairlead/model/stage-types/artifacts.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
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

const toContents = shape({
  artifactContents: list(
    shape({
      id: textOf,
      name: textOf,
      contents: (value) =>
        value === undefined || typeof value === 'string' ? value : formatJson(value),
    }),
  ),
})

/** The texts are evaluated by now, with the rest of the stage. */
function evaluate({ stage }: TaskContext): TaskResult {
  const made = toContents(stage.context).artifactContents.flatMap(({ id, name, contents }) => {
    if (!contents) return []
    const reference = Buffer.from(contents, 'utf8').toString('base64')
    return [
      {
        id,
        artifact: definedOf({
          type: 'embedded/base64',
          name,
          reference,
          artifactAccount: 'embedded-artifact',
        }),
      },
    ]
  })
  const found = {
    artifacts: made.map(({ artifact }) => artifact),
    resolvedExpectedArtifacts: made.flatMap(({ id, artifact }) =>
      id === undefined ? [] : [{ id, boundArtifact: artifact }],
    ),
  }
  return { status: 'SUCCEEDED', context: found, outputs: found }
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
      const run = newestRunOf(execution.pipelineConfigId ?? '')
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
  const { pipeline, executionOptions } = readFields(
    findArtifactFromExecution.fields,
    context.stage.context,
  )
  const expected = expectedBy(context.stage)
  const { succeeded, terminal, running } = executionOptions
  const wanted = [succeeded && 'SUCCEEDED', terminal && 'TERMINAL', running && 'RUNNING'] as const
  const chosen = wanted.filter((status) => status !== false)
  const statuses: Status[] = chosen.length === 0 ? ['SUCCEEDED'] : chosen
  const run = context.newestRunOf(pipeline ?? '', statuses)
  if (run === undefined) {
    const title =
      pipeline === undefined ? 'the pipeline, which is not set,' : `the pipeline ${pipeline}`
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

const toExpecting = shape({
  expectedArtifacts: objectsOf,
  expectedArtifact: (value) => objectsOf([value]),
})

/** @throws {StageError} when it expects nothing */
function expectedBy({ context }: Stage): JsonObject[] {
  const { expectedArtifacts, expectedArtifact } = toExpecting(context)
  const expected = [...expectedArtifacts, ...expectedArtifact]
  if (expected.length > 0) return expected
  throw new StageError(['The stage expects no artifact. Describe one in expectedArtifacts.'])
}

function bound(expected: readonly JsonObject[], candidates: Candidates): TaskResult {
  const resolved = bindExpected(expected, candidates)
  const artifacts = distinctArtifacts(resolved.map(({ boundArtifact }) => boundArtifact))
  const found = { artifacts, resolvedExpectedArtifacts: resolved }
  return { status: 'SUCCEEDED', context: found, outputs: found }
}

export const artifactStages: readonly StageType[] = [
  evaluateArtifactsStage,
  bindArtifactStage,
  findArtifactFromExecutionStage,
]
