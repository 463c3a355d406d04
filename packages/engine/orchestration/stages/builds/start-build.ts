/** Start and stop of the build of a stage. */
import { shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import type { BuildJob } from '@fairlead/ports/builds.ts'
import type { Stage } from '../../model.ts'
import { isComplete } from '../../statuses.ts'
import { minuteMs } from '../infrastructure/cloud-task.ts'
import type { NewStage, StageType, Step, TaskContext } from '../stage-type.ts'
import { buildJobOf, notesOf, noWait, waitFor } from './build-context.ts'
import {
  isOver,
  orderBuild,
  readBuild,
  readQueueItem,
  stopBuild,
  toBuild,
} from './build-service.ts'

const orderPauseMs = 30_000

export interface StageBuildOrder extends BuildJob {
  readonly parameters: JsonObject
  /** Merged into the stage's context. */
  readonly context?: JsonObject
}

/** @param orderOf Throws a `StageError` where the stage does not say what to start. */
export function startStep(name: string, orderOf: (context: TaskContext) => StageBuildOrder): Step {
  return {
    name,
    pollMs: orderPauseMs,
    timeoutMs: 15 * minuteMs,
    async execute(context) {
      const { parameters, context: added, ...job } = orderOf(context)
      const item = await orderBuild(context, job, parameters)
      if (item === undefined) {
        const what = `the start of "${job.job}" on "${job.host}" is still in progress`
        return waitFor(context, what, context.builds.pauses.order)
      }
      if (hasEnded(context)) await stopItem(context, job, item)
      return { status: 'SUCCEEDED', context: { ...added, ...noWait, queuedBuild: item } }
    },
  }
}

/** A stage that is cancelled during the order does not learn of the build, so nothing else would stop it. */
function hasEnded({ execution, stage, findExecution }: TaskContext): boolean {
  const present = findExecution(execution.id)?.stages.find(({ id }) => id === stage.id)
  return (
    present !== undefined && (isComplete(present.status) || present.startTime !== stage.startTime)
  )
}

/** A cancelled stage leaves no build running. */
export async function stopStartedBuild(context: TaskContext): Promise<void> {
  const { queuedBuild: item, buildNumber } = notesOf(context.stage)
  if (item !== undefined) await stopItem(context, buildJobOf(context.stage), item, buildNumber)
}

/** @param known The build's number, unless the queue has to say it. */
async function stopItem(
  context: TaskContext,
  job: BuildJob,
  item: string,
  known?: number,
): Promise<void> {
  const number = known ?? (await readQueueItem(context, { ...job, item })).found?.number ?? 0
  if (number > 0) {
    const { found } = await readBuild(context, { ...job, number })
    if (found !== undefined && isOver(toBuild(found))) return
  }
  await stopBuild(context, { ...job, number, item })
}

export const stopBuildStage: StageType = {
  type: 'stopBuild',
  steps: [
    {
      name: 'stopBuild',
      timeoutMs: 15 * minuteMs,
      async execute(context) {
        await stopStartedBuild(context)
        return { status: 'SUCCEEDED' }
      },
    },
  ],
}

const toFailed = shape({ exception: shape({ exceptionType: textOf }) })

/** A stage that has run out of time leaves no build running either. */
export function stopAfterTimeout(stage: Stage): NewStage[] {
  const isTimeout = toFailed(stage.context).exception.exceptionType === 'TimeoutException'
  if (!isTimeout || notesOf(stage).queuedBuild === undefined) return []
  const { master, job, queuedBuild, buildNumber } = stage.context
  return [
    {
      type: stopBuildStage.type,
      name: 'Stop the build',
      context: { master, job, queuedBuild, buildNumber },
    },
  ]
}
