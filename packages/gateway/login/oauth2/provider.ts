/** One provider: sends browsers there, checks what comes back, and checks bearer tokens. */
import * as oauth from 'oauth4webapi'
import type { User } from '../../http/request-state.ts'
import { fillAddress } from '../address-template.ts'
import type { NameCase } from '../login-method.ts'
import type { Trace } from '../trace.ts'
import { checkIdToken, checkTokenClaims, looksLikeJwt, skewSeconds } from './bearer-token.ts'
import { createClientAuthentication } from './client-authentication.ts'
import { KeySet } from './key-set.ts'
import { LoginFailure } from './login-failure.ts'
import type { CallProvider } from './provider-http.ts'
import { ProviderServer, type ProviderServerOptions, type Server } from './provider-server.ts'
import type { Registration } from './registration.ts'
import { findAttribute, findUnmet, isMet, toText, type UserAttributes } from './requirements.ts'
import { claimsToUser } from './to-user.ts'
import { requestTokens } from './token-request.ts'
import { isMember, loadUserInfo } from './user-info.ts'

interface ProviderOptions extends ProviderServerOptions {
  /** Audiences of bearer tokens; empty: whatever the user-info address accepts. */
  audiences: readonly string[]
  isServiceAccount: (name: string) => Promise<boolean | undefined>
}

export interface ProviderUser {
  readonly user: User
  /** Its roles are the platform's own business: the login is not reported. */
  readonly isServiceAccount: boolean
  readonly nameCase: NameCase
}

interface AuthorizationRequest {
  readonly location: string
  readonly state: string
  readonly values: Record<string, string>
}

export class OAuth2Provider {
  readonly registration: Registration
  readonly #options: ProviderOptions
  readonly #call: CallProvider
  readonly #server: ProviderServer
  readonly #clientAuthentication: oauth.ClientAuth
  readonly #client: oauth.Client
  #keys: { url: string; set: KeySet } | undefined

