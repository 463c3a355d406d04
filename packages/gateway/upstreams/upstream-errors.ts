/** Errors of calls to services: what they mean for the client, for the circuit, and for a repetition. */
import { GatewayError } from '@fairlead/base/errors.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import { isReadMethod } from '@fairlead/base/telemetry/methods.ts'
import { isConnectTimeout } from '@fairlead/proxy/connection.ts'
import { ResponseError } from '@fairlead/proxy/response-reader.ts'

export const maxInformational = 10

export function circuitOpen(service: ServiceName, remainingMs: number): GatewayError {
  const until = new Date(Date.now() + remainingMs).toISOString().replace(/\.\d+Z$/, 'Z')
  const message = (name: string) =>
    `${name} has failed repeatedly, so Fairlead calls it again only once it answers a probe, at ${until} at the earliest. Try again then.`
  return new GatewayError('CIRCUIT_OPEN', message, {
    upstream: { service },
    headers: { 'retry-after': String(Math.max(1, Math.ceil(remainingMs / 1000))) },
  })
}

export function switchedOff(service: ServiceName): GatewayError {
  const message = (name: string) =>
    `${name} is switched off. Set services.${service}.enabled or services.${service}.baseUrl to use this.`
  return new GatewayError('SERVICE_DISABLED', message, { upstream: { service } })
}

/** Faults of this process or machine: descriptors, ports and buffers are exhausted. */
const ownFaults = new Set(['EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'ENOBUFS', 'ENOMEM'])
const notSent = new Set([
  'ECONNREFUSED',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
])
const brokenOff = new Set(['ECONNRESET', 'EPIPE'])

export function mayRetry(error: unknown, method: string): boolean {
  const code = codeOf(error instanceof GatewayError ? error.cause : error)
  return notSent.has(code) || (brokenOff.has(code) && isReadMethod(method))
}

export function isUnconnected(error: unknown): boolean {
  return isConnectTimeout((error instanceof GatewayError ? error.cause : error) ?? {})
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code ?? '')
}

/** The service did not answer. What is wrong with this process or with an answer says nothing about that. */
export function isNoAnswer(error: unknown): boolean {
  if (!(error instanceof GatewayError)) return !ownFaults.has(codeOf(error)) && !isMalformed(error)
  if (error.code !== 'UPSTREAM_TIMEOUT' && error.code !== 'UPSTREAM_UNREACHABLE') return false
  return !ownFaults.has(codeOf(error.cause))
}

/** Something answered, and not in HTTP: one operation of a service may do so while the others are well. */
export function isMalformed(error: unknown): boolean {
  return (error instanceof GatewayError ? error.cause : error) instanceof ResponseError
}

/** Unreachable is 502, too slow is 504; the address stays in the log. */
export function toGatewayError(error: unknown, service: ServiceName): GatewayError {
  if (error instanceof GatewayError) return error
  if (codeOf(error) === 'ETIMEDOUT') return tooLate(service, error)
  if (isMalformed(error)) {
    const message = (name: string) =>
      `${name} sent a response that is not valid HTTP, or has headers that are too large.`
    return unreadable(service, message, error)
  }
  return new GatewayError(
    'UPSTREAM_UNREACHABLE',
    (name) => `${name} could not be reached, or broke off before it answered.`,
    {
      upstream: { service },
      cause: error,
    },
  )
}

export function tooLate(service: ServiceName, cause: unknown): GatewayError {
  return new GatewayError('UPSTREAM_TIMEOUT', (name) => `${name} did not answer in time.`, {
    upstream: { service },
    cause,
  })
}

export function unreadable(
  service: ServiceName,
  message: (name: string) => string,
  cause?: unknown,
): GatewayError {
  return new GatewayError('UPSTREAM_UNREADABLE', message, { upstream: { service }, cause })
}

export function onlyInformational(service: ServiceName): GatewayError {
  return unreadable(
    service,
    (name) =>
      `${name} sent more than ${maxInformational} informational responses instead of an answer.`,
  )
}

export function unfollowed(service: ServiceName): GatewayError {
  return unreadable(service, (name) => `${name} answered with a redirect that leads nowhere.`)
}

/** The same for all: each response that closes asks for it, and a stack trace takes 3 % of a request. */
export const clientGone = new Error('the client went away')
