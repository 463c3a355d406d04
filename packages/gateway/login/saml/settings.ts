/** Settings of SAML, in all three generations of Gate and with Fairlead's own: registrations, and rules for responses. */

import {
  duration,
  inSeconds,
  off,
  on,
  optionalFlag,
  optionalText,
  parseJavaSearch,
  type SettingsOf,
  type SettingsReport,
  setting,
  settings,
  whole,
  withoutEffect,
  withoutSlash,
  word,
} from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'
import type { RequestHash } from './signed-bytes.ts'

const registrationKey = 'spring.security.saml2.relyingparty.registration'
const delimiterKey = 'saml.userAttributeMapping.rolesDelimiter'

const location = (what: string) => optionalText.describe(`${what} A path or a \`file:\` address.`)
const someTexts = z.array(z.string().min(1)).default([])
const noLogout = withoutEffect('Logging out here does not log out at the identity provider.')

const KeyPairs = z
  .strictObject({
    credentials: z
      .array(
        z.strictObject({
          'private-key-location': location('Private key in PEM.'),
          'certificate-location': location('Its certificate in PEM.'),
        }),
      )
      .default([])
      .describe('Key pairs.'),
  })
  .prefault({})

const AssertingParty = z
  .strictObject({
    'metadata-uri': optionalText.describe('Metadata: an address, a file, or the XML itself.'),
    'entity-id': optionalText.describe('Name of the identity provider.'),
    singlesignon: z
      .strictObject({
        url: optionalText.describe('Where logins start.'),
        binding: word(['redirect', 'post']).optional().describe('How requests get there.'),
        'sign-request': optionalFlag.describe(
          'Whether requests are signed. Default: as the metadata requests.',
        ),
      })
      .optional(),
    singlelogout: noLogout,
    verification: z
      .strictObject({
        credentials: z
          .array(z.strictObject({ 'certificate-location': location('Certificate in PEM.') }))
          .default([])
          .describe('Certificates for verifying signatures.'),
      })
      .optional(),
  })
  .optional()

const Registration = z.strictObject({
  'entity-id': optionalText.describe(
    'Entity ID of Fairlead at the identity provider. May contain `{baseUrl}` and its parts.',
  ),
  acs: z
    .strictObject({
      location: optionalText.describe(
        'Address for responses. May contain `{baseUrl}` and `{registrationId}`.',
      ),
      binding: word(['post']).optional().describe('Binding of responses.'),
    })
    .optional(),
  'name-id-format': optionalText.describe('Requested NameID format.'),
  signing: KeyPairs,
  decryption: KeyPairs,
  singlelogout: noLogout,
  assertingparty: AssertingParty,
  identityprovider: AssertingParty,
})

