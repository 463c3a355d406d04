/** What an operator may set about the login: who is let in, and by which method. */
import { z } from 'zod'
import { type SettingsReport, withoutEffect } from '../setting.ts'
import { LaterMethodKeys, refuseLaterMethods } from './later-methods.ts'
import { LdapKeys, type LdapSettings, toLdapSettings } from './ldap/settings.ts'
import { OAuth2Keys } from './oauth2/setting-keys.ts'
import { type OAuth2Settings, toOAuth2Settings } from './oauth2/settings.ts'
import { SamlKeys, type SamlSettings, toSamlSettings } from './saml/settings.ts'

export const LoginKeys = z.strictObject({
  ...LaterMethodKeys.shape,
  ...LdapKeys.shape,
  ...OAuth2Keys.shape,
  ...SamlKeys.shape,
  'anonymous.enabled': z
    .boolean()
    .default(false)
    .describe('Serve everyone without login as the user `anonymous`, as Gate does when no login method is configured.'),
  'security.basicform.enabled': z
    .boolean()
    .optional()
    .describe('Login with a form or HTTP Basic. Default: on, unless another login or `anonymous.enabled` is configured.'),
  'fairlead.admin.user': z.string().min(1).default('admin').describe('Name of the administrator that the first start creates.'),
  'fairlead.admin.password': z
    .string()
    .min(1)
    .optional()
    .describe('Password of that administrator; best given in the environment. Default: generated and printed once.'),
  'spring.security.user.name': z.string().min(1).default('user').describe('Name of the one configured user.'),
  'spring.security.user.password': z
    .string()
    .min(1)
    .optional()
    .describe('Password of the one configured user. Default: there is no such user.'),
  'spring.security.user.roles': withoutEffect('The configured user has the role USER.'),
  'security.user.name': z.string().min(1).optional().describe('Older name of `spring.security.user.name`.'),
  'security.user.password': z.string().min(1).optional().describe('Older name of `spring.security.user.password`.'),
  'security.user.roles': withoutEffect('The configured user has the role USER.'),
  'security.user.role': withoutEffect('The configured user has the role USER.'),
  'security.webhooks.defaultAuthEnabled': z.boolean().default(false).describe('Webhooks need a login too.'),
  'security.basic.enabled': withoutEffect('Switch of early releases.'),
  'security.filter-order': withoutEffect('Order of filters in the Java framework.'),
  'security.debug': withoutEffect('Tracing of the Java framework.'),
})
export type LoginKeys = z.infer<typeof LoginKeys>

export interface LoginSettings {
  /** Everyone is served as the user `anonymous`; no login method is active then. */
  anonymous: boolean
  form: {
    enabled: boolean
    /** The one user of the configuration file, besides those of the user store. */
    configuredUser: { name: string; password: string } | undefined
  }
  oauth2: OAuth2Settings | undefined
  saml: SamlSettings | undefined
  ldap: LdapSettings | undefined
  /** The administrator that a start on an empty data directory creates; without password one is generated. */
  firstAdmin: { name: string; password: string | undefined }
  webhooksNeedLogin: boolean
}

export interface LoginSurroundings {
  /** Every service is embedded; in front of Spinnaker, a difference to Gate is worth a word. */
  readonly standalone: boolean
  /** Active profiles. */
  readonly profiles: readonly string[]
}

/** A login method that the configuration switches on, and the key that does. */
interface Chosen {
  method: string
  key: string
}

export function toLoginSettings(
  keys: LoginKeys,
  report: SettingsReport,
  { standalone, profiles }: LoginSurroundings,
): LoginSettings {
  const anonymous = keys['anonymous.enabled']
  const others = refuseLaterMethods(keys, report)
  const oauth2 = toOAuth2Settings(keys, report, { profiles })
  const saml = toSamlSettings(keys, report)
  const ldap = toLdapSettings(keys, report)
  const chosen: Chosen[] = [
    ...(oauth2 === undefined ? [] : [{ method: 'OAuth 2.0', key: oauth2.key }]),
    ...(saml === undefined ? [] : [{ method: 'SAML', key: 'saml.enabled' }]),
    ...(ldap === undefined ? [] : [{ method: 'LDAP', key: 'ldap.enabled' }]),
    ...(keys['security.basicform.enabled'] === true ? [{ method: 'form', key: 'security.basicform.enabled' }] : []),
  ]
  refuseSeveral(chosen, anonymous, report)
  const nobody = chosen.length === 0 && !others && !anonymous
  if (nobody && keys['security.basicform.enabled'] === false) {
    report.problem(
      'security.basicform.enabled',
      'nobody could log in: leave the key out, or set anonymous.enabled: true to serve everyone without login',
    )
  }
  if (anonymous) report.notice('Warning: anonymous.enabled serves everyone who reaches the listener, without login.')
  if (nobody && !standalone && !report.isSet('security.basicform.enabled')) {
    report.notice(
      'No login method is configured. Gate would serve everyone as the user anonymous; Fairlead asks for a login with the form. ' +
        'Set anonymous.enabled: true for the behaviour of Gate, or security.basicform.enabled: true to say that this is meant.',
    )
  }
  const password = keys['spring.security.user.password'] ?? keys['security.user.password']
  const name = keys['security.user.name'] ?? keys['spring.security.user.name']
  return {
    anonymous,
    form: {
      enabled: !anonymous && ![oauth2, saml, ldap].some(Boolean) && keys['security.basicform.enabled'] !== false,
      configuredUser: password === undefined ? undefined : { name, password },
    },
    oauth2,
    saml,
    ldap,
    firstAdmin: { name: keys['fairlead.admin.user'], password: keys['fairlead.admin.password'] },
    webhooksNeedLogin: keys['security.webhooks.defaultAuthEnabled'],
  }
}

/** A browser can be sent to one login page only, and to none when everyone is served. */
function refuseSeveral(chosen: readonly Chosen[], anonymous: boolean, report: SettingsReport): void {
  const [first, ...more] = chosen
  if (first === undefined) return
  if (anonymous) {
    const keys = chosen.map(({ key }) => key).join(', ')
    report.problem('anonymous.enabled', `anonymous access and ${keys} exclude each other; remove one of them`)
  }
  if (more.length > 0) {
    const names = chosen.map(({ method, key }) => `${method} (${key})`).join(' and ')
    report.problem(first.key, `only one way to log in with a browser can be active, and there are ${names}; keep one of them`)
  }
}
