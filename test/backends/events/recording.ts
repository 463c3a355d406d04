/** A definition store and an orchestrator that remember what they were asked, for tests of the event service. */

import type { JsonObject } from '../../../packages/base/json/values.ts'
import type { ServiceName } from '../../../packages/base/services/services.ts'
import type {
  CallService,
  ServiceAnswer,
  ServiceCall,
} from '../../../packages/ports/service-call.ts'
import { waitUntil } from '../../support/wait-until.ts'

export interface Recording {
  call: CallService
  pipelines: JsonObject[]
  /** Everything that was posted to the orchestrator, oldest first: starts, and failed executions to be recorded. */
  starts: { path: string; body: JsonObject; headers: Record<string, string> }[]
  /** How often the list of pipelines was read. */
  reads: number
  /** Answers of any service, before the defaults: return undefined to fall through. */
  answer?: (service: ServiceName, call: ServiceCall) => ServiceAnswer | undefined
  /** Resolves once that many starts have arrived; fails after half a minute. */
  untilStarts(count: number): Promise<void>
}

export function createRecording(pipelines: JsonObject[]): Recording {
  const recording: Recording = {
    pipelines,
    starts: [],
    reads: 0,
    call: async (service, call) =>
      recording.answer?.(service, call) ?? answerOf(recording, service, call),
    untilStarts: (count) => waitUntil(() => recording.starts.length >= count, `${count} starts`),
  }
  return recording
}

function answerOf(
  recording: Recording,
  service: ServiceName,
  { method, path, body, headers }: ServiceCall,
): ServiceAnswer {
  if (service === 'orca' && method === 'GET') return { status: 404, body: {} }
  if (service === 'orca') {
    recording.starts.push({ path, body: body as JsonObject, headers: headers ?? {} })
    return { status: 200, body: { ref: '/pipelines/X' } }
  }
  if (service === 'front50') {
    const { pathname } = new URL(path, 'http://front50')
    const single = /^\/pipelines\/([^/]+)\/get$/.exec(pathname)?.[1]
    if (single !== undefined) {
      const found = recording.pipelines.find(
        (pipeline) => pipeline['id'] === decodeURIComponent(single),
      )
      return found === undefined ? { status: 404, body: {} } : { status: 200, body: found }
    }
    recording.reads++
    const application = /^\/pipelines\/([^/]+)$/.exec(pathname)?.[1]
    const listed = recording.pipelines.filter(
      (pipeline) =>
        application === undefined || pipeline['application'] === decodeURIComponent(application),
    )
    return { status: 200, body: listed }
  }
  return { status: 404, body: { message: 'no such thing' } }
}
