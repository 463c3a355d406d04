/** Login by Google's Identity-Aware Proxy. */
import { createCheck } from '@fairlead/base/findings/finding.ts'
import { checkNameCase } from '../check-name-case.ts'
import type { LoginMethodType } from '../method-type.ts'
import { type IapSettings, iapKeys, toIapSettings } from './settings.ts'

const subject = 'Identity-Aware Proxy'

export const iapMethod: LoginMethodType<IapSettings> = {
  name: 'iap',
  title: `the ${subject}`,
  kind: 'proxy',
  keys: iapKeys.keys,
  toSettings: toIapSettings,
  describe: () => subject,
  async open(settings, context) {
    const { IapLogin } = await import('./iap-login.ts')
    return new IapLogin({ ...context, settings })
  },
  async checks({ keysUrl, nameCase }, { names, timeouts }) {
    const { checkKeys } = await import('../oauth2/checks.ts')
    return [
      checkKeys(subject, keysUrl, timeouts),
      createCheck(subject, (report) => [checkNameCase(report, nameCase, names)]),
    ]
  },
  peers: ({ keysUrl, issuedSkewMs }) => [{ url: keysUrl, toleratedMs: issuedSkewMs }],
}
