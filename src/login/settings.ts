/** Settings of the login. */
import { z } from 'zod'
import type { OriginSettings } from '../http/origin.ts'
import type { ListenerSettings } from '../http/tls/settings.ts'
import { type SettingsReport, withoutEffect } from '../setting.ts'
import { findNameObjection, toUserKey } from '../user-name.ts'
import { HeaderKeys, toHeaderSettings } from './header/settings.ts'
import { IapKeys, toIapSettings } from './iap/settings.ts'
import { LdapKeys, toLdapSettings } from './ldap/settings.ts'
import { OAuth2Keys } from './oauth2/setting-keys.ts'
import { toOAuth2Settings } from './oauth2/settings.ts'
import { LoginPageKeys, toBrand } from './page-settings.ts'
import { SamlKeys } from './saml/setting-keys.ts'
import { toSamlSettings } from './saml/settings.ts'
import { ApiTokenKeys, toTokenSettings } from './tokens/settings.ts'
import { isX509Enabled, toX509Settings, X509Keys } from './x509/settings.ts'

/** A user who is refused at every login would be an error that is hard to find. */
const userName = z.string().check(({ value, issues }) => {
  const objection = findNameObjection(value)
  if (objection !== undefined) issues.push({ code: 'custom', input: value, message: `${objection}; choose another user name` })
})

export const LoginKeys = z.strictObject({
  ...ApiTokenKeys.shape,
  ...HeaderKeys.shape,
  ...IapKeys.shape,
  ...LdapKeys.shape,
  ...LoginPageKeys.shape,
  ...OAuth2Keys.shape,
  ...SamlKeys.shape,
  ...X509Keys.shape,
  'anonymous.enabled': z
    .boolean()
    .default(false)
    .describe('Serve all clients without login as the user `anonymous`, as Gate does when no login method is configured.'),
  'security.basicform.enabled': z
    .boolean()
    .optional()
    .describe('Login with a form or HTTP Basic. Default: on, unless another login or `anonymous.enabled` is configured.'),
  'login.caseInsensitiveNames': z
    .boolean()
    .optional()
    .describe(
      'Whether `mark` and `MARK` are one user (true), or names with upper-case letters are rejected (false). Default: one user at ' +
        'providers that are known to ignore case, rejected at others.',
    ),
  'fairlead.admin.user': z.string().min(1).default('admin').describe('Name of the administrator that the first start creates.'),
  'fairlead.admin.password': z
    .string()
    .min(1)
    .optional()
    .describe('Password of that administrator; best set in the environment. Default: generated and printed once.'),
  'spring.security.user.name': userName.default('user').describe('Name of the configured user.'),
  'spring.security.user.password': z
    .string()
    .min(1)
    .optional()
    .describe('Password of the configured user. Default: there is no such user.'),
  'spring.security.user.roles': withoutEffect('The configured user has the role USER.'),
  'security.user.name': userName.optional().describe('Older name of `spring.security.user.name`.'),
  'security.user.password': z.string().min(1).optional().describe('Older name of `spring.security.user.password`.'),
  'security.user.roles': withoutEffect('The configured user has the role USER.'),
  'security.user.role': withoutEffect('The configured user has the role USER.'),
  'security.authn.enabled': withoutEffect('Switch of installers.'),
  'security.authz': withoutEffect('Settings of installers; `services.fiat.enabled` decides.'),
  'security.webhooks.defaultAuthEnabled': z.boolean().default(false).describe('Webhooks need a login too.'),
  'security.basic.enabled': withoutEffect('Switch of early releases.'),
  'security.filter-order': withoutEffect('Order of filters in the Java framework.'),
  'security.debug': withoutEffect('Tracing of the Java framework.'),
})
export type LoginKeys = z.infer<typeof LoginKeys>

interface LoginSurroundings {
  /** Every service is embedded; in front of Spinnaker, a difference to Gate is worth a word. */
  readonly standalone: boolean
  /** Active profiles. */
  readonly profiles: readonly string[]
  readonly listeners: ListenerSettings
  readonly origin: OriginSettings
}

/** A login method that the configuration switches on, and the key that does. */
interface ActiveMethod {
  method: string
  key: string
}

export type LoginSettings = ReturnType<typeof toLoginSettings>

