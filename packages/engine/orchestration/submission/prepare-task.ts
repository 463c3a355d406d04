/** Conversion of an ad-hoc task into an execution whose stages run in sequence. */

import { formatJson } from '@fairlead/base/json/json.ts'
import { or, shape } from '@fairlead/base/json/shape.ts'
import {
  isObject,
  type JsonObject,
  numberOf,
  objectOf,
  textOf,
} from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import { maxTagBytes } from '@fairlead/ports/cloud-values.ts'
import {
  describeBatch,
  describeOversize,
  executionFactor,
  type PipelineLimits,
} from '../../limits.ts'
import { authoredReferences } from '../authored-references.ts'
import type { EngineOptions } from '../engine-parts.ts'
import { authenticationOf } from '../identity.ts'
import type { Execution, Stage } from '../model.ts'
import { decodePayload } from '../stages/encoded-payload.ts'
import { checkGraph, checkStageList, referencedStages, stageFrom } from './references.ts'
import { checkParentReadable, normaliseTrigger } from './trigger.ts'

const toTask = shape({
  application: or(textOf, 'spinnaker_unknown'),
  description: [textOf, 'description', 'name'],
})

const toCommon = shape({
  startTimeExpiry: numberOf,
  origin: textOf,
  initialConfig: objectOf,
  spelEvaluator: or(textOf, 'v3'),
})

/** @throws {PortError} 400 when the body is not a task. */
export async function prepareTask(
  body: unknown,
  caller: Caller,
  sources: EngineOptions,
): Promise<Execution> {
  const task = Array.isArray(body) ? { job: body } : body
  if (!isObject(task))
    throw new PortError(
      400,
      'The body must be an object with "application", "description" and "job".',
    )
  const given = checkStageList(task['job'] ?? task['stages'], 'job', sources.limits)
  const large = given
    .map((job) => describeLargeJob(job, sources.limits))
    .find((each) => each !== undefined)
  const excess = large ?? describeOversize('The task', task, executionFactor * sources.limits.bytes)
  if (excess !== undefined) throw new PortError(400, excess)
  if (given.length === 0)
    throw new PortError(400, 'The task has no "job". Send a list with at least one job.')
  const jobs = referencedStages(given)
  checkGraph(jobs)
  await checkParentReadable(task['trigger'], caller, sources)
  const trigger = normaliseTrigger(task['trigger'], caller, sources)
  const id = sources.nextId()
  const { application, description } = toTask(task)
  const common = commonParts(task, caller, sources)
  const authored = { stages: jobs, trigger: task['trigger'] }
  const references = authoredReferences(
    authored,
    { ...trigger, type: 'task' },
    { application, parent: undefined },
  )
  return {
    type: 'ORCHESTRATION',
    id,
    rootId: id,
    application,
    description,
    ...common,
    engine: { ...common.engine, ...references },
    limitConcurrent: false,
    maxConcurrentExecutions: 0,
    keepWaitingPipelines: false,
    trigger,
    stages: jobs.map((job) => stageOfJob(job, sources.nextId)),
    notifications: trigger.notifications,
  }
}

/** A job's name is a field of what it does, such as that of a load balancer, besides the name of the stage. */
function stageOfJob(job: JsonObject, nextId: () => string): Stage {
  const stage = stageFrom(job, nextId)
  return job['name'] === undefined
    ? stage
    : { ...stage, context: { ...stage.context, name: job['name'] } }
}

/** What tasks and pipelines take alike from the body and its sender. */
export function commonParts(body: JsonObject, caller: Caller, sources: EngineOptions) {
  const {
    startTimeExpiry,
    origin = caller.origin ?? 'unknown',
    initialConfig,
    spelEvaluator,
  } = toCommon(body)
  return {
    status: 'NOT_STARTED' as const,
    buildTime: sources.now(),
    startTimeExpiry,
    canceled: false,
    origin,
    authentication: authenticationOf(caller.user, caller.accounts, sources.now()),
    initialConfig,
    systemNotifications: [],
    spelEvaluator,
    additionalHeaders: {},
    engine: { headers: caller.identity, followUps: [] },
  }
}

type Describe = (job: JsonObject, limits: PipelineLimits) => string | undefined

/** By the type of the job. */
const bounds: ReadonlyMap<unknown, Describe> = new Map<unknown, Describe>([
  ['savePipeline', describeSave],
  ['updatePipeline', describeSave],
  ['upsertEntityTags', (job) => describeTags(job['tags'], maxTagBytes.entity)],
  ['bulkUpsertEntityTags', (job) => describeTags(job['entityTags'], maxTagBytes.bulk)],
])

/** Why a job can only fail for the size of what it carries: a sentence that says what to do, or undefined. */
function describeLargeJob(job: JsonObject, limits: PipelineLimits): string | undefined {
  return bounds.get(job['type'])?.(job, limits)
}

function describeSave(
  { pipeline, pipelines }: JsonObject,
  limits: PipelineLimits,
): string | undefined {
  return (
    describeText('The definition', pipeline, limits) ??
    describeText('The list of definitions', pipelines, limits) ??
    describeList(pipelines, limits)
  )
}

/** In base64, four characters hold three bytes. */
function describeText(
  what: string,
  text: unknown,
  { bytes: most }: PipelineLimits,
): string | undefined {
  const bytes = typeof text === 'string' ? Math.floor((text.length / 4) * 3) - 2 : 0
  return describeOversize(what, bytes, most)
}

function describeList(text: unknown, limits: PipelineLimits): string | undefined {
  let list: unknown
  try {
    list = decodePayload(text, 'pipelines')
  } catch {
    // The stage reports it.
  }
  return Array.isArray(list) ? describeBatch(list, limits) : undefined
}

function describeTags(tags: unknown, most: number): string | undefined {
  const bytes = Buffer.byteLength(formatJson(tags))
  return bytes <= most
    ? undefined
    : `The entity tags have ${bytes} bytes; ${most} are allowed. Shorten them, or send them in parts.`
}
