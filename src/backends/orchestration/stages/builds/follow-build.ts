/** Steps that follow a build from the queue to its end, and its result (docs/contracts/orchestration.md#build-stages). */
import { isTrue, type JsonObject, numberOf, objectsOf, textOf } from '../../../../json/values.ts'
import { failureRecord, StageError } from '../../machine/failure.ts'
import { hourMs } from '../infrastructure/cloud-task.ts'
import type { Step, TaskContext, TaskResult } from '../stage-type.ts'
import { buildJobOf, buildOf, noWait, pauseFor, queueItemOf, waitFor } from './build-context.ts'
import { findProperties } from './build-results.ts'
import { type Build, type BuildJob, isOver, nameOf, readBuild, readQueueItem } from './build-service.ts'

const following = { pollMs: 10_000, timeoutMs: 2 * hourMs, timeoutFollowsStage: true } as const

/** Many builds may be in the queue, and a free queue hands a build out at once. */
const longestQueuePauseMs = 5000

/** Waits until the build has a number. */
export function queueStep(name: string): Step {
  return { name, ...following, execute: waitForNumber }
}

async function waitForNumber(context: TaskContext): Promise<TaskResult> {
  const place = buildJobOf(context.stage)
  const item = queueItemOf(context.stage)
  if (item === undefined) throw new StageError([`The stage has started no build of "${place.job}" on "${place.host}".`])
  const { found, missing } = await readQueueItem(context, place, item)
  const number = numberOf(found?.['number'])
  if (number !== undefined) return { status: 'SUCCEEDED', context: { ...noWait, buildNumber: number } }
  if (isTrue(found?.['cancelled'])) return taken(place)
  const what = missing ?? textOf(found?.['why']) ?? `the build of "${place.job}" is in the queue of "${place.host}"`
  return waitFor(context, what, pauseFor(context, longestQueuePauseMs))
}

function taken({ host, job }: BuildJob): TaskResult {
  const exception = failureRecord('BuildFailed', [`The build of "${job}" was taken out of the queue of "${host}".`])
  return { status: 'CANCELED', context: { ...noWait, exception } }
}

/** Waits until the build is over; its result is that of the stage. */
export function monitorStep(name: string): Step {
  return { name, ...following, execute: waitForEnd }
}

async function waitForEnd(context: TaskContext): Promise<TaskResult> {
  const { stage } = context
  const build = buildOf(stage)
  const { found, missing } = await readBuild(context, build)
  if (found === undefined) return waitFor(context, missing)
  const known = { buildInfo: found }
  if (!isOver(found)) {
    const waiting = waitFor(context, `${nameOf(build)} has no result yet`)
    return { ...waiting, context: { ...waiting.context, ...known } }
  }
  const isAccepted = found['result'] === 'UNSTABLE' && isTrue(stage.context['markUnstableAsSuccessful'])
  if (found['result'] === 'SUCCESS' || isAccepted) {
    return { status: 'SUCCEEDED', context: { ...noWait, ...known }, outputs: known }
  }
  return failed(context, build, found)
}

/** Properties of a build that failed may say more about it. */
async function failed(context: TaskContext, build: Build, found: JsonObject): Promise<TaskResult> {
  const properties = await findProperties(context, build)
  const known = { buildInfo: found }
  return {
    status: found['result'] === 'ABORTED' ? 'CANCELED' : 'TERMINAL',
    context: { ...properties.context, ...noWait, ...known, exception: failureRecord('BuildFailed', [describe(build, found)]) },
    outputs: { ...properties.outputs, ...known },
  }
}

/** What happened, why as far as the service knows, and where to read on. */
function describe(build: Build, found: JsonObject): string {
  const { result, reason, url } = found
  const ending = endings[String(result)] ?? 'failed'
  const [tests, why] = [describeTests(found), textOf(reason)?.trim().replace(/\.$/, '')]
  const causes = (result === 'UNSTABLE' ? [tests ?? why] : [tests, why]).flatMap((cause) => cause ?? [])
  const sentence = `${capitalized(nameOf(build))} ${ending}${causes.length === 0 ? '' : `: ${causes.join('. ')}`}.`
  return textOf(url) === undefined ? sentence : `${sentence} See ${String(url)}.`
}

const endings: Readonly<Record<string, string>> = {
  FAILURE: 'failed',
  ABORTED: 'was aborted',
  NOT_BUILT: 'was not built',
  UNSTABLE: 'is unstable, which the stage does not accept (markUnstableAsSuccessful)',
}

function describeTests({ testResults }: JsonObject): string | undefined {
  const results = objectsOf(testResults)
  const sum = (key: string) => results.reduce((total, each) => total + (numberOf(each[key]) ?? 0), 0)
  const failures = sum('failCount')
  return failures === 0 ? undefined : `${failures} of ${sum('totalCount')} tests failed`
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
