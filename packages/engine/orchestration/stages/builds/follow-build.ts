/** Steps that follow a build from the queue to its end, and its result (docs/contracts/orchestration.md#build-stages). */
import { type Cause, formatCause } from '@fairlead/base/causes/cause.ts'
import type { ShapeOf } from '@fairlead/base/json/shape.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { contactsOf, withoutContacts } from '@fairlead/model/environments/commit-authors.ts'
import type { Build, BuildJob } from '@fairlead/ports/builds.ts'
import { failureRecord, StageError } from '../../machine/failure.ts'
import { hourMs } from '../infrastructure/cloud-task.ts'
import type { Step, TaskContext, TaskResult } from '../stage-type.ts'
import {
  buildJobOf,
  buildOf,
  buildPauseFor,
  buildSettingsOf,
  notesOf,
  noWait,
  waitFor,
} from './build-context.ts'
import { findProperties } from './build-results.ts'
import { isOver, nameOf, readBuild, readQueueItem, toBuild } from './build-service.ts'

const following = { pollMs: 10_000, timeoutMs: 2 * hourMs, timeoutFollowsStage: true } as const

/** Waits until the build has a number. */
export function queueStep(name: string): Step {
  return { name, ...following, execute: waitForNumber }
}

async function waitForNumber(context: TaskContext): Promise<TaskResult> {
  const place = buildJobOf(context.stage)
  const { queuedBuild: item } = notesOf(context.stage)
  if (item === undefined)
    throw new StageError([`The stage has started no build of "${place.job}" on "${place.host}".`])
  const { found, missing } = await readQueueItem(context, { ...place, item })
  const { number, isCancelled, why } = found ?? {}
  if (number !== undefined)
    return { status: 'SUCCEEDED', context: { ...noWait, buildNumber: number } }
  if (isCancelled) return taken(place)
  const what = missing ?? why ?? `the build of "${place.job}" is in the queue of "${place.host}"`
  return waitFor(context, what, buildPauseFor(context, context.builds.pauses.queued))
}

function taken({ host, job }: BuildJob): TaskResult {
  const exception = failureRecord('BuildFailed', [
    `The build of "${job}" was taken out of the queue of "${host}".`,
  ])
  return { status: 'CANCELED', context: { ...noWait, exception } }
}

/** Waits until the build is over; its result is that of the stage. */
export function followBuildStep(name: string): Step {
  return { name, ...following, execute: waitForEnd }
}

async function waitForEnd(context: TaskContext): Promise<TaskResult> {
  const { stage } = context
  const build = buildOf(stage)
  const { found, missing } = await readBuild(context, build)
  if (found === undefined) return waitFor(context, missing)
  const known = { buildInfo: withoutContacts(found) }
  const ended = toBuild(found)
  const { result } = ended
  if (!isOver(ended)) {
    const waiting = waitFor(context, `${nameOf(build)} has no result yet`)
    return { ...waiting, context: { ...waiting.context, ...known } }
  }
  const authors = contactsOf(found)
  if (
    result === 'SUCCESS' ||
    (result === 'UNSTABLE' && buildSettingsOf(stage).markUnstableAsSuccessful)
  ) {
    return { status: 'SUCCEEDED', context: { ...noWait, ...known }, outputs: known, authors }
  }
  return failed(context, build, known, { text: describe(build, ended), cause: ended.cause })
}

/** Properties of a build that failed may say more about it. */
async function failed(
  context: TaskContext,
  build: Build,
  known: { buildInfo: JsonObject },
  { text, cause }: { readonly text: string; readonly cause: Cause | undefined },
): Promise<TaskResult> {
  const properties = await findProperties(context, build)
  return {
    status: known.buildInfo['result'] === 'ABORTED' ? 'CANCELED' : 'TERMINAL',
    context: {
      ...properties.context,
      ...noWait,
      ...known,
      exception: failureRecord('BuildFailed', [text], cause),
    },
    outputs: { ...properties.outputs, ...known },
  }
}

/** What happened, why as far as the service knows, and where to read on. */
function describe(
  build: Build,
  { result, reason, url, testResults, cause }: ShapeOf<typeof toBuild>,
): string {
  const ending = endings[result] ?? 'failed'
  const failures = testResults.reduce((sum, { failCount }) => sum + failCount, 0)
  const total = testResults.reduce((sum, { totalCount }) => sum + totalCount, 0)
  const tests = failures === 0 ? undefined : `${failures} of ${total} tests failed`
  const why = cause === undefined ? reason?.trim().replace(/\.$/, '') : formatCause(cause)
  const causes = (result === 'UNSTABLE' ? [tests ?? why] : [tests, why]).flatMap(
    (cause) => cause ?? [],
  )
  const name = nameOf(build)
  const sentence = `${name.charAt(0).toUpperCase()}${name.slice(1)} ${ending}${causes.length === 0 ? '' : `: ${causes.join('. ')}`}.`
  return url === undefined ? sentence : `${sentence} See ${url}.`
}

const endings: Readonly<Record<string, string>> = {
  FAILURE: 'failed',
  ABORTED: 'was aborted',
  NOT_BUILT: 'was not built',
  UNSTABLE: 'is unstable, which the stage does not accept (markUnstableAsSuccessful)',
}
