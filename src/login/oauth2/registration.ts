/** A client registration at a provider. */
import type { SettingsReport } from '../../settings/setting.ts'
import type { NameCase } from '../login-method.ts'
import {
  type ClientAuthentication,
  defaultMapping,
  type Endpoints,
  type Preset,
  type TokenPlace,
  type UserMapping,
} from './presets.ts'
import { parseRequirement, type Requirement } from './requirements.ts'
import type { MappingKeys } from './setting-keys.ts'

/** The gateway as a client of one provider. */
export interface Registration {
  readonly id: string
  readonly label: string
  readonly clientId: string
  readonly clientSecret: string | undefined
  readonly privateKey: { readonly file: string; readonly id: string | undefined } | undefined
  readonly clientAuthentication: ClientAuthentication
  readonly scopes: readonly string[]
  readonly pkce: boolean
  /** Redirect address; may contain `{baseUrl}` and its parts. */
  readonly redirectUri: string
  /** Published by the issuer; what is missing in `endpoints` comes from there. */
  readonly issuerUri: string | undefined
  readonly endpoints: Endpoints
  readonly tokenPlace: TokenPlace
  /** Name of the access token in a form or query, and the word before it in a header. */
  readonly tokenName: string
  readonly tokenWord: string
  readonly mapping: UserMapping
  /** Whether the provider ignores case in user names. */
  readonly nameCase: NameCase
  readonly requirements: readonly Requirement[]
  /** GitHub organisation of which a user has to be a member. */
  readonly organization: string | undefined
}

/**
 * What is written, completed by the preset as long as it means the same servers: an installation of one's own must not
 * send its tokens to those of the preset.
 */
export function mergeEndpoints(written: Endpoints, preset: Preset | undefined): Endpoints {
  if (preset === undefined) return written
  const hosts = new Set(Object.values(preset.endpoints).map(hostOf))
  const all = Object.values(written).filter((uri) => uri !== undefined)
  if (!all.every((uri) => hosts.has(hostOf(uri)))) return written
  const chosen = Object.entries(written).filter(([, uri]) => uri !== undefined)
  return { ...preset.endpoints, ...Object.fromEntries(chosen) }
}

/** Every configured address. */
export function addressesOf(endpoints: Endpoints, issuerUri?: string): string[] {
  return [...Object.values(endpoints), issuerUri].filter((uri) => uri !== undefined)
}

function hostOf(uri: string): string {
  return URL.parse(uri)?.host ?? ''
}

/** Blanks and commas separate scopes, in a text as in a list. */
export function splitScopes(scopes: readonly string[] | undefined): string[] | undefined {
  return scopes?.flatMap((scope) => scope.split(/[\s,]+/)).filter((scope) => scope !== '')
}

/** Without an issuer to ask, everything has to be written down. */
export function checkEndpoints(
  endpoints: Endpoints,
  scopes: readonly string[],
  provider: string,
  report: SettingsReport,
  names: Readonly<Record<'authorizationUri' | 'tokenUri' | 'userInfoUri', string>> = {
    authorizationUri: 'authorization-uri',
    tokenUri: 'token-uri',
    userInfoUri: 'user-info-uri',
  },
): void {
  const hasIdToken = scopes.includes('openid') && endpoints.jwkSetUri !== undefined
  for (const [endpoint, name] of Object.entries(names)) {
    const optional = endpoint === 'userInfoUri' && hasIdToken
    if (endpoints[endpoint as keyof Endpoints] !== undefined || optional) continue
    report.problem(`${provider}.${name}`, 'is missing; set it, or the issuer-uri of a provider that publishes its addresses')
  }
}

export function toTokenPlace(name: string | undefined, key: string, report: SettingsReport): TokenPlace {
  const place = (name ?? 'header').toLowerCase()
  if (place === 'header' || place === 'form' || place === 'query') return place
  report.problem(key, 'must be header, form or query')
  return 'header'
}

/** Each field as written, else as in the preset, else as usual; an empty text says that the field is not mapped. */
export function toMapping(written: MappingKeys | undefined, preset: Preset | undefined): UserMapping {
  const chosen = Object.entries(written ?? {}).filter(([, name]) => name !== undefined)
  const named = chosen.map(([field, name]) => [field, name === '' ? undefined : name] as const)
  return { ...defaultMapping, ...preset?.mapping, ...Object.fromEntries(named) }
}

export function toRequirements(written: Readonly<Record<string, string>>, key: string, report: SettingsReport): Requirement[] {
  return Object.entries(written).flatMap(([attribute, text]) => {
    try {
      return [parseRequirement(attribute, text)]
    } catch (error) {
      report.problem(`${key}.${attribute}`, `is not a pattern: ${(error as Error).message}`)
      return []
    }
  })
}
