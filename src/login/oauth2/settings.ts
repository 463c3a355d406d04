/** Client registrations from the keys of both generations, with all errors. */
import { boundedTimeout, type SettingsReport } from '../../settings/setting.ts'
import type { LoginSurroundings } from '../method-type.ts'
import { nameCaseOfProvider } from './name-case.ts'
import { type OlderRegistration, toOlderRegistration } from './older-settings.ts'
import { type ClientAuthentication, type Endpoints, findPreset, type Preset, type Tenants } from './presets.ts'
import { loadPrivateKey } from './private-key.ts'
import {
  addressesOf,
  checkEndpoints,
  mergeEndpoints,
  type Registration,
  splitScopes,
  toMapping,
  toRequirements,
  toTokenPlace,
} from './registration.ts'
import type { OAuth2Keys, ProviderKeys, RegistrationKeys } from './setting-keys.ts'

export interface OAuth2Settings {
  /** Where the configuration stands. */
  readonly key: string
  /** At least one; the first also judges bearer tokens. */
  readonly registrations: readonly Registration[]
  /** A fixed address of the login page, where a configuration of early releases names one. */
  readonly entryAddress: string | undefined
  readonly connectTimeoutMs: number
  readonly readTimeoutMs: number
  /** Audiences of bearer tokens; empty: whatever the user-info address accepts. */
  readonly audiences: readonly string[]
}

const registrationKey = 'spring.security.oauth2.client.registration'
const providerKey = 'spring.security.oauth2.client.provider'
/** They stand beside the registrations and are none. */
const besideRegistrations = new Set(['userinfomapping', 'userinforequirements'])

/** Undefined when no client is configured. @see docs/contracts/authentication.md#oauth-20-and-openid-connect */
export function toOAuth2Settings(
  keys: OAuth2Keys,
  report: SettingsReport,
  { profiles }: Pick<LoginSurroundings, 'profiles'>,
): OAuth2Settings | undefined {
  const tenants: Tenants = { azureTenantId: keys.azureTenantId, idcsTenantId: keys.idcsTenantId }
  const current = toRegistrations(keys, report, tenants)
  const older = toOlderRegistration(keys, report, { tenants, profiles, ignored: current.length > 0 })
  if (current.length > 0 && older !== undefined) {
    report.notice(
      `Warning: ${older.key} and ${registrationKey} both configure a login; ${registrationKey} is used, the other is ignored.`,
    )
  }
  const used: OlderRegistration | undefined = current.length > 0 ? undefined : older
  const registrations = used === undefined ? current : [used.registration]
  if (registrations.length === 0) return undefined
  const audiences = keys['security.oauth2.external-auth-token-filter.audience']
  if (audiences.length > 0) checkAudience(registrations[0] as Registration, report)
  for (const registration of registrations) warn(registration, report)
  return {
    key: used?.key ?? registrationKey,
    registrations,
    entryAddress: used?.entryAddress,
    connectTimeoutMs: boundedTimeout(keys['security.oauth2.external-auth-token-filter.connect-timeout-ms']),
    readTimeoutMs: boundedTimeout(keys['security.oauth2.external-auth-token-filter.read-timeout-ms']),
    audiences,
  }
}

function toRegistrations(keys: OAuth2Keys, report: SettingsReport, tenants: Tenants): Registration[] {
  return Object.entries(keys[registrationKey]).flatMap(([id, registration]) => {
    if (besideRegistrations.has(id.replaceAll(/[-_]/g, '').toLowerCase())) return []
    const clientId = registration['client-id']
    if (clientId === undefined) {
      if (report.isSet(`${registrationKey}.${id}.client-secret`)) {
        report.notice(`${registrationKey}.${id} has no client-id and is not used.`)
      }
      return []
    }
    return [toRegistration({ id, clientId, keys, report, tenants }, registration)]
  })
}

interface Context {
  id: string
  clientId: string
  keys: OAuth2Keys
  report: SettingsReport
  tenants: Tenants
}

