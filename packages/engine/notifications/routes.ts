/** Routes of notifications: what is offered, requests to send one, tests, and warnings. */

import { warningAt } from '@fairlead/base/findings/document-finding.ts'
import { or, shape } from '@fairlead/base/json/shape.ts'
import { definedOf, type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { createUlid } from '@fairlead/base/storage/ulid.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import { trustedCallerOf, userOf } from '@fairlead/ports/requests/request-caller.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Notice } from './notification-type.ts'
import type { Notifier } from './notifier.ts'
import { notificationTypeOf, notificationTypes } from './types/all.ts'
import { describeUndeliveredTypes, recordFindings, typesOfRecord } from './warnings.ts'

interface NotificationParts {
  readonly context: BackendContext
  readonly notifier: Notifier
  readonly accept: (request: JsonObject, as: Caller) => Promise<void>
  /** Reads a body as an object. */
  readonly parse: (body: unknown) => JsonObject
}

export function notificationRoutes(
  app: FastifyInstance,
  { context, notifier, accept, parse }: NotificationParts,
): void {
  const { types } = context.settings.notifications

  app.get('/notifications/metadata', () =>
    notificationTypes
      .filter(({ id }) => id in types)
      .map(({ id, label, address, isKnownToDeck }) => ({
        notificationType: id,
        // Deck has forms of its own for some, and makes the others from the parameters.
        uiType: isKnownToDeck ? 'CUSTOM' : 'BASIC',
        label,
        parameters: [
          {
            name: 'address',
            type: 'string',
            label: address.label,
            description: address.description,
            defaultValue: '',
          },
        ],
      })),
  )

  // A kind without handler is accepted too (docs/contracts/events.md#acceptance).
  app.post('/notifications', async (request, reply) => {
    await accept(parse(request.body), { ...trustedCallerOf(request), user: userOf(request) })
    return reply.code(200).send()
  })

  app.post('/notifications/test', async (request) => {
    const { type, notice } = toTest(request, parse(request.body), context.now())
    const reason = await notifier.test({ type, notice }, userOf(request))
    return reason === undefined ? { delivered: true } : { delivered: false, reason }
  })

  app.post('/findings/notifications', (request) => {
    const record = parse(request.body)
    const undelivered = describeUndeliveredTypes(typesOfRecord(record), types)
    return [...undelivered.map((message) => warningAt('', message)), ...recordFindings(record)]
  })

  app.post('/notifications/callbacks/:source', () => {
    throw new PortError(404, 'No chat tool is configured that could call back.')
  })
}

const toRequest = shape({
  type: textOf,
  address: or(textOf, ''),
  application: or(textOf, ''),
  commit: textOf,
})

/** @throws {PortError} 400 */
function toTest(
  request: FastifyRequest,
  body: JsonObject,
  now: number,
): { type: string; notice: Notice } {
  const { type, application, commit: hash, ...given } = toRequest(body)
  if (type === undefined) throw new PortError(400, 'The field "type" is missing, such as "email".')
  const known = notificationTypeOf(type)
  const address = given.address.trim()
  if (address === '' && known !== undefined && known.address.isOptional !== true)
    throw new PortError(400, `The field "address" is missing: ${known.address.label}.`)
  const subject = `${application}: a test notification`
  const notice: Notice = definedOf({
    id: createUlid(now).toLowerCase(),
    occasion: 'test',
    phase: 'complete' as const,
    application,
    subject,
    text: `${subject}\n\n${userOf(request)} has sent it to check that notifications arrive here.`,
    address,
    commit: hash === undefined ? undefined : { hash },
    time: now,
  })
  return { type, notice }
}
