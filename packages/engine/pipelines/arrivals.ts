/** What the trigger of a start refers to: a build with its artifacts, and packages of registries. */
import { asGiven, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { callInTurns } from '@fairlead/base/stores/in-turns.ts'
import type { Builds } from '@fairlead/ports/builds.ts'
import { type Caller, itself } from '@fairlead/ports/caller.ts'

export interface Arrival {
  /** Artifacts that were given, as registries know them, and those of the build. */
  readonly artifacts: JsonObject[]
  /** Fields of the build for the trigger. */
  readonly fields: JsonObject
  /** What cannot be read of the build, as sentences. */
  readonly problems: readonly string[]
}

const buildTries = 5

/**
 * @param as For whom the run acts, and who has to be allowed to read the build: a request, or the author of the trigger, chooses it
 * @param pause Between two readings of a build; without it, it is read once
 * @see docs/contracts/events.md#from-event-to-start, steps 8 and 9
 */
export async function readArrival(
  builds: Builds,
  { trigger, artifacts }: { trigger: JsonObject; artifacts: readonly JsonObject[] },
  as: Caller,
  pause?: () => Promise<void>,
): Promise<Arrival> {
  const given = await completeArtifacts(builds, artifacts)
  const { fields, problems, ...build } = await loadBuild(builds, trigger, as, pause)
  return { artifacts: [...given, ...build.artifacts], fields, problems }
}

const toPackage = shape({ location: textOf, name: textOf, version: textOf })

const toBuildTrigger = shape({
  master: textOf,
  job: textOf,
  buildNumber: asGiven,
  propertyFile: textOf,
})

/** Artifacts that name a registry's package are replaced by what the registry knows of it; they stay as given when it knows nothing. */
async function completeArtifacts(
  builds: Builds,
  artifacts: readonly JsonObject[],
): Promise<JsonObject[]> {
  return callInTurns(artifacts, async (artifact) => {
    const { location, name, version } = toPackage(artifact)
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
  trigger: JsonObject,
  as: Caller,
  pause: (() => Promise<void>) | undefined,
): Promise<FoundBuild> {
  const found: FoundBuild = { fields: {}, artifacts: [], problems: [] }
  const { master: host, job, buildNumber, propertyFile } = toBuildTrigger(trigger)
  const number = Number(buildNumber)
  if (host === undefined || job === undefined || (buildNumber ?? '') === '') return found
  if (!Number.isSafeInteger(number)) {
    found.problems.push(`The build number ${JSON.stringify(buildNumber)} is not a whole number.`)
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
  const info = await read('build', () => builds.build(build, as))
  if (info === undefined) return found
  found.fields['buildInfo'] = info
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
  pause: (() => Promise<void>) | undefined,
): Promise<{ value?: T; problem?: string }> {
  let problem = ''
  const tries = pause === undefined ? 1 : buildTries
  for (let attempt = 1; attempt <= tries; attempt++) {
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
    if (attempt < tries) await pause?.()
  }
  return { problem }
}
