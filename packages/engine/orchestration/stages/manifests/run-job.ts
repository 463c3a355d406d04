/** Jobs of Kubernetes: run to their end, with what their containers have printed as outputs. */
import { parseIfJson } from '@fairlead/base/json/json.ts'
import { shape } from '@fairlead/base/json/shape.ts'
import { isObject, type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { jobFields } from '@fairlead/model/stage-types/manifests.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
import type { CloudJob } from '@fairlead/ports/cloud-values.ts'
import type { JobPlace } from '@fairlead/ports/infrastructure.ts'
import { failureRecord, StageError } from '../../machine/failure.ts'
import type { Stage, StagePlace } from '../../model.ts'
import { kubernetes } from '../infrastructure/cloud-context.ts'
import {
  attempt,
  monitorStep,
  pauseFor,
  submitOperations,
  submitStep,
} from '../infrastructure/cloud-task.ts'
import {
  hasRunOutOfTime,
  jobsOf,
  keepJobResults,
  readJobs,
  shownOf,
  waitJobStep,
  waitsForJob,
} from '../infrastructure/jobs.ts'
import { jobsNote, lastTaskNote } from '../infrastructure/notes.ts'
import { toOperations } from '../infrastructure/strategy-parts.ts'
import {
  inSequence,
  type NewStage,
  type StageType,
  type Step,
  type TaskContext,
  type TaskResult,
} from '../stage-type.ts'
import { fetchArtifact, requireArtifact } from './artifacts.ts'
import { accountContextOf, manifestStage, operationFields } from './manifest-context.ts'
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
    throw new StageError([
      `The stage has ${documents.length} documents and runs exactly one: a Job.`,
    ])
  },
})

const readStage = shape({
  namespace: textOf,
  manifest: shape({
    metadata: shape({
      name: textOf,
      namespace: textOf,
      annotations: shape({ logs: [textOf, 'job.spinnaker.io/logs'] }),
    }),
  }),
})

const start = submitStep('runJob', (context) => {
  // A template of an address that the web UI shows in place of logs.
  const { logs } = readStage(context.stage.context).manifest.metadata.annotations
  return {
    operations: [
      {
        runJob: {
          application: context.execution.application,
          ...operationFields(context),
          source: 'text',
        },
      },
    ],
    context: { cloudProvider: kubernetes, ...(logs && { execution: { logs } }) },
  }
})

const monitor = monitorStep('monitorDeploy', { read: readJobs })
const wait = waitJobStep(waitForJob)
const consume: Step = { name: 'consumeArtifact', timeoutMs: 5 * 60_000, execute: consumeArtifact }

const jobSteps: readonly Step[] = [
  resolve,
  previewedOnceResolved(start),
  monitor,
  promoteStep,
  wait,
  bindStep,
  consume,
]

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
        [wait, waitsForJob(settings)],
        [bindStep, expectsArtifacts(settings)],
        [consume, settings['consumeArtifactSource'] === 'artifact'],
      ])
      return [...prepare, ...jobSteps.filter((step) => isChosen.get(step) ?? true)]
    },
    prepareRestart: keepJobResults,
    onCancel: stopJob,
    onFailureStages: (stage) => (hasRunOutOfTime(stage) ? inSequence(deletions(stage)) : []),
  })
}

export const runJobStages: readonly StageType[] = [
  jobStage('runJob_kubernetes'),
  jobStage('runJobManifest'),
]

/** @throws {StageError} when there are several */
function jobOf(place: StagePlace): JobPlace | undefined {
  const jobs = jobsOf(place)
  if (jobs.length < 2) return jobs[0]
  throw new StageError([
    `The stage started ${jobs.length} jobs, and can follow one: ${jobs.map(({ name }) => name).join(', ')}.`,
  ])
}

