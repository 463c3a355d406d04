/** Last resorts of administrators: force cancel, and the search for lost work. */

import { PortError } from '@fairlead/base/port-error.ts'
import type { FastifyInstance } from 'fastify'
import type { Engine } from '../engine.ts'
import { forceCancel } from '../machine/operations.ts'

type ForceCancelQuery = Partial<Record<'executionId' | 'executionType' | 'canceledBy', string>>

export function adminRoutes(app: FastifyInstance, engine: Engine): void {
  app.put<{ Querystring: ForceCancelQuery }>('/admin/forceCancelExecution', (request, reply) => {
    const { executionId = '', executionType = 'PIPELINE', canceledBy = 'admin' } = request.query
    const type = executionType.toUpperCase()
    if (type !== 'PIPELINE' && type !== 'ORCHESTRATION') {
      throw new PortError(
        400,
        `"${executionType}" is not a type of execution; use PIPELINE or ORCHESTRATION.`,
      )
    }
    engine.transact((unit) => forceCancel(unit.require(executionId, type), canceledBy, unit.turn))
    return reply.send()
  })

  // The engine finds lost work by itself when it starts, so there is never any to create anew.
  app.post<{ Querystring: { dryRun?: string } }>('/admin/queue/hydrate', (request) => ({
    dryRun: request.query.dryRun?.toLowerCase() !== 'false',
    executions: {},
  }))
}
