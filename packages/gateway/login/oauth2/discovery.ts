/** Reads what an issuer publishes about itself. */
import * as oauth from 'oauth4webapi'
import { LoginFailure } from './login-failure.ts'
import type { Endpoints } from './presets.ts'
import type { CallProvider } from './provider-http.ts'

export interface ProviderMetadata {
  readonly endpoints: Endpoints
  readonly algorithms: readonly string[] | undefined
  /** The issuer names itself in each answer to a login (RFC 9207). */
  readonly namesItself: boolean
}

/** The document is there and is wrong: it names another issuer, or lacks what a login needs. */
export class WrongIssuer extends Error {}

/**
 * Asks the three places where an issuer may publish.
 *
 * @throws {WrongIssuer} when a document is found and does not fit
 * @throws {LoginFailure} unavailable, when none is found
 * @see OpenID Connect Discovery 1.0, section 4; RFC 8414, section 3
 */
export async function discover(issuerUri: string, call: CallProvider): Promise<ProviderMetadata> {
  let last = ''
  for (const url of placesOf(issuerUri)) {
    let answer: Response
    try {
      answer = await call({
        what: `document ${url}`,
        url,
        init: { headers: { accept: 'application/json' } },
        anyStatus: true,
      })
    } catch (error) {
      // No answer here is no answer at the other places either, and each would be waited for.
      if (!(error instanceof LoginFailure) || error.kind === 'unavailable') throw error
      last = error.message
      continue
    }
    if (answer.status === 200) return read(issuerUri, url, answer)
    last = `${url} answered ${answer.status}`
  }
  throw new LoginFailure('unavailable', last)
}

function placesOf(issuerUri: string): string[] {
  const { origin, pathname } = new URL(issuerUri)
  const path = pathname.replace(/\/$/, '')
  return [
    ...new Set([
      `${issuerUri.replace(/\/$/, '')}/.well-known/openid-configuration`,
      `${origin}/.well-known/openid-configuration${path}`,
      `${origin}/.well-known/oauth-authorization-server${path}`,
    ]),
  ]
}

async function read(issuerUri: string, url: string, answer: Response): Promise<ProviderMetadata> {
  let server: oauth.AuthorizationServer
  try {
    server = await oauth.processDiscoveryResponse(new URL(issuerUri), answer)
  } catch (error) {
    if ((error as { code?: unknown }).code !== oauth.JSON_ATTRIBUTE_COMPARISON) {
      throw new LoginFailure(
        'unavailable',
        `${url} is not what an issuer publishes: ${(error as Error).message}`,
      )
    }
    throw new WrongIssuer(
      `${url} names another issuer than ${issuerUri}; write the issuer as its document does`,
    )
  }
  if (server.issuer !== issuerUri) {
    throw new WrongIssuer(
      `${url} names the issuer ${server.issuer}, the configuration ${issuerUri}; write both alike`,
    )
  }
  const {
    authorization_endpoint: authorizationUri,
    token_endpoint: tokenUri,
    userinfo_endpoint: userInfoUri,
  } = server
  const endpoints = {
    authorizationUri,
    tokenUri,
    userInfoUri,
    jwkSetUri: server.jwks_uri,
    issuer: server.issuer,
  }
  for (const [name, uri] of Object.entries(endpoints)) {
    if (uri !== undefined && !/^https?:$/.test(URL.parse(String(uri))?.protocol ?? '')) {
      throw new WrongIssuer(`${url} has no usable address as ${name}`)
    }
  }
  return {
    endpoints,
    algorithms: server.id_token_signing_alg_values_supported,
    namesItself: server.authorization_response_iss_parameter_supported === true,
  }
}
