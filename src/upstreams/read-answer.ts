/** Whole answers of services: read as JSON, or turned into errors. */
import { GatewayError } from '../errors.ts'
import { parseJson } from '../json/json.ts'
import { parseObject, textsOf } from '../json/values.ts'
import type { ServiceName } from '../services/services.ts'
import { type AnswerForm, checkForm, noPage, objectOrList } from './answer-form.ts'
import { unreadable } from './upstream-errors.ts'

export interface UpstreamAnswer {
  status: number
  headers: Readonly<Record<string, string | string[] | undefined>>
  text: string
  /** It comes from this process: users know nothing of a service. */
  isEmbedded?: boolean
}

/**
 * The JSON of a successful answer; undefined when it is empty.
 *
 * @param form Required form of an answer that is not parsed.
 * @throws {GatewayError} UPSTREAM_FAILED with the status of the service, UPSTREAM_UNREADABLE
 */
export function readJson(answer: UpstreamAnswer, service: ServiceName, form?: AnswerForm): unknown {
  checkSuccess(answer, service)
  if (form !== undefined && !isEmptyByStatus(answer.status)) checkForm(form, service, answer.text)
  if (answer.text.trim() === '') return undefined
  try {
    return parseJson(answer.text)
  } catch (cause) {
    checkForm(objectOrList, service, answer.text)
    throw new GatewayError('UPSTREAM_UNREADABLE', (name) => `${name} answered with something that is not JSON.`, {
      upstream: { service, status: answer.status },
      cause,
    })
  }
}

/**
 * For a call whose answer Fairlead ignores or reads as text: a page for people comes from something else than the service.
 *
 * @throws {GatewayError} UPSTREAM_FAILED with the status of the service, UPSTREAM_UNREADABLE
 */
export function checkDone(answer: UpstreamAnswer, service: ServiceName): void {
  checkSuccess(answer, service)
  checkForm(noPage, service, answer.text)
}

export function isEmptyByStatus(status: number): boolean {
  return status === 204 || status === 205
}

function checkSuccess(answer: UpstreamAnswer, service: ServiceName): void {
  const { status } = answer
  if (status >= 400) throw upstreamFailed(service, answer)
  if (status >= 300) {
    throw new GatewayError('UPSTREAM_UNREADABLE', (name) => `${name} answered with a redirect, which is not followed.`, {
      upstream: { service, status },
    })
  }
}

/**
 * The error of a service as clients of Gate expect it: same status, one line, and what the service said, also when to try again. The message names an external
 * service; an embedded one speaks for Fairlead.
 */
export function upstreamFailed(
  service: ServiceName,
  { status, text, isEmbedded = false, headers = {} }: Omit<UpstreamAnswer, 'headers'> & Partial<UpstreamAnswer>,
): GatewayError {
  if (status >= 600) {
    return unreadable(service, (name) => `${name} answered with the status ${status}, which HTTP does not have.`)
  }
  if (status === 407) {
    const advice = (name: string) => (name === service ? ` Check services.${service}.baseUrl.` : '')
    return unreadable(service, (name) => `A proxy on the way to ${name} demands a login of its own.${advice(name)}`)
  }
  const said = parseObject(text)
  const message = typeof said?.['message'] === 'string' ? said['message'] : undefined
  const lines = textsOf(said?.['errors'])
  const told = message ?? (lines.length > 0 ? lines.join('; ') : undefined)
  return new GatewayError(
    'UPSTREAM_FAILED',
    isEmbedded ? (told ?? describeStatus(status)) : `${service} answered ${status}${told === undefined ? '.' : `: ${told}`}`,
    {
      status,
      upstream: { service, status },
      ...(typeof headers['retry-after'] === 'string' && { headers: { 'retry-after': headers['retry-after'] } }),
      ...(lines.length > 0 && { fields: { errors: lines } }),
    },
  )
}

function describeStatus(status: number): string {
  return `The request failed with status ${status}${status < 500 ? '.' : '; the log has the reason.'}`
}
