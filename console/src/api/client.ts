/** Calls to the API, typed by its OpenAPI document. */
import createClient from 'openapi-fetch'
import { apiPath } from '../address.ts'
import { ApiError, toApiError } from './api-error.ts'
import { loginEnded } from './login-state.ts'
import type { components, paths } from './schema.d.ts'

export type Schemas = components['schemas']

/** Sent with every call, so that limits and logs tell the console from other clients. */
const headers = { 'X-RateLimit-App': 'console', 'X-Requested-With': 'XMLHttpRequest', Accept: 'application/json' }
/** Lets the services prefer what a person waits for. */
export const actionHeaders = { 'X-Spinnaker-Priority': 'high' }

export const client = createClient<paths>({
  baseUrl: location.origin + apiPath,
  headers,
  credentials: 'same-origin',
  // A redirect leads to the login page of another origin, or to a page that is no answer.
  redirect: 'manual',
  fetch: callApi,
})

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
