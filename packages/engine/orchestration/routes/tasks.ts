/** Ad-hoc tasks: reading, cancelling, deleting (docs/contracts/orchestration.md#tasks). */

import { PortError } from '@fairlead/base/port-error.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { userOf } from '@fairlead/ports/requests/request-caller.ts'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Engine } from '../engine.ts'
import { taskView } from '../execution-view.ts'
import { cancelExecution } from '../machine/operations.ts'
import { historyMs, wantedStatuses, wholeNumber } from './answers.ts'
import type { KeptTexts } from './kept-texts.ts'
import { recordRoutes, sendViews } from './records.ts'

type TaskListQuery = Partial<Record<'page' | 'limit' | 'statuses', string>>

const defaultLimit = 3500

export function taskRoutes(
  app: FastifyInstance,
  engine: Engine,
  { now }: BackendContext,
  texts: KeptTexts,
): void {
  const { store } = engine.options

  const list = (reply: FastifyReply, application: string | undefined, query: TaskListQuery) => {
    const limit = Math.max(wholeNumber(query.limit, 'limit', defaultLimit), 0)
    const page = Math.max(wholeNumber(query.page, 'page', 1), 1)
    const statuses = wantedStatuses(query.statuses)
    const ids = store.tasks({
      application,
      startedSince: now() - historyMs,
      statuses,
      limit,
      offset: (page - 1) * limit,
    })
    return sendViews(
      reply,
      ids,
      { form: 'task', type: 'ORCHESTRATION', view: taskView },
      { engine, texts },
    )
  }

  recordRoutes(
    app,
    { engine, texts },
    { path: '/tasks/:id', type: 'ORCHESTRATION', word: 'task', view: taskView },
  )

  app.get<{ Querystring: TaskListQuery }>('/tasks', (request, reply) =>
    list(reply, undefined, request.query),
  )

  app.get<{ Params: { application: string }; Querystring: TaskListQuery }>(
    '/applications/:application/tasks',
    (request, reply) => list(reply, request.params.application, request.query),
  )

  app.put('/tasks/cancel', (request, reply) => {
    const ids = request.body
    if (!Array.isArray(ids)) throw new PortError(400, 'The body must be an array of task ids.')
    const user = userOf(request)
    engine.transact((unit) => {
      const tasks = ids.map((id) => unit.require(String(id), 'ORCHESTRATION'))
      for (const task of tasks)
        cancelExecution(task, { canceledBy: user, cancelFor: user }, undefined, unit.turn)
    })
    return reply.code(202).send()
  })
}
