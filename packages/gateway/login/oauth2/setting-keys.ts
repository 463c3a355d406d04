/** Keys of OAuth 2.0 and OpenID Connect, in both generations of Gate. */

import {
  boundedTimeout,
  milliseconds,
  on,
  optionalFlag,
  optionalText,
  optionalTexts,
  type SettingsOf,
  setting,
  settings,
  texts,
  withoutEffect,
} from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'

const text = optionalText

/** Kept to the letter: a slash at the end is part of an issuer's name. */
const address = z
  .string()
  .refine(
    (value) => /^https?:\/\/[^/\s\\][^\s\\]*$/i.test(value) && URL.canParse(value),
    'must be an absolute address such as https://idp.example/token',
  )
  .meta({ type: 'address' })
  .optional()

const words = optionalTexts

/** A name in the provider's answer. Unlike elsewhere, an empty text says something: the field is not mapped. */
function attribute(description: string) {
  return z
    .unknown()
    .transform((value) => (value === undefined || value === null ? undefined : String(value)))
    .optional()
    .meta({ description, type: 'text' })
}

const MappingKeys = z.strictObject({
  username: attribute(
    'Attribute with the user name. Default: `email`. Nested attributes are written with dots.',
  ),
  email: attribute('Attribute with the e-mail address. Default: `email`. An empty text: none.'),
  firstName: attribute('Attribute with the first name. Default: `given_name`.'),
  lastName: attribute('Attribute with the last name. Default: `family_name`.'),
  serviceAccountEmail: attribute(
    'Attribute with the name of a service account. Default: `client_email`.',
  ),
  roles: attribute(
    'Attribute with the roles: a list, or a text separated by commas or blanks. Default: none.',
  ),
})
export type WrittenMapping = z.infer<typeof MappingKeys>

const RequirementKeys = z
  .record(z.string(), z.string())
  .default({})
  .describe(
    'Attributes that a user must have, each with its exact value, or with a regular expression `/…/` for the whole value.',
  )

const OrganizationKeys = z.strictObject({
  type: optionalText.describe('`github`, the only kind of requirement.'),
  organization: text.describe('GitHub organisation of which users must be public members.'),
})

const RegistrationKeys = z.strictObject({
  'client-id': text.describe('Identifier of the gateway at the provider; switches this method on.'),
  'client-secret': text.describe(
    'Secret of the gateway at the provider; best set in the environment.',
  ),
  'client-name': text.describe('Label on the page that offers several registrations.'),
  provider: text.describe('Provider block or preset. Default: the name of the registration.'),
  scope: words.describe(
    'Requested scopes, separated by commas or blanks. Default: those of the preset.',
  ),
  'redirect-uri': text.describe(
    'Redirect address; may contain `{baseUrl}` and its parts. Default: `{baseUrl}/login/oauth2/code/{registrationId}`.',
  ),
  'redirect-uri-template': text.describe('The older name of `redirect-uri`.'),
  'client-authentication-method': text.describe(
    'client_secret_basic (default), client_secret_post, client_secret_jwt, private_key_jwt or none.',
  ),
  'authorization-grant-type': text.describe('authorization_code, the only value.'),
  'private-key-location': text.describe(
    'PEM file with the key of `private_key_jwt`: RSA, or P-256.',
  ),
  'private-key-id': text.describe('Name of that key at the provider.'),
  pkce: on.describe('Bind each login to its browser with PKCE.'),
  'provider-requirements': OrganizationKeys.optional(),
})
export type RegistrationKeys = z.infer<typeof RegistrationKeys>

const ProviderKeys = z.strictObject({
  'issuer-uri': address.describe(
    'Issuer; the rest comes from its discovery document, and its tokens must name it.',
  ),
  'authorization-uri': address.describe('Authorization endpoint. A query in it is kept.'),
  'token-uri': address.describe('Token endpoint.'),
  'user-info-uri': address.describe('User-info endpoint.'),
  'user-info-authentication-method': text.describe(
    'How the access token is sent there: header (default), form or query.',
  ),
  'user-name-attribute': withoutEffect('The mapping chooses the attribute that names the user.'),
  'jwk-set-uri': address.describe('Keys that sign ID tokens.'),
})

