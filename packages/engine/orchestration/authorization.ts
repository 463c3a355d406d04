/**
 * Authorization of changes to executions.
 * Reads are checked and filtered by the gateway.
 *
 * @see docs/contracts/orchestration.md#authorization
 */

import { type ApplicationRight, checkOnApplication } from '@fairlead/ports/access.ts'
import { trustedCallerOf } from '@fairlead/ports/requests/request-caller.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Engine } from './engine.ts'

const controlled: readonly { method: string; path: RegExp; authorization: ApplicationRight }[] = [
  {
    method: 'PUT',
    path: /\/(?:pipelines|tasks)\/:id\/(?:cancel|pause|resume)$/,
    authorization: 'EXECUTE',
  },
  { method: 'PUT', path: /\/pipelines\/:id\/stages\/:stageId\/restart$/, authorization: 'EXECUTE' },
  { method: 'PATCH', path: /\/pipelines\/:id\/stages\/:stageId$/, authorization: 'EXECUTE' },
  { method: 'PUT', path: /\/tasks\/cancel$/, authorization: 'EXECUTE' },
  { method: 'DELETE', path: /\/(?:pipelines|tasks)\/:id$/, authorization: 'WRITE' },
]

/** An execution never moves to another application, so it may be checked before the step that changes it. */
export function checkControl(app: FastifyInstance, { options }: Engine): void {
  app.addHook('preHandler', async (request) => {
    const { user } = trustedCallerOf(request)
    const { method, routeOptions } = request
    const rule = controlled.find(
      (one) => one.method === method && one.path.test(routeOptions.url ?? ''),
    )
    if (rule === undefined || user === undefined || !options.judges) return
    const access = await options.accessOf(user)
    for (const id of idsOf(request)) {
      // An unknown id is answered with 404 by the route itself.
      const found = options.store.load(id)
      if (found !== undefined) checkOnApplication(access, found.application, rule.authorization)
    }
  })
}

function idsOf({ params, body }: FastifyRequest): string[] {
  const { id } = params as { id?: string }
  if (id !== undefined) return [id]
  return Array.isArray(body) ? [...new Set(body.map(String))] : []
}
