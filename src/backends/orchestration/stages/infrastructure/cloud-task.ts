/** Steps that submit operations to the infrastructure service and follow them (docs/contracts/infrastructure.md#operations). */
import { encodeSegment, formatQuery, pathTo } from '../../../../http/encode-path.ts'
import {
  definedOf,
  fieldAt,
  fieldOf,
  isTrue,
  type JsonObject,
  objectOf,
  objectsOf,
  textOf,
  textsOf,
} from '../../../../json/values.ts'
import { failureRecord, RetryableError, StageError } from '../../machine/failure.ts'
import type { Stage } from '../../model.ts'
import type { CallStep, Step, Submission, TaskContext, TaskResult } from '../stage-type.ts'
import { stageAccountOf, stageProviderOf } from './cloud-context.ts'

const secondMs = 1000
export const minuteMs = 60 * secondMs
export const hourMs = 60 * minuteMs

/** Answers of 404 that a task may have until the service knows it. */
const toleratedAbsences = 30

/**
 * Pauses that suit a service that is done at once and one that takes an hour.
 *
 * @returns milliseconds
 */
export function pauseFor({ stage, now }: TaskContext): number {
  const elapsedMs = now - (stage.startTime ?? now)
  if (elapsedMs < 1 * secondMs) return 40
  if (elapsedMs < 3 * secondMs) return 100
  if (elapsedMs < 10 * secondMs) return 250
  if (elapsedMs < minuteMs) return 1 * secondMs
  if (elapsedMs < 10 * minuteMs) return 5 * secondMs
  return elapsedMs < 30 * minuteMs ? 10 * secondMs : minuteMs
}

export type SubmitStep = Required<Pick<CallStep, 'judge'>> & CallStep

/**
 * Submits what `build` makes; without operations the stage has nothing to do and goes on. A repeated submission, after a crash or a
 * lost answer, names the same request, so it runs once.
 *
 * @param notification The value of `notification.type`, which clients read.
 * @param build Only reads; what it throws refuses the operations.
 */
export function submitStep(
  name: string,
  notification: string,
  build: (context: TaskContext) => Submission | Promise<Submission>,
): SubmitStep {
  return {
    name,
    timeoutMs: 90 * secondMs,
    judge: async (context) => build(context),
    execute: async (context) => {
      const { operations, context: added = {} } = await build(context)
      const { stage } = context
      const account = stageAccountOf(stage.context)
      const shown: JsonObject = {
        'notification.type': notification,
        ...(account !== undefined && { 'deploy.account.name': account }),
        ...added,
      }
      if (operations.length === 0) return { status: 'SUCCEEDED', context: { ...shown, 'kato.last.task.id': undefined } }
      const provider = stageProviderOf({ ...stage.context, ...added })
      const body = await postOperations(context, name, operations, pathTo`/${provider}/ops`)
      const id = textOf(fieldOf(body, 'id'))
      if (id === undefined) throw new StageError(['clouddriver accepted the operation and named no task.'])
      const reference = { id, resourceUri: textOf(fieldOf(body, 'resourceUri')) ?? `/task/${id}` }
      return { status: 'SUCCEEDED', context: { ...shown, 'kato.last.task.id': reference } }
    },
  }
}

/** Only the embedded infrastructure service has it. */
export const judgementPath = '/judge/'
const unknownThere = [400, 401, 403, 404, 405, 415, 500, 501]

/** Why the service would refuse operations; undefined: it does not say so beforehand. */
export async function judgeOperations(
  { call, stage }: TaskContext,
  body: Submission['operations'],
): Promise<string[] | undefined> {
  const path = judgementPath + encodeSegment(stageProviderOf(stage.context))
  const answer = await call('clouddriver', { method: 'POST', path, body }, unknownThere)
  const { errors } = objectOf(answer.body)
  return answer.status === 200 && Array.isArray(errors) ? textsOf(errors) : undefined
}

