/** Login against a directory (LDAP, Active Directory). */
import type { LoginMethodType } from '../method-type.ts'
import { type LdapSettings, ldapKeys, toLdapSettings } from './settings.ts'

export const ldapMethod: LoginMethodType<LdapSettings> = {
  name: 'ldap',
  title: 'LDAP',
  kind: 'page',
  checksPasswords: true,
  keys: ldapKeys.keys,
  toSettings: toLdapSettings,
  describe: ({ servers }) =>
    `LDAP, form and HTTP Basic (${servers.map(({ url }) => url).join(', ')})`,
  async open(settings, context) {
    const [{ LdapSource }, { openPasswordLogin }] = await Promise.all([
      import('./ldap-source.ts'),
      import('../open-password-login.ts'),
    ])
    return openPasswordLogin(new LdapSource({ ...context, settings }), context)
  },
  async checks(settings, { timeouts, now }) {
    const { checkDirectory } = await import('@fairlead/base/directory/check-directory.ts')
    return checkDirectory(settings, { name: 'LDAP', key: 'ldap', asUser: true }, timeouts, now)
  },
  peers: ({ servers }) => servers.map(({ url }) => ({ url })),
}