function toRegistration(context: Context, registration: RegistrationKeys): Registration {
  const { id, clientId, keys, report, tenants } = context
  const key = `${registrationKey}.${id}`
  const providerName = registration.provider ?? id
  const provider = ownEntry(keys[providerKey], providerName)
  const preset = findPreset(providerName, false, tenants)
  const endpoints = toEndpoints(provider, preset)
  const issuerUri = provider?.['issuer-uri']
  const scopes = splitScopes(registration.scope) ?? preset?.scopes ?? []
  if ((registration['authorization-grant-type'] ?? 'authorization_code') !== 'authorization_code') {
    report.problem(`${key}.authorization-grant-type`, 'must be authorization_code: people log in with their browser')
  }
  if (issuerUri === undefined) checkEndpoints(endpoints, scopes, `${providerKey}.${providerName}`, report)
  return {
    id,
    label: registration['client-name'] ?? preset?.label ?? id,
    clientId,
    clientSecret: registration['client-secret'],
    privateKey: toPrivateKey(registration, key, report),
    clientAuthentication: toClientAuthentication(registration, preset, key, report),
    scopes,
    pkce: registration.pkce,
    redirectUri:
      registration['redirect-uri'] ?? registration['redirect-uri-template'] ?? '{baseUrl}/login/oauth2/code/{registrationId}',
    issuerUri,
    endpoints,
    tokenPlace: toTokenPlace(
      provider?.['user-info-authentication-method'] ?? preset?.tokenPlace,
      `${providerKey}.${providerName}.user-info-authentication-method`,
      report,
    ),
    tokenName: 'access_token',
    tokenWord: 'Bearer',
    mapping: toMapping(keys[`${registrationKey}.userInfoMapping`], preset),
    nameCase: nameCaseOfProvider({ name: providerName, addresses: addressesOf(endpoints, issuerUri) }),
    requirements: toRequirements(
      keys[`${registrationKey}.userInfoRequirements`],
      `${registrationKey}.userInfoRequirements`,
      report,
    ),
    organization: registration['provider-requirements']?.organization,
  }
}

/** An entry by a name that an operator chose. */
function ownEntry<Entry>(entries: Readonly<Record<string, Entry>>, name: string): Entry | undefined {
  return Object.hasOwn(entries, name) ? entries[name] : undefined
}

function toEndpoints(provider: ProviderKeys | undefined, preset: Preset | undefined): Endpoints {
  const written: Endpoints = {
    authorizationUri: provider?.['authorization-uri'],
    tokenUri: provider?.['token-uri'],
    userInfoUri: provider?.['user-info-uri'],
    jwkSetUri: provider?.['jwk-set-uri'],
    issuer: provider?.['issuer-uri'],
  }
  return mergeEndpoints(written, preset)
}

function toPrivateKey(registration: RegistrationKeys, key: string, report: SettingsReport): Registration['privateKey'] {
  const file = registration['private-key-location']?.replace(/^file:(?:\/\/)?/, '')
  if (file === undefined) return undefined
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

function toClientAuthentication(
  registration: RegistrationKeys,
  preset: Preset | undefined,
  key: string,
  report: SettingsReport,
): ClientAuthentication {
  const name = registration['client-authentication-method']
  const secret = registration['client-secret']
  const byDefault = secret === undefined ? 'none' : (preset?.clientAuthentication ?? 'client_secret_basic')
  const method = name === undefined ? byDefault : clientAuthentications.get(name.toLowerCase())
  if (method === undefined) {
    report.problem(`${key}.client-authentication-method`, `must be one of ${[...clientAuthentications.keys()].join(', ')}`)
    return 'none'
  }
  if (method.startsWith('client_secret') && secret === undefined) {
    report.problem(`${key}.client-secret`, `is missing; ${method} needs it`)
  }
  if (method === 'private_key_jwt' && registration['private-key-location'] === undefined) {
    report.problem(`${key}.private-key-location`, 'is missing; private_key_jwt needs it')
  }
  return method
}

function checkAudience({ issuerUri, endpoints }: Registration, report: SettingsReport): void {
  if (issuerUri !== undefined || (endpoints.issuer !== undefined && endpoints.jwkSetUri !== undefined)) return
  report.problem(
    'security.oauth2.external-auth-token-filter.audience',
    'can only be checked with an issuer: set the issuer-uri of the provider of the first registration',
  )
}

/** What works and may surprise. */
function warn({ id, endpoints, redirectUri, scopes, issuerUri }: Registration, report: SettingsReport): void {
  for (const uri of Object.values(endpoints).filter((uri) => uri !== undefined)) {
    const { protocol, hostname } = new URL(uri)
    const local = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
    if (protocol === 'http:' && !local) {
      report.notice(`Warning: secrets and tokens travel unprotected to ${uri.replace(/\?.*/s, '')}; use https.`)
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
