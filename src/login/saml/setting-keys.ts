/** Keys of SAML, in all three generations of Gate and Fairlead's own. */
import { z } from 'zod'
import { duration, off, on, optionalFlag, optionalText, whole, withoutEffect, word } from '../../settings/setting.ts'

const location = (what: string) => optionalText.describe(`${what} A path or a \`file:\` address.`)

const Credential = z.strictObject({
  'private-key-location': location('Private key in PEM.'),
  'certificate-location': location('Its certificate in PEM.'),
})
export const KeyPairs = z.strictObject({ credentials: z.array(Credential).default([]).describe('Key pairs.') }).optional()

const AssertingParty = z
  .strictObject({
    'metadata-uri': optionalText.describe('Metadata: an address, a file, or the XML itself.'),
    'entity-id': optionalText.describe('Name of the identity provider.'),
    singlesignon: z
      .strictObject({
        url: optionalText.describe('Where logins start.'),
        binding: word(['redirect', 'post']).optional().describe('How requests get there.'),
        'sign-request': optionalFlag.describe('Whether requests are signed. Default: as the metadata requests.'),
      })
      .optional(),
    singlelogout: withoutEffect('Logging out here does not log out at the identity provider.'),
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

const RegistrationKeys = z.strictObject({
  'entity-id': optionalText.describe('Entity ID of Fairlead at the identity provider. May contain `{baseUrl}` and its parts.'),
  acs: z
    .strictObject({
      location: optionalText.describe('Address for responses. May contain `{baseUrl}` and `{registrationId}`.'),
      binding: word(['post']).optional().describe('Binding of responses.'),
    })
    .optional(),
  'name-id-format': optionalText.describe('Requested NameID format.'),
  signing: KeyPairs,
  decryption: KeyPairs,
  singlelogout: withoutEffect('Logging out here does not log out at the identity provider.'),
  assertingparty: AssertingParty,
  identityprovider: AssertingParty,
})
export type SamlRegistrationKeys = z.infer<typeof RegistrationKeys>

export const SamlKeys = z.strictObject({
  'saml.enabled': off.describe('Login by SAML 2.0.'),
  'saml.metadataUrl': optionalText.describe('Metadata of the identity provider: an http(s) address, a file, or the XML itself.'),
  'saml.metadataRefresh': duration('s')
    .default(900_000)
    .describe('Interval between two reads of the metadata (default 15m). While that fails, the last valid copy applies.'),
  'saml.issuerId': optionalText.describe(
    'Name of this gateway at the identity provider (entity ID). Default: `{baseUrl}/saml2/metadata`.',
  ),
  'saml.keyStore': optionalText.describe('PKCS#12 or PEM file with a key pair that decrypts assertions and signs requests.'),
  'saml.keyStorePassword': z.string().default('').describe('Password of the key store.'),
  'saml.keyStoreAliasName': optionalText.describe('Alias of the key pair in the key store. Default: the first.'),
  'saml.keyStoreType': withoutEffect('Found out from the file: PKCS#12 or PEM.'),
  'saml.signRequests': optionalFlag.describe('Sign requests. Default: if the metadata asks for it.'),
  'saml.signingCredentials': z
    .array(
      z.strictObject({ privateKeyLocation: location('Private key in PEM.'), certificateLocation: location('Its certificate.') }),
    )
    .default([])
    .describe('Key pairs for signing requests; the first one is used.'),
  'saml.signatureDigest': z
    .string()
    .transform((text) => text.replaceAll('-', '').toUpperCase())
    .pipe(z.enum(['SHA1', 'SHA256', 'SHA384', 'SHA512']))
    .optional()
    .meta({
      description: 'Digest of signed requests (default SHA256). SHA1 also accepts responses signed with SHA-1.',
      type: 'SHA1, SHA256, SHA384 or SHA512',
    }),
  'saml.registrationId': z
    .string()
    .regex(/^[\w.-]+$/, 'must consist of letters, digits, dots, hyphens and underscores')
    .default('SSO')
    .describe('Name of the registration; part of addresses.'),
  'saml.loginProcessingUrl': z
    .string()
    .startsWith('/')
    .default('/saml/{registrationId}')
    .describe('Path that accepts responses, in addition to all paths that Gate has used.'),
  'saml.redirectProtocol': z
    .enum(['http', 'https'])
    .default('https')
    .describe('Scheme of the address for responses, with `saml.redirectHostname`.'),
  'saml.redirectHostname': z
    .string()
    .regex(/^[^/?#\s@]+$/, 'must be a host name, perhaps with a port')
    .optional()
    .describe('Host and port of the address for responses. Default: those of the request.'),
  'saml.redirectBasePath': z
    .string()
    .startsWith('/')
    .default('/')
    .describe('Path in front of `/saml/SSO`, with `saml.redirectHostname`.'),
  'saml.maxAuthenticationAge': whole(1)
    .optional()
    .describe('Seconds after which users must authenticate again at the identity provider. Default: no limit.'),
  'saml.idpInitiated.enabled': on.describe('Accept logins that start at the identity provider, from its portal of applications.'),
  'saml.idpInitiated.relayStates': z
    .array(z.string().min(1))
    .default([])
    .describe('Allowed RelayState values: pages of the web UI to which such a login may lead. Others lead to the start page.'),
  'saml.requiredRoles': z.array(z.string().min(1)).default([]).describe('Users need one of these roles to log in.'),
  'saml.sortRoles': off.describe('Sort roles by name.'),
  'saml.forceLowercaseRoles': on.describe('Write roles in lower case.'),
  'saml.userAttributeMapping.firstName': z.string().default('User.FirstName').describe('Attribute with the first name.'),
  'saml.userAttributeMapping.lastName': z.string().default('User.LastName').describe('Attribute with the last name.'),
  'saml.userAttributeMapping.roles': z.string().default('memberOf').describe('Attribute with the roles.'),
  'saml.userAttributeMapping.rolesDelimiter': z
    .string()
    .min(1)
    .default(';')
    .describe('Regular expression between roles in one value. With `(?!)`, each value is one role.'),
  'saml.userAttributeMapping.username': optionalText.describe('Attribute with the user name. Default: NameID.'),
  'saml.userAttributeMapping.email': optionalText.describe('Attribute with the e-mail address. Default: NameID.'),
  'security.authn.saml.enabled': off.describe('Form of installers; `saml.enabled` decides.'),
  'security.authn.saml': withoutEffect('Form of installers; the keys of `saml` decide.'),
  'spring.security.saml2.relyingparty.registration': z
    .record(z.string(), RegistrationKeys)
    .default({})
    .describe('Registrations of the newest releases, by name; their values override `saml.*`.'),
})
export type SamlKeys = z.infer<typeof SamlKeys>