/** What stood below `security.oauth2` in early releases, and still does below `security.authn.oauth2` in installers' files. */
const OlderKeys = z.strictObject({
  enabled: optionalFlag.describe('`false` switches this section off.'),
  provider: text.describe('Preset: GOOGLE, GITHUB, AZURE, ORACLE, or OTHER without preset.'),
  client: z
    .strictObject({
      clientId: text.describe('Older name of `client-id`; switches this method on.'),
      clientSecret: text.describe('Older name of `client-secret`.'),
      scope: words.describe('Requested scopes, separated by commas or blanks.'),
      userAuthorizationUri: address.describe('Older name of `authorization-uri`.'),
      accessTokenUri: address.describe('Older name of `token-uri`.'),
      preEstablishedRedirectUri: address.describe('Redirect address. Default: `{baseUrl}/login`.'),
      useCurrentUri: optionalFlag.describe(
        'Accepted; `preEstablishedRedirectUri` always overrides it.',
      ),
      clientAuthenticationScheme: text.describe('header (default), form, query or none.'),
      authenticationScheme: text.describe(
        'How the access token is sent to the user-info endpoint: header (default), form or query.',
      ),
      tokenName: z
        .string()
        .min(1)
        .default('access_token')
        .describe('Name of the access token in a form or query.'),
      pkce: on.describe('Bind each login to its browser with PKCE.'),
      grantType: withoutEffect('Is always authorization_code.'),
      registeredRedirectUri: withoutEffect('Known to the provider.'),
      id: withoutEffect('Name of the client in the Java framework.'),
    })
    .optional(),
  resource: z
    .strictObject({
      userInfoUri: address.describe('Older name of `user-info-uri`.'),
      tokenType: z
        .string()
        .regex(/^[\w-]+$/, 'must be a word')
        .default('Bearer')
        .describe('Word before the access token in the Authorization header.'),
      preferTokenInfo: withoutEffect('The user-info address is always asked.'),
      tokenInfoUri: withoutEffect('The user-info address is always asked.'),
      id: withoutEffect('Name of the resource in the Java framework.'),
      serviceId: withoutEffect('Name of the resource in the Java framework.'),
      filterOrder: withoutEffect('Order of filters in the Java framework.'),
    })
    .optional(),
  userInfoMapping: MappingKeys.optional(),
  userInfoRequirements: RequirementKeys,
  providerRequirements: OrganizationKeys.optional(),
  sso: z.strictObject({ loginPath: text.describe('/login, the only value.') }).optional(),
})
export type OlderKeys = z.infer<typeof OlderKeys>

const SameKeys = OlderKeys.optional().meta({
  description:
    'The same parts as `security.oauth2`, as installers and the earliest releases write them.',
  sameAs: 'security.oauth2',
})

export const registrationKey = 'spring.security.oauth2.client.registration'
export const audienceKey = 'security.oauth2.external-auth-token-filter.audience'
const timeout = milliseconds.default(5000).transform(boundedTimeout)

export const oauth2Keys = settings(
  {
    registrations: setting(
      registrationKey,
      z.record(z.string(), RegistrationKeys).default({}),
    ).describe(
      'Login by OAuth 2.0 or OpenID Connect: the gateway as a client, by a name of your choice.',
    ),
    mapping: setting(`${registrationKey}.userInfoMapping`, MappingKeys.optional()).describe(
      'Which attributes of the provider become which fields of a user.',
    ),
    requirements: setting(`${registrationKey}.userInfoRequirements`, RequirementKeys),
    providers: setting(
      'spring.security.oauth2.client.provider',
      z.record(z.string(), ProviderKeys).default({}),
    ).describe('Providers by name; a preset needs only what differs.'),
    'security.oauth2': setting('security.oauth2', OlderKeys.optional()).describe(
      'Login by OAuth 2.0 or OpenID Connect in the spelling of early releases.',
    ),
    connectTimeoutMs: setting(
      'security.oauth2.external-auth-token-filter.connect-timeout-ms',
      timeout,
    ).describe('Milliseconds to wait for a connection to the provider; 0: a minute.'),
    readTimeoutMs: setting(
      'security.oauth2.external-auth-token-filter.read-timeout-ms',
      timeout,
    ).describe('Milliseconds to wait for a response of the provider; 0: a minute.'),
    audiences: setting(audienceKey, texts).describe(
      'A bearer token must be a JWT of the issuer for one of these audiences. Default: any token that the user-info endpoint accepts.',
    ),
    'security.authn.oauth2': setting('security.authn.oauth2', SameKeys),
    'spring.oauth2': setting('spring.oauth2', SameKeys),
    tenants: {
      azureTenantId: setting('azureTenantId', text).describe(
        'Tenant of the preset AZURE of early releases.',
      ),
      idcsTenantId: setting('idcsTenantId', text).describe('Tenant of the preset ORACLE.'),
    },
  },
  {
    'spring.security.oauth2.resourceserver': 'Bearer tokens are checked by the first registration.',
  },
)
export type OAuth2Values = SettingsOf<typeof oauth2Keys>
