/** Settings of the login: its methods, and what is common to them. */

import {
  keysOf,
  off,
  optionalFlag,
  type SettingsReport,
  setting,
  settings,
} from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'
import type {
  LoginMethodType,
  LoginSurroundings,
  MethodSettings,
  Peer,
  PublicPlace,
  RegisteredAddress,
} from './method-type.ts'
import { loginMethods } from './methods.ts'
import { pageKeys, toBrand } from './page-settings.ts'
import { tokenKeys, toTokenSettings } from './tokens/settings.ts'

const commonKeys = settings(
  {
    page: pageKeys,
    anonymous: setting('anonymous.enabled', off).describe(
      'Serve all clients without login as the user `anonymous`, as Gate does when no login method is configured.',
    ),
    /** Undefined: true for identity providers that are known to ignore case, false for others. */
    caseInsensitiveNames: setting('login.caseInsensitiveNames', optionalFlag).describe(
      'Whether `mark` and `MARK` are one user (true), or names with upper-case letters are rejected (false). Default: one user at ' +
        'providers that are known to ignore case, rejected at others.',
    ),
    webhooksNeedLogin: setting('security.webhooks.defaultAuthEnabled', off).describe(
      'Webhooks need a login too.',
    ),
  },
  {
    'security.authn.enabled': 'Switch of installers.',
    'security.apiSecurity':
      'Settings of installers; `http.publicUrl`, `cors.allowed-origins-pattern` and `server.ssl` decide.',
    'security.uiSecurity': 'Settings of installers; `services.deck.baseUrl` decides.',
    'security.authz': 'Settings of installers; `services.fiat.enabled` decides.',
    'security.basic.enabled': 'Switch of early releases.',
    'security.filter-order': 'Order of filters in the Java framework.',
    'security.debug': 'Tracing of the Java framework.',
  },
)

export const LoginKeys = z.strictObject({
  ...keysOf(loginMethods),
  ...tokenKeys.keys.shape,
  ...commonKeys.keys.shape,
})

interface ActiveMethod {
  readonly type: LoginMethodType
  readonly settings: MethodSettings
}

export type LoginSettings = ReturnType<typeof toLoginSettings>

export function toLoginSettings(
  keys: object,
  report: SettingsReport,
  surroundings: Omit<LoginSurroundings, 'anonymous' | 'caseInsensitiveNames' | 'isFollower'>,
) {
  const { page, ...common } = commonKeys.read(keys)
  const { anonymous, caseInsensitiveNames } = common
  const { standalone, listeners } = surroundings
  if (anonymous)
    report.notice(
      'Warning: anonymous.enabled serves every client that reaches the listener, without login.',
    )
  const methods: ActiveMethod[] = []
  for (const type of loginMethods) {
    const isFollower = methods.length > 0
    const settings = type.toSettings(keys, report, {
      ...surroundings,
      anonymous,
      caseInsensitiveNames,
      isFollower,
    })
    if (settings !== undefined) methods.push({ type, settings })
  }
  refuseSeveral(methods, anonymous, report)
  if (!anonymous && !methods.some(({ type }) => type.kind === 'certificate'))
    refuseUnguardedPorts(listeners, report)
  return {
    ...common,
    methods,
    page: toBrand(page, report),
    tokens: toTokenSettings(tokenKeys.read(keys), report, { standalone, anonymous }),
    legacyPortLogin: listeners.legacyLogin,
  }
}

export function methodSettingsOf<Settings extends MethodSettings>(
  { methods }: Pick<LoginSettings, 'methods'>,
  type: LoginMethodType<Settings>,
): Settings | undefined {
  return methods.find(({ type: { name } }) => name === type.name)?.settings as Settings | undefined
}

export function listAddresses(
  { methods }: Pick<LoginSettings, 'methods'>,
  place: PublicPlace,
): RegisteredAddress[] {
  return methods.flatMap(({ type, settings }) => type.addresses?.(settings, place) ?? [])
}

export function listPeers({ methods }: Pick<LoginSettings, 'methods'>): Peer[] {
  return methods.flatMap(({ type, settings }) => type.peers?.(settings) ?? [])
}

/** A port for certificates needs the login that reads them, and a port without a login has to be meant. */
function refuseUnguardedPorts(
  { apiPort, legacyPort, legacyLogin }: LoginSurroundings['listeners'],
  report: SettingsReport,
): void {
  if (apiPort !== undefined) {
    report.problem(
      'default.apiPort',
      'this port is for client certificates: set x509.enabled: true, or remove the key',
    )
  }
  if (legacyPort !== undefined && !legacyLogin) {
    report.notice(
      'Warning: default.legacyServerPortAuth: false serves every client that reaches the extra port, without login.',
    )
  }
}

/** At most one login page and one login by a proxy can be active, and no method with anonymous access. */
function refuseSeveral(
  methods: readonly ActiveMethod[],
  anonymous: boolean,
  report: SettingsReport,
): void {
  if (anonymous && methods.length > 0) {
    const keys = methods.map(({ settings }) => settings.key).join(', ')
    report.problem(
      'anonymous.enabled',
      `anonymous access and ${keys} exclude each other; remove one of them`,
    )
  }
  for (const [what, kind] of [
    ['way to log in with a browser', 'page'],
    ['login by something in front', 'proxy'],
  ] as const) {
    const chosen = methods.filter(({ type }) => type.kind === kind)
    const [first, ...more] = chosen
    if (first === undefined || more.length === 0) continue
    const names = chosen
      .map(({ type, settings }) => `${type.title} (${settings.key})`)
      .join(' and ')
    report.problem(
      first.settings.key,
      `only one ${what} can be active, and there are ${names}; keep one of them`,
    )
  }
}
