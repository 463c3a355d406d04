/** Manual starts: somebody asked for one pipeline, by name or id. */
import { type BackendContext, BackendError, type Caller } from '../backend.ts'
import { type JsonObject, objectOf, objectsOf, textOf } from '../json-values.ts'
import type { Event } from './event.ts'
import { loadPipeline } from './pipelines.ts'
import type { Start } from './start.ts'

/**
 * The start that a manual event asks for; none when the pipeline is unknown or disabled, which is no error
 * (events contract, sections 1.2 and 4.2).
 *
 * @throws {BackendError} 503 when the definitions cannot be read: the sender may send the event again.
 */
export async function toManualStart(context: BackendContext, event: Event, caller: Caller): Promise<Start | undefined> {
  const application = textOf(event.content['application'])
  const nameOrId = textOf(event.content['pipelineNameOrId'])
  if (application === undefined || nameOrId === undefined) {
    context.log.warn({ eventId: event.id }, 'A manual event names no application or no pipeline.')
    return undefined
  }
  const user = caller.user ?? textOf(event.content['user']) ?? 'anonymous'
  const identity = { ...caller.identity, 'x-spinnaker-user': user, 'x-spinnaker-application': application }
  const pipeline = await readable(loadPipeline(context.call, application, nameOrId, identity))
  if (pipeline === undefined) {
    context.log.info({ eventId: event.id, application, nameOrId }, 'No enabled pipeline matches a manual event.')
    return undefined
  }
  const given = objectOf(event.content['trigger'])
  const trigger: JsonObject = {
    ...given,
    type: 'manual',
    // Whoever is logged in started it, whatever the request says.
    user,
    eventId: event.id,
    parameters: objectOf(given['parameters']),
  }
  return { pipeline, trigger, artifacts: objectsOf(given['artifacts']), identity }
}

/** Turns "the store cannot be read" into an answer that makes the sender try again; accepting the event would lose it. */
export async function readable<T>(definitions: Promise<T>): Promise<T> {
  try {
    return await definitions
  } catch (error) {
    throw new BackendError(503, `The event was not accepted, send it again: ${(error as Error).message}`)
  }
}
