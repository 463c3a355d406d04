/** Checks an OAuth 2.0 provider: metadata, addresses, keys, client secret. */

import {
  type Check,
  createCheck,
  type Finding,
  type Reporter,
  type Timeouts,
} from '@fairlead/base/findings/finding.ts'
import { createLocalJWKSet, type JSONWebKeySet } from 'jose'
import { fillAddress, showAddress } from '../address-template.ts'
import { checkNameCase } from '../check-name-case.ts'
import type { CheckContext } from '../method-type.ts'
import { createClientAuthentication } from './client-authentication.ts'
import { discover, type ProviderMetadata } from './discovery.ts'
import { LoginFailure } from './login-failure.ts'
import { completeEndpoints, type Endpoints } from './presets.ts'
import { type CallProvider, createProviderCalls, readProviderObject } from './provider-http.ts'
import type { Registration } from './registration.ts'
import type { OAuth2Settings } from './settings.ts'
import { requestTokens } from './token-request.ts'

const network =
  'check the address, the network between, and the authorities that this machine trusts (NODE_EXTRA_CA_CERTS)'

export function checkOAuth2({ registrations }: OAuth2Settings, context: CheckContext): Check[] {
  const call = createCalls(context.timeouts)
  return registrations.map((registration) =>
    createCheck(`OAuth 2.0 ${registration.id}`, (report) =>
      checkProvider(registration, { ...context, call, report }),
    ),
  )
}

/** The keys alone, where nothing else of the provider is needed. */
export function checkKeys(subject: string, url: string, timeouts: Timeouts): Check {
  const call = createCalls(timeouts)
  return createCheck(subject, async (report) => [await tryKeys(url, { call, report })])
}

function createCalls({ answerMs }: Timeouts): CallProvider {
  return createProviderCalls({ connectTimeoutMs: answerMs / 2, readTimeoutMs: answerMs / 2 })
}

interface ProviderMeans extends CheckContext {
  readonly call: CallProvider
  readonly report: Reporter
}

async function checkProvider(registration: Registration, means: ProviderMeans): Promise<Finding[]> {
  const { issuerUri, nameCase } = registration
  const [first, published] =
    issuerUri === undefined ? [undefined, undefined] : await tryDiscovery(issuerUri, means)
  const endpoints = completeEndpoints(registration.endpoints, published?.endpoints)
  const found = await Promise.all([
    tryAddress('authorization address', endpoints.authorizationUri, means),
    tryAddress('user-info address', endpoints.userInfoUri, means),
    endpoints.jwkSetUri === undefined ? undefined : tryKeys(endpoints.jwkSetUri, means),
    trySecret(registration, endpoints, published, means),
  ])
  const compared = checkNameCase(means.report, nameCase, means.names)
  return [
    ...(first === undefined ? [] : [first]),
    ...found.filter((one) => one !== undefined),
    compared,
  ]
}

async function tryDiscovery(
  issuerUri: string,
  { call, report }: ProviderMeans,
): Promise<[Finding, ProviderMetadata | undefined]> {
  const tried = `read what ${issuerUri} publishes`
  try {
    const published = await discover(issuerUri, call)
    const { authorizationUri, tokenUri } = published.endpoints
    if (authorizationUri === undefined || tokenUri === undefined) {
      const advice = 'write authorization-uri and token-uri of the provider into the configuration'
      return [
        report.warning(tried, 'it names no address for logins or for tokens', advice),
        published,
      ]
    }
    return [report.ok(tried, `logins start at ${showAddress(authorizationUri)}`), published]
  } catch (error) {
    const advice =
      error instanceof LoginFailure
        ? `correct issuer-uri, or ${network}`
        : 'correct issuer-uri: it has to be written as the provider writes it'
    return [report.problem(tried, (error as Error).message, advice), undefined]
  }
}

