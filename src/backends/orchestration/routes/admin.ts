/** Endpoints for operators and scripts: force cancel, correlation, failed leaves, empty lists. */
import { hostname } from 'node:os'
import type { FastifyInstance } from 'fastify'
import { BackendError } from '../../backend.ts'
import type { Engine } from '../engine.ts'
import { failedLeaves } from '../failed-stages.ts'
import { forceCancel } from '../machine/operations.ts'
import { wholeNumber } from './answers.ts'

interface ForceCancelQuery {
  executionId?: string
  executionType?: string
  canceledBy?: string
}

interface FailedStagesQuery {
  executionId?: string
  deckOrigin?: string
  limit?: string
}

const emptyLists = ['/capabilities/deploymentMonitors', '/jobs/preconfigured', '/installedPlugins']

export function adminRoutes(app: FastifyInstance, engine: Engine): void {
  const { store } = engine.options

  app.put<{ Querystring: ForceCancelQuery }>('/admin/forceCancelExecution', (request, reply) => {
    const { executionId = '', executionType = 'PIPELINE', canceledBy = 'admin' } = request.query
    const type = executionType.toUpperCase()
    if (type !== 'PIPELINE' && type !== 'ORCHESTRATION') {
      throw new BackendError(400, `"${executionType}" is not a type of execution; use PIPELINE or ORCHESTRATION.`)
    }
    engine.transact((unit) => forceCancel(unit.require(executionId, type), canceledBy, unit.turn))
    return reply.send()
  })

  // The engine finds lost work by itself when it starts, so there is never any to create anew.
  app.post<{ Querystring: { dryRun?: string } }>('/admin/queue/hydrate', (request) => ({
    dryRun: request.query.dryRun?.toLowerCase() !== 'false',
    executions: {},
  }))

  app.get<{ Params: { correlationId: string } }>('/executions/correlated/:correlationId', (request) =>
    store.correlated(request.params.correlationId).map(({ id }) => id),
  )

  app.get('/executions/activeByInstance', () => ({
    [hostname()]: { overdue: false, count: store.countIncomplete().RUNNING ?? 0 },
  }))

  app.get<{ Querystring: FailedStagesQuery }>('/pipelines/failedStages', (request) => {
    const { executionId, deckOrigin = '', limit } = request.query
    if (executionId === undefined) throw new BackendError(400, 'The query parameter "executionId" is missing.')
    const most = wholeNumber(limit, 'limit', 1)
    if (most <= 0) throw new BackendError(400, '"limit" must be positive.')
    return failedLeaves(engine.read(executionId, 'PIPELINE'), { deckOrigin, limit: most, find: (id) => store.load(id) })
  })

  for (const path of emptyLists) app.get(path, () => [])
}
