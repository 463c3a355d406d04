/** Manual starts: a request for one pipeline, by name or id. */

import { or, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, objectOf, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { isExecutionId } from '@fairlead/base/storage/ulid.ts'
import { readPipeline } from '@fairlead/model/pipelines/definition.ts'
import { describeParameterProblem } from '@fairlead/model/stage-types/check-parameters.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { type Caller, toCaller } from '@fairlead/ports/caller.ts'
import type { Event } from './event.ts'
import { loadPipeline } from './pipelines.ts'
import type { Start } from './start.ts'

const toOrder = shape({
  application: textOf,
  pipelineNameOrId: textOf,
  user: or(textOf, 'anonymous'),
  trigger: objectOf,
})
const toGiven = shape({ parameters: objectOf, artifacts: objectsOf })

/**
 * The start that a manual event asks for. A pipeline that is unknown or disabled is no error: a failed execution under the id
 * that the client received reports it (docs/contracts/events.md#manual-starts).
 *
 * @throws {PortError} when the definitions cannot be read
 */
export async function toManualStart(
  context: BackendContext,
  event: Event,
  caller: Caller,
): Promise<Start | undefined> {
  const {
    application,
    pipelineNameOrId: nameOrId,
    trigger: given,
    ...order
  } = toOrder(event.content)
  if (application === undefined || nameOrId === undefined) {
    context.log.warn({ eventId: event.id }, 'a manual event names no application or no pipeline')
    return undefined
  }
  const user = caller.user ?? order.user
  const identity = {
    ...caller.identity,
    'x-spinnaker-user': user,
    'x-spinnaker-application': application,
  }
  const pipeline = await loadPipeline(
    context.ports.definitions,
    application,
    nameOrId,
    toCaller(identity),
  )
  const { parameters, artifacts } = toGiven(given)
  const problem =
    findProblem(pipeline, application, nameOrId) ??
    describeParameterProblem(pipeline ?? {}, parameters)
  const trigger: JsonObject = {
    ...given,
    type: 'manual',
    // The logged-in user started it, whatever the request says.
    user,
    eventId: event.id,
    parameters,
  }
  if (problem !== undefined && !isExecutionId(trigger['executionId'], context.now())) {
    context.log.info(
      { eventId: event.id, application, nameOrId, problem },
      'a manual event starts nothing',
    )
    return undefined
  }
  return {
    pipeline: pipeline ?? { application, name: nameOrId },
    trigger,
    artifacts,
    identity,
    ...(problem !== undefined && { problem }),
  }
}

function findProblem(
  pipeline: JsonObject | undefined,
  application: string,
  nameOrId: string,
): string | undefined {
  if (pipeline === undefined) return `The application ${application} has no pipeline "${nameOrId}".`
  return readPipeline(pipeline).isDisabled
    ? `The pipeline "${pipeline['name']}" is disabled. Enable it to start it.`
    : undefined
}
