/** Routes of the event log. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/ports/port-error.ts'
import { pathValue, queryCount, queryValue } from '@fairlead/ports/requests/request-values.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { EventLog } from './event-log.ts'
import type { EventFilter, EventOutcome } from './event-log-store.ts'

const usualLimit = 50
const maxLimit = 200

const outcomes: readonly EventOutcome[] = ['started', 'nothing', 'failed']

/** The gateway decides who may see which application. */
export function eventLogRoutes(app: FastifyInstance, log: EventLog): void {
  app.get('/events', (request): JsonObject[] => log.list(filterOf(request)))
  app.get('/events/:id', (request): JsonObject => {
    const id = pathValue(request, 'id')
    const found = log.find(id, given(request, 'application'))
    if (found === undefined) throw new PortError(404, `No event has the id "${id}", or it was removed since.`)
    return found
  })
}

/** @throws {PortError} 400 */
function filterOf(request: FastifyRequest): EventFilter {
  return {
    application: given(request, 'application'),
    pipeline: given(request, 'pipeline'),
    type: given(request, 'type')?.toLowerCase(),
    outcome: outcomeOf(request),
    fromMs: queryCount(request, 'from'),
    before: given(request, 'cursor'),
    limit: Math.min(queryCount(request, 'limit') ?? usualLimit, maxLimit),
  }
}

function outcomeOf(request: FastifyRequest): EventOutcome | undefined {
  const text = given(request, 'outcome')
  const found = outcomes.find((each) => each === text)
  if (text !== undefined && found === undefined)
    throw new PortError(400, `The parameter "outcome" must be one of ${outcomes.join(', ')}.`)
  return found
}

/** An empty one counts as none. */
function given(request: FastifyRequest, name: string): string | undefined {
  return queryValue(request, name) || undefined
}
