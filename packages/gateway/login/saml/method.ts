/** Login by SAML 2.0. */
import { type LoginMethodType, withOthers } from '../method-type.ts'
import { samlAddresses } from './addresses.ts'
import { isAddress, type SamlSettings, samlKeys, toSamlSettings } from './settings.ts'

export const samlMethod: LoginMethodType<SamlSettings> = {
  name: 'saml',
  title: 'SAML',
  kind: 'page',
  keys: samlKeys.keys,
  toSettings: toSamlSettings,
  describe: ({ registrations }) => `SAML (${registrations.map(({ id }) => id).join(', ')})`,
  async open(settings, context) {
    const { openSamlLogin } = await import('./open-saml-login.ts')
    return openSamlLogin(settings, context)
  },
  async checkFiles(settings, report) {
    const { checkSamlFiles } = await import('./open-saml-login.ts')
    await checkSamlFiles(settings, report)
  },
  async checks(settings, context) {
    const { checkSaml } = await import('./checks.ts')
    return checkSaml(settings, context)
  },
  peers: ({ registrations }) =>
    registrations.flatMap(({ identityProvider }) =>
      identityProvider.kind === 'metadata' && isAddress(identityProvider.location)
        ? [{ url: identityProvider.location, toleratedMs: 300_000 }]
        : [],
    ),
  addresses: ({ registrations, processingPath }, place) =>
    registrations.flatMap((registration) => {
      const { baseUrl } = place
      const { id } = registration
      const login = `SAML ${id}`
      const { entityId, consumerUrl, consumerUrls } = samlAddresses(registration, {
        ...place,
        processingPath,
      })
      const metadata = `${baseUrl}/saml/metadata?registrationId=${id}`
      return [
        { login, what: 'entity ID', url: entityId, needed: true },
        ...withOthers({ login, what: 'ACS URL', url: consumerUrl, needed: true }, [
          ...consumerUrls,
        ]),
        ...withOthers({ login, what: 'metadata', url: metadata, needed: true }, [
          `${baseUrl}/saml2/service-provider-metadata/${id}`,
        ]),
      ]
    }),
  returnTemplates: ({ registrations }) => registrations.map(({ consumerUrl }) => consumerUrl),
  async redisUses(redis, name, now) {
    const { createRedisAssertions, useAssertion } = await import('./used-assertions.ts')
    return [
      [
        'remember a SAML assertion',
        () => useAssertion(createRedisAssertions(redis, now), name, now() + 1000),
      ],
    ]
  },
}
