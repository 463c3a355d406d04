/** Calls to sources of artifacts: bounded, within the restrictions, and without credentials for other servers. */
import { setTimeout as sleep } from 'node:timers/promises'
import { shape } from '../json/shape.ts'
import { numberOf } from '../json/values.ts'
import { CallError } from '../net/call.ts'
import { PortError } from '../port-error.ts'
import {
  createOutsideCalls,
  followRedirects,
  hrefOf,
  isLimiting,
  type OperatorAddress,
  type OutsideAnswer,
  operatorAddress,
} from './call-outside.ts'
import type { OutsideSettings } from './settings.ts'

/** Content of one artifact. */
export const maxArtifactBytes = 64 * 1024 * 1024
/** The caller waits for the content, and stops after two minutes without a byte. */
export const fetchTimeoutMs = 50_000

interface SourceSettings {
  readonly outside: OutsideSettings
  /** Address of the configuration, whose server may name others of its own. */
  readonly configured?: string
  /** Longest time of a fetch with all its calls. */
  readonly timeoutMs?: number
  /** Limit of each answer. */
  readonly maxBytes?: number
}

interface GetOptions {
  /** Default: GET. */
  readonly method?: 'GET' | 'HEAD'
  readonly headers?: Readonly<Record<string, string>>
  /** Headers that no other server gets. */
  readonly credentials?: Readonly<Record<string, string>>
  /** Statuses that the caller deals with, besides those of success. */
  readonly expects?: readonly number[]
  /** What to do when the source denies access, as a sentence. */
  readonly advice?: string
  /** Redirects are failures: what is sent holds for one address. */
  readonly isFixed?: boolean
}

/** @throws {PortError} 400 for an address that is not allowed, 404, 502, 503 while calls are limited, 504 */
export type SourceGet = (
  url: string | OperatorAddress,
  options?: GetOptions,
) => Promise<OutsideAnswer>

/** A source that limits calls is asked again, if it says to wait no longer than this. */
const longestWaitS = 5
const mostWaits = 2

/** Each call of the result begins a fetch, with its time limit. */
export function createSource(settings: SourceSettings): () => SourceGet {
  const { outside, configured, timeoutMs = fetchTimeoutMs, maxBytes = maxArtifactBytes } = settings
  const operators = configured === undefined ? [] : [operatorAddress(configured)]
  return () => {
    const endMs = performance.now() + timeoutMs
    return async (
      first,
      { method = 'GET', headers, credentials, isFixed = false, ...options } = {},
    ) => {
      const ask = (url: string | OperatorAddress) => {
        const isOwn = URL.parse(hrefOf(url))?.origin === URL.parse(hrefOf(first))?.origin
        const call = createOutsideCalls(outside, {
          maxAnswerBytes: maxBytes,
          timeoutMs: Math.max(1, Math.ceil(endMs - performance.now())),
          caller: 'Artifact accounts',
        })
        const sent = {
          'user-agent': 'fairlead',
          accept: '*/*',
          ...headers,
          ...(isOwn && credentials),
        }
        return call({ method, url, headers: sent, body: undefined })
      }
      const get = async () =>
        isFixed ? { answer: await ask(first), url: first } : followRedirects(first, operators, ask)
      for (let waits = 0; ; waits++) {
        const { answer, url } = await get().catch((error) => Promise.reject(toFetchError(error)))
        const { waitS = Number.POSITIVE_INFINITY } = toLimit(answer.headers)
        const isWaiting =
          isLimiting(answer) && waitS <= longestWaitS && performance.now() + waitS * 1000 < endMs
        if (!isWaiting || waits === mostWaits)
          return checkAnswer(answer, shownAddress(hrefOf(url)), options)
        await sleep(waitS * 1000)
      }
    }
  }
}

const statuses = { forbidden: 400, 'unknown-host': 400, timeout: 504, failed: 502 } as const

const toLimit = shape({
  waitS: [numberOf, 'retry-after'],
  endS: [numberOf, 'x-ratelimit-reset'],
})

/** The failure of a call, as an answer. */
export function toFetchError(error: unknown): unknown {
  if (!(error instanceof CallError)) return error
  return new PortError(statuses[error.fault], `The artifact cannot be fetched: ${error.message}`)
}

/** Host and path of an address. */
export function shownAddress(address: string): string {
  const url = URL.parse(address)
  return url === null ? 'the address' : `${url.host}${url.pathname}`
}

function checkAnswer(
  answer: OutsideAnswer,
  place: string,
  { expects = [], advice }: GetOptions,
): OutsideAnswer {
  const { status } = answer
  if ((status >= 200 && status < 300) || expects.includes(status)) return answer
  const text = `The artifact cannot be fetched: ${place} answered with ${status}`
  if (isLimiting(answer))
    throw new PortError(
      503,
      `${text}: it limits calls${untilWhen(answer)}. Use an account with credentials.`,
    )
  if (status === 404 || status === 410)
    throw new PortError(404, `${text}.${advice === undefined ? '' : ` ${advice}`}`)
  const isDenied = status === 401 || status === 403
  const hint = isDenied
    ? ` ${advice ?? 'Choose an artifact account whose credentials allow it.'}`
    : ''
  throw new PortError(502, `${text}.${hint}`)
}

function untilWhen({ headers }: OutsideAnswer): string {
  const { waitS, endS } = toLimit(headers)
  if (waitS !== undefined) return ` for ${waitS} s`
  return endS === undefined ? '' : ` until ${new Date(endS * 1000).toISOString()}`
}
