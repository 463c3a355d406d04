/** Runs of pipelines as commands show them: read of an instance or Gate, followed to their end. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Cause } from '@fairlead/base/causes/cause.ts'
import type { Client } from './client.ts'
import type { CommandContext } from './command.ts'
import { exitCodes, Failure, misuse } from './failure.ts'
import { type Output, toSafeText } from './output.ts'
import { pathOf } from './path-of.ts'
import { ProgressTree, type StepState } from './progress.ts'
import { formatSpan } from './span.ts'

export interface RunStage {
  readonly id: string
  readonly name?: string | undefined
  readonly type: string
  readonly status: string
  readonly parentStageId?: string | null | undefined
  readonly syntheticStageOwner?: string | null | undefined
  readonly context?: Readonly<Record<string, unknown>>
  /** The line that says why it failed. */
  readonly cause?: Cause
}

export interface Run {
  readonly id: string
  readonly application: string
  readonly name?: string | undefined
  readonly status: string
  readonly buildTime?: number | null | undefined
  readonly startTime?: number | null | undefined
  readonly endTime?: number | null | undefined
  readonly trigger?: { readonly user?: string; readonly type?: string }
  readonly cancellationReason?: string | null
  readonly stages?: readonly RunStage[]
}

const pollMs = 1000
/** Longer than a restart of an instance. */
const patienceMs = 300_000

const stateOf: Readonly<Record<string, StepState>> = {
  NOT_STARTED: 'waiting',
  BUFFERED: 'waiting',
  RUNNING: 'running',
  PAUSED: 'paused',
  SUSPENDED: 'paused',
  SUCCEEDED: 'done',
  SKIPPED: 'skipped',
  CANCELED: 'canceled',
}
const finalStatuses = new Set([
  'SUCCEEDED',
  'FAILED_CONTINUE',
  'TERMINAL',
  'CANCELED',
  'STOPPED',
  'SKIPPED',
])

export function isOver({ status }: Run): boolean {
  return finalStatuses.has(status)
}

/** @throws {Failure} with 3 for an unknown id */
export async function loadRun(client: Client, id: string): Promise<Run> {
  try {
    return await client.get<Run>(pathOf`/pipelines/${id}`)
  } catch (error) {
    if (!(error instanceof Failure) || error.exit !== exitCodes.misuse) throw error
    throw misuse(`There is no run with the id "${id}".`, 'List them with: fairlead runs')
  }
}

/** @param status Only those with it. @returns the newest first */
export async function listRuns(
  client: Client,
  application: string,
  { limit, statuses }: { limit: number; statuses?: string },
): Promise<Run[]> {
  const query = { limit, statuses }
  // The first list has no runs without a stored pipeline; the second one knows no limit for each pipeline.
  const lists = await Promise.all([
    client.get<Run[]>(pathOf`/applications/${application}/pipelines`, { query }),
    client.get<Run[]>(pathOf`/applications/${application}/executions/search`, {
      query: { size: limit, ...query },
    }),
  ])
  return [...new Map(lists.flat().map((run) => [run.id, run])).values()]
    .toSorted((one, other) => (other.buildTime ?? 0) - (one.buildTime ?? 0))
    .slice(0, limit)
}

/** Stages that wait for the word of a person. */
export function waitingJudgments({ stages = [] }: Pick<Run, 'stages'>): RunStage[] {
  return stages.filter(
    ({ type, status, context }) =>
      type === 'manualJudgment' && status === 'RUNNING' && !context?.['judgmentStatus'],
  )
}

interface FollowOptions {
  /** The run goes on when it has passed. */
  readonly timeoutMs?: number | undefined
}

/**
 * Shows the steps of a run until it ends. An instance that restarts meanwhile is waited for.
 *
 * @throws {Failure} with 6 after `timeoutMs`, with 5 when the instance stays away
 */
export async function followRun(
  client: Client,
  id: string,
  { output, interrupts }: Pick<CommandContext, 'output' | 'interrupts'>,
  { timeoutMs = Number.POSITIVE_INFINITY }: FollowOptions = {},
): Promise<Run> {
  const tree = new ProgressTree(output, interrupts)
  const forget = interrupts.beforeEnd(() =>
    output.note(`The run goes on. Follow it with: fairlead watch ${id}`),
  )
  try {
    return await pollRun(client, id, {
      ...{ output, timeoutMs, pollMs, noun: 'run' },
      show: (run) => {
        for (const stage of run.stages ?? []) showStage(tree, stage, id)
      },
      pause: sleep,
    })
  } finally {
    forget()
    tree.close()
  }
}

