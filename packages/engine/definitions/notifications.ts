/** Notifications of applications, and one global record: recipients and events of executions. */

import { AnyObject } from '@fairlead/base/json/schemas.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { checkBody } from '@fairlead/ports/requests/check-body.ts'
import { pathValue } from '@fairlead/ports/requests/request-values.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { checkApplicationName } from './application-names.ts'
import { checkAdministrator, checkWriter, writerOf } from './authorization.ts'
import type { Definitions } from './collections.ts'
import { checkLists } from './pipeline-rules.ts'
import { refusal, sendAll } from './requests.ts'

const globalKey = 'global'

export function recipientRoutes(app: FastifyInstance, definitions: Definitions): void {
  const { notifications, write } = definitions
  const checkRecord = (body: unknown) => {
    const record = checkBody(AnyObject, body)
    checkLists(definitions, 'record of notifications', record)
    return record
  }
  const openChanger = async (request: FastifyRequest, key: string) => {
    const writer = await writerOf(definitions, request)
    if (key === globalKey) checkAdministrator(writer)
    else checkWriter(writer, pathValue(request, 'name'))
    return writer
  }
  const put = (key: string, document: JsonObject, user: string) =>
    write(() => notifications.put(key, document, user))

  app.get('/notifications', (_request, reply) => sendAll(reply, notifications))

  app.get('/notifications/:type/:name', (request) => notifications.get(keyOf(request)) ?? {})
  app.post('/notifications/:type/:name', async (request) => {
    const key = keyOf(request)
    const { user } = await openChanger(request, key)
    const body = checkRecord(request.body)
    if (key !== globalKey)
      checkApplicationName(
        definitions,
        pathValue(request, 'name'),
        notifications.get(key)?.['application'],
      )
    put(key, key === globalKey ? body : { ...body, application: pathValue(request, 'name') }, user)
  })
  app.delete('/notifications/:type/:name', async (request) => {
    const key = keyOf(request)
    await openChanger(request, key)
    write(() => notifications.remove(key))
  })
}

/** The record of an application, and that of all; neither where nothing was saved. */
export function notificationRecordsOf(definitions: Definitions, application: string): JsonObject[] {
  const records = [application, undefined].map((each) => notificationRecord(definitions, each))
  return records.filter((record) => record !== undefined)
}

/** @param application Undefined: the record of all */
export function notificationRecord(
  { notifications }: Definitions,
  application: string | undefined,
): JsonObject | undefined {
  return notifications.get(application === undefined ? globalKey : recipientsKey(application))
}

/** The key of an application's record; it disappears with the application. */
export function recipientsKey(application: string): string {
  return `application/${foldName(application)}`
}

function keyOf(request: FastifyRequest): string {
  const type = pathValue(request, 'type').toLowerCase()
  if (type === 'global') return globalKey
  if (type === 'application') return recipientsKey(pathValue(request, 'name'))
  throw refusal(
    `The kind of notifications must be "application" or "global", not "${pathValue(request, 'type')}".`,
  )
}
