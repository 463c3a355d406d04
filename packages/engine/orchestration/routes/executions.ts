/**
 * Executions of pipelines: reading, control, deleting; which run here, and what a correlation id or a failure belongs to.
 * @see docs/contracts/orchestration.md#lists-of-executions, #control-of-an-execution
 */
import { hostname } from 'node:os'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { userOf } from '@fairlead/ports/requests/request-caller.ts'
import { pathValue, requiredQuery } from '@fairlead/ports/requests/request-values.ts'
import type { FastifyInstance } from 'fastify'
import type { Engine } from '../engine.ts'
import { executionView } from '../execution-view.ts'
import { failedLeaves } from '../failed-stages.ts'
import { pauseExecution, resumeExecution } from '../machine/operations.ts'
import type { Execution } from '../model.ts'
import { maskExecution } from '../secrets.ts'
import { modifierOf, sendRecord, wholeNumber } from './answers.ts'
import { toExecutionLog } from './execution-log.ts'
import type { KeptTexts } from './kept-texts.ts'
import { recordRoutes } from './records.ts'

/** What became of its notifications stands beside the record. */
function viewWithDeliveries(execution: Execution, { options }: Engine): JsonObject {
  const deliveries = options.ports.events.deliveriesOf(execution.id) ?? []
  return {
    ...executionView(execution),
    ...(deliveries.length > 0 && { notificationDeliveries: deliveries }),
  }
}

type FailedStagesQuery = Partial<Record<'deckOrigin' | 'limit', string>>

export function executionRoutes(app: FastifyInstance, engine: Engine, texts: KeptTexts): void {
  const { store } = engine.options

  recordRoutes(
    app,
    { engine, texts },
    {
      path: '/pipelines/:id',
      type: 'PIPELINE',
      word: 'execution',
      view: (execution) => viewWithDeliveries(execution, engine),
    },
  )

  app.get('/pipelines/:id/logs', (request, reply) =>
    sendRecord(
      reply,
      toExecutionLog(maskExecution(engine.read(pathValue(request, 'id'), 'PIPELINE'))),
    ),
  )

  app.put('/pipelines/:id/pause', (request, reply) => {
    const [id, user] = [pathValue(request, 'id'), userOf(request)]
    engine.transact((unit) =>
      pauseExecution(unit.require(id, 'PIPELINE'), user, unit.turn, engine.isInFlight),
    )
    return reply.code(202).send()
  })

  app.put('/pipelines/:id/resume', (request, reply) => {
    const [id, by] = [pathValue(request, 'id'), modifierOf(request)]
    engine.transact((unit) => resumeExecution(unit.require(id, 'PIPELINE'), by, unit.turn))
    return reply.code(202).send()
  })

  app.get('/executions/correlated/:correlationId', (request) =>
    store.correlated(pathValue(request, 'correlationId')).map(({ id }) => id),
  )

  app.get('/executions/activeByInstance', () => ({
    [hostname()]: { overdue: false, count: store.countIncomplete().RUNNING ?? 0 },
  }))

  app.get<{ Querystring: FailedStagesQuery }>('/pipelines/failedStages', (request) => {
    const { deckOrigin = '', limit } = request.query
    const executionId = requiredQuery(request, 'executionId')
    const most = wholeNumber(limit, 'limit', 1)
    if (most <= 0) throw new PortError(400, '"limit" must be positive.')
    return failedLeaves(engine.read(executionId, 'PIPELINE'), {
      deckOrigin,
      limit: most,
      find: (id) => store.load(id),
    })
  })

  for (const path of ['/pipelines/running', '/pipelines/waiting'])
    app.get(path, (_request, reply) => reply.code(410).send([]))
}
