import { parseJson } from '@fairlead/base/json/json.ts'
import { fieldAt, isObject, type JsonObject, objectOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import type { JobPlace } from '@fairlead/ports/infrastructure.ts'
import { StageError } from '../../machine/failure.ts'
import { isFalse, type Stage, type StagePlace } from '../../model.ts'
import { kubernetes, requireAccount } from '../infrastructure/cloud-context.ts'
import { attempt, hourMs, monitorStep, pauseFor, submitOperations, submitStep } from '../infrastructure/cloud-task.ts'
import { keepJobResults, readJobs } from '../infrastructure/jobs.ts'
import { inSequence, type StageType, type Step, type TaskContext, type TaskResult } from '../stage-type.ts'
import { fetchArtifact, requireArtifact } from './artifacts.ts'
import { describeJobFailure, describeMissingProperties, loadProperties } from './job-results.ts'
import { manifestStage, operationFields } from './manifest-context.ts'
import { previewedOnceResolved, resolveStep } from './manifest-source.ts'
import { bindStep, expectsArtifacts } from './produced-artifacts.ts'
import { promoteStep } from './promote-outputs.ts'

const longestPauseMs = 10_000
const statusReads = { key: 'job.reads', tries: 6, pauseMs: 5000 }

const resolve = resolveStep('resolveRunJobSource', {
  key: 'manifest',
  toContext: (documents) => {
    const [manifest, ...others] = documents
    if (manifest !== undefined && others.length === 0) return { manifest }
    throw new StageError([`The stage has ${documents.length} documents and runs exactly one: a Job.`])
  },
})

const start = submitStep('runJob', 'runjob', (context) => ({
  operations: [{ runJob: { application: context.execution.application, ...operationFields(context), source: 'text' } }],
  context: { cloudProvider: kubernetes, ...logsOf(context.stage.context['manifest']) },
}))

const monitor = monitorStep('monitorDeploy', { read: readJobs })
const wait: Step = { name: 'waitOnJobCompletion', timeoutMs: 2 * hourMs, timeoutFollowsStage: true, execute: waitForJob }
const consume: Step = { name: 'consumeArtifact', timeoutMs: 5 * 60_000, execute: consumeArtifact }

const jobSteps: readonly Step[] = [resolve, previewedOnceResolved(start), monitor, promoteStep, wait, bindStep, consume]

/** @param prepare Steps ahead of the others @param complete The context with what the configuration fixes */
export function jobStage(
  type: string,
  prepare: readonly Step[] = [],
  complete: (stage: Stage) => JsonObject = ({ context }) => context,
): StageType {
  return manifestStage({
    type,
    steps: [...prepare, ...jobSteps],
    chooseSteps: (stage) => {
      const settings = complete(stage)
      const isChosen = new Map<Step, boolean>([
        [wait, !isFalse(settings['waitForCompletion'])],
        [bindStep, expectsArtifacts(settings)],
        [consume, settings['consumeArtifactSource'] === 'artifact'],
      ])
      return [...prepare, ...jobSteps.filter((step) => isChosen.get(step) ?? true)]
    },
    prepareRestart: keepJobResults,
    onCancel: stopJob,
    onFailureStages: stopAfterTimeout,
  })
}

export const runJobStages: readonly StageType[] = [jobStage('runJob_kubernetes'), jobStage('runJobManifest')]

/** A template of an address that the web UI shows in place of logs. */
function logsOf(manifest: unknown): JsonObject {
  const logs = textOf(fieldAt(manifest, 'metadata', 'annotations', 'job.spinnaker.io/logs'))
  return logs === undefined ? {} : { execution: { logs } }
}

/** @throws {StageError} when there are several */
function jobOf({ stage, execution }: StagePlace): JobPlace | undefined {
  const jobs = Object.entries(objectOf(stage.context['deploy.jobs'])).flatMap(([location, names]) =>
    textsOf(names).map((name) => ({ location, name })),
  )
  const [job] = jobs
  if (jobs.length > 1)
    throw new StageError([
      `The stage started ${jobs.length} jobs, and can follow one: ${jobs.map(({ name }) => name).join(', ')}.`,
    ])
  if (job === undefined) return undefined
  const application = textOf(stage.context['application']) ?? execution.application
  return { ...job, account: requireAccount(stage.context), application }
}

async function waitForJob(context: TaskContext): Promise<TaskResult> {
  const job = jobOf(context)
  if (job === undefined) throw new StageError(['The stage started no job: the operation returned no name.'])
  return attempt(context, statusReads, async () => {
    const status = await context.infrastructure.job(job)
    const shown = { jobStatus: status, completionDetails: status['completionDetails'] }
    const state = textOf(status['jobState'])
    if (state === 'Failed') {
      const properties = await loadProperties(context, job, status).catch(() => undefined)
      return {
        status: 'TERMINAL',
        context: { ...shown, ...properties, exception: describeJobFailure(job, status) },
        outputs: shown,
      }
    }
    if (state !== 'Succeeded') return { status: 'RUNNING', context: shown, pollMs: Math.min(pauseFor(context), longestPauseMs) }
    const properties = await loadProperties(context, job, status)
    if (properties === undefined) {
      const exception = describeMissingProperties(context.stage)
      return { status: 'TERMINAL', context: { ...shown, exception }, outputs: shown }
    }
    const found = { ...shown, ...properties }
    return { status: 'SUCCEEDED', context: found, outputs: found }
  })
}

/** Its content is a JSON object, whose fields become outputs. */
async function consumeArtifact(context: TaskContext): Promise<TaskResult> {
  const settings = context.stage.context
  const what = 'The artifact to consume'
  const artifact = requireArtifact(context, what, {
    id: settings['consumeArtifactId'],
    artifact: settings['consumeArtifact'],
    account: settings['consumeArtifactAccount'],
  })
  const content = await fetchArtifact(context, what, artifact)
  const value = typeof content === 'string' ? parseObject(content) : content
  if (!isObject(value)) throw new StageError([`${what} holds no JSON object. Let the job write one.`])
  return { status: 'SUCCEEDED', outputs: value }
}

function parseObject(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

/** A cancelled stage leaves no job running. */
async function stopJob(context: TaskContext): Promise<void> {
  const job = jobOf(context)
  if (job !== undefined) await context.infrastructure.removeJob(job)
  else {
    const operations = startedJobs(context.stage).map((target) => ({ deleteManifest: deletionOf(context.stage, target) }))
    // The operation that starts the job may be under way; this one is done after it.
    if (operations.length > 0) await submitOperations(context, 'stopJob', operations, kubernetes)
  }
}

/** Neither does one that has run out of time. */
function stopAfterTimeout(stage: Stage): ReturnType<NonNullable<StageType['onFailureStages']>> {
  if (fieldAt(stage.context, 'exception', 'exceptionType') !== 'TimeoutException') return []
  return inSequence(
    startedJobs(stage).map((target) => ({
      type: 'deleteManifest',
      name: `Delete ${target.manifestName}`,
      context: deletionOf(stage, target),
    })),
  )
}

interface StartedJob {
  readonly location: string
  readonly manifestName: string
}

/** As the operation has named them; until it has, by the manifest. */
function startedJobs({ context }: Stage): StartedJob[] {
  const named = Object.entries(objectOf(context['deploy.jobs'])).flatMap(([location, names]) =>
    textsOf(names).map((name) => ({ location, manifestName: name.includes(' ') ? name : `job ${name}` })),
  )
  if (named.length > 0 || context['kato.last.task.id'] === undefined) return named
  const metadata = objectOf(fieldAt(context, 'manifest', 'metadata'))
  const [name, location] = [textOf(metadata['name']), textOf(metadata['namespace']) ?? textOf(context['namespace'])]
  return name === undefined || location === undefined ? [] : [{ location, manifestName: `job ${name}` }]
}

function deletionOf({ context }: Stage, target: StartedJob): JsonObject {
  const account = requireAccount(context)
  return { account, credentials: account, cloudProvider: kubernetes, ...target, options: { cascading: true } }
}