/** @param name Together with the start of the stage, it names the request. @param path By default for what belongs to no provider */
export async function postOperations(
  { call, stage }: TaskContext,
  name: string,
  body: Submission['operations'],
  path = '/ops',
): Promise<unknown> {
  const query = formatQuery({ clientRequestId: `${stage.id}-${stage.startTime ?? 0}-${name}` })
  return (await call('clouddriver', { method: 'POST', path: path + query, body, isRecognized: true })).body
}

/**
 * Follows the task that was submitted last. Its history and results reach `kato.tasks`; its failure fails the stage in its words.
 *
 * @param name Of the step; stages with several submissions have several of them.
 * @param expectsResult Whether the task is over only once it has result objects.
 */
export function monitorStep(name = 'monitorTask', { expectsResult = false, read = () => ({}) }: MonitorOptions = {}): Step {
  return {
    name,
    timeoutMs: hourMs,
    execute: async (context) => {
      const id = lastTaskOf(context.stage)
      if (id === undefined) return { status: 'SUCCEEDED' }
      const task = await loadTask(context, id)
      if (task === undefined) return toleratedAbsence(context, id)
      const shown = {
        'kato.tasks': withTask(context.stage.context['kato.tasks'], task),
        'kato.task.notFoundRetryCount': undefined,
      }
      const { status } = task
      if (isTrue(fieldOf(status, 'failed'))) return { status: 'TERMINAL', context: { ...shown, exception: failureOf(task) } }
      const results = objectsOf(task['resultObjects'])
      const isOver = isTrue(fieldOf(status, 'completed')) && (!expectsResult || results.length > 0)
      if (!isOver) return { status: 'RUNNING', context: shown, pollMs: pauseFor(context) }
      const found = read(results, context)
      return { status: 'SUCCEEDED', context: { ...shown, 'kato.task.lastStatus': 'SUCCEEDED', ...found }, outputs: found }
    },
  }
}

/** Id of the task that the stage has submitted last. */
export function lastTaskOf({ context }: Stage): string | undefined {
  return textOf(fieldAt(context, 'kato.last.task.id', 'id'))
}

/** Undefined: the service does not know it. */
export async function loadTask({ call }: TaskContext, id: string): Promise<JsonObject | undefined> {
  const { status, body } = await call('clouddriver', { method: 'GET', path: pathTo`/task/${id}` }, [404])
  return status === 404 ? undefined : objectOf(body)
}

/** Results of the operation that ran when the stage was cancelled. @throws {RetryableError} while it still runs */
export async function lastResults(context: TaskContext): Promise<JsonObject[]> {
  const id = lastTaskOf(context.stage)
  const task = id === undefined ? undefined : await loadTask(context, id)
  if (task === undefined) return []
  if (!isTrue(fieldOf(task['status'], 'completed'))) throw new RetryableError(['The operation still runs.'])
  return objectsOf(task['resultObjects'])
}

interface MonitorOptions {
  readonly expectsResult?: boolean
  /** What the results add to context and outputs. */
  readonly read?: (results: readonly JsonObject[], context: TaskContext) => JsonObject
}

function toleratedAbsence(context: TaskContext, id: string): TaskResult {
  const count = Number(context.stage.context['kato.task.notFoundRetryCount'] ?? 0) + 1
  if (count > toleratedAbsences) throw new StageError([`clouddriver does not know its task ${id}.`])
  return { status: 'RUNNING', context: { 'kato.task.notFoundRetryCount': count }, pollMs: secondMs }
}

function withTask(tasks: unknown, { id, status, history, resultObjects, outputs }: JsonObject): JsonObject[] {
  const others = objectsOf(tasks).filter((task) => task['id'] !== id)
  return [...others, { id, status, history, resultObjects, outputs, ...definedOf({ exception: exceptionIn(resultObjects) }) }]
}

function exceptionIn(results: unknown): JsonObject | undefined {
  return objectsOf(results).find(({ type }) => type === 'EXCEPTION')
}

