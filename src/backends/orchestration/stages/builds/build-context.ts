/** Fields and notes of stages that run a build, and how such stages wait. */
import { numberOf, textOf } from '../../../../json/values.ts'
import { StageError } from '../../machine/failure.ts'
import { type Stage, waitingKey } from '../../model.ts'
import type { TaskContext, TaskResult } from '../stage-type.ts'
import type { Build, BuildJob } from './build-service.ts'

const secondMs = 1000

/** @throws {StageError} */
export function buildJobOf({ context }: Pick<Stage, 'context'>): BuildJob {
  const [host, job] = [textOf(context['master']), textOf(context['job'])]
  if (host === undefined) throw new StageError(['The stage names no build server. Set "master".'])
  if (job === undefined) throw new StageError([`The stage names no job of the build server "${host}". Set "job".`])
  return { host, job }
}

/** @throws {StageError} */
export function buildOf(stage: Pick<Stage, 'context'>): Build {
  const number = numberOf(stage.context['buildNumber'])
  const { host, job } = buildJobOf(stage)
  if (number === undefined) throw new StageError([`The stage has started no build of "${job}" on "${host}".`])
  return { host, job, number }
}

/** The queue item of the build, as its start has named it. */
export function queueItemOf({ context }: Pick<Stage, 'context'>): string | undefined {
  const { queuedBuild } = context
  return queuedBuild === undefined || queuedBuild === null ? undefined : textOf(String(queuedBuild))
}

/** @param pollMs By default it grows with the age of the stage: the end of a short build is seen soon. */
export function waitFor(context: TaskContext, what: string, pollMs: number = pauseFor(context)): TaskResult {
  return { status: 'RUNNING', context: { [waitingKey]: what.replace(/\.$/, '') }, pollMs }
}

/** @param mostMs With the embedded build service, which is cheap to ask; another is asked less often */
export function pauseFor({ stage, now, isEmbedded }: TaskContext, mostMs: number = 2 * secondMs): number {
  const elapsedMs = now - (stage.startTime ?? now)
  const [least, most] = isEmbedded('igor') ? [secondMs / 4, mostMs] : [secondMs, 10 * secondMs]
  const pauseMs = Math.min(Math.max(elapsedMs / 20, least), most)
  return Math.max(pauseMs, numberOf(stage.context['backoffPeriodMs']) ?? 0)
}

/** What a step has found is noted; it waits for nothing any more. */
export const noWait = { [waitingKey]: undefined }
