/**
 * One pipeline execution: reading, cancel, pause, resume, delete.
 * @see docs/contracts/orchestration.md#lists-of-executions, #control-of-an-execution
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { BackendError, callerOf } from '../../backend.ts'
import { isUnchanged } from '../../unchanged.ts'
import type { Engine } from '../engine.ts'
import { executionView } from '../execution-view.ts'
import { cancelExecution, pauseExecution, resumeExecution } from '../machine/operations.ts'
import { maskExecution } from '../secrets.ts'
import { isComplete } from '../statuses.ts'
import { sendRecord } from './answers.ts'
import { toExecutionLog } from './execution-log.ts'

interface ExecutionPath {
  Params: { id: string }
}

export function executionRoutes(app: FastifyInstance, engine: Engine): void {
  app.get<ExecutionPath>('/pipelines/:id', (request, reply) => {
    const { id } = request.params
    if (engine.options.store.typeOf(id) === 'PIPELINE' && isUnchanged(request, reply, engine.changes.versionOf(id))) return reply
    const execution = engine.read(id, 'PIPELINE')
    return sendRecord(reply, executionView(execution))
  })

  app.get<ExecutionPath>('/pipelines/:id/logs', (request, reply) =>
    sendRecord(reply, toExecutionLog(maskExecution(engine.read(request.params.id, 'PIPELINE')))),
  )

  app.put<ExecutionPath & { Querystring: { reason?: string } }>('/pipelines/:id/cancel', (request, reply) => {
    const user = userOf(request)
    engine.transact((unit) => cancelExecution(unit.require(request.params.id, 'PIPELINE'), user, request.query.reason, unit.turn))
    return reply.code(202).send()
  })

  app.put<ExecutionPath>('/pipelines/:id/pause', (request, reply) => {
    const user = userOf(request)
    engine.transact((unit) => pauseExecution(unit.require(request.params.id, 'PIPELINE'), user, unit.turn, engine.isInFlight))
    return reply.code(202).send()
  })

  app.put<ExecutionPath>('/pipelines/:id/resume', (request, reply) => {
    const user = userOf(request)
    engine.transact((unit) => resumeExecution(unit.require(request.params.id, 'PIPELINE'), user, unit.turn))
    return reply.code(202).send()
  })

  app.delete<ExecutionPath>('/pipelines/:id', (request, reply) => {
    engine.transact((unit) => {
      const execution = unit.require(request.params.id, 'PIPELINE')
      if (!isComplete(execution.status)) throw new BackendError(409, 'The execution is still running; cancel it first.')
      unit.remove(execution.id)
    })
    return reply.send()
  })

  for (const path of ['/pipelines/running', '/pipelines/waiting']) app.get(path, (_request, reply) => reply.code(410).send([]))
}

export function userOf(request: FastifyRequest): string {
  return callerOf(request).user ?? 'anonymous'
}
