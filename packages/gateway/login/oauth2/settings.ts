/** Client registrations from the keys of both generations, with all errors. */
import type { SettingsReport } from '@fairlead/base/settings/setting.ts'
import { toPath } from '@fairlead/base/tls/key-material.ts'
import { showAddress } from '../address-template.ts'
import type { LoginSurroundings } from '../method-type.ts'
import { toOlderRegistration } from './older-settings.ts'
import { type ClientAuthentication, type Endpoints, findPreset } from './presets.ts'
import { loadPrivateKey } from './private-key.ts'
import { type Registration, toRegistration } from './registration.ts'
import {
  audienceKey,
  type OAuth2Values,
  oauth2Keys,
  type RegistrationKeys,
  registrationKey,
} from './setting-keys.ts'

export type OAuth2Settings = NonNullable<ReturnType<typeof toOAuth2Settings>>

const providerKey = 'spring.security.oauth2.client.provider'
/** They stand beside the registrations and are none. */
const besideRegistrations = new Set(['userinfomapping', 'userinforequirements'])

/** Undefined when no client is configured. @see docs/contracts/authentication.md#oauth-20-and-openid-connect */
export function toOAuth2Settings(
  keys: object,
  report: SettingsReport,
  { profiles }: Pick<LoginSurroundings, 'profiles'>,
) {
  const values = oauth2Keys.read(keys)
  const { connectTimeoutMs, readTimeoutMs, audiences } = values
  const current = toRegistrations(values, report)
  const older = toOlderRegistration(values, report, { profiles, ignored: current.length > 0 })
  if (current.length > 0 && older !== undefined) {
    report.notice(
      `Warning: ${older.key} and ${registrationKey} both configure a login; ${registrationKey} is used, the other is ignored.`,
    )
  }
  const used = current.length > 0 ? undefined : older
  const registrations = used === undefined ? current : [used.registration]
  if (registrations.length === 0) return undefined
  if (audiences.length > 0) checkAudience(registrations[0] as Registration, report)
  for (const registration of registrations) warn(registration, report)
  return {
    key: used?.key ?? registrationKey,
    /** At least one; the first also checks bearer tokens. */
    registrations,
    /** A fixed address of the login page, where a configuration of early releases names one. */
    entryAddress: used?.entryAddress,
    connectTimeoutMs,
    readTimeoutMs,
    /** Audiences of bearer tokens; empty: whatever the user-info address accepts. */
    audiences,
  }
}

function toRegistrations(values: OAuth2Values, report: SettingsReport): Registration[] {
  return Object.entries(values.registrations).flatMap(([id, written]) => {
    if (besideRegistrations.has(id.replaceAll(/[-_]/g, '').toLowerCase())) return []
    const clientId = written['client-id']
    if (clientId !== undefined) {
      const key = `${registrationKey}.${id}`
      if ((written['authorization-grant-type'] ?? 'authorization_code') !== 'authorization_code') {
        report.problem(
          `${key}.authorization-grant-type`,
          'must be authorization_code: people log in with their browser',
        )
      }
      const registration = toCurrentRegistration(id, clientId, written, values, report)
      checkCredentials(registration, key, report)
      return [registration]
    }
    if (report.isSet(`${registrationKey}.${id}.client-secret`)) {
      report.notice(`${registrationKey}.${id} has no client-id and is not used.`)
    }
    return []
  })
}

function toCurrentRegistration(
  id: string,
  clientId: string,
  written: RegistrationKeys,
  { providers, tenants, mapping, requirements }: OAuth2Values,
  report: SettingsReport,
): Registration {
  const name = written.provider ?? id
  const provider = Object.hasOwn(providers, name) ? providers[name] : undefined
  const preset = findPreset(name, false, tenants)
  const key = `${registrationKey}.${id}`
  const place = `${providerKey}.${name}`
  return toRegistration(
    {
      id,
      label: written['client-name'] ?? preset?.label ?? id,
      clientId,
      clientSecret: written['client-secret'],
      privateKey: toPrivateKey(written, key, report),
      clientAuthentication: written['client-authentication-method'],
      scope: written.scope,
      pkce: written.pkce,
      redirectUri:
        written['redirect-uri'] ??
        written['redirect-uri-template'] ??
        '{baseUrl}/login/oauth2/code/{registrationId}',
      provider: name,
      preset,
      issuerUri: provider?.['issuer-uri'],
      endpoints: endpointsOf(provider),
      tokenPlace: provider?.['user-info-authentication-method'],
      tokenName: 'access_token',
      tokenWord: 'Bearer',
      mapping,
      requirements,
      organization: written['provider-requirements']?.organization,
    },
    namesOf(key, place),
    clientAuthentications,
    report,
  )
}

