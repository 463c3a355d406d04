/** Puts the login by OAuth 2.0 together; loaded only where it is configured. */
import type { FastifyBaseLogger } from 'fastify'
import type { Site } from '../../http/page.ts'
import type { Keep } from '../../open-parts.ts'
import type { LoginMethod } from '../login-method.ts'
import type { PrepareUser } from '../prepare-user.ts'
import { WrongIssuer } from './discovery.ts'
import { OAuth2Login } from './oauth2-login.ts'
import { Provider } from './provider.ts'
import { createProviderCalls } from './provider-http.ts'
import type { OAuth2Settings } from './settings.ts'

interface OpenOAuth2Options {
  settings: OAuth2Settings
  site: Site
  prepareUser: PrepareUser
  /** Whether a name is that of a service account of the platform. */
  isServiceAccount: (name: string) => Promise<boolean | undefined>
  log: FastifyBaseLogger
  keep: Keep
  /** Milliseconds since the epoch. */
  now: () => number
}

/**
 * Asks every issuer that is configured, at once. One that does not answer does not hold up the start beyond the time-outs.
 *
 * @throws {Error} when an issuer publishes what cannot belong to the configuration
 */
export async function openOAuth2(options: OpenOAuth2Options): Promise<LoginMethod> {
  const { settings, isServiceAccount, log, keep, now, site, prepareUser } = options
  const { registrations, entryAddress, audiences } = settings
  const call = createProviderCalls(settings)
  const providers = registrations.map((registration) =>
    keep(new Provider({ registration, call, log, now, audiences, isServiceAccount })),
  )
  try {
    await Promise.all(providers.map((provider) => provider.open()))
  } catch (error) {
    if (!(error instanceof WrongIssuer)) throw error
    throw new Error(`${settings.key}: ${error.message}.`, { cause: error })
  }
  return new OAuth2Login({ providers, entryAddress, site, prepareUser, log, now })
}
