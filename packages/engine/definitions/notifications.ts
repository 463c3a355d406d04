/** Notifications of applications, and one global record: recipients and events of executions. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/stores/document-store.ts'
import { NotificationSettings } from '@fairlead/model/environments/pipeline-models.ts'
import { checkBody } from '@fairlead/ports/requests/check-body.ts'
import { userOf } from '@fairlead/ports/requests/request-caller.ts'
import { pathValue } from '@fairlead/ports/requests/request-values.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { checkApplicationName } from './application-names.ts'
import { checkAdministrator, checkWriter } from './authorization.ts'
import type { Definitions } from './collections.ts'
import { checkLists } from './pipeline-rules.ts'
import { refusal, sendAll } from './requests.ts'

const globalKey = 'global'

export function notificationRoutes(app: FastifyInstance, definitions: Definitions): void {
  const { notifications, write } = definitions
  const checkRecord = (body: unknown) => {
    const record = checkBody(NotificationSettings, body)
    checkLists(definitions, 'record of notifications', record)
    return record
  }
  const put = (key: string, document: JsonObject, user: string) => write(() => notifications.put(key, document, user))

  app.get('/notifications', (_request, reply) => sendAll(reply, notifications))

  app.get('/notifications/:type/:name', (request) => notifications.get(keyOf(request)) ?? {})
  app.post('/notifications/:type/:name', async (request) => {
    const key = keyOf(request)
    checkChanger(request, key)
    const body = checkRecord(request.body)
    if (key !== globalKey) checkApplicationName(definitions, pathValue(request, 'name'), notifications.get(key)?.['application'])
    put(key, key === globalKey ? body : { ...body, application: pathValue(request, 'name') }, userOf(request))
  })
  app.delete('/notifications/:type/:name', async (request) => {
    const key = keyOf(request)
    checkChanger(request, key)
    write(() => notifications.remove(key))
  })
}

/** The record of an application, and that of all; neither where nothing was saved. */
export function notificationRecordsOf({ notifications }: Definitions, application: string): JsonObject[] {
  return [notifications.get(applicationKey(application)), notifications.get(globalKey)].filter((record) => record !== undefined)
}

/** The key of an application's record; it disappears with the application. */
export function applicationKey(application: string): string {
  return `application/${foldName(application)}`
}

function checkChanger(request: FastifyRequest, key: string): void {
  if (key === globalKey) checkAdministrator(request)
  else checkWriter(request, pathValue(request, 'name'))
}

function keyOf(request: FastifyRequest): string {
  const type = pathValue(request, 'type').toLowerCase()
  if (type === 'global') return globalKey
  if (type === 'application') return applicationKey(pathValue(request, 'name'))
  throw refusal(`The kind of notifications must be "application" or "global", not "${pathValue(request, 'type')}".`)
}