export const samlKeys = settings(
  {
    enabled: setting('saml.enabled', off).describe('Login by SAML 2.0.'),
    metadata: setting('saml.metadataUrl', optionalText).describe(
      'Metadata of the identity provider: an http(s) address, a file, or the XML itself.',
    ),
    metadataRefreshMs: setting(
      'saml.metadataRefresh',
      duration('s')
        .default(900_000)
        .transform((ms) => Math.max(1, ms)),
    ).describe(
      'Interval between two reads of the metadata (default 15m). While that fails, the last valid copy applies.',
    ),
    issuerId: setting('saml.issuerId', optionalText).describe(
      'Name of this gateway at the identity provider (entity ID). Default: `{baseUrl}/saml2/metadata`.',
    ),
    keyStore: {
      location: setting('saml.keyStore', optionalText).describe(
        'PKCS#12 or PEM file with a key pair that decrypts assertions and signs requests.',
      ),
      password: setting('saml.keyStorePassword', z.string().default('')).describe(
        'Password of the key store.',
      ),
      alias: setting('saml.keyStoreAliasName', optionalText).describe(
        'Alias of the key pair in the key store. Default: the first.',
      ),
    },
    signRequests: setting('saml.signRequests', optionalFlag).describe(
      'Sign requests. Default: if the metadata asks for it.',
    ),
    signing: setting(
      'saml.signingCredentials',
      z
        .array(
          z.strictObject({
            privateKeyLocation: location('Private key in PEM.'),
            certificateLocation: location('Its certificate.'),
          }),
        )
        .default([]),
    ).describe('Key pairs for signing requests; the first one is used.'),
    hash: setting(
      'saml.signatureDigest',
      z
        .string()
        .transform((text) => text.replaceAll('-', '').toUpperCase())
        .pipe(z.enum(['SHA1', 'SHA256', 'SHA384', 'SHA512']))
        .optional()
        .transform((digest = 'SHA256') => digest.toLowerCase() as RequestHash)
        .meta({ type: 'SHA1, SHA256, SHA384 or SHA512' }),
    ).describe(
      'Digest of signed requests (default SHA256). SHA1 also accepts responses signed with SHA-1.',
    ),
    registrationId: setting(
      'saml.registrationId',
      z
        .string()
        .regex(/^[\w.-]+$/, 'must consist of letters, digits, dots, hyphens and underscores')
        .default('SSO'),
    ).describe('Name of the registration; part of addresses.'),
    processingPath: setting(
      'saml.loginProcessingUrl',
      z.string().startsWith('/').default('/saml/{registrationId}'),
    ).describe('Path that accepts responses, in addition to all paths that Gate has used.'),
    redirect: {
      protocol: setting(
        'saml.redirectProtocol',
        z.enum(['http', 'https']).default('https'),
      ).describe('Scheme of the address for responses, with `saml.redirectHostname`.'),
      host: setting(
        'saml.redirectHostname',
        z
          .string()
          .regex(/^[^/?#\s@]+$/, 'must be a host name, perhaps with a port')
          .optional(),
      ).describe('Host and port of the address for responses. Default: those of the request.'),
      basePath: setting('saml.redirectBasePath', z.string().startsWith('/').default('/')).describe(
        'Path in front of `/saml/SSO`, with `saml.redirectHostname`.',
      ),
    },
    maxAuthenticationAgeMs: setting(
      'saml.maxAuthenticationAge',
      inSeconds(whole(1)).optional(),
    ).describe(
      'Seconds after which users must authenticate again at the identity provider. Default: no limit.',
    ),
    idpInitiated: {
      enabled: setting('saml.idpInitiated.enabled', on).describe(
        'Accept logins that start at the identity provider, from its portal of applications.',
      ),
      relayStates: setting('saml.idpInitiated.relayStates', someTexts).describe(
        'Allowed RelayState values: pages of the web UI to which such a login may lead. Others lead to the start page.',
      ),
    },
    mapping: {
      requiredRoles: setting('saml.requiredRoles', someTexts).describe(
        'Users need one of these roles to log in.',
      ),
      sortRoles: setting('saml.sortRoles', off).describe('Sort roles by name.'),
      lowercaseRoles: setting('saml.forceLowercaseRoles', on).describe(
        'Write roles in lower case.',
      ),
      attributes: {
        firstName: setting(
          'saml.userAttributeMapping.firstName',
          z.string().default('User.FirstName'),
        ).describe('Attribute with the first name.'),
        lastName: setting(
          'saml.userAttributeMapping.lastName',
          z.string().default('User.LastName'),
        ).describe('Attribute with the last name.'),
        roles: setting('saml.userAttributeMapping.roles', z.string().default('memberOf')).describe(
          'Attribute with the roles.',
        ),
        rolesDelimiter: setting(delimiterKey, z.string().min(1).default(';')).describe(
          'Regular expression between roles in one value. With `(?!)`, each value is one role.',
        ),
        username: setting('saml.userAttributeMapping.username', optionalText).describe(
          'Attribute with the user name. Default: NameID.',
        ),
        email: setting('saml.userAttributeMapping.email', optionalText).describe(
          'Attribute with the e-mail address. Default: NameID.',
        ),
      },
    },
    olderForm: setting('security.authn.saml.enabled', off).describe(
      'Form of installers; `saml.enabled` decides.',
    ),
    registrations: setting(
      registrationKey,
      z.record(z.string(), Registration).default({}),
    ).describe('Registrations of the newest releases, by name; their values override `saml.*`.'),
  },
  {
    'saml.keyStoreType': 'Found out from the file: PKCS#12 or PEM.',
    'security.authn.saml': 'Form of installers; the keys of `saml` decide.',
  },
)
type RegistrationValues = Omit<SettingsOf<typeof samlKeys>, 'enabled' | 'olderForm'>
type WrittenRegistration = z.output<typeof Registration>

export type SamlSettings = NonNullable<ReturnType<typeof toSamlSettings>>
export type SamlRegistration = NonNullable<ReturnType<typeof toRegistration>>

export function toSamlSettings(keys: object, report: SettingsReport) {
  const { enabled, olderForm, ...values } = samlKeys.read(keys)
  if (!enabled) {
    if (olderForm) {
      report.problem(
        'security.authn.saml.enabled',
        'this is the form of installers; write saml.enabled: true and the other saml.* keys',
      )
    }
    return undefined
  }
  const { metadataRefreshMs, processingPath, hash, maxAuthenticationAgeMs, idpInitiated, mapping } =
    values
  const { location, ...keyStore } = values.keyStore
  const { lowercaseRoles, requiredRoles, attributes } = mapping
  return {
    key: 'saml.enabled',
    registrations: toRegistrations(values, report),
    /** Path of our own choice, with `{registrationId}`. */
    processingPath,
    keyStore: location === undefined ? undefined : { location, ...keyStore },
    metadataRefreshMs,
    hash,
    acceptSha1: hash === 'sha1',
    maxAuthenticationAgeMs,
    idpInitiated,
    /** @see docs/contracts/authentication.md#saml: common keys */
    mapping: {
      ...mapping,
      /** At least one of them, unless there are none. */
      requiredRoles: requiredRoles.map((role) => (lowercaseRoles ? role.toLowerCase() : role)),
      attributes: { ...attributes, rolesDelimiter: toDelimiter(attributes.rolesDelimiter, report) },
    },
  }
}

function toRegistrations(values: RegistrationValues, report: SettingsReport): SamlRegistration[] {
  const entries = Object.entries(values.registrations)
  for (const [id] of entries) {
    if (!/^[\w.-]+$/.test(id)) {
      report.problem(
        `${registrationKey}.${id}`,
        'the name must consist of letters, digits, dots, hyphens and underscores',
      )
    }
  }
  const found =
    entries.length === 0
      ? [toOldRegistration(values, report)]
      : entries.map(([id, registration]) => toRegistration(id, registration, values, report))
  const registrations = found.filter((registration) => registration !== undefined)
  for (const registration of registrations) noteWeakness(registration, report)
  return registrations
}

function noteWeakness(
  { id, entityId, identityProvider }: SamlRegistration,
  report: SettingsReport,
): void {
  if (/\{base(?:Url|Host)\}/.test(entityId)) {
    report.notice(
      `SAML registration ${id} is named after the host that a request names. Where requests with any host reach the gateway, ` +
        'set saml.issuerId (or entity-id) to the full name, so that answers meant for another service are not taken.',
    )
  }
  if (identityProvider.kind === 'metadata' && /^http:/i.test(identityProvider.location)) {
    report.notice(
      `The metadata of SAML registration ${id} comes by http: an attacker who changes it on the way can log in as any user.`,
    )
  }
}

/** Characters that names of groups have. */
const ordinary = [...' ,-_.:/@aZ0']

/** A pattern that is found within a value, where others match the whole of it. */
function toDelimiter(text: string, report: SettingsReport): RegExp {
  try {
    const delimiter = parseJavaSearch(text, 'g')
    const inside = ordinary.find((character) => character.search(delimiter) !== -1)
    if (inside !== undefined) {
      report.notice(
        `${delimiterKey} splits roles at "${inside}", which names of groups may hold: a group "x${inside}admins" brings the role "admins". ` +
          'Where the identity provider sends each group as a value of its own, set it to "(?!)", which matches nothing.',
      )
    }
    return delimiter
  } catch (error) {
    report.problem(delimiterKey, `must be a regular expression: ${(error as Error).message}`)
    return /;/g
  }
}

/** Generations A and B: all settings are in `saml.*`. */
function toOldRegistration(
  values: RegistrationValues,
  report: SettingsReport,
): SamlRegistration | undefined {
  const { metadata, issuerId, processingPath, signRequests } = values
  const signing = oldSigning(values, report)
  if (metadata === undefined) {
    report.problem(
      'saml.metadataUrl',
      'SAML needs the metadata of the identity provider: give its address or a file',
    )
    return undefined
  }
  return {
    id: values.registrationId,
    entityId: issuerId ?? '{baseUrl}/saml2/metadata',
    consumerUrl: oldConsumerUrl(values) ?? `{baseUrl}${processingPath}`,
    nameIdFormat: undefined,
    identityProvider: {
      kind: 'metadata',
      location: metadata,
      entityId: undefined,
      key: 'saml.metadataUrl',
    },
    signRequests,
    signing,
    decryption: [],
  }
}

/** Generation A names the address itself. */
function oldConsumerUrl({
  redirect: { protocol, host, basePath },
}: RegistrationValues): string | undefined {
  return host === undefined ? undefined : `${protocol}://${host}${withoutSlash(basePath)}/saml/SSO`
}

function oldSigning(
  { signing }: RegistrationValues,
  report: SettingsReport,
): CredentialLocations[] {
  const pairs = signing.map(
    ({ privateKeyLocation, certificateLocation }) =>
      [privateKeyLocation, certificateLocation] as const,
  )
  return toPairs(pairs, 'saml.signingCredentials', report)
}

/** Generation C; what it leaves out is taken from `saml.*`. */
function toRegistration(
  id: string,
  written: WrittenRegistration,
  values: RegistrationValues,
  report: SettingsReport,
) {
  const key = `${registrationKey}.${id}`
  const identityProvider = toIdentityProvider(written, values, key, report)
  if (identityProvider === undefined) return undefined
  const party = written.assertingparty ?? written.identityprovider
  const pairsOf = (use: 'signing' | 'decryption') => {
    const pairs = written[use].credentials.map(
      (one) => [one['private-key-location'], one['certificate-location']] as const,
    )
    return toPairs(pairs, `${key}.${use}.credentials`, report)
  }
  const signing = pairsOf('signing')
  return {
    id,
    /** May hold placeholders such as `{baseUrl}`. */
    entityId:
      written['entity-id'] ??
      values.issuerId ??
      '{baseUrl}/saml2/service-provider-metadata/{registrationId}',
    consumerUrl:
      written.acs?.location ??
      oldConsumerUrl(values) ??
      '{baseUrl}/login/saml2/sso/{registrationId}',
    nameIdFormat: written['name-id-format'],
    identityProvider,
    /** Undefined: as the metadata wants it. */
    signRequests: party?.singlesignon?.['sign-request'] ?? values.signRequests,
    signing: signing.length > 0 ? signing : oldSigning(values, report),
    decryption: pairsOf('decryption'),
  }
}

type IdentityProviderSettings =
  | { kind: 'metadata'; location: string; entityId: string | undefined; key: string }
  | {
      kind: 'configured'
      entityId: string
      url: string
      binding: 'redirect' | 'post'
      certificates: string[]
      key: string
    }

function toIdentityProvider(
  { assertingparty, identityprovider }: WrittenRegistration,
  values: RegistrationValues,
  registration: string,
  report: SettingsReport,
): IdentityProviderSettings | undefined {
  const party = assertingparty ?? identityprovider
  const key = `${registration}.${party !== undefined && party === identityprovider ? 'identityprovider' : 'assertingparty'}`
  const entityId = party?.['entity-id']
  const { url, binding = 'redirect' } = party?.singlesignon ?? {}
  const location = party?.['metadata-uri'] ?? (url === undefined ? values.metadata : undefined)
  if (location !== undefined)
    return { kind: 'metadata', location, entityId, key: `${key}.metadata-uri` }
  const certificates = (party?.verification?.credentials ?? []).flatMap(
    (one) => one['certificate-location'] ?? [],
  )
  if (entityId === undefined || url === undefined || certificates.length === 0) {
    report.problem(
      `${key}.metadata-uri`,
      'SAML needs the metadata of the identity provider, or entity-id, singlesignon.url and verification.credentials instead',
    )
    return undefined
  }
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    report.problem(
      `${key}.singlesignon.url`,
      'must be an absolute address such as https://idp.example/sso',
    )
  }
  return { kind: 'configured', entityId, url, binding, certificates, key }
}

interface CredentialLocations {
  key: string
  privateKey: string
  certificate: string
}

function toPairs(
  pairs: readonly (readonly [privateKey: string | undefined, certificate: string | undefined])[],
  key: string,
  report: SettingsReport,
): CredentialLocations[] {
  return pairs.flatMap(([privateKey, certificate], index) => {
    if (privateKey !== undefined && certificate !== undefined)
      return [{ key: `${key}.${index}`, privateKey, certificate }]
    report.problem(`${key}.${index}`, 'a key pair needs a private key and a certificate')
    return []
  })
}

export function isAddress(location: string): boolean {
  return /^https?:\/\//i.test(location)
}