function endpointsOf(provider: OAuth2Values['providers'][string] | undefined): Endpoints {
  return {
    authorizationUri: provider?.['authorization-uri'],
    tokenUri: provider?.['token-uri'],
    userInfoUri: provider?.['user-info-uri'],
    jwkSetUri: provider?.['jwk-set-uri'],
    issuer: provider?.['issuer-uri'],
  }
}

function namesOf(key: string, place: string) {
  return {
    endpoints: {
      authorizationUri: `${place}.authorization-uri`,
      tokenUri: `${place}.token-uri`,
      userInfoUri: `${place}.user-info-uri`,
    },
    clientAuthentication: `${key}.client-authentication-method`,
    tokenPlace: `${place}.user-info-authentication-method`,
    requirements: `${registrationKey}.userInfoRequirements`,
  }
}

function toPrivateKey(
  registration: RegistrationKeys,
  key: string,
  report: SettingsReport,
): Registration['privateKey'] {
  const location = registration['private-key-location']
  if (location === undefined) return undefined
  const file = toPath(location)
  try {
    loadPrivateKey(file)
  } catch (error) {
    report.problem(`${key}.private-key-location`, `cannot be used: ${(error as Error).message}`)
  }
  return { file, id: registration['private-key-id'] }
}

const clientAuthentications = new Map<string, ClientAuthentication>([
  ['client_secret_basic', 'client_secret_basic'],
  ['basic', 'client_secret_basic'],
  ['client_secret_post', 'client_secret_post'],
  ['post', 'client_secret_post'],
  ['client_secret_jwt', 'client_secret_jwt'],
  ['private_key_jwt', 'private_key_jwt'],
  ['none', 'none'],
])

function checkCredentials(
  { clientAuthentication: method, clientSecret, privateKey }: Registration,
  key: string,
  report: SettingsReport,
): void {
  if (method.startsWith('client_secret') && clientSecret === undefined) {
    report.problem(`${key}.client-secret`, `is missing; ${method} needs it`)
  }
  if (method === 'private_key_jwt' && privateKey === undefined) {
    report.problem(`${key}.private-key-location`, 'is missing; private_key_jwt needs it')
  }
}

function checkAudience({ issuerUri, endpoints }: Registration, report: SettingsReport): void {
  if (
    issuerUri !== undefined ||
    (endpoints.issuer !== undefined && endpoints.jwkSetUri !== undefined)
  )
    return
  report.problem(
    audienceKey,
    'can only be checked with an issuer: set the issuer-uri of the provider of the first registration',
  )
}

function warn(
  { id, endpoints, redirectUri, scopes, issuerUri }: Registration,
  report: SettingsReport,
): void {
  for (const uri of Object.values(endpoints).filter((uri) => uri !== undefined)) {
    const { protocol, hostname } = new URL(uri)
    const local = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
    if (protocol === 'http:' && !local) {
      report.notice(
        `Warning: secrets and tokens travel unprotected to ${showAddress(uri)}; use https.`,
      )
    }
  }
  const path = redirectUri.replace(/[?#].*/s, '')
  if (!/\/login(?:\/oauth2\/code\/[^/]+)?$/.test(path)) {
    report.notice(
      `The redirect address ${path} ends neither in /login nor in /login/oauth2/code/${id}, where the provider's answer is expected.`,
    )
  }
  if (scopes.includes('openid') && issuerUri === undefined && endpoints.jwkSetUri === undefined) {
    report.notice(
      `The scope of ${id} contains openid, but neither its issuer nor its keys are known: ID tokens are not looked at, ` +
        'only the user-info address identifies the user.',
    )
  }
}
