/** Settings of the login with a form, for users whom Fairlead keeps or the configuration names. */

import { findNameObjection, toUserKey } from '@fairlead/base/names/user-name.ts'
import {
  optionalFlag,
  optionalText,
  type SettingsOf,
  type SettingsReport,
  setting,
  settings,
} from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'
import type { LoginSurroundings } from '../method-type.ts'

/** A user who is refused at every login would be an error that is hard to find. */
const userName = z.string().check(({ value, issues }) => {
  const objection = findNameObjection(value)
  if (objection !== undefined)
    issues.push({ code: 'custom', input: value, message: `${objection}; choose another user name` })
})

const formKey = 'security.basicform.enabled'

export const formKeys = settings(
  {
    wanted: setting(formKey, optionalFlag).describe(
      'Login with a form or HTTP Basic. Default: on, unless another login or `anonymous.enabled` is configured.',
    ),
    firstAdmin: {
      name: setting('fairlead.admin.user', z.string().min(1).default('admin')).describe(
        'Name of the administrator that the first start creates.',
      ),
      password: setting('fairlead.admin.password', optionalText).describe(
        'Password of that administrator; best set in the environment. Default: generated and printed once.',
      ),
    },
    user: {
      name: setting('spring.security.user.name', userName.default('user')).describe(
        'Name of the configured user.',
      ),
      password: setting('spring.security.user.password', optionalText).describe(
        'Password of the configured user. Default: there is no such user.',
      ),
    },
    olderUser: {
      name: setting('security.user.name', userName.optional()).describe(
        'Older name of `spring.security.user.name`.',
      ),
      password: setting('security.user.password', optionalText).describe(
        'Older name of `spring.security.user.password`.',
      ),
    },
  },
  {
    'spring.security.user.roles': 'The configured user has the role USER.',
    'security.user.roles': 'The configured user has the role USER.',
    'security.user.role': 'The configured user has the role USER.',
  },
)
type FormValues = SettingsOf<typeof formKeys>

export type FormSettings = NonNullable<ReturnType<typeof toFormSettings>>

export function toFormSettings(
  keys: object,
  report: SettingsReport,
  surroundings: LoginSurroundings,
) {
  const values = formKeys.read(keys)
  const { firstAdmin } = values
  const isEnabled = checkSwitch(values, report, surroundings)
  const configuredUser = toConfiguredUser(values, report, surroundings)
  if (firstAdmin.password !== undefined && (!isEnabled || configuredUser !== undefined)) {
    const reason =
      configuredUser === undefined
        ? 'there is no login form'
        : 'spring.security.user is the one user'
    report.notice(`Ignored, because ${reason}: fairlead.admin.password.`)
  }
  if (!isEnabled) return undefined
  if (surroundings.sharesRedis && configuredUser === undefined) {
    report.notice(
      'Sessions are shared by Redis, users of the form are not: they live in the data directory of each replica. ' +
        'Several replicas need spring.security.user, a directory or an identity provider.',
    )
  }
  return {
    key: formKey,
    configuredUser,
    /** The administrator that a start on an empty data directory creates; without password, one is generated. */
    firstAdmin,
  }
}

function checkSwitch(
  { wanted }: FormValues,
  report: SettingsReport,
  surroundings: LoginSurroundings,
): boolean {
  const isNeeded = !surroundings.isFollower && !surroundings.anonymous
  if (isNeeded && wanted === false) {
    report.problem(
      formKey,
      'no user could log in: leave the key out, or set anonymous.enabled: true to serve all clients without login',
    )
  }
  if (isNeeded && !surroundings.standalone && !report.isSet(formKey)) {
    report.notice(
      'No login method is configured. Gate would serve all clients as the user anonymous; Fairlead asks for a login with the form. ' +
        'Set anonymous.enabled: true for the behaviour of Gate, or security.basicform.enabled: true to say that this is meant.',
    )
  }
  return wanted ?? isNeeded
}

function toConfiguredUser(
  { user, olderUser }: FormValues,
  report: SettingsReport,
  { caseInsensitiveNames }: LoginSurroundings,
): { name: string; password: string } | undefined {
  const password = user.password ?? olderUser.password
  if (password === undefined) return undefined
  const name = olderUser.name ?? user.name
  if (caseInsensitiveNames === false && toUserKey(name) !== name) {
    const key = olderUser.name === undefined ? 'spring.security.user.name' : 'security.user.name'
    report.problem(key, 'has upper-case letters, which login.caseInsensitiveNames: false refuses')
  }
  return { name, password }
}
