/** A client registration at a provider. */
import type { SettingsReport } from '@fairlead/base/settings/setting.ts'
import type { NameCase } from '../login-method.ts'
import {
  type ClientAuthentication,
  completeEndpoints,
  defaultMapping,
  type Endpoints,
  type Preset,
  type TokenPlace,
  type UserMapping,
} from './presets.ts'
import { parseRequirement, type Requirement } from './requirements.ts'
import type { WrittenMapping } from './setting-keys.ts'

interface WrittenRegistration {
  readonly id: string
  readonly label: string
  readonly clientId: string
  readonly clientSecret: string | undefined
  readonly privateKey: { readonly file: string; readonly id: string | undefined } | undefined
  readonly clientAuthentication: string | undefined
  readonly scope: readonly string[] | undefined
  readonly pkce: boolean
  /** Redirect address; may contain `{baseUrl}` and its parts. */
  readonly redirectUri: string
  /** Value of `provider`, or what stands for it. */
  readonly provider: string | undefined
  readonly preset: Preset | undefined
  /** Published by the issuer; what is missing in `endpoints` comes from there. */
  readonly issuerUri: string | undefined
  readonly endpoints: Endpoints
  readonly tokenPlace: string | undefined
  /** Name of the access token in a form or query, and the word before it in a header. */
  readonly tokenName: string
  readonly tokenWord: string
  readonly mapping: WrittenMapping | undefined
  readonly requirements: Readonly<Record<string, string>>
  readonly organization: string | undefined
}

export type Registration = Readonly<ReturnType<typeof toRegistration>>

interface SettingNames
  extends Record<'clientAuthentication' | 'tokenPlace' | 'requirements', string> {
  readonly endpoints: Readonly<Record<'authorizationUri' | 'tokenUri' | 'userInfoUri', string>>
}

/** @param methods Ways to authenticate the client, by the names that the generation has for them */
export function toRegistration(
  { provider, preset, scope, ...written }: WrittenRegistration,
  names: SettingNames,
  methods: ReadonlyMap<string, ClientAuthentication>,
  report: SettingsReport,
) {
  const { issuerUri } = written
  const scopes = splitScopes(scope) ?? preset?.scopes ?? []
  const endpoints = mergeEndpoints(written.endpoints, preset)
  if (issuerUri === undefined) checkEndpoints(endpoints, scopes, names.endpoints, report)
  const byDefault =
    written.clientSecret === undefined
      ? 'none'
      : (preset?.clientAuthentication ?? 'client_secret_basic')
  const wanted = written.clientAuthentication
  const clientAuthentication = wanted === undefined ? byDefault : methods.get(wanted.toLowerCase())
  if (clientAuthentication === undefined) {
    report.problem(names.clientAuthentication, `must be one of ${[...methods.keys()].join(', ')}`)
  }
  return {
    ...written,
    clientAuthentication: clientAuthentication ?? ('none' as const),
    scopes,
    endpoints,
    tokenPlace: toTokenPlace(written.tokenPlace ?? preset?.tokenPlace, names.tokenPlace, report),
    mapping: toMapping(written.mapping, preset),
    nameCase: nameCaseOfProvider({
      name: provider,
      addresses: [...Object.values(endpoints), issuerUri].filter((uri) => uri !== undefined),
    }),
    requirements: toRequirements(written.requirements, names.requirements, report),
  }
}

/**
 * What is written, completed by the preset as long as it means the same servers: an installation of one's own must not
 * send its tokens to those of the preset.
 */
function mergeEndpoints(written: Endpoints, preset: Preset | undefined): Endpoints {
  if (preset === undefined) return written
  const hosts = new Set(Object.values(preset.endpoints).map(hostOf))
  const isOfPreset = Object.values(written).every(
    (uri) => uri === undefined || hosts.has(hostOf(uri)),
  )
  return isOfPreset ? completeEndpoints(written, preset.endpoints) : written
}

function hostOf(uri: string): string {
  return URL.parse(uri)?.host ?? ''
}

