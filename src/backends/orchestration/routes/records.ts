/** Routes that executions and tasks have alike: reading one, cancelling it, deleting it. */
import type { FastifyInstance } from 'fastify'
import type { JsonObject } from '../../../json/values.ts'
import { BackendError, userOf } from '../../backend.ts'
import { isUnchanged } from '../../requests/unchanged.ts'
import type { Engine } from '../engine.ts'
import { cancelExecution } from '../machine/operations.ts'
import type { Execution, ExecutionType } from '../model.ts'
import { isComplete } from '../statuses.ts'
import { sendRecord } from './answers.ts'

interface RecordKind {
  /** With the id as `:id`. */
  readonly path: string
  readonly type: ExecutionType
  /** For messages. */
  readonly word: string
  readonly view: (execution: Execution) => JsonObject
}

export function recordRoutes(app: FastifyInstance, engine: Engine, { path, type, word, view }: RecordKind): void {
  app.get<{ Params: { id: string } }>(path, (request, reply) => {
    const { id } = request.params
    const isKnown = engine.options.store.typeOf(id) === type
    if (isKnown && isUnchanged(request, reply, engine.changes.versionOf(id))) return reply
    return sendRecord(reply, view(engine.read(id, type)))
  })

  app.put<{ Params: { id: string }; Querystring: { reason?: string } }>(`${path}/cancel`, (request, reply) => {
    const { params, query } = request
    engine.transact((unit) => cancelExecution(unit.require(params.id, type), userOf(request), query.reason, unit.turn))
    return reply.code(202).send()
  })

  app.delete<{ Params: { id: string } }>(path, (request, reply) => {
    engine.transact((unit) => {
      const found = unit.require(request.params.id, type)
      if (!isComplete(found.status)) throw new BackendError(409, `The ${word} is still running; cancel it first.`)
      unit.remove(found.id)
    })
    return reply.send()
  })
}