  constructor(options: ProviderOptions) {
    const { registration, call, now } = options
    this.registration = registration
    this.#options = options
    this.#call = call
    this.#server = new ProviderServer(options)
    this.#clientAuthentication = createClientAuthentication(registration)
    this.#client = {
      client_id: registration.clientId,
      [oauth.clockTolerance]: skewSeconds,
      get [oauth.clockSkew]() {
        return Math.round((now() - Date.now()) / 1000)
      },
    }
  }

  /** @throws {WrongIssuer} when what the issuer publishes cannot belong to this configuration */
  open(): Promise<void> {
    return this.#server.open()
  }

  close(): void {
    this.#server.close()
  }

  /** @throws {LoginFailure} unavailable */
  async start(baseUrl: string): Promise<AuthorizationRequest> {
    const { id, clientId, scopes, pkce } = this.registration
    const server = await this.#server.current()
    const state = oauth.generateRandomState()
    const redirectUri = fillAddress(this.registration.redirectUri, { baseUrl, registrationId: id })
    const parameters = new URLSearchParams({ response_type: 'code', client_id: clientId })
    if (scopes.length > 0) parameters.set('scope', scopes.join(' '))
    parameters.set('redirect_uri', redirectUri)
    parameters.set('state', state)
    const values: Record<string, string> = { registration: id, redirectUri }
    if (scopes.includes('openid')) {
      values['nonce'] = oauth.generateRandomNonce()
      parameters.set('nonce', values['nonce'])
    }
    if (pkce) {
      values['verifier'] = oauth.generateRandomCodeVerifier()
      parameters.set('code_challenge', await oauth.calculatePKCECodeChallenge(values['verifier']))
      parameters.set('code_challenge_method', 'S256')
    }
    const { authorizationUri } = server
    return {
      location: `${authorizationUri}${authorizationUri.includes('?') ? '&' : '?'}${parameters}`,
      state,
      values,
    }
  }

  /** Checks what the provider sent the browser back with. @throws {LoginFailure} refused, unavailable */
  async complete(
    parameters: URLSearchParams,
    state: string,
    values: Readonly<Record<string, string>>,
  ): Promise<ProviderUser> {
    const server = await this.#server.current()
    const checksIdToken =
      this.registration.scopes.includes('openid') && server.jwkSetUri !== undefined
    const { accessToken, idToken } = await requestTokens(this.#call, {
      server: this.#toMetadata(server),
      issuerIsKnown: server.issuer !== undefined,
      client: this.#client,
      clientAuthentication: this.#clientAuthentication,
      registration: this.registration,
      parameters: server.issuer === undefined ? withoutIssuer(parameters) : parameters,
      state,
      redirectUri: values['redirectUri'] ?? '',
      verifier: values['verifier'],
      nonce: checksIdToken ? (values['nonce'] ?? '') : undefined,
    })
    const claims = idToken && (await this.#checkIdToken(server, idToken, accessToken))
    const userInfo = await this.#loadUserInfo(server, accessToken, claims?.['sub'])
    return this.#admit(server, { ...claims, ...userInfo }, accessToken)
  }

  /** Checks a bearer token of a program. @throws {LoginFailure} refused, unavailable */
  async identify(token: string, trace?: Trace): Promise<ProviderUser> {
    const { audiences } = this.#options
    const server = await this.#server.current()
    if (audiences.length === 0 && server.userInfoUri !== undefined) {
      trace?.('note', `the user-info address ${server.userInfoUri} is asked whose token it is`)
      return this.#admit(server, await this.#loadUserInfo(server, token, undefined), token, trace)
    }
    const claims = await this.#checkJwt(
      server,
      token,
      audiences.length > 0 ? audiences : [this.registration.clientId],
    )
    trace?.(
      'yes',
      `the signature, issuer, audience and times of the token are right; issuer ${server.issuer}`,
    )
    const userInfo = this.#saysEnough(claims)
      ? {}
      : await this.#loadUserInfo(server, token, claims['sub'])
    return this.#admit(server, { ...claims, ...userInfo }, token, trace)
  }

  /** Checks an ID token by itself, without the access token that came with it. @throws {LoginFailure} refused, unavailable */
  async verifyIdToken(idToken: string, trace: Trace): Promise<ProviderUser> {
    const server = await this.#server.current()
    const { clientId } = this.registration
    const claims = await this.#checkJwt(server, idToken, [clientId])
    checkIdToken({ idToken, claims, clientId, accessToken: undefined, nowMs: this.#options.now() })
    trace(
      'yes',
      `the signature, issuer, audience and times of the ID token are right; issuer ${server.issuer}`,
    )
    if (server.userInfoUri !== undefined)
      trace(
        'note',
        'a login also asks the user-info address, whose answer wins; that needs the access token',
      )
    return this.#admit(server, claims, undefined, trace)
  }

  /** Checks the claims of a provider as if they were verified. @throws {LoginFailure} refused, unavailable */
  async checkClaims(claims: UserAttributes, trace: Trace): Promise<ProviderUser> {
    return this.#admit({ userInfoUri: undefined }, claims, undefined, trace)
  }

  #toMetadata({ issuer, tokenUri, algorithms, namesItself }: Server): oauth.AuthorizationServer {
    return {
      issuer: issuer ?? tokenUri,
      token_endpoint: tokenUri,
      authorization_response_iss_parameter_supported: namesItself,
      ...(algorithms !== undefined && { id_token_signing_alg_values_supported: [...algorithms] }),
    }
  }

  async #checkIdToken(
    server: Server,
    { text, claims }: { text: string; claims: UserAttributes },
    accessToken: string,
  ): Promise<UserAttributes> {
    await this.#keySet(server).verify(text, server.algorithms)
    const { clientId } = this.registration
    checkIdToken({ idToken: text, claims, clientId, accessToken, nowMs: this.#options.now() })
    return claims
  }

  async #checkJwt(
    server: Server,
    token: string,
    audiences: readonly string[],
  ): Promise<UserAttributes> {
    const { issuer } = server
    if (issuer === undefined || server.jwkSetUri === undefined || !looksLikeJwt(token)) {
      throw new LoginFailure(
        'refused',
        'the bearer token is no JWT of a known issuer, and only such are accepted',
      )
    }
    const claims = await this.#keySet(server).verify(token, server.algorithms)
    checkTokenClaims(claims, { issuer, audiences, nowMs: this.#options.now() })
    return claims
  }

  #keySet({ jwkSetUri }: Server): KeySet {
    if (jwkSetUri === undefined)
      throw new LoginFailure('refused', 'the keys of the provider are not known')
    if (this.#keys?.url !== jwkSetUri) {
      this.#keys = { url: jwkSetUri, set: new KeySet(jwkSetUri, this.#call, this.#options.now) }
    }
    return this.#keys.set
  }

  /** @param subject Who the ID token is about: the user-info address must speak of the same person. */
  async #loadUserInfo(
    { userInfoUri: url }: Server,
    accessToken: string,
    subject: unknown,
  ): Promise<UserAttributes> {
    if (url === undefined) return {}
    const found = await loadUserInfo(
      this.#call,
      { url, registration: this.registration },
      accessToken,
    )
    if (subject !== undefined && found['sub'] !== subject) {
      throw new LoginFailure('refused', 'the user-info address names another user than the token')
    }
    return found
  }

  #saysEnough(claims: UserAttributes): boolean {
    const { username, roles } = this.registration.mapping
    const has = (name: string | undefined) =>
      name !== undefined && findAttribute(claims, name) !== undefined
    return has(username) && (roles === undefined || has(roles))
  }

  /** @param accessToken Undefined: it is unknown, so organisations are not queried */
  async #admit(
    { userInfoUri }: Pick<Server, 'userInfoUri'>,
    attributes: UserAttributes,
    accessToken: string | undefined,
    trace?: Trace,
  ): Promise<ProviderUser> {
    const { mapping, requirements, organization, nameCase } = this.registration
    const user = claimsToUser(attributes, mapping, trace)
    const account =
      mapping.serviceAccountEmail && toText(findAttribute(attributes, mapping.serviceAccountEmail))
    if (account && (await this.#options.isServiceAccount(account))) {
      trace?.('yes', `${account} is a service account, which has to meet no requirements`)
      return { user, isServiceAccount: true, nameCase }
    }
    for (const requirement of requirements) {
      trace?.(
        isMet(attributes, requirement) ? 'yes' : 'no',
        `requirement on ${requirement.attribute}: ${requirement.value}`,
      )
    }
    const unmet = findUnmet(attributes, requirements)
    if (unmet !== undefined)
      throw new LoginFailure(
        'refused',
        `${user.username} does not meet the requirement on ${unmet}`,
      )
    if (organization !== undefined && accessToken === undefined) {
      trace?.(
        'note',
        `membership in the organisation ${organization} is not known without the access token`,
      )
    } else if (organization !== undefined && accessToken !== undefined) {
      const place = { url: userInfoUri ?? '', registration: this.registration }
      if (!(await isMember(this.#call, place, { attributes, organization, accessToken }))) {
        throw new LoginFailure(
          'refused',
          `${user.username} is no public member of the organisation ${organization}`,
        )
      }
    }
    return { user, isServiceAccount: false, nameCase }
  }
}

/** No issuer is configured, so its name is not compared. */
function withoutIssuer(parameters: URLSearchParams): URLSearchParams {
  const rest = new URLSearchParams(parameters)
  rest.delete('iss')
  return rest
}
