/** Steps that submit operations to the infrastructure service and follow them (docs/contracts/infrastructure.md#operations). */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { CloudResult, CloudTask, PlacedName } from '@fairlead/ports/cloud-values.ts'
import { failureRecord, RetryableError, StageError } from '../../machine/failure.ts'
import type { CallStep, Step, Submission, TaskContext, TaskResult } from '../stage-type.ts'
import { stageAccountOf, stageProviderOf } from './cloud-context.ts'
import { lastTaskNote, tasksNote } from './notes.ts'

const secondMs = 1000
export const minuteMs = 60 * secondMs
export const hourMs = 60 * minuteMs

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

export type SubmitStep = Required<Pick<CallStep, 'preview' | 'recover'>> & CallStep

/**
 * Submits what `build` makes; without operations the stage has nothing to do and goes on. A repeated submission, after a crash or a
 * lost answer, names the same request, so it runs once.
 *
 * @param build Only reads; what it throws refuses the operations.
 * @param notification The value of `notification.type`, which clients read.
 */
export function submitStep(
  name: string,
  build: (context: TaskContext) => Submission | Promise<Submission>,
  notification = name.toLowerCase(),
): SubmitStep {
  return {
    name,
    timeoutMs: 90 * secondMs,
    preview: async (context) => build(context),
    // Without operations, the request is the one that arrived, or takes its place.
    recover: async (context) => {
      const provider = stageProviderOf(context.stage.context)
      return lastTaskNote.as(await submitOperations(context, name, [], provider))
    },
    execute: async (context) => {
      const { operations, context: added = {} } = await build(context)
      const settings = context.stage.context
      const account = stageAccountOf(settings)
      const id =
        operations.length === 0
          ? undefined
          : await submitOperations(
              context,
              name,
              operations,
              stageProviderOf({ ...settings, ...added }),
            )
      const shown = {
        'notification.type': notification,
        ...(account && { 'deploy.account.name': account }),
      }
      return { status: 'SUCCEEDED', context: { ...shown, ...added, ...lastTaskNote.as(id) } }
    },
  }
}

/** @param name Together with the start of the stage, it names the request. @returns the id of the task */
export function submitOperations(
  { infrastructure, stage }: TaskContext,
  name: string,
  operations: Submission['operations'],
  provider?: string,
): Promise<string> {
  return infrastructure.submit(operations, {
    provider,
    id: `${stage.id}-${stage.startTime ?? 0}-${name}`,
  })
}

/** Why the infrastructure would refuse operations of the stage; undefined: it does not say so beforehand. */
export function preview(
  { infrastructure, stage }: TaskContext,
  operations: Submission['operations'],
): Promise<string[] | undefined> {
  return infrastructure.preview(operations, stageProviderOf(stage.context))
}

/**
 * Follows the task that was submitted last. Its history and results reach `kato.tasks`; its failure fails the stage in its words.
 *
 * @param name Of the step; stages with several submissions have several of them.
 * @param expectsResult Whether the task is over only once it has result objects.
 */
export function monitorStep(
  name = 'monitorTask',
  { expectsResult = false, read = () => ({}) }: MonitorOptions = {},
): Step {
  return {
    name,
    timeoutMs: hourMs,
    // The operation goes on where its stage is out of time; `onCancel` reads its results.
    recover: async () => ({}),
    execute: async (context) => {
      const { infrastructure, signal, stage } = context
      const id = lastTaskNote.in(stage.context)
      if (id === undefined) return { status: 'SUCCEEDED' }
      const [withinMs, begun] = [pauseFor(context), performance.now()]
      const task = await infrastructure.followTask(id, { withinMs, signal })
      const pollMs = Math.max(0, withinMs - (performance.now() - begun))
      if (task === undefined) return { status: 'RUNNING', pollMs }
      const { status, results } = task
      const shown = tasksNote.as([
        ...tasksNote.in(stage.context).filter((each) => each.id !== id),
        task,
      ])
      if (status.failed)
        return { status: 'TERMINAL', context: { ...shown, exception: failureOf(task) } }
      if (!status.completed || (expectsResult && results.length === 0))
        return { status: 'RUNNING', context: shown, pollMs }
      const found = read(results, context)
      return {
        status: 'SUCCEEDED',
        context: { ...shown, 'kato.task.lastStatus': 'SUCCEEDED', ...found },
        outputs: found,
      }
    },
  }
}

/** Results of the operation that ran when the stage was cancelled. @throws {RetryableError} while it still runs */
export async function lastResults({
  stage,
  infrastructure,
}: TaskContext): Promise<readonly CloudResult[]> {
  const id = lastTaskNote.in(stage.context)
  const task = id && (await infrastructure.task(id))
  if (!task) return []
  if (!task.status.completed) throw new RetryableError(['The operation still runs.'])
  return task.results
}

/** Ends the wait of an operation that runs, where the infrastructure can. */
export async function cancelOperation({ infrastructure, stage }: TaskContext): Promise<void> {
  const id = lastTaskNote.in(stage.context)
  if (id !== undefined) await infrastructure.cancelTask(id)
}

interface MonitorOptions {
  readonly expectsResult?: boolean
  /** What the results add to context and outputs. */
  readonly read?: (results: readonly CloudResult[], context: TaskContext) => JsonObject
}

/** The error record of the stage: the message of the exception, else the last line of the history. */
function failureOf({ status, history, results }: CloudTask): JsonObject {
  const {
    operation,
    message,
    details = [],
  } = results.find(({ type }) => type === 'EXCEPTION') ?? {}
  const text =
    message ?? status.status ?? history.at(-1)?.status ?? 'The operation failed and says no reason.'
  return { operation, ...failureRecord('CloudOperationFailed', [text, ...details]) }
}

/** Waits until what the operation changed can be read. */
export function refreshStep(
  name: string,
  type: string,
  details: (context: TaskContext) => JsonObject[],
): Step {
  return {
    name,
    timeoutMs: 12 * minuteMs,
    execute: async (context) => {
      const { infrastructure, signal, stage } = context
      await infrastructure.refresh({
        provider: stageProviderOf(stage.context),
        type,
        details: details(context),
        signal,
      })
      return { status: 'SUCCEEDED' }
    },
  }
}

/** Server groups that an operation has created, each once. */
export function createdBy(results: readonly CloudResult[]): PlacedName[] {
  const pairs = results.flatMap(({ serverGroupNames, serverGroupNameByRegion }) => [
    ...serverGroupNames.map((pair) => pair.split(':')),
    ...Object.entries(serverGroupNameByRegion).map(([region, name]) => [
      region,
      typeof name === 'string' ? name : '',
    ]),
  ])
  const named = pairs.filter(([, name = '']) => name !== '')
  return [
    ...new Map(
      named.map(([location = '', name = '']) => [`${location}:${name}`, { location, name }]),
    ).values(),
  ]
}

interface Attempts {
  /** Key of the context that counts them. */
  readonly key: string
  readonly tries: number
  readonly pauseMs: number
  /** Whether an error does not end it. Default: the engine would not repeat it by itself. */
  readonly mayPass?: (error: StageError) => boolean
}

/** Whether what was looked for is missing, rather than the service that was asked. */
export function isAbsence(error: StageError): boolean {
  return !(error instanceof RetryableError) && error.details['status'] === undefined
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
