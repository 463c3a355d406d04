/** Notification settings of applications, kinds of notification, and callbacks of chat tools. */
import type { IncomingHttpHeaders } from 'node:http'
import { AnyObject, model, nothing } from '@fairlead/base/json/schemas.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import { NotificationSettings } from '@fairlead/model/environments/pipeline-models.ts'
import { z } from 'zod'
import { get, operationsWith, post } from '../declare.ts'
import { open, readsApplication, sharedKnowledge, writesNotifications } from '../demands.ts'
import { type Operation, type OperationRequest, StreamedAnswer } from '../operation.ts'
import { findingsQuery, Saved, withFindings } from './findings.ts'

const settingsPath = '/notifications/{type}/{application}'

const NotificationTest = model('NotificationTest', {
  type: z.string().min(1).describe('Kind of notification: email, slack, …'),
  address: z
    .string()
    .nullish()
    .describe('Recipient: an e-mail address, a channel, the address of a webhook, a repository.'),
  commit: z.string().nullish().describe('Hash of a commit, for a commit status.'),
})

const NotificationTestResult = model('NotificationTestResult', {
  delivered: z.boolean(),
  reason: z.string().nullish().describe('Why it was not delivered.'),
})

const NotificationKind = model('NotificationKind', {
  notificationType: z.string(),
  parameters: z.array(AnyObject).nullish(),
  uiType: z.string().nullish(),
})

const change = operationsWith({ demands: writesNotifications, answer: nothing })

export const notificationOperations: Operation[] = [
  get('getNotificationConfigsUsingGET', settingsPath, 'Get notification settings', {
    demands: readsApplication,
    description:
      'Notification settings of an application, by kind. `type` is `application`; an unknown application has none: `{}`.',
    forward: 'front50',
    answer: NotificationSettings,
  }),
  change.post('saveNotificationConfigUsingPOST', settingsPath, 'Save notification settings', {
    description:
      'Replaces the notification settings of an application. With the type `global`, those of all; for administrators. The header ' +
      '`X-Fairlead-Warnings` names kinds that nothing delivers; characters beyond ASCII are percent-encoded.',
    query: findingsQuery,
    body: { schema: AnyObject, shown: NotificationSettings, required: true },
    answer: Saved.optional(),
    handle: async (request, platform) => {
      await changeSettings(request, { method: 'POST', body: request.body })
      return withFindings(request, platform, 'notifications', request.body)
    },
  }),
  change.post('testNotificationUsingPOST', `${settingsPath}/test`, 'Send a test notification', {
    description:
      'Sends a notification at once, and says whether its receiver took it. An external event service has no such test.',
    body: NotificationTest,
    handle: (request) => sendTest(request),
    answer: NotificationTestResult,
  }),
  change.remove(
    'deleteNotificationConfigUsingDELETE',
    settingsPath,
    'Delete notification settings',
    {
      description:
        'Removes the notification settings of an application. With the type `global`, those of all; for administrators.',
      handle: (request) => changeSettings(request, { method: 'DELETE' }),
    },
  ),
  get(
    'getNotificationTypeMetadataUsingGET',
    '/notifications/metadata',
    'List kinds of notification',
    {
      demands: sharedKnowledge,
      description:
        'Kinds of notification that the event service offers: of the embedded one, those that are switched on.',
      forward: 'echo',
      whenDisabled: [],
      answer: z.array(NotificationKind),
    },
  ),
  post(
    'processNotificationCallbackUsingPOST',
    '/notifications/callbacks/{source}',
    'Receive a chat callback',
    {
      demands: open('signed by sender'),
      description:
        'Receives a click on a button of a chat message. Open: the event service checks the signature.',
      body: {
        schema: z.unknown(),
        required: false,
        raw: true,
        mediaType: 'application/x-www-form-urlencoded',
      },
      handle: async (request) =>
        relayCallback(
          request,
          'echo',
          pathTo`/notifications/callbacks/${request.path['source'] as string}`,
        ),
      answer: z.unknown(),
    },
  ),
]

async function sendTest(request: OperationRequest): Promise<unknown> {
  const { type, address, commit } = request.body as z.infer<typeof NotificationTest>
  const body = { type, address, commit, application: request.path['application'] }
  return request.json('echo', { method: 'POST', path: '/notifications/test', body })
}

async function changeSettings(
  request: OperationRequest,
  change: { method: 'POST' | 'DELETE'; body?: unknown },
): Promise<void> {
  const { type = '', application = '' } = request.path
  await request.json('front50', { ...change, path: pathTo`/notifications/${type}/${application}` })
}

/** Relays body and headers, which together carry the signature of the chat tool. */
export function relayCallback(
  request: OperationRequest,
  service: ServiceName,
  path: string,
): StreamedAnswer {
  const rawBody = (request.body as Buffer | undefined) ?? Buffer.alloc(0)
  return new StreamedAnswer(service, {
    method: 'POST',
    path,
    rawBody,
    headers: relayedHeaders(request.headers),
  })
}

const ownHeaders =
  /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|host|content-length|content-encoding|accept|accept-encoding|cookie|authorization|x-spinnaker-.*|x-forwarded-.*|forwarded)$/

function relayedHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const relayed: Record<string, string> = { 'X-SPINNAKER-ANONYMOUS': 'anonymous', accept: '*/*' }
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string' && !ownHeaders.test(name)) relayed[name] = value
  }
  return relayed
}
