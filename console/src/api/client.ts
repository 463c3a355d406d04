/** Calls to the API, typed by its OpenAPI document. */

import { type JsonObject, objectOf, scalarOf } from '@fairlead/base/json/values.ts'
import createClient, {
  createFinalURL,
  createQuerySerializer,
  defaultPathSerializer,
} from 'openapi-fetch'
import { apiPath } from '../address.ts'
import { parseExactly } from '../model/exact-json.ts'
import { noteServerTime } from '../model/time.ts'
import { isReachable, loginEnded } from './login-state.ts'
import type { paths } from './schema.d.ts'

export type { Schemas } from './schema.d.ts'

/** Sent with every call, so that limits and logs tell the console from other clients. */
export const headers = {
  'X-RateLimit-App': 'console',
  'X-Requested-With': 'XMLHttpRequest',
  Accept: 'application/json',
}
const baseUrl = location.origin + apiPath
// A redirect leads to the login page of another origin, or to a page that is no answer.
const options = { credentials: 'same-origin', redirect: 'manual' } as const

/** Calls that give the whole answer. */
export const calls = createClient<paths>({
  baseUrl,
  headers,
  ...options,
  fetch: (request) => {
    // Lets the services prefer what a person waits for.
    if (request.method !== 'GET') request.headers.set('X-Spinnaker-Priority', 'high')
    return callApi(request)
  },
})

type Get = (path: string, init?: object) => Promise<Outcome<unknown>>

const readParsed: Get = async (path, init) => {
  const outcome = await (calls.GET as Get)(path, { ...init, parseAs: 'text' })
  return outcome.response.ok
    ? { ...outcome, data: parseAnswer(path, String(outcome.data ?? '')) }
    : outcome
}

type BodyOf<Answer> = Answer extends { readonly data: infer Body } ? Body : never

function toBody<Given extends unknown[], Answer>(call: (...given: Given) => Promise<Answer>) {
  return async (...given: Given): Promise<BodyOf<Answer>> => {
    const { data } = await checkAnswer(call(...given) as Promise<Outcome<unknown>>)
    return data as BodyOf<Answer>
  }
}

/** Calls that give the body of a successful answer. @throws {ApiError} */
export const client = {
  GET: toBody(readParsed as typeof calls.GET),
  PUT: toBody(calls.PUT),
  POST: toBody(calls.POST),
  PATCH: toBody(calls.PATCH),
  DELETE: toBody(calls.DELETE),
}

/** Definitions are stored again, so their numbers keep all digits. Undefined for an empty answer. */
export function parseAnswer(path: string, text: string): unknown {
  if (path === '/metrics') return text
  if (text === '') return undefined
  return path.includes('/pipelineConfigs') ? parseExactly(text) : JSON.parse(text)
}

/** @param parameters Those of the operation. */
export function urlOf(path: string, parameters: unknown): string {
  const params = parameters as Record<'path' | 'query', JsonObject>
  return createFinalURL(path, {
    baseUrl,
    params,
    querySerializer: createQuerySerializer(),
    pathSerializer: defaultPathSerializer,
  })
}

/**
 * A read that is made again and again, without what the client does for each call.
 *
 * @param etag Of the last answer.
 * @param longestMs A connection that is cut without notice, as by a machine that slept, fails no read by itself.
 * @throws {ApiError}
 */
export async function readAgain(url: string, etag: string | undefined, longestMs: number) {
  const asked = etag === undefined ? headers : { ...headers, 'If-None-Match': etag }
  const response = await callApi(url, {
    ...options,
    signal: AbortSignal.timeout(longestMs),
    headers: asked,
  })
  // An answer may be cut off.
  const text =
    response.status === 304 ? '' : await response.text().catch(() => Promise.reject(unreachable()))
  return { response, text }
}

function unreachable() {
  return new ApiError({ status: 0, message: 'Fairlead does not answer.' })
}

async function callApi(...call: Parameters<typeof fetch>) {
  const response = await fetch(...call).catch((cause: unknown) => {
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause
    isReachable.value = false
    throw unreachable()
  })
  isReachable.value = true
  noteServerTime(response.headers.get('date'))
  if (response.type !== 'opaqueredirect' && response.status !== 401) return response
  loginEnded.value = true
  throw new ApiError({ status: 401, message: 'Your login has ended.' })
}

interface Outcome<Body> {
  readonly data?: Body
  readonly response: Response
  readonly error?: unknown
}

/** What the server says about something that it has done. @throws {ApiError} */
export async function warningsOf(call: Promise<Outcome<unknown>>): Promise<string | undefined> {
  const { response } = await checkAnswer(call)
  const warnings = response.headers
    .get('x-fairlead-warnings')
    ?.replace(/(?:%[0-9a-f]{2})+/gi, (codes) => decodeURIComponent(codes))
  return warnings || undefined
}

async function checkAnswer<Body>(call: Promise<Outcome<Body>>) {
  const outcome = await call
  if (outcome.response.ok) return outcome
  throw toApiError(
    outcome.response,
    typeof outcome.error === 'string' ? outcome.error : JSON.stringify(outcome.error),
  )
}

export class ApiError extends Error {
  /** 0 when no answer came. */
  declare readonly status: number
  declare readonly requestId: string | undefined
  /** Path of the request, as the browser sent it. */
  declare readonly path: string | undefined
  /** The back end that failed. */
  declare readonly service: string | undefined
  declare readonly retryAfterMs: number | undefined
  declare readonly body: unknown

  constructor(parts: Pick<ApiError, 'status' | 'message'> & Partial<ApiError>) {
    super(parts.message)
    Object.assign(this, parts)
  }
}

/** A fault of the console itself becomes one that panels can show. */
export function asApiError(cause: unknown): ApiError {
  return cause instanceof ApiError
    ? cause
    : new ApiError({ status: 500, message: (cause as Error).message })
}

/** @param text The body, which may be JSON, a page of a proxy, or nothing. */
export function toApiError({ status, headers, url }: Response, text: string): ApiError {
  const body = parse(text)
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  return new ApiError({
    status,
    message: scalarOf(body['detail']) ?? scalarOf(body['message']) ?? `HTTP ${status}`,
    requestId: scalarOf(body['requestId']) ?? headers.get('x-spinnaker-request-id') ?? undefined,
    path: URL.parse(url)?.pathname,
    service: scalarOf(objectOf(body['upstream'])['service']),
    retryAfterMs: Number.isFinite(seconds) ? seconds * 1000 : undefined,
    body,
  })
}

function parse(text: string) {
  try {
    return objectOf(JSON.parse(text))
  } catch {
    return {}
  }
}
