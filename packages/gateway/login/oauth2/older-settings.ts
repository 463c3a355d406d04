/** The one registration of early releases and of installers: `security.oauth2.*`, `security.authn.oauth2.*`. */
import type { SettingsReport } from '@fairlead/base/settings/setting.ts'
import { type ClientAuthentication, findPreset, type Preset, presetProfiles } from './presets.ts'
import { type Registration, toRegistration } from './registration.ts'
import type { OAuth2Values, OlderKeys } from './setting-keys.ts'

interface OlderRegistration {
  readonly key: string
  readonly registration: Registration
  readonly entryAddress: string | undefined
}

interface OlderSurroundings {
  profiles: readonly string[]
  /** Something else is used, so that mistakes here do not matter. */
  ignored: boolean
}

const prefixes = ['security.oauth2', 'security.authn.oauth2', 'spring.oauth2'] as const

/** The first spelling that names a client and is not switched off. */
export function toOlderRegistration(
  values: OAuth2Values,
  report: SettingsReport,
  { profiles, ignored }: OlderSurroundings,
): OlderRegistration | undefined {
  for (const key of prefixes) {
    const written = values[key]
    if (written === undefined || written.enabled === false) continue
    const { client } = written
    if (client?.clientId !== undefined) {
      const reported: SettingsReport = ignored ? { ...report, problem: () => {} } : report
      const name = presetName(written, profiles)
      const preset = name === undefined ? undefined : findPreset(name, true, values.tenants)
      const from = { key, clientId: client.clientId, client, written, name, preset }
      return {
        key,
        entryAddress: client.preEstablishedRedirectUri,
        registration: convert(from, reported),
      }
    }
    if (written.enabled === true && !ignored) {
      report.problem(
        `${key}.client.clientId`,
        `is missing, although ${key}.enabled switches this login on`,
      )
    } else if (!ignored && report.isSet(`${key}.client`)) {
      report.notice(
        `Ignored, as ${key}.client.clientId is missing: ${key}. Set it for this login, or remove the others.`,
      )
    }
  }
  return undefined
}

interface WrittenSettings {
  key: string
  clientId: string
  client: NonNullable<OlderKeys['client']>
  written: OlderKeys
  name: string | undefined
  preset: Preset | undefined
}

function convert(
  { key, clientId, client, written, name, preset }: WrittenSettings,
  report: SettingsReport,
): Registration {
  const { resource, sso } = written
  if (sso?.loginPath !== undefined && sso.loginPath !== '/login')
    report.problem(`${key}.sso.loginPath`, 'must be /login')
  const registration = toRegistration(
    {
      id: name ?? 'oauth2',
      label: preset?.label ?? name ?? 'OAuth 2.0',
      clientId,
      clientSecret: client.clientSecret,
      privateKey: undefined,
      clientAuthentication: client.clientAuthenticationScheme,
      scope: client.scope,
      pkce: client.pkce,
      redirectUri: client.preEstablishedRedirectUri ?? '{baseUrl}/login',
      provider: name,
      preset,
      issuerUri: undefined,
      endpoints: {
        authorizationUri: client.userAuthorizationUri,
        tokenUri: client.accessTokenUri,
        userInfoUri: resource?.userInfoUri,
      },
      tokenPlace: client.authenticationScheme,
      tokenName: client.tokenName,
      tokenWord: resource?.tokenType ?? 'Bearer',
      mapping: written.userInfoMapping,
      requirements: written.userInfoRequirements,
      organization: written.providerRequirements?.organization,
    },
    namesOf(key),
    schemes,
    report,
  )
  if (registration.clientAuthentication !== 'none' && client.clientSecret === undefined) {
    report.problem(
      `${key}.client.clientSecret`,
      'is missing; set it, or clientAuthenticationScheme: none',
    )
  }
  return registration
}

function namesOf(key: string) {
  return {
    endpoints: {
      authorizationUri: `${key}.client.userAuthorizationUri`,
      tokenUri: `${key}.client.accessTokenUri`,
      userInfoUri: `${key}.resource.userInfoUri`,
    },
    clientAuthentication: `${key}.client.clientAuthenticationScheme`,
    tokenPlace: `${key}.client.authenticationScheme`,
    requirements: `${key}.userInfoRequirements`,
  }
}

/** Name of the provider in the file, or of the profile that Gate has for it. */
function presetName({ provider }: OlderKeys, profiles: readonly string[]): string | undefined {
  if (provider !== undefined)
    return provider.toLowerCase() === 'other' ? undefined : provider.toLowerCase()
  const profile = profiles.findLast((name) => Object.hasOwn(presetProfiles, name))
  return profile === undefined ? undefined : presetProfiles[profile]
}

const schemes = new Map<string, ClientAuthentication>([
  ['header', 'client_secret_basic'],
  ['client_secret_basic', 'client_secret_basic'],
  ['form', 'client_secret_post'],
  ['client_secret_post', 'client_secret_post'],
  ['query', 'query'],
  ['none', 'none'],
])