export function toLoginSettings(
  keys: LoginKeys,
  report: SettingsReport,
  { standalone, profiles, listeners, origin }: LoginSurroundings,
) {
  const anonymous = keys['anonymous.enabled']
  const oauth2 = toOAuth2Settings(keys, report, { profiles })
  const saml = toSamlSettings(keys, report)
  const ldap = toLdapSettings(keys, report)
  const chosen: ActiveMethod[] = [
    ...(oauth2 === undefined ? [] : [{ method: 'OAuth 2.0', key: oauth2.key }]),
    ...(saml === undefined ? [] : [{ method: 'SAML', key: 'saml.enabled' }]),
    ...(ldap === undefined ? [] : [{ method: 'LDAP', key: 'ldap.enabled' }]),
    ...(keys['security.basicform.enabled'] === true ? [{ method: 'form', key: 'security.basicform.enabled' }] : []),
  ]
  const header = toHeaderSettings(keys, report)
  const iap = toIapSettings(keys, report)
  const inFront: ActiveMethod[] = [
    ...(header === undefined ? [] : [{ method: 'a trusted header', key: 'header.enabled' }]),
    ...(iap === undefined ? [] : [{ method: 'the Identity-Aware Proxy', key: 'google.iap.enabled' }]),
  ]
  refuseSeveral(chosen, inFront, anonymous, report)
  const others = inFront.length > 0
  const x509 = toX509Settings(keys, report, { listeners, origin, companion: chosen.length > 0 || others })
  refuseUnguardedPorts(anonymous, isX509Enabled(keys), listeners, report)
  const isClosed = chosen.length === 0 && !others && !anonymous && !isX509Enabled(keys)
  if (isClosed && keys['security.basicform.enabled'] === false) {
    report.problem(
      'security.basicform.enabled',
      'no user could log in: leave the key out, or set anonymous.enabled: true to serve all clients without login',
    )
  }
  if (anonymous) report.notice('Warning: anonymous.enabled serves every client that reaches the listener, without login.')
  if (isClosed && !standalone && !report.isSet('security.basicform.enabled')) {
    report.notice(
      'No login method is configured. Gate would serve all clients as the user anonymous; Fairlead asks for a login with the form. ' +
        'Set anonymous.enabled: true for the behaviour of Gate, or security.basicform.enabled: true to say that this is meant.',
    )
  }
  const formEnabled = keys['security.basicform.enabled'] ?? (!anonymous && ![oauth2, saml, ldap, header, iap, x509].some(Boolean))
  const password = keys['spring.security.user.password'] ?? keys['security.user.password']
  const name = keys['security.user.name'] ?? keys['spring.security.user.name']
  if (password !== undefined && keys['login.caseInsensitiveNames'] === false && toUserKey(name) !== name) {
    const key = keys['security.user.name'] === undefined ? 'spring.security.user.name' : 'security.user.name'
    report.problem(key, 'has upper-case letters, which login.caseInsensitiveNames: false refuses')
  }
  if (keys['fairlead.admin.password'] !== undefined && (!formEnabled || password !== undefined)) {
    const reason = password === undefined ? 'there is no login form' : 'spring.security.user is the one user'
    report.notice(`Ignored, because ${reason}: fairlead.admin.password.`)
  }
  return {
    anonymous,
    /** Undefined: true for identity providers that are known to ignore case, false for others. */
    caseInsensitiveNames: keys['login.caseInsensitiveNames'],
    form: {
      enabled: formEnabled,
      /** The one user of the configuration file, besides those of the user store. */
      configuredUser: password === undefined ? undefined : { name, password },
    },
    oauth2,
    saml,
    ldap,
    page: toBrand(keys, report),
    header,
    iap,
    x509,
    tokens: toTokenSettings(keys, report, { standalone, anonymous }),
    /** Whether the extra port without TLS is guarded like the main one. */
    legacyPortLogin: listeners.legacyLogin,
    /** The administrator that a start on an empty data directory creates; without password, one is generated. */
    firstAdmin: { name: keys['fairlead.admin.user'], password: keys['fairlead.admin.password'] },
    webhooksNeedLogin: keys['security.webhooks.defaultAuthEnabled'],
  }
}

/** A port without a login has to be meant, and a port for certificates needs the login that reads them. */
function refuseUnguardedPorts(anonymous: boolean, x509: boolean, listeners: ListenerSettings, report: SettingsReport): void {
  if (anonymous && x509) {
    report.problem('anonymous.enabled', 'anonymous access and x509.enabled exclude each other; remove one of them')
  }
  if (!anonymous && !x509 && listeners.apiPort !== undefined) {
    report.problem('default.apiPort', 'this port is for client certificates: set x509.enabled: true, or remove the key')
  }
  if (!anonymous && !x509 && listeners.legacyPort !== undefined && !listeners.legacyLogin) {
    report.notice('Warning: default.legacyServerPortAuth: false serves every client that reaches the extra port, without login.')
  }
}

/** At most one login page and one login by a proxy can be active, and none of them with anonymous access. */
function refuseSeveral(
  pages: readonly ActiveMethod[],
  inFront: readonly ActiveMethod[],
  anonymous: boolean,
  report: SettingsReport,
): void {
  if (anonymous && pages.length + inFront.length > 0) {
    const keys = [...pages, ...inFront].map(({ key }) => key).join(', ')
    report.problem('anonymous.enabled', `anonymous access and ${keys} exclude each other; remove one of them`)
  }
  for (const [what, chosen] of [
    ['way to log in with a browser', pages],
    ['login by something in front', inFront],
  ] as const) {
    const [first, ...more] = chosen
    if (first === undefined || more.length === 0) continue
    const names = chosen.map(({ method, key }) => `${method} (${key})`).join(' and ')
    report.problem(first.key, `only one ${what} can be active, and there are ${names}; keep one of them`)
  }
}
