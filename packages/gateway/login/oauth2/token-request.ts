/** Exchanges an authorization code for tokens. */

import { parseObject } from '@fairlead/base/json/values.ts'
import * as oauth from 'oauth4webapi'
import { type LoginFailure as Failure, LoginFailure, quote } from './login-failure.ts'
import type { CallProvider } from './provider-http.ts'
import type { Registration } from './registration.ts'

interface TokenRequest {
  readonly server: oauth.AuthorizationServer
  /** False: the holder of the configured keys may use any name. */
  readonly issuerIsKnown: boolean
  readonly client: oauth.Client
  readonly clientAuthentication: oauth.ClientAuth
  readonly registration: Registration
  readonly parameters: URLSearchParams
  readonly state: string
  readonly redirectUri: string
  /** Undefined: PKCE is switched off. */
  readonly verifier: string | undefined
  /** Undefined: plain OAuth 2.0, an ID token is not looked at. */
  readonly nonce: string | undefined
}

interface ReceivedTokens {
  readonly accessToken: string
  /** Claims that the library has checked; the signature is not. */
  readonly idToken:
    | { readonly text: string; readonly claims: Readonly<Record<string, unknown>> }
    | undefined
}

/** @throws {LoginFailure} refused, unavailable */
export async function requestTokens(
  call: CallProvider,
  request: TokenRequest,
): Promise<ReceivedTokens> {
  const {
    server,
    client,
    clientAuthentication,
    registration,
    redirectUri,
    verifier = oauth.nopkce,
    nonce,
  } = request
  try {
    const parameters = oauth.validateAuthResponse(server, client, request.parameters, request.state)
    const answer = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      clientAuthentication,
      parameters,
      redirectUri,
      verifier,
      {
        [oauth.allowInsecureRequests]: true,
        [oauth.customFetch]: (url, { method, headers, body }) =>
          exchange(call, {
            url,
            registration,
            openId: nonce !== undefined,
            init: { method, headers, body },
          }),
      },
    )
    const options = nonce === undefined ? {} : { expectedNonce: nonce, requireIdToken: true }
    const checkedRequest = request.issuerIsKnown
      ? server
      : { ...server, issuer: await issuerNamedIn(answer.clone(), server.issuer) }
    const tokens = await oauth.processAuthorizationCodeResponse(
      checkedRequest,
      client,
      answer,
      options,
    )
    const claims = oauth.getValidatedIdTokenClaims(tokens)
    const { access_token: accessToken, id_token: text } = tokens
    return {
      accessToken,
      idToken: text === undefined || claims === undefined ? undefined : { text, claims },
    }
  } catch (error) {
    throw toFailure(error, [
      request.parameters.get('code') ?? undefined,
      request.verifier,
      registration.clientSecret,
      request.state,
    ])
  }
}

async function issuerNamedIn(answer: Response, otherwise: string): Promise<string> {
  const { id_token: idToken } = (await answer.json()) as { id_token?: unknown }
  const payload =
    typeof idToken === 'string'
      ? parseObject(Buffer.from(idToken.split('.')[1] ?? '', 'base64url').toString())
      : undefined
  const issuer = payload?.['iss']
  return typeof issuer === 'string' && issuer !== '' ? issuer : otherwise
}

interface TokenExchange {
  url: string
  registration: Registration
  openId: boolean
  init: RequestInit
}

async function exchange(
  call: CallProvider,
  { url, registration, openId, init }: TokenExchange,
): Promise<Response> {
  const answer = await call({
    what: 'token endpoint',
    url: withCredentials(url, registration),
    init,
  })
  const text = await answer.text()
  const isForm = /^(?:application\/x-www-form-urlencoded|text\/plain)\b/i.test(
    answer.headers.get('content-type') ?? '',
  )
  const body = isForm ? Object.fromEntries(new URLSearchParams(text)) : parseObject(text)
  if (body === undefined)
    throw new LoginFailure(
      'refused',
      `the token endpoint answered ${answer.status} without a JSON object`,
    )
  // GitHub says 200 to a code that it refuses.
  const status =
    answer.status === 200 && body['access_token'] === undefined && body['error'] !== undefined
      ? 400
      : answer.status
  if (!openId) delete body['id_token']
  return Response.json({ token_type: 'bearer', ...body }, { status })
}

function withCredentials(
  url: string,
  { clientAuthentication, clientId, clientSecret }: Registration,
): string {
  if (clientAuthentication !== 'query') return url
  const credentials = new URLSearchParams({
    client_id: clientId,
    client_secret: clientSecret ?? '',
  })
  return `${url}${url.includes('?') ? '&' : '?'}${credentials}`
}

/** What the library says, without what it was given: tokens and claims stay out of the log. */
function toFailure(error: unknown, secrets: readonly (string | undefined)[]): Failure {
  if (error instanceof LoginFailure) return error
  if (
    error instanceof oauth.AuthorizationResponseError ||
    error instanceof oauth.ResponseBodyError
  ) {
    const who = error instanceof oauth.ResponseBodyError ? 'token endpoint' : 'provider'
    const description =
      error.error_description === undefined ? '' : ` (${quote(error.error_description, secrets)})`
    return new LoginFailure(
      'refused',
      `the ${who} reports ${quote(error.error, secrets)}${description}`,
    )
  }
  return new LoginFailure(
    'refused',
    `the answer of the provider is not accepted: ${(error as Error).message}`,
  )
}
