/** Finished builds. docs/contracts/events.md#builds. */
import { formatQuery, pathTo } from '../../../http/encode-path.ts'
import { fieldOf, isObject, type JsonObject, objectOf, objectsOf, textOf } from '../../../json/values.ts'
import { satisfies } from '../constraints.ts'
import type { Event } from '../event.ts'
import type { MatchContext, TriggerKind } from './kind.ts'

function lastBuildOf(event: Event): JsonObject {
  return objectOf(fieldOf(event.content['project'], 'lastBuild'))
}

export const buildKind: TriggerKind = {
  eventType: 'build',
  triggerTypes: ['jenkins', 'travis', 'concourse', 'gitlab-ci'],
  reportedByServices: true,
  accepts(event) {
    const build = lastBuildOf(event)
    return build['building'] === false && build['result'] === 'SUCCESS'
  },
  concerns(trigger, { content }) {
    const [host, job] = [textOf(trigger['master']), textOf(trigger['job'])]
    return host !== undefined && host === content['master'] && job !== undefined && job === fieldOf(content['project'], 'name')
  },
  matches: (trigger, event, means) => satisfiesProperties(trigger, lastBuildOf(event)['number'], means),
  // The build's details are read when the run is prepared, as for a manual start that names a build.
  fields: (_trigger, event) => {
    const build = lastBuildOf(event)
    return { buildNumber: build['number'], link: build['url'], hash: undefined, tag: undefined }
  },
  artifacts: (event) =>
    objectsOf(lastBuildOf(event)['artifacts']).filter(({ type, reference }) => type !== undefined || reference !== undefined),
}

/** Constraints are about the build's property file; without one, or when it cannot be read, they are not satisfied. */
async function satisfiesProperties(trigger: JsonObject, number: unknown, { call, patterns }: MatchContext): Promise<boolean> {
  const constraints = trigger['payloadConstraints']
  if (!isObject(constraints) || Object.keys(constraints).length === 0) return true
  const [host, job, file] = ['master', 'job', 'propertyFile'].map((key) => String(trigger[key] ?? '')) as [string, string, string]
  if (file === '') return false
  const answer = await Promise.try(() => {
    const path = pathTo`/builds/properties/${String(number)}/${file}/${host}` + formatQuery({ job })
    return call('igor', { method: 'GET', path })
  }).catch(() => undefined)
  return answer?.status === 200 && isObject(answer.body) && satisfies(constraints, answer.body, { paths: false, patterns })
}
