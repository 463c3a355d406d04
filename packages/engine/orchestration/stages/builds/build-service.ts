/** Calls of stages to the build service (docs/contracts/builds.md). */

import { formatJson } from '@fairlead/base/json/json.ts'
import { list, or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { fieldOf, isObject, isTrue, type JsonObject, numberOf, objectOf, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { encodeSegments, formatQuery, pathTo } from '@fairlead/base/net/encode-path.ts'
import type { ServiceAnswer } from '@fairlead/ports/service-call.ts'
import { RetryableError, StageError } from '../../machine/failure.ts'
import type { TaskContext } from '../stage-type.ts'

export interface BuildJob {
  readonly host: string
  /** Jobs in folders hold slashes. */
  readonly job: string
}

export interface Build extends BuildJob {
  readonly number: number
}

/** What the service has, or why it has nothing now. */
export type Reading =
  | { readonly found: JsonObject; readonly missing?: undefined }
  | { readonly found?: undefined; readonly missing: string }

/** After these, the service may still have it. */
const passing = [404, 500, 503]

export const toQueueItem = shape({ number: numberOf, cancelled: isTrue, why: textOf })

export const toBuild = shape({
  building: isTrue,
  running: isTrue,
  result: or(textOf, ''),
  reason: textOf,
  url: textOf,
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
export async function orderBuild(
  { call, stage }: TaskContext,
  { host, job }: BuildJob,
  parameters: JsonObject,
): Promise<string | undefined> {
  const path = pathTo`/masters/${host}/jobs/` + encodeSegments(job) + formatQuery(toParameters(parameters))
  const order = call('igor', { method: 'PUT', path, body: stage.startTime ?? 0 })
  const { status, body } = await explained(order, `The build of "${job}" on "${host}" cannot be started`)
  if (status === 202) return undefined
  const item = body === undefined || body === null ? undefined : textOf(String(body))
  if (item === undefined) throw new StageError([`The build service has started "${job}" on "${host}" and names no build.`])
  return item
}

/** Builds take texts. */
function toParameters(parameters: JsonObject): Record<string, string> {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null)
  return Object.fromEntries(given.map(([name, value]) => [name, typeof value === 'string' ? value : formatJson(value)]))
}

export function readQueueItem(context: TaskContext, { host, job }: BuildJob, item: string): Promise<Reading> {
  return read(context, pathTo`/builds/queue/${host}/${item}` + formatQuery({ job }))
}

export function readBuild(context: TaskContext, build: Build): Promise<Reading> {
  return read(context, pathTo`/builds/status/${String(build.number)}/` + pathOf(build))
}

async function read({ call }: TaskContext, path: string): Promise<Reading> {
  const answer = await call('igor', { method: 'GET', path }, passing)
  if (answer.status < 400 && isObject(answer.body)) return { found: answer.body }
  return { missing: messageOf(answer) }
}

/** Properties that the build has in a file of its archive. @throws {StageError} when there is no such file */
export async function readProperties(context: TaskContext, build: Build, file: string): Promise<Reading> {
  const path = pathTo`/builds/properties/${String(build.number)}/${file}/` + pathOf(build)
  const answer = context.call('igor', { method: 'GET', path }, [500])
  const { status, body } = await explained(answer, `The property file "${file}" of ${nameOf(build)} cannot be read`)
  return status === 500 ? { missing: messageOf({ status, body }) } : { found: objectOf(body) }
}

/** @throws {RetryableError} while the service has a fault that may pass */
export async function readArtifacts(context: TaskContext, build: Build, propertyFile: string | undefined): Promise<JsonObject[]> {
  const path = pathTo`/builds/artifacts/${String(build.number)}/` + pathOf(build) + formatQuery({ propertyFile })
  const answer = context.call('igor', { method: 'GET', path }, [500])
  const { status, body } = await explained(answer, `The artifacts of ${nameOf(build)} cannot be read`)
  if (status === 500) throw new RetryableError([messageOf({ status, body })])
  return objectsOf(body)
}

/** Stops a build, or takes it out of the queue while `number` is 0; one that is over stays as it is. */
export async function stopBuild({ call }: TaskContext, { host, job, number }: Build, item: string): Promise<void> {
  const order = pathTo`/stop/${item}/${String(number)}`
  const jobs = pathTo`/masters/${host}/jobs`
  const path = job.includes('/') ? jobs + order + formatQuery({ jobName: job }) : jobs + pathTo`/${job}` + order
  await call('igor', { method: 'PUT', path }, [400, 404])
}

function pathOf({ host, job }: BuildJob): string {
  return pathTo`${host}/` + encodeSegments(job)
}

/** Says first what failed, then the words of the service. */
async function explained(answer: Promise<ServiceAnswer>, what: string): Promise<ServiceAnswer> {
  try {
    return await answer
  } catch (error) {
    if (!(error instanceof StageError) || error instanceof RetryableError) throw error
    const [first = '', ...others] = error.errors
    throw new StageError([`${what}: ${first}`, ...others], error.details)
  }
}

function messageOf({ status, body }: ServiceAnswer): string {
  return textOf(fieldOf(body, 'message')) ?? `the build service answers with status ${status}`
}
