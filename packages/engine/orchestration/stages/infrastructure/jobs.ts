/** `runJob` and `destroyJob`: programs that run once on the infrastructure (docs/contracts/infrastructure.md#jobs). */
import { formatCause } from '@fairlead/base/causes/cause.ts'
import { shape } from '@fairlead/base/json/shape.ts'
import { definedOf, type JsonObject, objectOf } from '@fairlead/base/json/values.ts'
import { standalone } from '@fairlead/base/settings/standalone.ts'
import { stageFields, waitsForCompletion } from '@fairlead/model/stage-types/common.ts'
import { jobName, propertyFile } from '@fairlead/model/stage-types/infrastructure.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
import type { CloudJob, CloudResult } from '@fairlead/ports/cloud-values.ts'
import type { JobPlace } from '@fairlead/ports/infrastructure.ts'
import { failureRecord, StageError } from '../../machine/failure.ts'
import type { Stage, StagePlace } from '../../model.ts'
import {
  inheritedContext,
  type StageType,
  type Step,
  type TaskContext,
  type TaskResult,
} from '../stage-type.ts'
import {
  applicationOf,
  cloudPlaceFields,
  placesOf,
  requireAccount,
  requirePlaces,
  stageAccountOf,
  stageProviderOf,
} from './cloud-context.ts'
import {
  hourMs,
  lastResults,
  monitorStep,
  pauseFor,
  refreshStep,
  submitStep,
} from './cloud-task.ts'
import { jobsNote, withoutNotes } from './notes.ts'

/** @param execute Looks at the job once */
export function waitJobStep(execute: (context: TaskContext) => Promise<TaskResult>): Step {
  return { name: 'waitOnJobCompletion', timeoutMs: 2 * hourMs, timeoutFollowsStage: true, execute }
}

export function waitsForJob(context: JsonObject): boolean {
  return readFields([waitsForCompletion], context).waitForCompletion
}

export const runJobStage: StageType = {
  type: 'runJob',
  steps: [
    submitStep('runJob', ({ stage, execution }) => ({
      operations: [
        { runJob: { application: execution.application, ...withoutNotes(stage.context) } },
      ],
    })),
    monitorStep('monitorDeploy', { expectsResult: true, read: readJobs }),
    waitJobStep(waitForJob),
  ],
  chooseSteps: ({ context }) =>
    waitsForJob(context) ? runJobStage.steps : runJobStage.steps.slice(0, 2),
  prepareRestart: keepJobResults,
  /** A cancelled stage leaves no job running. */
  async onCancel(context) {
    const { execution, stage } = context
    const started = readJobs(await lastResults(context))
    const noted = { ...stage, context: { ...stage.context, ...started } }
    const [job] = [...jobsOf(context), ...jobsOf({ execution, stage: noted })]
    if (job !== undefined) await context.infrastructure.removeJob(job)
  },
  onFailureStages: (stage) =>
    hasRunOutOfTime(stage)
      ? jobsNote.in(stage.context).map(({ name, location }) => ({
          type: 'destroyJob',
          name: `Destroy ${name}`,
          context: {
            ...cloudPlaceFields({
              provider: stageProviderOf(stage.context),
              account: requireAccount(stage.context),
              region: location,
            }),
            jobName: name,
          },
        }))
      : [],
}

/** Its job goes on by itself. */
export function hasRunOutOfTime({ context }: Stage): boolean {
  return objectOf(context['exception'])['exceptionType'] === 'TimeoutException'
}

/** A command on this machine, as a job that needs no image; it runs where bakes may run commands. */
export const runCommandStage: StageType = {
  type: 'runCommand',
  steps: [],
  beforeStages: (stage) => {
    const settings = inheritedContext(stage)
    const account = stageAccountOf(settings) ?? standalone.account
    const [region = standalone.region] = placesOf(settings)
    const place = cloudPlaceFields({ provider: standalone.provider, account, region })
    const { stageTimeoutMs } = readFields(stageFields, settings)
    // The end of the stage alone would leave the command running.
    const runtimeLimitSecs = waitsForJob(settings)
      ? Math.ceil((stageTimeoutMs || 2 * hourMs) / 1000)
      : undefined
    return [
      {
        type: 'runJob',
        name: stage.name,
        context: { ...definedOf({ runtimeLimitSecs }), ...settings, ...place },
      },
    ]
  },
}

