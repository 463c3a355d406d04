/** Routes that executions and tasks have alike: reading one, cancelling it, deleting it. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { userOf } from '@fairlead/ports/requests/request-caller.ts'
import { isUnchanged } from '@fairlead/ports/requests/unchanged.ts'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Engine } from '../engine.ts'
import { awaitUndoing } from '../follow-ups.ts'
import { cancelExecution } from '../machine/operations.ts'
import type { Execution, ExecutionType } from '../model.ts'
import { isComplete } from '../statuses.ts'
import { formatStored } from '../store.ts'
import { sendRecord, sendRecords, sendText } from './answers.ts'
import type { KeptTexts } from './kept-texts.ts'

interface RecordReads {
  readonly engine: Engine
  readonly texts: KeptTexts
}

/**
 * Sends records as a list. Each is written once for each of its versions; one that has gone meanwhile is left out.
 *
 * @param form Names what `view` shows.
 */
export function sendViews(
  reply: FastifyReply,
  ids: readonly string[],
  { form, type, view }: Pick<RecordKind, 'type' | 'view'> & { readonly form: string },
  { engine: { changes, options }, texts }: RecordReads,
): FastifyReply {
  if (isUnchanged(reply.request, reply, changes.versionOfAll(ids, form))) return reply
  const write = (id: string) => {
    const execution = options.store.load(id)
    return execution?.type === type ? formatStored(view(execution)) : undefined
  }
  return sendRecords(reply, ids, (id) =>
    texts.get(`${form} ${id}`, changes.versionOf(id), () => write(id)),
  )
}

interface RecordKind {
  /** Has the id as `:id`. */
  readonly path: string
  readonly type: ExecutionType
  /** For messages. */
  readonly word: string
  readonly view: (execution: Execution) => JsonObject
}

export function recordRoutes(
  app: FastifyInstance,
  { engine, texts }: RecordReads,
  { path, type, word, view }: RecordKind,
): void {
  app.get<{ Params: { id: string } }>(path, (request, reply) => {
    const { id } = request.params
    if (engine.options.store.typeOf(id) !== type)
      return sendRecord(reply, view(engine.read(id, type)))
    const version = engine.changes.versionOf(id)
    if (isUnchanged(request, reply, version)) return reply
    return sendText(
      reply,
      texts.get(`record ${id}`, version, () => formatStored(view(engine.read(id, type)))),
    )
  })

  app.put<{ Params: { id: string }; Querystring: { reason?: string } }>(
    `${path}/cancel`,
    (request, reply) => {
      const { params, query } = request
      const user = userOf(request)
      const by = { canceledBy: user, cancelFor: user }
      engine.transact((unit) =>
        cancelExecution(unit.require(params.id, type), by, query.reason, unit.turn),
      )
      return reply.code(202).send()
    },
  )

  app.delete<{ Params: { id: string } }>(path, async (request, reply) => {
    const left = await awaitUndoing(engine, request.params.id)
    engine.transact((unit) => {
      const found = unit.require(request.params.id, type)
      if (!isComplete(found.status))
        throw new PortError(409, `The ${word} is still running; cancel it first.`)
      if (left.length > 0)
        throw new PortError(
          409,
          `What the ${word} had begun before it was cancelled is still being undone; delete it later.`,
        )
      unit.remove(found.id)
    })
    return reply.send()
  })
}
