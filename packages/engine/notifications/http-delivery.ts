/** Delivery by one HTTP request, and the meaning of its response. */
import { formatJson } from '@fairlead/base/json/json.ts'
import { CallError } from '@fairlead/base/net/call.ts'
import {
  type CallOutside,
  hrefOf,
  type OperatorAddress,
  type OutsideAnswer,
  retryAfterOf,
} from '@fairlead/base/outside/call-outside.ts'
import { DeliveryError } from './notification-type.ts'

interface HttpDelivery {
  readonly url: string | OperatorAddress
  readonly headers?: Readonly<Record<string, string>>
  readonly body: unknown
}

/** Statuses that pass. */
const passingStatuses: ReadonlySet<number> = new Set([408, 409, 423, 425, 429])

/**
 * Posts JSON. No message contains more of the address than its host: the rest may be a secret.
 *
 * @throws {DeliveryError}
 */
export async function postJson(
  call: CallOutside,
  { url, headers = {}, body }: HttpDelivery,
): Promise<OutsideAnswer> {
  const answer = await callOnce(call, { url, headers, body })
  const { status } = answer
  if (status >= 200 && status < 300) return answer
  const host = URL.parse(hrefOf(url))?.host ?? 'the address'
  if (status >= 300 && status < 400) {
    const text = `${host} redirects (${status}), which is not followed. Use the address that it redirects to.`
    throw new DeliveryError(text, { isFinal: true })
  }
  const isFinal = status < 500 && !passingStatuses.has(status)
  throw new DeliveryError(`${host} answered with status ${status}.`, {
    isFinal,
    retryAfterMs: retryAfterOf(answer),
  })
}

async function callOnce(
  call: CallOutside,
  { url, headers, body }: Required<HttpDelivery>,
): Promise<OutsideAnswer> {
  const text = typeof body === 'string' ? body : formatJson(body)
  try {
    return await call({
      method: 'POST',
      url,
      headers: {
        'content-type': 'application/json; charset=utf-8',
        accept: '*/*',
        'user-agent': 'fairlead',
        ...headers,
      },
      body: text,
    })
  } catch (error) {
    if (!(error instanceof CallError))
      throw new DeliveryError('The request cannot be sent: a header or the address is malformed.')
    const message = URL.canParse(hrefOf(url))
      ? error.message
      : 'The address is not absolute, such as https://chat.example/hook.'
    throw new DeliveryError(message, { isFinal: error.fault === 'forbidden' })
  }
}
