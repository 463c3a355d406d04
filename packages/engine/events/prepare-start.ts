/** Start request for the orchestrator: the definition, its trigger and its build. */
import { type JsonObject, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { callInTurns } from '@fairlead/base/stores/in-turns.ts'
import type { Builds } from '@fairlead/ports/builds.ts'
import { itself, toCaller } from '@fairlead/ports/caller.ts'
import type { Start } from './start.ts'

interface PreparedStart {
  readonly definition: JsonObject
  /** Why the execution can only be recorded as failed. */
  readonly problem: string | undefined
}

const buildTries = 5

/**
 * @param pause Between two readings of a build
 * @see docs/contracts/events.md#from-event-to-start, steps 8 and 9
 */
export async function prepareStart(
  builds: Builds,
  executionId: string,
  start: Start,
  pause: () => Promise<void>,
): Promise<PreparedStart> {
  const artifacts = await completeArtifacts(builds, start.artifacts)
  const build = await loadBuild(builds, start, pause)
  const { pipeline } = start
  const { notifications, ...trigger } = start.trigger
  const isBroken = trigger['type'] === 'manual' && build.problems.length > 0
  const definition: JsonObject = {
    ...pipeline,
    executionId,
    notifications: [...objectsOf(pipeline['notifications']), ...objectsOf(notifications)],
    expectedArtifacts: objectsOf(pipeline['expectedArtifacts']),
    receivedArtifacts: [...artifacts, ...build.artifacts],
    trigger: {
      ...trigger,
      ...(notifications === undefined ? {} : { notifications }),
      ...build.fields,
    },
  }
  return { definition, problem: isBroken ? build.problems.join(' ') : undefined }
}

/** What is left of a start that failed: nothing in it can make the orchestrator refuse to record it. */
export function toFailedStart(executionId: string, { pipeline, trigger }: Start): JsonObject {
  const { payload: _payload, parentPipelineId: _parent, ...kept } = trigger
  const { application, name, id, type, schema } = pipeline
  return { application, name, id, type, schema, stages: [], trigger: kept, executionId }
}

/** Artifacts that name a registry's package are replaced by what the registry knows of it; they stay as given when it knows nothing. */
async function completeArtifacts(builds: Builds, artifacts: JsonObject[]): Promise<JsonObject[]> {
  return callInTurns(artifacts, async (artifact) => {
    const [location, name, version] = ['location', 'name', 'version'].map((key) =>
      textOf(artifact[key]),
    )
    if (location === undefined || name === undefined || version === undefined) return artifact
    const known = await Promise.try(() =>
      builds.package({ location, name, version }, itself),
    ).catch(() => undefined)
    return known ?? artifact
  })
}

interface FoundBuild {
  /** Fields for the trigger. */
  fields: JsonObject
  artifacts: JsonObject[]
  /** One sentence for each detail that could not be had. */
  problems: string[]
}

/** What the build integration knows of the build that the trigger names, if it names one. */
async function loadBuild(
  builds: Builds,
  { trigger, identity }: Start,
  pause: () => Promise<void>,
): Promise<FoundBuild> {
  const found: FoundBuild = { fields: {}, artifacts: [], problems: [] }
  const host = textOf(trigger['master'])
  const job = textOf(trigger['job'])
  const number = Number(trigger['buildNumber'])
  if (host === undefined || job === undefined || (trigger['buildNumber'] ?? '') === '') return found
  if (!Number.isSafeInteger(number)) {
    found.problems.push(
      `The build number ${JSON.stringify(trigger['buildNumber'])} is not a whole number.`,
    )
    return found
  }
  const read = async <T>(
    what: string,
    load: () => Promise<T | undefined>,
  ): Promise<T | undefined> => {
    const { value, problem } = await readWithRetry(load, pause)
    if (problem !== undefined)
      found.problems.push(`The ${what} of ${job} ${number} on ${host} cannot be read: ${problem}`)
    return value
  }
  const build = { host, job, number }
  // Who starts a pipeline by hand chooses the build, and so has to be allowed to read it.
  const as = trigger['type'] === 'manual' ? toCaller(identity) : itself
  const info = await read('build', () => builds.build(build, as))
  if (info === undefined) return found
  found.fields['buildInfo'] = info
  const propertyFile = textOf(trigger['propertyFile'])
  if (propertyFile !== undefined) {
    const properties = await read('property file', () => builds.properties(build, propertyFile, as))
    if (properties !== undefined) found.fields['properties'] = properties
  }
  found.artifacts = [
    ...((await read('artifacts', () => builds.artifacts(build, propertyFile, as))) ?? []),
  ]
  return found
}

/** A clear "no" is not asked again; a service that is down may come back. */
async function readWithRetry<T>(
  load: () => Promise<T | undefined>,
  pause: () => Promise<void>,
): Promise<{ value?: T; problem?: string }> {
  let problem = ''
  for (let attempt = 1; attempt <= buildTries; attempt++) {
    try {
      const value = await load()
      return value === undefined ? { problem: 'there is no such build.' } : { value }
    } catch (error) {
      problem =
        error instanceof PortError
          ? `${error.message}${/[.!?]$/.test(error.message) ? '' : '.'}`
          : 'the build service cannot be reached.'
      if (error instanceof PortError && error.status < 500) return { problem }
    }
    if (attempt < buildTries) await pause()
  }
  return { problem }
}
