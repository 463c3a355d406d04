/** Tasks of the orchestrator that change definitions: submission and polling until their end. */
import { setTimeout as pause } from 'node:timers/promises'
import { GatewayError } from '@fairlead/base/errors.ts'
import { formatJson } from '@fairlead/base/json/json.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import { isHidden } from '../access/subject.ts'
import type { OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { checkObject } from '../upstream-shape.ts'

export interface TaskSubmission {
  /** Owner of the task, also sent as application header; it need not exist. */
  readonly application: string
  readonly description: string
  readonly job: readonly Readonly<Record<string, unknown>>[]
}

export interface FinishedTask {
  readonly id?: string
  readonly status?: string
  readonly variables?: readonly { readonly key: string; readonly value: unknown }[]
  readonly [field: string]: unknown
}

interface PollLimits {
  readonly polls: number
  readonly intervalMs: number
}

/** The orchestrator's object form of POST /ops is chosen by this content type. */
export const submissionType = { 'content-type': 'application/context+json' }
const firstPollMs = 50
/** A timer may end so much early, which must not lead to one look more. */
const timerSlackMs = 1
const ended: ReadonlySet<unknown> = new Set([
  'SUCCEEDED',
  'FAILED_CONTINUE',
  'SKIPPED',
  'TERMINAL',
  'CANCELED',
  'STOPPED',
])

/** How jobs carry definitions and other documents: their JSON text, UTF-8, base64. */
export function toBase64Json(value: unknown): string {
  return Buffer.from(formatJson(value)).toString('base64')
}

/**
 * For what becomes a part of a job and says what that is about: the orchestrator would replace an expression, in names of fields
 * as well, after rights have been checked.
 *
 * @throws {GatewayError} BAD_ARGUMENT
 */
export function checkPlain(fields: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(fields)) {
    if (isHidden(name) || isHidden(value))
      throw new GatewayError(
        'BAD_ARGUMENT',
        `"${name}" holds an expression. Write its value in plain text.`,
      )
  }
}

export async function submitTask(
  request: OperationRequest,
  task: TaskSubmission,
): Promise<JsonObject> {
  request.state.application = task.application
  const answer = await request.json('orca', {
    method: 'POST',
    path: '/ops',
    body: task,
    headers: submissionType,
  })
  return checkObject(answer, 'orca')
}

/**
 * Submits a task and waits until it has succeeded.
 *
 * @param limits Those of `task-service.*` unless given.
 * @throws {GatewayError} TASK_FAILED with the first error text of the task, or naming its id and status.
 */
export async function runTask(
  request: OperationRequest,
  platform: Platform,
  submission: TaskSubmission,
  limits?: PollLimits,
): Promise<FinishedTask> {
  const task = await awaitTask(request, platform, submission, limits)
  if (task.status !== 'SUCCEEDED')
    throw new GatewayError('TASK_FAILED', firstErrorOf(task) ?? describe(submission, task))
  return task
}

async function awaitTask(
  request: OperationRequest,
  platform: Platform,
  submission: TaskSubmission,
  limits: PollLimits = {
    polls: platform.settings.taskPolls,
    intervalMs: platform.settings.taskPollIntervalMs,
  },
): Promise<FinishedTask> {
  const id = idOf(await submitTask(request, submission))
  if (id === undefined) return {}
  const deadlineMs = performance.now() + limits.polls * limits.intervalMs
  // Most definition changes are over at once: the first looks come early, later ones at the configured distance.
  for (
    let waitMs = Math.min(firstPollMs, limits.intervalMs);
    ;
    waitMs = Math.min(waitMs * 2, limits.intervalMs)
  ) {
    await pause(Math.max(0, Math.min(waitMs, deadlineMs - performance.now())))
    const task = (await request.json('orca', { path: pathTo`/tasks/${id}` })) as
      | FinishedTask
      | undefined
    if (ended.has(task?.status) || performance.now() >= deadlineMs - timerSlackMs)
      return { ...task, id }
  }
}

function idOf({ ref }: JsonObject): string | undefined {
  const id = typeof ref === 'string' ? ref.split('/').at(-1) : undefined
  return id === '' ? undefined : id
}

function firstErrorOf(task: FinishedTask): string | undefined {
  const exception = taskVariable(task, 'exception') as
    | { details?: { errors?: unknown } }
    | null
    | undefined
  const errors = exception?.details?.errors
  return Array.isArray(errors) && typeof errors[0] === 'string' ? errors[0] : undefined
}

export function taskVariable(task: FinishedTask, key: string): unknown {
  return Array.isArray(task.variables)
    ? task.variables.find((variable) => variable?.key === key)?.value
    : undefined
}

function describe(submission: TaskSubmission, task: FinishedTask): string {
  if (task.id === undefined)
    return `"${submission.description}" was refused: the orchestrator named no task.`
  const status = task.status ?? 'unknown'
  return ended.has(status)
    ? `"${submission.description}" failed: task ${task.id} ended as ${status}.`
    : `"${submission.description}" did not finish in time: task ${task.id} is ${status}. Look at it again before repeating.`
}