/** No user is logged in here, so a refusal is a good result. */
async function tryAddress(
  what: string,
  url: string | undefined,
  { call, report }: ProviderMeans,
): Promise<Finding | undefined> {
  if (url === undefined) return undefined
  const tried = `GET the ${what} ${showAddress(url)}`
  try {
    const { status } = await call({ what, url })
    const gone = status === 404 || status === 410
    if (gone)
      return report.problem(
        tried,
        `it answers ${status}`,
        'correct the address in the configuration',
      )
    return report.ok(tried, `it is there (${status})`)
  } catch (error) {
    // Pages for people redirect; the call follows none, and has its answer.
    if (error instanceof LoginFailure && error.kind === 'refused')
      return report.ok(tried, 'it is there')
    return report.problem(tried, (error as Error).message, network)
  }
}

async function tryKeys(
  url: string,
  { call, report }: Pick<ProviderMeans, 'call' | 'report'>,
): Promise<Finding> {
  const tried = `read the keys at ${showAddress(url)}`
  try {
    const what = 'key set'
    const answer = await call({ what, url, init: { headers: { accept: 'application/json' } } })
    if (answer.status !== 200)
      return report.problem(tried, `it answers ${answer.status}`, 'correct jwk-set-uri')
    const set = (await readProviderObject(what, answer)) as unknown as JSONWebKeySet
    createLocalJWKSet(set)
    if (set.keys.length === 0)
      return report.problem(tried, 'there are none', 'ask the administrator of the provider')
    return report.ok(tried, `${set.keys.length} keys`)
  } catch (error) {
    return report.problem(tried, (error as Error).message, `correct jwk-set-uri, or ${network}`)
  }
}

/** Redeems an invalid code: a provider that knows the client reports that the code is wrong. */
async function trySecret(
  registration: Registration,
  { tokenUri, issuer }: Endpoints,
  published: ProviderMetadata | undefined,
  { call, baseUrl, report }: ProviderMeans,
): Promise<Finding | undefined> {
  if (tokenUri === undefined) return undefined
  const { clientId, id } = registration
  const tried = `redeem an invented code at ${showAddress(tokenUri)} as the client ${clientId}`
  const state = 'fairlead-doctor'
  const name = issuer ?? tokenUri
  try {
    await requestTokens(call, {
      server: {
        issuer: name,
        token_endpoint: tokenUri,
        authorization_response_iss_parameter_supported: published?.namesItself === true,
      },
      issuerIsKnown: true,
      client: { client_id: clientId },
      clientAuthentication: createClientAuthentication(registration),
      registration,
      parameters: new URLSearchParams({
        code: 'fairlead-doctor',
        state,
        ...(published?.namesItself && { iss: name }),
      }),
      state,
      redirectUri: fillAddress(registration.redirectUri, { baseUrl, registrationId: id }),
      verifier: registration.pkce ? 'fairlead-doctor-fairlead-doctor-fairlead-doctor' : undefined,
      nonce: undefined,
    })
    return report.warning(
      tried,
      'the provider takes any code',
      'a provider for tests must not guard anything',
    )
  } catch (error) {
    return classifyAnswer(error as Error, tried, report)
  }
}

function classifyAnswer(error: Error, tried: string, report: Reporter): Finding {
  const { message } = error
  if (/invalid_grant|bad_verification_code/.test(message))
    return report.ok(tried, 'the client is known; only the code is refused, as it should be')
  if (/invalid_client|unauthorized_client|incorrect_client_credentials/.test(message)) {
    return report.problem(
      tried,
      message,
      'correct client-id, client-secret and client-authentication-method',
    )
  }
  if (/redirect_uri/.test(message))
    return report.problem(tried, message, 'register the redirect URI listed above')
  if (error instanceof LoginFailure && error.kind === 'unavailable')
    return report.problem(tried, message, network)
  return report.warning(
    tried,
    message,
    'read the message of the provider; a login may fail in the same way',
  )
}