/** The error record of the stage: the message of the exception, else the last line of the history. */
function failureOf(task: JsonObject): JsonObject {
  const exception = exceptionIn(task['resultObjects'])
  const details = textsOf(exception?.['details'])
  const lastLine = textOf(fieldOf(task['status'], 'status')) ?? textOf(objectsOf(task['history']).at(-1)?.['status'])
  const message = textOf(exception?.['message']) ?? lastLine ?? 'The operation failed and says no reason.'
  return {
    operation: textOf(exception?.['operation']),
    ...failureRecord('CloudOperationFailed', [message, ...details]),
  }
}

/** Makes the service read again what the operation changed; one that reads live state answers at once. */
export function refreshStep(name: string, type: string, details: (context: TaskContext) => JsonObject[]): Step {
  return {
    name,
    timeoutMs: 12 * minuteMs,
    execute: async (context) => {
      const { stage } = context
      const place = pathTo`/cache/${stageProviderOf(stage.context)}/${type}`
      const pending = stage.context['refresh.pending']
      if (pending === undefined) {
        const answers = await Promise.all(
          details(context).map((body) => context.call('clouddriver', { method: 'POST', path: place, body }, [400, 404])),
        )
        const queued = answers.some(({ status }) => status === 202)
        return queued ? { status: 'RUNNING', context: { 'refresh.pending': context.now } } : { status: 'SUCCEEDED' }
      }
      const answer = await context.call('clouddriver', { method: 'GET', path: place }, [400, 404])
      const waiting = objectsOf(answer.body).some((entry) => isWaiting(entry, details(context), Number(pending)))
      return waiting
        ? { status: 'RUNNING', pollMs: secondMs }
        : { status: 'SUCCEEDED', context: { 'refresh.pending': undefined } }
    },
  }
}

/** Whether an entry of the pending list is one of ours that was not read since the request. */
function isWaiting(entry: JsonObject, ours: readonly JsonObject[], since: number): boolean {
  const details = objectOf(entry['details'])
  const isOurs = ours.some((each) =>
    Object.entries(each).every(([key, value]) => details[key] === undefined || details[key] === value),
  )
  return isOurs && (Number(entry['processedCount'] ?? 0) < 1 || Number(entry['processedTime'] ?? 0) < since)
}

/** Server groups by place, of the results of creating ones: `serverGroupNames` holds `region:name`. */
export function serverGroupNamesByRegion(results: readonly JsonObject[]): Record<string, string[]> {
  const groups: Record<string, string[]> = {}
  const add = (region: string, name: string) => {
    groups[region] ??= []
    if (!groups[region].includes(name)) groups[region].push(name)
  }
  for (const result of results) {
    for (const pair of textsOf(result['serverGroupNames'])) {
      const [region = '', name = ''] = pair.split(':')
      if (name !== '') add(region, name)
    }
    for (const [region, name] of Object.entries(objectOf(result['serverGroupNameByRegion'])))
      if (typeof name === 'string') add(region, name)
  }
  return groups
}

interface Attempts {
  /** Key of the context that counts them. */
  readonly key: string
  readonly tries: number
  readonly pauseMs: number
  /** Which errors do not end it; unless given, those that the engine does not repeat by itself. */
  readonly mayPass?: (error: StageError) => boolean
}

/**
 * Looks again, after a pause, for what is missing or refused now.
 *
 * @throws {StageError} the last one
 */
export async function attempt(
  { stage }: TaskContext,
  { key, tries, pauseMs, mayPass = (error) => !(error instanceof RetryableError) }: Attempts,
  act: () => Promise<TaskResult>,
): Promise<TaskResult> {
  try {
    const result = await act()
    return { ...result, context: { ...result.context, [key]: undefined } }
  } catch (error) {
    const count = Number(stage.context[key] ?? 0) + 1
    if (!(error instanceof StageError) || !mayPass(error) || count >= tries) throw error
    return { status: 'RUNNING', context: { [key]: count }, pollMs: pauseMs }
  }
}
