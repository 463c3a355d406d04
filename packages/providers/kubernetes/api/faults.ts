/** Errors of requests to an API server, in words. */
import type { IncomingHttpHeaders } from 'node:http'
import { numberOf, parseObject } from '@fairlead/base/json/values.ts'
import { ApiError, toApiError } from './api-error.ts'
import { ConnectFault } from './connections.ts'
import { CredentialFault } from './credentials.ts'

const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  ENOTFOUND: 'the host name of the API server is unknown',
  EAI_AGAIN: 'the host name of the API server cannot be looked up at the moment',
  EHOSTUNREACH: 'there is no route to the API server',
  ENETUNREACH: 'there is no route to the API server',
  ETIMEDOUT: 'the API server did not accept the connection in time',
  CERT_HAS_EXPIRED: 'the certificate of the API server has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT:
    'the certificate of the API server is not trusted; set certificate-authority in the kubeconfig',
  SELF_SIGNED_CERT_IN_CHAIN:
    'the certificate of the API server is not trusted; set certificate-authority in the kubeconfig',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'the certificate of the API server is not trusted; set certificate-authority in the kubeconfig',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'the certificate of the API server is not trusted; set certificate-authority in the kubeconfig',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'the certificate of the API server has another name; set tls-server-name in the kubeconfig',
  UND_ERR_SOCKET: 'the connection was lost',
  UND_ERR_INFO: 'the connection was lost',
  EPIPE: 'the connection was lost',
  CONNECTION_SILENT: 'the connection was silent for too long',
  UND_ERR_BODY_TIMEOUT: 'the API server sent nothing for too long',
}

export function toFault(error: unknown, timeoutMs: number): ApiError {
  if (error instanceof ApiError) return error
  return new ApiError(toText(error, timeoutMs), { status: 0, cause: error })
}

function toText(error: unknown, timeoutMs: number): string {
  const { name, message, code, cause } = error as NodeJS.ErrnoException
  if (name === 'TimeoutError') return `there was no response within ${timeoutMs / 1000} s`
  if (name === 'AbortError') return 'the request was cancelled'
  const known = code === undefined ? undefined : words[code]
  if (known !== undefined) return known
  if (error instanceof ConnectFault && cause !== undefined) return toText(cause, timeoutMs)
  // Texts of the system name addresses of this machine.
  return code === undefined || error instanceof CredentialFault
    ? message
    : `the connection failed (${code})`
}

/** Whether the API server cannot have seen the request. */
export function isUnsent({ cause }: ApiError): boolean {
  return cause instanceof ConnectFault
}

const lossCodes: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'EPIPE',
  'UND_ERR_SOCKET',
  'UND_ERR_INFO',
  'CONNECTION_SILENT',
])

/** Whether the connection was lost: the API server may have seen the request. */
export function isLost({ cause }: ApiError): boolean {
  return lossCodes.has((cause as NodeJS.ErrnoException | undefined)?.code ?? '')
}

/** @param text The body. Its `details` have `retryAfterSeconds` where the server names a pause */
export function toResponseError(
  status: number,
  headers: IncomingHttpHeaders,
  text: string,
): ApiError {
  const error = toApiError(status, parseObject(text) ?? text)
  const seconds = numberOf(headers['retry-after'])
  if (seconds === undefined || error.details['retryAfterSeconds'] !== undefined) return error
  const { message, reason } = error
  return new ApiError(message, {
    status,
    reason,
    details: { ...error.details, retryAfterSeconds: seconds },
  })
}

/** Milliseconds; undefined: the server names no pause. */
export function retryAfterMs({ details }: ApiError): number | undefined {
  const seconds = numberOf(details['retryAfterSeconds'])
  return seconds === undefined || seconds <= 0 ? undefined : seconds * 1000
}
