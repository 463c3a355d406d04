/** Settings of the login against a directory (LDAP, Active Directory). */

import { directoryKeys, toDirectorySettings } from '@fairlead/base/directory/settings.ts'
import { off, type SettingsReport, setting, settings } from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'

export const ldapKeys = settings(
  {
    enabled: setting('ldap.enabled', off).describe(
      'Login against a directory (LDAP), with a form or HTTP Basic.',
    ),
    directory: directoryKeys('ldap', {
      managerDn:
        'User for searches. Default: searches for users are anonymous, those for groups are made as the user.',
      userSearchFilter:
        'Finds the entry of a user, such as `(sAMAccountName={0})`; tried after the pattern, if both are set.',
    }),
    usernameAttribute: setting(
      'ldap.usernameAttribute',
      z
        .string()
        .regex(/^[A-Za-z][\w-]*$/, 'must be the name of an attribute, such as uid')
        .optional(),
    ).describe('Attribute with the user name to show. Default: the user name as typed.'),
    olderForm: setting('security.authn.ldap.enabled', off).describe(
      'Switch of installers; `ldap.enabled` decides.',
    ),
  },
  { 'security.authn.ldap': 'Settings of installers; those below `ldap` count.' },
)

export type LdapSettings = NonNullable<ReturnType<typeof toLdapSettings>>

export function toLdapSettings(keys: object, report: SettingsReport) {
  const { enabled, olderForm, directory, usernameAttribute } = ldapKeys.read(keys)
  if (enabled)
    return {
      key: 'ldap.enabled',
      ...toDirectorySettings('ldap', directory, report),
      usernameAttribute,
    }
  if (olderForm) {
    report.problem(
      'security.authn.ldap.enabled',
      'Gate reads ldap.enabled: true and the settings below ldap; write them there',
    )
  }
  return undefined
}
