/** Fields and notes of stages that run a build, and how such stages wait. */
import { shape } from '@fairlead/base/json/shape.ts'
import { numberOf, objectOf, scalarOf } from '@fairlead/base/json/values.ts'
import { buildFields } from '@fairlead/model/stage-types/builds.ts'
import { stageFields } from '@fairlead/model/stage-types/common.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
import type { Build, BuildJob } from '@fairlead/ports/builds.ts'
import { StageError } from '../../machine/failure.ts'
import { type Stage, waitingKey } from '../../model.ts'
import type { TaskContext, TaskResult } from '../stage-type.ts'

/** What the author of the stage has set. */
export function buildSettingsOf({ context }: Pick<Stage, 'context'>) {
  return readFields(buildFields, context)
}

/** What the steps note in the context. */
const toNotes = shape({
  /** The queue item of the build, as its start has named it. */
  queuedBuild: scalarOf,
  buildNumber: numberOf,
  propertyFileContents: objectOf,
})

export function notesOf({ context }: Pick<Stage, 'context'>) {
  return toNotes(context)
}

/** @throws {StageError} */
export function buildJobOf(stage: Pick<Stage, 'context'>): BuildJob {
  const { master: host, job } = buildSettingsOf(stage)
  if (host === undefined) throw new StageError(['The stage names no build server. Set "master".'])
  if (job === undefined)
    throw new StageError([`The stage names no job of the build server "${host}". Set "job".`])
  return { host, job }
}

/** @throws {StageError} */
export function buildOf(stage: Pick<Stage, 'context'>): Build {
  const { buildNumber: number } = notesOf(stage)
  const { host, job } = buildJobOf(stage)
  if (number === undefined)
    throw new StageError([`The stage has started no build of "${job}" on "${host}".`])
  return { host, job, number }
}

/** @param pollMs By default it grows with the age of the stage: the end of a short build is seen soon. */
export function waitFor(
  context: TaskContext,
  what: string,
  pollMs: number = buildPauseFor(context),
): TaskResult {
  return { status: 'RUNNING', context: { [waitingKey]: what.replace(/\.$/, '') }, pollMs }
}

export function buildPauseFor(
  { stage, now, builds: { pauses } }: TaskContext,
  mostMs: number = pauses.most,
): number {
  const elapsedMs = now - (stage.startTime ?? now)
  const pauseMs = Math.min(Math.max(elapsedMs / 20, pauses.least), mostMs)
  return Math.max(pauseMs, readFields(stageFields, stage.context).backoffPeriodMs ?? 0)
}

/** What a step has found is noted; it waits for nothing any more. */
export const noWait = { [waitingKey]: undefined }
