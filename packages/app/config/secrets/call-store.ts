/** Calls to stores of secrets at the start. Each ends within 20 seconds. */
import type { ConnectionOptions } from 'node:tls'
import { GatewayError } from '@fairlead/base/errors.ts'
import { callConfigured } from '@fairlead/base/net/call-configured.ts'
import { SecretError } from './secret-reference.ts'

const idleMs = 5_000

interface StoreCall {
  /** For messages: `Kubernetes`. */
  readonly name: string
  readonly url: URL
  readonly headers?: Readonly<Record<string, string>>
  /** Sent with POST; without it the call is a GET. */
  readonly body?: string
  readonly tls?: ConnectionOptions
  readonly advice: Readonly<Record<number, string>>
}

/** @throws {SecretError} unless the store answers with 200; its answer is never quoted */
export async function callStore({
  name,
  url,
  headers = {},
  body,
  tls,
  advice,
}: StoreCall): Promise<Buffer> {
  const call = { name, url, headers, tls, idleMs, method: body === undefined ? 'GET' : 'POST' }
  const { status, bytes } = await callConfigured({
    ...call,
    body: body === undefined ? undefined : Buffer.from(body),
  }).catch((error: unknown) => {
    throw new SecretError(
      `${name} at ${url.host} ${reasonOf(error)}; check the address and the network`,
    )
  })
  if (status === 200) return bytes
  throw new SecretError(
    `${name} at ${url.host} answers ${status}${advice[status] ? `; ${advice[status]}` : ''}`,
  )
}

function reasonOf(error: unknown): string {
  if (!(error instanceof GatewayError)) return 'cannot be asked'
  if (error.code === 'UPSTREAM_TIMEOUT') return 'does not answer in time'
  const { code } = error.cause as NodeJS.ErrnoException
  return `cannot be reached${code === undefined ? '' : ` (${code})`}`
}

/** @throws {SecretError} */
export function parseStoreAnswer<T>(name: string, bytes: Buffer): T {
  try {
    return JSON.parse(bytes.toString('utf8')) as T
  } catch {
    throw new SecretError(`${name} does not answer with JSON`)
  }
}
