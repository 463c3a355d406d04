/** Puts the login by OAuth 2.0 together; loaded only where it is configured. */
import type { LoginMethod } from '../login-method.ts'
import type { MethodContext } from '../method-type.ts'
import { WrongIssuer } from './discovery.ts'
import { OAuth2Login } from './oauth2-login.ts'
import { OAuth2Provider } from './provider.ts'
import { createProviderCalls } from './provider-http.ts'
import type { OAuth2Settings } from './settings.ts'

/**
 * Asks every issuer that is configured, at once. One that does not answer does not hold up the start beyond the time-outs.
 *
 * @throws {Error} when an issuer publishes what cannot belong to the configuration
 */
export async function openOAuth2(settings: OAuth2Settings, context: MethodContext): Promise<LoginMethod> {
  const { isServiceAccount, log, keep, now, page: site, prepareUser } = context
  const { registrations, entryAddress, audiences } = settings
  const call = createProviderCalls(settings)
  const providers = registrations.map((registration) =>
    keep(new OAuth2Provider({ registration, call, log, now, audiences, isServiceAccount })),
  )
  try {
    await Promise.all(providers.map((provider) => provider.open()))
  } catch (error) {
    if (!(error instanceof WrongIssuer)) throw error
    throw new Error(`${settings.key}: ${error.message}.`, { cause: error })
  }
  return new OAuth2Login({ providers, entryAddress, site, prepareUser, log, now })
}
