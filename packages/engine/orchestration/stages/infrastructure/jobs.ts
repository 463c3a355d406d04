/** `runJob` and `destroyJob`: programs that run once on the infrastructure (docs/contracts/infrastructure.md#jobs). */
import { definedOf, fieldOf, type JsonObject, numberOf, objectOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { standalone } from '@fairlead/base/settings/standalone.ts'
import type { JobPlace } from '@fairlead/ports/infrastructure.ts'
import { failureRecord, StageError } from '../../machine/failure.ts'
import { isFalse, type Stage } from '../../model.ts'
import { inheritedContext, type StageType, type Step, type TaskContext } from '../stage-type.ts'
import { cloudPlaceFields, placesOf, requireAccount, requirePlaces, stageAccountOf, stageProviderOf } from './cloud-context.ts'
import { hourMs, monitorStep, pauseFor, refreshStep, submitStep } from './cloud-task.ts'
import { withoutNotes } from './server-group-operations.ts'

const wait: Step = { name: 'waitOnJobCompletion', timeoutMs: 2 * hourMs, timeoutFollowsStage: true, execute: waitForJob }

export const runJobStage: StageType = {
  type: 'runJob',
  steps: [
    submitStep('runJob', 'runjob', ({ stage, execution }) => ({
      operations: [{ runJob: { application: execution.application, ...withoutNotes(stage.context) } }],
    })),
    monitorStep('monitorDeploy', { expectsResult: true, read: readJobs }),
    wait,
  ],
  chooseSteps: ({ context }) => (isFalse(context['waitForCompletion']) ? runJobStage.steps.slice(0, 2) : runJobStage.steps),
  prepareRestart: keepJobResults,
  /** A cancelled stage leaves no job running. */
  async onCancel(context) {
    const job = jobOf(context)
    if (job !== undefined) await context.infrastructure.removeJob(job)
  },
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
    // The end of the stage alone would leave the command running.
    const runtimeLimitSecs = isFalse(settings['waitForCompletion'])
      ? undefined
      : Math.ceil((numberOf(settings['stageTimeoutMs']) || 2 * hourMs) / 1000)
    return [{ type: 'runJob', name: stage.name, context: { ...definedOf({ runtimeLimitSecs }), ...settings, ...place } }]
  },
}

export const destroyJobStage: StageType = {
  type: 'destroyJob',
  steps: [
    submitStep('destroyJob', 'destroyjob', ({ stage }) => ({ operations: [{ destroyJob: withoutNotes(stage.context) }] })),
    monitorStep(),
    refreshStep('forceCacheRefresh', 'Job', ({ stage }) =>
      placesOf(stage.context).map((region) => ({
        jobName: stage.context['jobName'] ?? stage.context['jobId'],
        region,
        account: stageAccountOf(stage.context),
        evict: true,
      })),
    ),
  ],
}

/** A restart shows what the last run of the job came to. */
export function keepJobResults(stage: Stage): void {
  const { 'deploy.jobs': jobs, jobStatus, completionDetails, propertyFileContents, ...context } = stage.context
  const results = { jobStatus, completionDetails, propertyFileContents, 'deploy.jobs': jobs }
  stage.context = { ...context, restartDetails: { ...objectOf(context['restartDetails']), ...results } }
}

export function readJobs(results: readonly JsonObject[]): JsonObject {
  const jobs: Record<string, string[]> = {}
  for (const result of results) {
    for (const [location, names] of Object.entries(objectOf(result['deployedNamesByLocation'])))
      jobs[location] = [...(jobs[location] ?? []), ...textsOf(names)]
  }
  return { 'deploy.jobs': jobs }
}

function jobOf({ stage, execution }: TaskContext): JobPlace | undefined {
  const [[location, names] = ['', []]] = Object.entries(objectOf(stage.context['deploy.jobs']))
  const [name] = textsOf(names)
  if (name === undefined) return undefined
  const application = textOf(stage.context['application']) ?? execution.application
  return { application, account: requireAccount(stage.context), location, name }
}

async function waitForJob(context: TaskContext): ReturnType<Extract<Step, { execute: unknown }>['execute']> {
  const job = jobOf(context)
  if (job === undefined)
    throw new StageError([
      `${stageProviderOf(context.stage.context)} started no job in ${requirePlaces(context.stage.context)[0]}.`,
    ])
  const status = await context.infrastructure.job(job)
  const shown = { jobStatus: status, completionDetails: status['completionDetails'] }
  const state = textOf(status['jobState'])
  if (state === 'Failed') return { status: 'TERMINAL', context: { ...shown, exception: failureOf(job.name, status) } }
  if (state !== 'Succeeded') return { status: 'RUNNING', context: shown, pollMs: pauseFor(context) }
  const properties = await loadProperties(context, job)
  return { status: 'SUCCEEDED', context: { ...shown, ...properties }, outputs: { jobStatus: status, ...properties } }
}

/** The properties that the job has written to the file that the stage names. */
async function loadProperties(context: TaskContext, job: JobPlace): Promise<JsonObject> {
  const file = textOf(context.stage.context['propertyFile'])
  if (file === undefined) return {}
  const properties = await context.infrastructure.jobProperties({ ...job, file })
  if (properties === undefined) {
    throw new StageError([`The job left no properties in "${file}". Write them as lines of the form name=value, or as JSON.`])
  }
  return { ...properties, propertyFileContents: properties }
}

function failureOf(name: string, status: JsonObject): JsonObject {
  const details = objectOf(status['completionDetails'])
  const reason = textOf(details['message']) ?? textOf(details['reason']) ?? textOf(fieldOf(status['failureDetails'], 'message'))
  const code = details['exitCode']
  const how = code === undefined || code === null ? '' : ` with exit code ${String(code)}`
  return failureRecord('JobFailed', [`The job ${name} failed${how}.${reason === undefined ? '' : ` ${reason}`}`])
}
