/** Calls to the API, typed by its OpenAPI document. */
import createClient from 'openapi-fetch'
import { apiPath } from '../address.ts'
import { parseExactly } from '../model/exact-json.ts'
import { ApiError, toApiError } from './api-error.ts'
import { loginEnded } from './login-state.ts'
import type { components, paths } from './schema.d.ts'

export type Schemas = components['schemas']

/** Sent with every call, so that limits and logs tell the console from other clients. */
const headers = { 'X-RateLimit-App': 'console', 'X-Requested-With': 'XMLHttpRequest', Accept: 'application/json' }
/** Lets the services prefer what a person waits for. */
export const actionHeaders = { 'X-Spinnaker-Priority': 'high' }

const calls = createClient<paths>({
  baseUrl: location.origin + apiPath,
  headers,
  credentials: 'same-origin',
  // A redirect leads to the login page of another origin, or to a page that is no answer.
  redirect: 'manual',
  fetch: callApi,
})

export const client: typeof calls = { ...calls, GET: withParsedAnswer(calls.GET as UntypedGet) as typeof calls.GET }

type UntypedGet = (path: string, init?: { readonly parseAs?: string }) => Promise<Outcome<unknown>>

/** Answers are parsed by `parseAnswer`, unless they are asked for as something else than JSON. */
function withParsedAnswer(get: UntypedGet): UntypedGet {
  return async (path, init) => {
    if (init?.parseAs !== undefined) return get(path, init)
    const outcome = await get(path, { ...init, parseAs: 'text' })
    return outcome.response.ok ? { ...outcome, data: parseAnswer(path, String(outcome.data ?? '')) } : outcome
  }
}

/** Definitions are stored again, so their numbers keep all digits. Undefined for an empty answer. */
export function parseAnswer(path: string, text: string): unknown {
  if (text === '') return undefined
  return path.includes('/pipelineConfigs') ? parseExactly(text) : JSON.parse(text)
}

async function callApi(request: Request): Promise<Response> {
  const response = await fetch(request).catch((cause: unknown) => {
    if (request.signal.aborted) throw cause
    throw new ApiError({ status: 0, message: 'Fairlead does not answer.' })
  })
  if (response.type !== 'opaqueredirect' && response.status !== 401) return response
  loginEnded.value = true
  throw new ApiError({ status: 401, code: 'LOGIN_ENDED', message: 'Your login has ended.' })
}

interface Outcome<Body> {
  readonly data?: Body
  readonly response: Response
  readonly error?: unknown
}

/** The body of a successful answer. @throws {ApiError} */
export async function unwrap<Body>(call: Promise<Outcome<Body>>): Promise<Body> {
  const { data, response, error } = await call
  if (response.ok) return data as Body
  throw toApiError(response, typeof error === 'string' ? error : JSON.stringify(error))
}