/** Blanks and commas separate scopes, in a text as in a list. */
function splitScopes(scopes: readonly string[] | undefined): string[] | undefined {
  return scopes?.flatMap((scope) => scope.split(/[\s,]+/)).filter((scope) => scope !== '')
}

/** Without an issuer to ask, everything has to be written down. */
function checkEndpoints(
  endpoints: Endpoints,
  scopes: readonly string[],
  names: SettingNames['endpoints'],
  report: SettingsReport,
): void {
  const hasIdToken = scopes.includes('openid') && endpoints.jwkSetUri !== undefined
  for (const [endpoint, name] of Object.entries(names)) {
    const optional = endpoint === 'userInfoUri' && hasIdToken
    if (endpoints[endpoint as keyof Endpoints] !== undefined || optional) continue
    report.problem(
      name,
      'is missing; set it, or the issuer-uri of a provider that publishes its addresses',
    )
  }
}

function toTokenPlace(name: string | undefined, key: string, report: SettingsReport): TokenPlace {
  const place = (name ?? 'header').toLowerCase()
  if (place === 'header' || place === 'form' || place === 'query') return place
  report.problem(key, 'must be header, form or query')
  return 'header'
}

/** Each field as written, else as in the preset, else as usual; an empty text says that the field is not mapped. */
function toMapping(written: WrittenMapping | undefined, preset: Preset | undefined): UserMapping {
  const chosen = Object.entries(written ?? {}).filter(([, name]) => name !== undefined)
  const named = chosen.map(([field, name]) => [field, name === '' ? undefined : name] as const)
  return { ...defaultMapping, ...preset?.mapping, ...Object.fromEntries(named) }
}

function toRequirements(
  written: Readonly<Record<string, string>>,
  key: string,
  report: SettingsReport,
): Requirement[] {
  return Object.entries(written).flatMap(([attribute, text]) => {
    try {
      return [parseRequirement(attribute, text)]
    } catch (error) {
      report.problem(`${key}.${attribute}`, `is not a pattern: ${(error as Error).message}`)
      return []
    }
  })
}

interface Family {
  /** Values of `provider` that operators give to products which customers run under domains of their own. */
  readonly names: readonly string[]
  /** Host names; one that starts with a dot is a suffix under which the vendor gives each customer a host. */
  readonly hosts: readonly string[]
}

const families: readonly Family[] = [
  {
    names: [],
    hosts: [
      'accounts.google.com',
      'www.googleapis.com',
      'oauth2.googleapis.com',
      'openidconnect.googleapis.com',
    ],
  },
  { names: ['github'], hosts: ['github.com', 'api.github.com', '.ghe.com'] },
  {
    names: ['azure'],
    hosts: [
      'login.microsoftonline.com',
      'login.microsoftonline.us',
      'login.partner.microsoftonline.cn',
      'login.windows.net',
      'sts.windows.net',
      'graph.microsoft.com',
      'graph.windows.net',
      '.ciamlogin.com',
    ],
  },
  {
    names: ['okta'],
    hosts: ['.okta.com', '.oktapreview.com', '.okta-emea.com', '.okta-gov.com', '.okta.mil'],
  },
]

interface ProviderNaming {
  /** Value of `provider`, or the id of the registration that stands for it. */
  readonly name: string | undefined
  /** Every configured address, that of the issuer included. */
  readonly addresses: readonly string[]
}

/** An OAuth 2.0 or OpenID Connect provider; every one of its addresses has to belong to the same vendor. */
export function nameCaseOfProvider({ name, addresses }: ProviderNaming): NameCase {
  const isKnown = families.some(
    ({ names, hosts }) =>
      names.includes(name?.toLowerCase() ?? '') ||
      (addresses.length > 0 && addresses.every((address) => isAtHost(address, hosts))),
  )
  return isKnown ? 'insensitive' : 'unknown'
}

function isAtHost(address: string, hosts: readonly string[]): boolean {
  const url = URL.parse(address)
  if (url?.protocol !== 'https:') return false
  return hosts.some((host) =>
    host.startsWith('.') ? url.hostname.endsWith(host) : url.hostname === host,
  )
}
