/** Login at a provider of OAuth 2.0 or OpenID Connect. */
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import { fillAddress } from '../address-template.ts'
import { type LoginMethodType, withOthers } from '../method-type.ts'
import { oauth2Keys } from './setting-keys.ts'
import { type OAuth2Settings, toOAuth2Settings } from './settings.ts'

export const oauth2Method: LoginMethodType<OAuth2Settings> = {
  name: 'oauth2',
  title: 'OAuth 2.0',
  kind: 'page',
  keys: oauth2Keys.keys,
  toSettings: toOAuth2Settings,
  describe: ({ registrations }) => `OAuth 2.0 (${registrations.map(({ id }) => id).join(', ')})`,
  async open(settings, context) {
    const { openOAuth2 } = await import('./oauth2-login.ts')
    return openOAuth2(settings, context)
  },
  async checks(settings, context) {
    const { checkOAuth2 } = await import('./checks.ts')
    return checkOAuth2(settings, context)
  },
  peers: ({ registrations }) =>
    registrations.flatMap(({ issuerUri, endpoints }) => {
      const clock = issuerUri ?? endpoints.tokenUri
      return [issuerUri, ...Object.values(endpoints)]
        .filter((url) => url !== undefined)
        .map((url) => (url === clock ? { url, toleratedMs: 60_000 } : { url }))
    }),
  addresses: ({ registrations }, { baseUrl }) =>
    registrations.flatMap(({ id, redirectUri }) => {
      const url = fillAddress(redirectUri, { baseUrl, registrationId: id })
      return withOthers({ login: `OAuth 2.0 ${id}`, what: 'redirect URI', url, needed: true }, [
        `${baseUrl}/login`,
        baseUrl + pathTo`/login/oauth2/code/${id}`,
      ])
    }),
  returnTemplates: ({ registrations }) => registrations.map(({ redirectUri }) => redirectUri),
}
