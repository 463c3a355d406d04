/** Turns the list of operations into routes. */

import { GatewayError } from '@fairlead/base/errors.ts'
import type { FastifyInstance } from 'fastify'
import { parseAccept, yamlType } from '../../http/parse-accept.ts'
import { anyPath } from '../../http/route.ts'
import { eventStreamType } from '../../live/event-stream.ts'
import { Guard } from '../access/guard.ts'
import { linesType, type Operation, StreamedAnswer } from '../operation.ts'
import type { Platform } from '../platform.ts'
import {
  type Declarations,
  declarationsOf,
  type MountSettings,
  OperationExchange,
  type ServingParts,
} from './exchange.ts'
import { answerCall, answerForward } from './forward.ts'
import { readDeclaredBody } from './request-body.ts'
import { answerValue } from './send-answer.ts'

export function mountOperations(
  server: FastifyInstance,
  operations: readonly Operation[],
  platform: Platform,
  settings: MountSettings,
): void {
  const parts: ServingParts = { platform, settings, guard: new Guard(platform) }
  const byId = new Map(operations.map((operation) => [operation.id, declarationsOf(operation)]))
  server.route({
    method: [...new Set([...operations.map(({ method }) => method), 'HEAD'])],
    url: anyPath,
    handler: (request, reply) => {
      const declared = byId.get(request.state.route?.operation ?? '')
      if (declared === undefined)
        throw new Error(`no operation for ${request.method} ${request.state.path}`)
      request.state.operation = declared.operation.id
      checkAcceptable(declared, request.headers.accept)
      answer(new OperationExchange(declared, parts, request, reply)).catch(
        (error: unknown) => void reply.send(error),
      )
    },
  })
}

async function answer(exchange: OperationExchange): Promise<void> {
  const { operation, declared, guard } = exchange
  const checking = guard.check(operation, exchange)
  if (checking !== undefined) await checking
  if (declared.forward === undefined) await answerHandled(exchange)
  else await answerForward(exchange, declared.forward)
}

/**
 * Refuses a client that cannot read the answer before anything is done. A change whose sender names texts only is made, as by
 * Gate, and answered with JSON.
 *
 * @throws {GatewayError} NOT_ACCEPTABLE
 */
function checkAcceptable({ operation, form }: Declarations, accept: string | undefined): void {
  if (form.kind === 'no-page' || hasOwnType(operation)) return
  const isDocument = form.kind === 'json' && operation.method === 'GET'
  if (parseAccept(accept, isDocument ? ['json', 'yaml'] : ['json', 'yaml', 'text']) !== undefined)
    return
  throw new GatewayError('NOT_ACCEPTABLE', `Answers are JSON, or YAML with "Accept: ${yamlType}".`)
}

/** Streams of events, lines, and bytes, which have the type that their service gives. */
function hasOwnType({ answerType }: Operation): boolean {
  return [eventStreamType, linesType, 'application/octet-stream'].includes(answerType ?? '')
}

async function answerHandled(exchange: OperationExchange): Promise<void> {
  const { operation, request, platform, guard } = exchange
  if (operation.handle === undefined)
    throw new Error(`operation ${operation.id} has neither forward nor handle`)
  if (operation.body !== undefined) exchange.body = (await readDeclaredBody(exchange))?.value
  await guard.checkBody(operation, exchange, exchange.body)
  await platform.audited?.begin(request, exchange.body)
  const value = await operation.handle(exchange, platform)
  const filter = await guard.filterOf(operation, exchange)
  if (value instanceof StreamedAnswer)
    await answerCall(exchange, { service: value.service, call: value.call, filter })
  else await answerValue(exchange, value, filter)
}
