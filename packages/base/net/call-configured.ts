/** Calls to outside services whose addresses the configuration names. */
import { GatewayError } from '../errors.ts'
import { type Answer, type Call, CallError, call } from './call.ts'

interface ConfiguredCall extends Pick<Call, 'method' | 'url' | 'headers' | 'body' | 'tls'> {
  /** For messages: `Slack`. */
  readonly name: string
  /** Without a byte. The whole call may take a multiple of it. */
  readonly idleMs: number
}

const maxAnswerBytes = 32 * 1024 * 1024
const maxTimeouts = 4

/** Error statuses are answers; redirects are not followed. @throws {GatewayError} UPSTREAM_UNREACHABLE, UPSTREAM_TIMEOUT */
export async function callConfigured({
  name,
  idleMs,
  ...request
}: ConfiguredCall): Promise<Answer> {
  try {
    return await call({
      ...request,
      idleMs,
      timeoutMs: idleMs * maxTimeouts,
      maxBytes: maxAnswerBytes,
    })
  } catch (cause) {
    if (cause instanceof CallError && cause.fault === 'timeout')
      throw new GatewayError('UPSTREAM_TIMEOUT', `${name} did not answer in time.`, { cause })
    throw new GatewayError(
      'UPSTREAM_UNREACHABLE',
      `${name} cannot be reached. The log of Fairlead has the reason.`,
      { cause },
    )
  }
}

/** The answer as JSON. @throws {GatewayError} UPSTREAM_UNREACHABLE, UPSTREAM_TIMEOUT, UPSTREAM_UNREADABLE for error statuses, too */
export async function readConfigured(call: ConfiguredCall): Promise<unknown> {
  const { status, bytes } = await callConfigured(call)
  if (status !== 200)
    throw new GatewayError('UPSTREAM_UNREADABLE', `${call.name} answered with status ${status}.`)
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown
  } catch (cause) {
    throw new GatewayError('UPSTREAM_UNREADABLE', `${call.name} did not answer with JSON.`, {
      cause,
    })
  }
}
