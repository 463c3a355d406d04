/** Changes to applications and infrastructure: tasks that the page follows to their end. */

import { scalarOf } from '@fairlead/base/json/values.ts'
import { signal } from '@preact/signals'
import { isComplete, reasonIn } from '../model/execution.ts'
import { presentMs } from '../model/time.ts'
import { ApiError, asApiError, client, type Schemas } from './client.ts'
import { refreshMatching } from './live.ts'

export type Task = Schemas['Task']

export interface Change {
  readonly application: string
  /** In words: "Resize web-prod-v007 to 3". */
  readonly description: string
  readonly job: readonly ({ readonly type: string } & Readonly<Record<string, unknown>>)[]
  /** What it changes, as `objectKey` names it. */
  readonly object: string
}

interface PendingTask extends Omit<Change, 'job'> {
  readonly id: string
  readonly startedAtMs: number
  /** Once it has failed. */
  readonly failure?: string
}

/** Tasks of this tab that have not ended, and those that have failed until they are put aside. */
export const pendingTasks = signal<readonly PendingTask[]>([])

const pollMs = 1000
const longestPollMs = 10_000

export function objectKey(...parts: readonly (string | null | undefined)[]): string {
  return parts.join('\n')
}

export function pendingOf(object: string): PendingTask | undefined {
  return pendingTasks.value.find((pending) => pending.object === object)
}

export function dismiss(id: string): void {
  pendingTasks.value = pendingTasks.value.filter((pending) => pending.id !== id)
}

/** Resolves once the task has succeeded, for dialogs that show its failure themselves. @throws {ApiError} */
export async function completeTask(change: Change): Promise<void> {
  const { id, ended } = await submitTask(change)
  const failure = await ended
  if (failure === undefined) return
  dismiss(id)
  throw new ApiError({ status: 400, message: failure })
}

/** Resolves once the task is accepted; its end shows at the object. @throws {ApiError} */
export async function submitTask(change: Change) {
  const { application, description, object } = change
  const answer = await client.POST('/applications/{application}/tasks', requestOf(change))
  const { ref } = answer as Schemas['Ref']
  const id = ref.slice(ref.lastIndexOf('/') + 1)
  const others = pendingTasks.value.filter((pending) => pending.object !== object)
  pendingTasks.value = [
    ...others,
    { id, description, application, object, startedAtMs: presentMs() },
  ]
  refreshMatching(application)
  return { id, ended: follow(id, application) }
}

function requestOf({ application, description, job }: Change) {
  const body = { application, description, job: job.map((one) => ({ ...one })) }
  return { params: { path: { application } }, body }
}

/** What the change would be refused for, as things are now. @throws {ApiError} */
export async function previewChange(change: Change): Promise<readonly string[]> {
  const { objections } = await client.POST(
    '/applications/{application}/tasks/judge',
    requestOf(change),
  )
  return objections.map(({ message }) => message)
}

/** @returns why it failed */
async function follow(id: string, application: string) {
  const failure = await failureAtEnd(id).catch((error: Error) => error.message)
  refreshMatching(application)
  if (failure === undefined) dismiss(id)
  else
    pendingTasks.value = pendingTasks.value.map((pending) =>
      pending.id === id ? { ...pending, failure } : pending,
    )
  return failure
}

/** Reads that fail for a while say nothing about the task. @throws {ApiError} 403, 404 */
async function failureAtEnd(id: string) {
  for (let pauseMs = pollMs; ; pauseMs = Math.min(longestPollMs, pauseMs * 1.05)) {
    const task = await client
      .GET('/tasks/{id}', { params: { path: { id } } })
      .catch((cause: unknown) => {
        if ([403, 404].includes(asApiError(cause).status)) throw cause
        return undefined
      })
    if (task?.status === 'SUCCEEDED') return undefined
    if (task !== undefined && isComplete(task.status)) return failureOf(task) ?? task.status
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

export function failureOf({ variables, execution }: Task): string | undefined {
  const variable = (name: string) => variables.find(({ key }) => key === name)?.value
  return (
    reasonIn(variable('exception'), variable('kato.tasks')) ??
    scalarOf(execution?.cancellationReason)
  )
}
