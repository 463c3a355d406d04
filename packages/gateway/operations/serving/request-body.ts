/** Bodies of requests for operations: read and checked, or passed on to a service. */

import { GatewayError } from '@fairlead/base/errors.ts'
import { codingOf } from '@fairlead/base/json/bodies/content-coding.ts'
import type { ReadDocument } from '@fairlead/base/json/bodies/documents-aside.ts'
import type { BodyBounds } from '@fairlead/base/json/bodies/json-checker.ts'
import {
  bodyTypeOf,
  hasBody,
  passBody,
  readBody,
  readBytes,
  readCheckedBytes,
  streamBody,
  unsupported,
} from '@fairlead/base/json/bodies/read-body.ts'
import { formatJson, isRawNumber } from '@fairlead/base/json/json.ts'
import { describeIssue } from '@fairlead/base/settings/describe-issue.ts'
import { isManifest } from '@fairlead/model/definition-files/file-kinds.ts'
import type { FastifyRequest } from 'fastify'
import type { UpstreamCall } from '../../upstreams/upstream-call.ts'
import { open } from '../demands.ts'
import type { OperationExchange } from './exchange.ts'

export async function readDeclaredBody(
  exchange: OperationExchange,
): Promise<ReadDocument | undefined> {
  const { operation, request } = exchange
  const rule = operation.body
  const bounds = boundsFor(exchange)
  if (rule?.raw) {
    const bytes = await (rule.mediaType === undefined ? readCheckedBytes : readBytes)(
      request.raw,
      bounds,
    )
    return bytes.length === 0 ? undefined : { value: bytes }
  }
  const document = await readBody(request.raw, bounds, { text: rule?.text })
  const body = document?.value
  if (body === undefined || body === null) {
    if (rule?.required) throw missingBody()
    return undefined
  }
  const checked = rule?.schema.safeParse(isRawNumber(body) ? Number(body) : body)
  if (checked !== undefined && !checked.success) {
    const [issue] = checked.error.issues
    const where =
      issue === undefined || issue.path.length === 0
        ? 'The body'
        : `"${issue.path.join('.')}" in the body`
    const hint = isManifest(body)
      ? ' It is a manifest of Kubernetes: send the definition in its "spec", or let "fairlead apply -f FILE" read it.'
      : ''
    throw new GatewayError(
      'UNREADABLE_BODY',
      `${where} is not usable: ${issue === undefined ? 'wrong shape' : describeIssue(issue)}.${hint}`,
    )
  }
  return document
}

/** Requests on open paths without login may send less, even if no login is required. */
function boundsFor({ operation, request, reply }: OperationExchange): BodyBounds {
  const { user } = request.state
  const isStranger =
    user === undefined ||
    (user.method === 'anonymous' && operation.demands === open('signed by sender'))
  return request.server.boundsOf(isStranger ? 'open' : 'known', reply.raw)
}

function missingBody(): GatewayError {
  return new GatewayError(
    'MISSING_BODY',
    'This operation needs a body. Send a JSON or YAML document.',
  )
}

/** A JSON body goes on as a stream of bytes; YAML is read and rewritten. */
export async function attachBody(
  exchange: OperationExchange,
  call: UpstreamCall,
  read: boolean,
): Promise<void> {
  const { operation, request } = exchange
  const bounds = boundsFor(exchange)
  const type = bodyTypeOf(request.headers['content-type'])
  if (!hasBody(request.raw)) {
    if (operation.body?.required) throw missingBody()
    return
  }
  if (operation.body?.streams) {
    call.rawBody = passBody(request.raw)
    call.headers = describeBytes(request)
    return
  }
  if (type === 'other') throw unsupported(request.headers['content-type'])
  const length = request.headers['content-length']
  // Without a length the limit could only be noticed halfway through the call.
  if (
    read ||
    type !== 'json' ||
    codingOf(request.raw) !== undefined ||
    length === undefined ||
    Number(length) > bounds.maxBytes
  ) {
    const document = await readDeclaredBody(exchange)
    await exchange.guard.checkBody(operation, exchange, document?.value)
    call.rawBody = document?.json ?? formatJson(document?.value)
    call.headers = { 'content-type': 'application/json' }
    return
  }
  call.rawBody = streamBody(request.raw, bounds)
  call.headers = { 'content-type': 'application/json', 'content-length': length }
}

function describeBytes({ headers }: FastifyRequest): Record<string, string> {
  const names = ['content-type', 'content-length', 'content-digest'] as const
  return Object.fromEntries(
    names.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])),
  )
}
