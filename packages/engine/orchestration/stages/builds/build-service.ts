/** Calls of stages to the build service (docs/contracts/builds.md). */
import { toCause } from '@fairlead/base/causes/cause.ts'
import { formatJson } from '@fairlead/base/json/json.ts'
import { list, or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { isTrue, type JsonObject, numberOf, textOf } from '@fairlead/base/json/values.ts'
import type { Build, BuildJob, QueuedBuild, QueueItem } from '@fairlead/ports/builds.ts'
import { RetryableError, StageError } from '../../machine/failure.ts'
import type { TaskContext } from '../stage-type.ts'

/** What the service has, or why it has nothing now. */
export type BuildReading<T> =
  | { readonly found: T; readonly missing?: undefined }
  | { readonly found?: undefined; readonly missing: string }

/** After these, the service may still have it. */
const passing = [404, 500, 503]

export const toBuild = shape({
  building: isTrue,
  running: isTrue,
  result: or(textOf, ''),
  reason: textOf,
  url: textOf,
  cause: toCause,
  testResults: list(shape({ failCount: or(numberOf, 0), totalCount: or(numberOf, 0) })),
})

/** Results with which a build is over. */
const results = ['SUCCESS', 'UNSTABLE', 'FAILURE', 'ABORTED', 'NOT_BUILT']

export function isOver({ building, running, result }: ShapeOf<typeof toBuild>): boolean {
  return !building && !running && results.includes(result)
}

/** `build 7 of "app" on "ci-main"` */
export function nameOf({ host, job, number }: Build): string {
  return `build ${number} of "${job}" on "${host}"`
}

/**
 * Orders a build; the same order of the same start of the stage is one build.
 *
 * @returns The queue item; undefined while an equal order is still in progress.
 * @throws {StageError} when the service rejects the order
 */
export function orderBuild(
  { builds, stage }: TaskContext,
  job: BuildJob,
  parameters: JsonObject,
): Promise<string | undefined> {
  const order = {
    ...job,
    parameters: toParameters(parameters),
    startTime: String(stage.startTime ?? 0),
  }
  return explained(
    builds.start(order),
    `The build of "${job.job}" on "${job.host}" cannot be started`,
  )
}

/** Builds take texts. */
function toParameters(parameters: JsonObject): Record<string, string> {
  const given = Object.entries(parameters).filter(
    ([, value]) => value !== undefined && value !== null,
  )
  return Object.fromEntries(
    given.map(([name, value]) => [name, typeof value === 'string' ? value : formatJson(value)]),
  )
}

export function readQueueItem(
  { builds }: TaskContext,
  queued: QueuedBuild,
): Promise<BuildReading<QueueItem>> {
  return read(builds.queueItem(queued), `queue item "${queued.item}"`, passing)
}

export function readBuild(
  { builds }: TaskContext,
  build: Build,
): Promise<BuildReading<JsonObject>> {
  return read(builds.build(build), nameOf(build), passing)
}

/** Properties that the build has in a file of its archive. @throws {StageError} when there is no such file */
export function readProperties(
  { builds }: TaskContext,
  build: Build,
  file: string,
): Promise<BuildReading<JsonObject>> {
  const what = `file "${file}" of the build ${build.number} of "${build.job}"`
  const reading = read(required(builds.properties(build, file), what), what, [500])
  return explained(reading, `The property file "${file}" of ${nameOf(build)} cannot be read`)
}

/** @throws {RetryableError} while the service has a fault that may pass */
export async function readArtifacts(
  { builds }: TaskContext,
  build: Build,
  propertyFile: string | undefined,
): Promise<readonly JsonObject[]> {
  const what = `build ${build.number} of "${build.job}"`
  const reading = read(required(builds.artifacts(build, propertyFile), what), what, [500])
  const { found, missing } = await explained(
    reading,
    `The artifacts of ${nameOf(build)} cannot be read`,
  )
  if (found === undefined) throw new RetryableError([missing])
  return found
}

/** Stops a build, or takes it out of the queue while `number` is 0; one that is over stays as it is. */
export async function stopBuild(
  { builds }: TaskContext,
  build: Build & QueuedBuild,
): Promise<void> {
  await builds.stop(build).catch((error: unknown) => {
    if (!hasStatus(error, [400, 404])) throw error
  })
}

/** @param expected Statuses of refusals after which there may be something later */
async function read<T>(
  reading: Promise<T | undefined>,
  what: string,
  expected: readonly number[],
): Promise<BuildReading<T>> {
  try {
    const found = await reading
    return found === undefined ? { missing: `The ${what} does not exist.` } : { found }
  } catch (error) {
    if (!hasStatus(error, expected)) throw error
    return { missing: error.message }
  }
}

/** @throws {StageError} when there is no such thing */
async function required<T>(reading: Promise<T | undefined>, what: string): Promise<T> {
  const found = await reading
  if (found === undefined)
    throw new StageError([`The ${what} does not exist.`], {
      status: 404,
      kind: 'HTTP',
      service: 'igor',
    })
  return found
}

function hasStatus(error: unknown, statuses: readonly number[]): error is StageError {
  return error instanceof StageError && statuses.includes(Number(error.details['status']))
}

/** Says first what failed, then the words of the service. */
async function explained<T>(answer: Promise<T>, what: string): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (!(error instanceof StageError) || error instanceof RetryableError) throw error
    const [first = '', ...others] = error.errors
    throw new StageError([`${what}: ${first}`, ...others], error.details)
  }
}