interface Polling {
  readonly output: Output
  readonly timeoutMs: number
  readonly pollMs: number
  /** What a message calls it. */
  readonly noun: 'run' | 'deployment'
  /** Called before the run is read each time. */
  readonly begin?: () => Promise<void>
  readonly show: (run: Run) => Promise<void> | void
  readonly pause: (ms: number) => Promise<unknown>
}

/**
 * Reads a run until it ends. An instance that restarts meanwhile is waited for.
 *
 * @throws {Failure} with 6 after `timeoutMs`, with 5 when the instance stays away
 */
export async function pollRun(
  client: Client,
  id: string,
  { output, timeoutMs, pollMs: longestMs, noun, begin, show, pause }: Polling,
): Promise<Run> {
  const startMs = Date.now()
  let reachedMs = startMs
  for (;;) {
    await begin?.()
    try {
      const run = await loadRun(client, id)
      reachedMs = Date.now()
      await show(run)
      if (isOver(run)) return run
    } catch (error) {
      if (!isAway(error) || Date.now() - reachedMs > patienceMs) throw error
      output.detail(`${(error as Failure).message} Trying again.`)
    }
    const leftMs = startMs + timeoutMs - Date.now()
    if (leftMs <= 0)
      throw new Failure(
        exitCodes.timeout,
        'TIMEOUT',
        `The ${noun} ${id} has not ended within ${formatSpan(timeoutMs)}; it goes on.`,
        { remedy: `Follow it with: fairlead watch ${id}` },
      )
    await pause(Math.min(longestMs, leftMs))
  }
}

/** Failures that a restart does not explain. */
const lasting = new Set([
  'OPERATION_UNKNOWN',
  'REDIRECTED',
  'NO_INSTANCE',
  'CERTIFICATE_NOT_TRUSTED',
])

function isAway(error: unknown): boolean {
  return (
    error instanceof Failure && error.exit === exitCodes.unreachable && !lasting.has(error.code)
  )
}

/** @param waiting What it waits for, where it does not fail */
export function showStage(tree: ProgressTree, stage: RunStage, id: string, waiting?: string): void {
  const { name, type, status, parentStageId } = stage
  const isJudgment = waitingJudgments({ stages: [stage] }).length > 0
  tree.update({
    id: stage.id,
    label: name ?? type,
    state: stateOf[status] ?? 'failed',
    parent: parentStageId ?? undefined,
    note: isJudgment
      ? `waits for: fairlead approve ${id}`
      : (reasonOf(stage)?.split('\n', 1)[0] ?? waiting),
  })
}

/** Why a stage failed, as far as it says. */
export function reasonOf({ status, context }: RunStage): string | undefined {
  if (status === 'RUNNING' || status === 'SUCCEEDED' || context === undefined) return undefined
  const exception = context['exception'] as
    | { readonly details?: { readonly error?: string; readonly errors?: readonly unknown[] } }
    | undefined
  const { error, errors = [] } = exception?.details ?? {}
  const text = errors.map(String).join('; ').replaceAll('; \n', '\n') || error
  return text || undefined
}

/** Cause of the innermost stage that failed. */
export function causeOf({ stages = [] }: Pick<Run, 'stages'>): Cause | undefined {
  const failed = stages.filter(({ status, cause }) => status === 'TERMINAL' && cause !== undefined)
  return failed.find(({ id }) => !failed.some((other) => other.parentStageId === id))?.cause
}

/** The lines around a cause, which is marked. */
export function formatAround({ line, text, around }: Cause): string[] {
  const all = line === undefined ? around : [...around, { line, text }]
  return all
    .toSorted((one, other) => one.line - other.line)
    .map((each) => `${each.line === line ? '>' : ' '} ${each.line}  ${toSafeText(each.text)}`)
}

/** Reports how a run ended. @returns the exit code of the contract */
export function reportEnd(run: Run, output: Output): number {
  const { id, status, startTime, endTime, cancellationReason } = run
  const took = startTime && endTime ? ` in ${formatSpan(endTime - startTime)}` : ''
  const failed = (run.stages ?? []).filter(({ status: each }) => each === 'TERMINAL')
  const reason = cancellationReason ?? failed.map(reasonOf).find((text) => text !== undefined)
  const cause = status === 'SUCCEEDED' ? undefined : causeOf(run)
  if (cause !== undefined) output.note(formatAround(cause).join('\n'))
  output.event(
    {
      type: 'ended',
      id,
      status,
      reason,
      cause,
      seconds: startTime && endTime ? (endTime - startTime) / 1000 : undefined,
    },
    `${status}${took}${reason === undefined ? '' : `: ${reason}`}`,
  )
  return status === 'SUCCEEDED' ? exitCodes.done : exitCodes.failed
}
