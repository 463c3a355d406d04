/** Login with a form or HTTP Basic, for users whom Fairlead keeps or the configuration names. */
import type { LoginMethodType } from '../method-type.ts'
import { type FormSettings, formKeys, toFormSettings } from './settings.ts'

export const formMethod: LoginMethodType<FormSettings> = {
  name: 'form',
  title: 'form',
  kind: 'page',
  checksPasswords: true,
  keys: formKeys.keys,
  toSettings: toFormSettings,
  describe: () => 'form and HTTP Basic',
  async open(settings, context) {
    const [{ openFormSource }, { openPasswordLogin }] = await Promise.all([
      import('./form-source.ts'),
      import('../open-password-login.ts'),
    ])
    return openPasswordLogin(await openFormSource(settings, context), context)
  },
}
