/** HTTP calls to a provider: bounded, without redirects. */
import { readAnswerBytes } from '@fairlead/base/net/read-answer.ts'
import { LoginFailure } from './login-failure.ts'

interface ProviderCall {
  /** For the log: `token endpoint`. */
  readonly what: string
  readonly url: string
  readonly init?: RequestInit
  /** Statuses of 500 and above are handed back too. */
  readonly anyStatus?: true
}

/**
 * The answer with its whole body read.
 *
 * @throws {LoginFailure} unavailable: no answer in time, or a status of 500 and above; refused: a redirect, or too large
 */
export type CallProvider = (call: ProviderCall) => Promise<Response>

interface ProviderLimits {
  readonly connectTimeoutMs: number
  readonly readTimeoutMs: number
}

/** Responses of providers are small; larger ones are rejected as hostile. */
const maxAnswerBytes = 1024 * 1024
const withoutBody = new Set([101, 204, 205, 304])

export function createProviderCalls({
  connectTimeoutMs,
  readTimeoutMs,
}: ProviderLimits): CallProvider {
  return async ({ what, url, init, anyStatus }) => {
    const signal = AbortSignal.timeout(connectTimeoutMs + readTimeoutMs)
    const answer = await ask(what, () => fetch(url, { ...init, redirect: 'manual', signal }))
    if (answer.status >= 500 && anyStatus === undefined) {
      await answer.body?.cancel().catch(() => {})
      throw new LoginFailure('unavailable', `the ${what} answered ${answer.status}`)
    }
    if (answer.status >= 300 && answer.status < 400) {
      await answer.body?.cancel().catch(() => {})
      throw new LoginFailure(
        'refused',
        `the ${what} answered with a redirect, which is not followed`,
      )
    }
    const tooLarge = () =>
      new LoginFailure('refused', `the ${what} answered with more than a megabyte`)
    const bytes = await ask(what, () => readAnswerBytes(answer, maxAnswerBytes, tooLarge))
    const { status, headers } = answer
    return new Response(withoutBody.has(status) ? null : new Uint8Array(bytes), {
      status,
      headers: plainHeaders(headers),
    })
  }
}

async function ask<Result>(what: string, question: () => Promise<Result>): Promise<Result> {
  try {
    return await question()
  } catch (error) {
    if (error instanceof LoginFailure) throw error
    throw new LoginFailure('unavailable', `the ${what} does not answer (${describe(error)})`)
  }
}

/** The body is unpacked by now. */
function plainHeaders(headers: Headers): Headers {
  const plain = new Headers(headers)
  for (const name of ['content-encoding', 'content-length', 'transfer-encoding']) plain.delete(name)
  return plain
}

/** Codes only: the text of an error may hold an address, and the address a secret. */
function describe(error: unknown): string {
  const { name, cause } = error as Error & { cause?: { code?: unknown } }
  if (name === 'TimeoutError') return 'time-out'
  return typeof cause?.code === 'string' ? cause.code : 'connection failed'
}

/** A JSON object, of any content type. @throws {LoginFailure} refused */
export async function readProviderObject(
  what: string,
  answer: Response,
): Promise<Record<string, unknown>> {
  let value: unknown
  try {
    value = JSON.parse(await answer.text())
  } catch {
    throw new LoginFailure('refused', `the ${what} did not answer with JSON`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new LoginFailure('refused', `the ${what} did not answer with a JSON object`)
  }
  return value as Record<string, unknown>
}
