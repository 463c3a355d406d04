/** Settings of the login against a directory (LDAP, Active Directory). */
import { z } from 'zod'
import { belowPrefix, directoryKeys, toDirectorySettings } from '../../directory/settings.ts'
import { off, type SettingsReport, withoutEffect } from '../../settings/setting.ts'

export const LdapKeys = z.strictObject({
  'ldap.enabled': off.describe('Login against a directory (LDAP), with a form or HTTP Basic.'),
  ...belowPrefix('ldap', directoryKeys),
  'ldap.managerDn': directoryKeys.managerDn.describe(
    'User for searches. Default: searches for users are anonymous, those for groups are made as the user.',
  ),
  'ldap.userSearchFilter': directoryKeys.userSearchFilter.describe(
    'Finds the entry of a user, such as `(sAMAccountName={0})`; tried after the pattern, if both are set.',
  ),
  'ldap.usernameAttribute': z
    .string()
    .regex(/^[A-Za-z][\w-]*$/, 'must be the name of an attribute, such as uid')
    .optional()
    .describe('Attribute with the user name to show. Default: the user name as typed.'),
  'security.authn.ldap.enabled': off.describe('Switch of installers; `ldap.enabled` decides.'),
  'security.authn.ldap': withoutEffect('Settings of installers; those below `ldap` count.'),
})
export type LdapKeys = z.infer<typeof LdapKeys>

export type LdapSettings = NonNullable<ReturnType<typeof toLdapSettings>>

/** Undefined when there is no login against a directory. */
export function toLdapSettings(keys: LdapKeys, report: SettingsReport) {
  if (!keys['ldap.enabled']) {
    if (keys['security.authn.ldap.enabled']) {
      report.problem('security.authn.ldap.enabled', 'Gate reads ldap.enabled: true and the settings below ldap; write them there')
    }
    return undefined
  }
  return { key: 'ldap.enabled', ...toDirectorySettings('ldap', keys, report), usernameAttribute: keys['ldap.usernameAttribute'] }
}
