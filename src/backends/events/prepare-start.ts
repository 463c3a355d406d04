/** Start request for the orchestrator: the definition, its trigger and its build. */

import type { CallService } from '../../external/service-call.ts'
import { encodeSegment, encodeValue } from '../../http/encode-path.ts'
import { isObject, type JsonObject, objectOf, objectsOf, textOf } from '../../json/values.ts'
import { callInTurns } from '../stores/in-turns.ts'
import type { Start } from './start.ts'

interface PreparedStart {
  /** `/fail` records an execution that could not be prepared, so that people see why nothing ran. */
  path: '/orchestrate' | '/fail'
  body: JsonObject
}

const buildTries = 5

/**
 * @param pause Between two readings of a build
 * @see docs/contracts/events.md#from-event-to-start, steps 8 and 9
 */
export async function prepareStart(
  call: CallService,
  executionId: string,
  start: Start,
  pause: () => Promise<void>,
): Promise<PreparedStart> {
  const artifacts = await completeArtifacts(call, start.artifacts)
  const build = await loadBuild(
    (service, request) => call(service, { ...request, headers: readersOf(start) }),
    start.trigger,
    pause,
  )
  const { pipeline } = start
  const { notifications, ...trigger } = start.trigger
  const body: JsonObject = {
    ...pipeline,
    executionId,
    notifications: [...objectsOf(pipeline['notifications']), ...objectsOf(notifications)],
    expectedArtifacts: objectsOf(pipeline['expectedArtifacts']),
    receivedArtifacts: [...artifacts, ...build.artifacts],
    trigger: { ...trigger, ...(notifications === undefined ? {} : { notifications }), ...build.fields },
  }
  if (trigger['type'] === 'manual' && build.problems.length > 0) {
    return { path: '/fail', body: { ...body, errorMessage: build.problems.join(' ') } }
  }
  return { path: '/orchestrate', body }
}

/** What is left of a start that failed: nothing in it can make the orchestrator refuse to record it. */
export function toFailedStart(executionId: string, { pipeline, trigger }: Start, problem: string): JsonObject {
  const { payload: _payload, parentPipelineId: _parent, ...kept } = trigger
  const { application, name, id, type, schema } = pipeline
  return { application, name, id, type, schema, stages: [], trigger: kept, executionId, errorMessage: problem }
}

/** Artifacts that name a registry's package are replaced by what the registry knows of it; they stay as given when it knows nothing. */
async function completeArtifacts(call: CallService, artifacts: JsonObject[]): Promise<JsonObject[]> {
  return callInTurns(artifacts, async (artifact) => {
    const parts = [artifact['location'], artifact['name'], artifact['version']].map(textOf)
    if (parts.includes(undefined)) return artifact
    try {
      const path = `/artifacts/${parts.map((part) => encodeSegment(part as string)).join('/')}`
      const answer = await call('igor', { method: 'GET', path })
      return answer.status === 200 && isObject(answer.body) ? answer.body : artifact
    } catch {
      return artifact
    }
  })
}

/** Who starts a pipeline by hand chooses the build, and so has to be allowed to read it. */
function readersOf({ trigger, identity }: Start): Record<string, string> {
  return trigger['type'] === 'manual' ? identity : {}
}

interface Build {
  /** Fields for the trigger. */
  fields: JsonObject
  artifacts: JsonObject[]
  /** One sentence for each detail that could not be had. */
  problems: string[]
}

/** What the build integration knows of the build that the trigger names, if it names one. */
async function loadBuild(call: CallService, trigger: JsonObject, pause: () => Promise<void>): Promise<Build> {
  const build: Build = { fields: {}, artifacts: [], problems: [] }
  const host = textOf(trigger['master'])
  const job = textOf(trigger['job'])
  const number = Number(trigger['buildNumber'])
  if (host === undefined || job === undefined || (trigger['buildNumber'] ?? '') === '') return build
  if (!Number.isSafeInteger(number)) {
    build.problems.push(`The build number ${JSON.stringify(trigger['buildNumber'])} is not a whole number.`)
    return build
  }
  const read = async (what: string, path: string): Promise<unknown> => {
    const outcome = await readWithRetry(call, path, pause)
    if (outcome.problem !== undefined)
      build.problems.push(`The ${what} of ${job} ${number} on ${host} cannot be read: ${outcome.problem}`)
    return outcome.body
  }
  const at = `${encodeValue(host)}?job=${encodeValue(job)}`
  const info = await read('build', `/builds/status/${number}/${at}`)
  if (!isObject(info)) return build
  build.fields['buildInfo'] = info
  const propertyFile = textOf(trigger['propertyFile'])
  if (propertyFile !== undefined) {
    const properties = await read('property file', `/builds/properties/${number}/${encodeValue(propertyFile)}/${at}`)
    if (isObject(properties)) build.fields['properties'] = properties
  }
  const file = propertyFile === undefined ? '' : `&propertyFile=${encodeValue(propertyFile)}`
  build.artifacts = objectsOf(await read('artifacts', `/builds/artifacts/${number}/${at}${file}`))
  return build
}

/** A clear "no" is not asked again; a service that is down may come back. */
async function readWithRetry(
  call: CallService,
  path: string,
  pause: () => Promise<void>,
): Promise<{ body?: unknown; problem?: string }> {
  let problem = ''
  for (let attempt = 1; attempt <= buildTries; attempt++) {
    try {
      const answer = await call('igor', { method: 'GET', path })
      if (answer.status < 300) {
        return answer.body === undefined || answer.body === '' ? { problem: 'there is no such build.' } : { body: answer.body }
      }
      problem = `the build service answered ${answer.status}${messageOf(answer.body)}.`
      if (answer.status < 500) return { problem }
    } catch {
      problem = 'the build service cannot be reached.'
    }
    if (attempt < buildTries) await pause()
  }
  return { problem }
}

function messageOf(body: unknown): string {
  const message = textOf(objectOf(body)['message'])
  return message === undefined ? '' : ` (${message})`
}