async function waitForJob(context: TaskContext): Promise<TaskResult> {
  const job = jobOf(context)
  if (job === undefined)
    throw new StageError(['The stage started no job: the operation returned no name.'])
  return attempt(context, statusReads, async () => {
    const status = await context.infrastructure.job(job)
    const shown = shownOf(status)
    const fail = (type: string, text: string, more: JsonObject = {}): TaskResult => ({
      status: 'TERMINAL',
      context: { ...shown, ...more, exception: failureRecord(type, [text]) },
      outputs: shown,
    })
    if (status.jobState === 'Failed') {
      const properties = await loadProperties(context, job, status).catch(() => undefined)
      return fail('JobFailed', describeFailure(job, status), properties)
    }
    if (status.jobState !== 'Succeeded')
      return {
        status: 'RUNNING',
        context: shown,
        pollMs: Math.min(pauseFor(context), longestPauseMs),
      }
    const properties = await loadProperties(context, job, status)
    if (properties !== undefined) {
      const found = { ...shown, ...properties }
      return { status: 'SUCCEEDED', context: found, outputs: found }
    }
    return fail(
      'PropertiesMissing',
      `The container "${readFields(jobFields, context.stage.context).propertyFile}" of the job printed no properties. Print lines of the ` +
        'form SPINNAKER_PROPERTY_NAME=value, or one of the form SPINNAKER_CONFIG_JSON={…}; or leave out "propertyFile".',
    )
  })
}

/** What the container printed that `propertyFile` names: of the job, else of a pod of it that succeeded. Undefined: nothing. */
async function loadProperties(
  { stage, infrastructure }: TaskContext,
  job: JobPlace,
  { pods }: CloudJob,
): Promise<JsonObject | undefined> {
  const { propertyFile: container } = readFields(jobFields, stage.context)
  if (container === undefined) return {}
  const own = await infrastructure.jobProperties({ ...job, file: container })
  const name = pods.find(({ status }) => status.phase === 'Succeeded')?.name
  const read = () =>
    name && infrastructure.podProperties({ ...job, provider: kubernetes, name, container })
  const properties = own ?? (await read())
  return properties ? { ...properties, propertyFileContents: properties } : undefined
}

function describeFailure(job: JobPlace, status: CloudJob): string {
  const {
    name = job.name.split(' ').at(-1) ?? job.name,
    reason,
    message,
    failureDetails,
    completionDetails,
  } = status
  const known =
    typeof failureDetails === 'string' ? failureDetails : describeDetails(failureDetails)
  const { exitCode, reason: why, message: end } = completionDetails
  const details = known || describeDetails({ exitCode, reason: why, message: end })
  return [`Job: '${name}' failed.`, reason, message, details].filter(Boolean).join(' ')
}

function describeDetails({
  pod,
  container,
  exitCode,
  reason,
  message,
}: Partial<CloudJob['completionDetails']>): string {
  const where = [pod && `pod ${pod}`, container && `container ${container}`]
    .filter(Boolean)
    .join(', ')
  const why = [exitCode && `exit code ${exitCode}`, reason, message].filter(Boolean).join(', ')
  return where || why ? `${[where, why].filter(Boolean).join(': ')}.` : ''
}

/** Its content is a JSON object, whose fields become outputs. */
async function consumeArtifact(context: TaskContext): Promise<TaskResult> {
  const {
    consumeArtifactId: id,
    consumeArtifact: given,
    consumeArtifactAccount: account,
  } = readFields(jobFields, context.stage.context)
  const what = 'The artifact to consume'
  const artifact = requireArtifact(context, what, { id, artifact: given, account })
  const content = await fetchArtifact(context, what, artifact)
  const value = typeof content === 'string' ? parseIfJson(content) : content
  if (!isObject(value))
    throw new StageError([`${what} holds no JSON object. Let the job write one.`])
  return { status: 'SUCCEEDED', outputs: value }
}

/** A cancelled stage leaves no job running. */
async function stopJob(context: TaskContext): Promise<void> {
  const job = jobOf(context)
  if (job !== undefined) return context.infrastructure.removeJob(job)
  const operations = toOperations(deletions(context.stage))
  // The operation that starts the job may be under way; this one is done after it.
  if (operations.length > 0) await submitOperations(context, 'stopJob', operations, kubernetes)
}

/** Stages that delete the jobs as the operation named them, or as the manifest does. */
function deletions(stage: Stage): NewStage[] {
  const { manifest, namespace } = readStage(stage.context)
  const { name, namespace: location = namespace } = manifest.metadata
  const named = jobsNote.in(stage.context)
  const isStarted = lastTaskNote.in(stage.context) !== undefined
  const meant =
    isStarted && name !== undefined && location !== undefined ? [{ location, name }] : []
  return (named.length > 0 ? named : meant).map((job) => {
    const manifestName = job.name.includes(' ') ? job.name : `job ${job.name}`
    const context = {
      ...accountContextOf(stage),
      location: job.location,
      manifestName,
      options: { cascading: true },
    }
    return { type: 'deleteManifest', name: `Delete ${manifestName}`, context }
  })
}