export const destroyJobStage: StageType = {
  type: 'destroyJob',
  steps: [
    submitStep('destroyJob', ({ stage }) => ({
      operations: [{ destroyJob: withoutNotes(stage.context) }],
    })),
    monitorStep(),
    refreshStep('forceCacheRefresh', 'Job', ({ stage: { context } }) =>
      placesOf(context).map((region) => ({
        ...readFields([jobName], context),
        region,
        account: stageAccountOf(context),
        evict: true,
      })),
    ),
  ],
}

/** A restart shows what the last run of the job came to. */
export function keepJobResults(stage: Stage): void {
  const {
    'deploy.jobs': jobs,
    jobStatus,
    completionDetails,
    propertyFileContents,
    ...context
  } = stage.context
  const { restartDetails } = toRestart(context)
  const results = { jobStatus, completionDetails, propertyFileContents, 'deploy.jobs': jobs }
  stage.context = {
    ...context,
    restartDetails: { ...restartDetails, ...results },
  }
}

const toRestart = shape({ restartDetails: objectOf })

export function readJobs(results: readonly CloudResult[]): JsonObject {
  return jobsNote.as(results.flatMap(({ jobs }) => jobs))
}

/** Jobs that the stage has started. */
export function jobsOf(place: StagePlace): JobPlace[] {
  const { context } = place.stage
  return jobsNote
    .in(context)
    .map((job) => ({ ...job, application: applicationOf(place), account: requireAccount(context) }))
}

/** What clients read about a job. */
export function shownOf({ all }: CloudJob): JsonObject {
  return { jobStatus: all, completionDetails: all['completionDetails'] }
}

async function waitForJob(context: TaskContext): Promise<TaskResult> {
  const { context: settings } = context.stage
  const [job] = jobsOf(context)
  if (job === undefined)
    throw new StageError([
      `${stageProviderOf(settings)} started no job in ${requirePlaces(settings)[0]}.`,
    ])
  const status = await context.infrastructure.job(job)
  const shown = shownOf(status)
  if (status.jobState === 'Failed')
    return { status: 'TERMINAL', context: { ...shown, exception: failureOf(job.name, status) } }
  if (status.jobState !== 'Succeeded')
    return { status: 'RUNNING', context: shown, pollMs: pauseFor(context) }
  const properties = await loadProperties(context, job)
  return {
    status: 'SUCCEEDED',
    context: { ...shown, ...properties },
    outputs: { jobStatus: status.all, ...properties },
  }
}

/** The properties that the job has written to the file that the stage names. */
async function loadProperties(
  { stage, infrastructure }: TaskContext,
  job: JobPlace,
): Promise<JsonObject> {
  const { propertyFile: file } = readFields([propertyFile], stage.context)
  if (file === undefined) return {}
  const properties = await infrastructure.jobProperties({ ...job, file })
  if (properties !== undefined) return { ...properties, propertyFileContents: properties }
  throw new StageError([
    `The job left no properties in "${file}". Write them as lines of the form name=value, or as JSON.`,
  ])
}

function failureOf(
  name: string,
  { completionDetails: { message, reason, exitCode }, failureDetails, cause }: CloudJob,
): JsonObject {
  const why =
    message ?? reason ?? (typeof failureDetails === 'object' ? failureDetails.message : undefined)
  const how = exitCode === undefined ? '' : ` with exit code ${exitCode}`
  const failed = `The job ${name} failed${how}`
  const text =
    cause === undefined || cause.stream === 'system'
      ? `${failed}.${why === undefined ? '' : ` ${why}`}`
      : `${failed}: ${formatCause(cause)}`
  return failureRecord('JobFailed', [text], cause)
}
