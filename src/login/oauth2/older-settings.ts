/** The one registration of early releases and of installers: `security.oauth2.*`, `security.authn.oauth2.*`. */
import type { SettingsReport } from '../../settings/setting.ts'
import { nameCaseOfProvider } from './name-case.ts'
import { type ClientAuthentication, type Endpoints, findPreset, type Preset, presetProfiles, type Tenants } from './presets.ts'
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
import type { OAuth2Keys, OlderKeys } from './setting-keys.ts'

export interface OlderRegistration {
  /** Where it is written. */
  readonly key: string
  readonly registration: Registration
  readonly entryAddress: string | undefined
}

interface OlderSurroundings {
  tenants: Tenants
  profiles: readonly string[]
  /** Something else is used, so that mistakes here do not matter. */
  ignored: boolean
}

const prefixes = ['security.oauth2', 'security.authn.oauth2', 'spring.oauth2'] as const

type Client = NonNullable<OlderKeys['client']>

/** The first spelling that names a client and is not switched off. */
export function toOlderRegistration(
  keys: OAuth2Keys,
  report: SettingsReport,
  surroundings: OlderSurroundings,
): OlderRegistration | undefined {
  for (const key of prefixes) {
    const written = keys[key]
    if (written === undefined || written.enabled === false) continue
    const { client } = written
    if (client?.clientId !== undefined) return convert({ key, clientId: client.clientId, client, written }, report, surroundings)
    if (written.enabled === true && !surroundings.ignored) {
      report.problem(`${key}.client.clientId`, `is missing, although ${key}.enabled switches this login on`)
    }
  }
  return undefined
}

interface Written {
  key: string
  clientId: string
  client: Client
  written: OlderKeys
}

function convert(from: Written, report: SettingsReport, surroundings: OlderSurroundings): OlderRegistration {
  const { key, clientId, client, written } = from
  const { tenants, profiles, ignored } = surroundings
  const reported: SettingsReport = ignored ? { ...report, problem: () => {} } : report
  const name = presetName(written, profiles)
  const preset = name === undefined ? undefined : findPreset(name, true, tenants)
  const endpoints = toEndpoints(from, preset)
  const scopes = splitScopes(client.scope) ?? preset?.scopes ?? []
  checkEndpoints(endpoints, scopes, key, reported, {
    authorizationUri: 'client.userAuthorizationUri',
    tokenUri: 'client.accessTokenUri',
    userInfoUri: 'resource.userInfoUri',
  })
  const loginPath = written.sso?.loginPath
  if (loginPath !== undefined && loginPath !== '/login') reported.problem(`${key}.sso.loginPath`, 'must be /login')
  return {
    key,
    entryAddress: client.preEstablishedRedirectUri,
    registration: {
      id: name ?? 'oauth2',
      label: preset?.label ?? name ?? 'OAuth 2.0',
      clientId,
      clientSecret: client.clientSecret,
      privateKey: undefined,
      clientAuthentication: toClientAuthentication(client, preset, key, reported),
      scopes,
      pkce: client.pkce,
      redirectUri: client.preEstablishedRedirectUri ?? '{baseUrl}/login',
      issuerUri: undefined,
      endpoints,
      tokenPlace: toTokenPlace(client.authenticationScheme ?? preset?.tokenPlace, `${key}.client.authenticationScheme`, reported),
      tokenName: client.tokenName,
      tokenWord: written.resource?.tokenType ?? 'Bearer',
      mapping: toMapping(written.userInfoMapping, preset),
      nameCase: nameCaseOfProvider({ name, addresses: addressesOf(endpoints) }),
      requirements: toRequirements(written.userInfoRequirements, `${key}.userInfoRequirements`, reported),
      organization: written.providerRequirements?.organization,
    },
  }
}

/** As the provider is called in the file, or by the profile that Gate has for it. */
function presetName({ provider }: OlderKeys, profiles: readonly string[]): string | undefined {
  if (provider !== undefined) return provider.toLowerCase() === 'other' ? undefined : provider.toLowerCase()
  const profile = profiles.findLast((name) => Object.hasOwn(presetProfiles, name))
  return profile === undefined ? undefined : presetProfiles[profile]
}

function toEndpoints({ client, written }: Written, preset: Preset | undefined): Endpoints {
  return mergeEndpoints(
    {
      authorizationUri: client.userAuthorizationUri,
      tokenUri: client.accessTokenUri,
      userInfoUri: written.resource?.userInfoUri,
    },
    preset,
  )
}

const schemes = new Map<string, ClientAuthentication>([
  ['header', 'client_secret_basic'],
  ['client_secret_basic', 'client_secret_basic'],
  ['form', 'client_secret_post'],
  ['client_secret_post', 'client_secret_post'],
  ['query', 'query'],
  ['none', 'none'],
])

function toClientAuthentication(
  { clientAuthenticationScheme: scheme, clientSecret }: Client,
  preset: Preset | undefined,
  key: string,
  report: SettingsReport,
): ClientAuthentication {
  const byDefault = clientSecret === undefined ? 'none' : (preset?.clientAuthentication ?? 'client_secret_basic')
  const method = scheme === undefined ? byDefault : schemes.get(scheme.toLowerCase())
  if (method === undefined) {
    report.problem(`${key}.client.clientAuthenticationScheme`, `must be one of ${[...schemes.keys()].join(', ')}`)
    return 'none'
  }
  if (method !== 'none' && clientSecret === undefined) {
    report.problem(`${key}.client.clientSecret`, 'is missing; set it, or clientAuthenticationScheme: none')
  }
  return method
}
