/** Finished builds of any build server. docs/contracts/events.md#builds. */
import { asGiven, or, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { describeUnsatisfied } from '../constraints.ts'
import type { Event } from '../event.ts'
import { joinNames, type MatchContext, type TriggerKind } from './kind.ts'

const toBuild = shape({
  number: asGiven,
  url: asGiven,
  building: asGiven,
  result: textOf,
  artifacts: objectsOf,
})
const toContent = shape({ master: textOf, project: shape({ name: textOf, lastBuild: toBuild }) })
const toTrigger = shape({
  master: or(textOf, ''),
  job: or(textOf, ''),
  propertyFile: textOf,
  payloadConstraints: asGiven,
})

function lastBuildOf({ content }: Event) {
  return toContent(content).project.lastBuild
}

export const buildKind: TriggerKind = {
  eventType: 'build',
  // `build` is for servers that Spinnaker has no type of trigger for.
  triggerTypes: ['build', 'jenkins', 'travis', 'concourse', 'gitlab-ci'],
  reportedByServices: true,
  declines(event) {
    const { building, result } = lastBuildOf(event)
    if (building !== false) return 'The build has not ended yet.'
    return result === 'SUCCESS'
      ? undefined
      : `The build has not succeeded: its result is ${result ?? 'unknown'}.`
  },
  awaits: ({ master, job }) => [joinNames(master, job)],
  about({ content }) {
    const { master, project } = toContent(content)
    return [joinNames(master, project.name)]
  },
  mismatch: async (trigger, event, means) =>
    (await describeHidden(event, means)) ??
    describeBadProperties(trigger, lastBuildOf(event).number, means),
  // The build's details are read when the run is prepared, as for a manual start that names a build.
  fields: (_trigger, event) => {
    const { number, url } = lastBuildOf(event)
    return { buildNumber: number, link: url, hash: undefined, tag: undefined }
  },
  artifacts: (event) =>
    lastBuildOf(event).artifacts.filter(
      ({ type, reference }) => type !== undefined || reference !== undefined,
    ),
}

/** The run receives what the build has made. */
async function describeHidden(
  event: Event,
  { ports, as }: MatchContext,
): Promise<string | undefined> {
  if (as.user === undefined) return undefined
  const { master: host = '', project } = toContent(event.content)
  const build = { host, job: project.name ?? '', number: Number(project.lastBuild.number) }
  try {
    await ports.builds.build(build, as)
  } catch (error) {
    if (error instanceof PortError && error.status === 403) return error.message
  }
  return undefined
}

/** Constraints are about the build's property file; without one, or when it cannot be read, they are not satisfied. */
async function describeBadProperties(
  trigger: JsonObject,
  number: unknown,
  { ports, patterns, as }: MatchContext,
): Promise<string | undefined> {
  const {
    payloadConstraints: constraints,
    master: host,
    job,
    propertyFile: file,
  } = toTrigger(trigger)
  if (Object.keys(constraints ?? {}).length === 0) return undefined
  if (file === undefined)
    return 'The trigger has constraints, and no property file that they are about. Name one.'
  const properties = await Promise.try(() =>
    ports.builds.properties({ host, job, number: Number(number) }, file, as),
  ).catch(() => undefined)
  if (properties === undefined) return `The property file ${file} of the build cannot be read.`
  return describeUnsatisfied(constraints, properties, { paths: false, patterns })
}
