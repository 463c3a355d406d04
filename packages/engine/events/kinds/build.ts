/** Finished builds of any build server. docs/contracts/events.md#builds. */
import { fieldOf, isObject, type JsonObject, objectOf, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { itself } from '@fairlead/ports/caller.ts'
import { describeUnsatisfied } from '../constraints.ts'
import type { Event } from '../event.ts'
import type { MatchContext, TriggerKind } from './kind.ts'

function lastBuildOf(event: Event): JsonObject {
  return objectOf(fieldOf(event.content['project'], 'lastBuild'))
}

export const buildKind: TriggerKind = {
  eventType: 'build',
  // `build` is for servers that Spinnaker has no type of trigger for.
  triggerTypes: ['build', 'jenkins', 'travis', 'concourse', 'gitlab-ci'],
  reportedByServices: true,
  declines(event) {
    const { building, result } = lastBuildOf(event)
    if (building !== false) return 'The build has not ended yet.'
    return result === 'SUCCESS' ? undefined : `The build has not succeeded: its result is ${textOf(result) ?? 'unknown'}.`
  },
  concerns(trigger, { content }) {
    const [host, job] = [textOf(trigger['master']), textOf(trigger['job'])]
    return host !== undefined && host === content['master'] && job !== undefined && job === fieldOf(content['project'], 'name')
  },
  mismatch: (trigger, event, means) => describeBadProperties(trigger, lastBuildOf(event)['number'], means),
  // The build's details are read when the run is prepared, as for a manual start that names a build.
  fields: (_trigger, event) => {
    const build = lastBuildOf(event)
    return { buildNumber: build['number'], link: build['url'], hash: undefined, tag: undefined }
  },
  artifacts: (event) =>
    objectsOf(lastBuildOf(event)['artifacts']).filter(({ type, reference }) => type !== undefined || reference !== undefined),
}

/** Constraints are about the build's property file; without one, or when it cannot be read, they are not satisfied. */
async function describeBadProperties(
  trigger: JsonObject,
  number: unknown,
  { ports, patterns }: MatchContext,
): Promise<string | undefined> {
  const constraints = trigger['payloadConstraints']
  if (!isObject(constraints) || Object.keys(constraints).length === 0) return undefined
  const [host, job, file] = ['master', 'job', 'propertyFile'].map((key) => String(trigger[key] ?? '')) as [string, string, string]
  if (file === '') return 'The trigger has constraints, and no property file that they are about. Name one.'
  const properties = await Promise.try(() => ports.builds.properties({ host, job, number: Number(number) }, file, itself)).catch(
    () => undefined,
  )
  if (properties === undefined) return `The property file ${file} of the build cannot be read.`
  return describeUnsatisfied(constraints, properties, { paths: false, patterns })
}
