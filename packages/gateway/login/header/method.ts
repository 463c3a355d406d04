/** Login by a header of a trusted proxy. */
import { createCheck } from '@fairlead/base/findings/finding.ts'
import { checkNameCase } from '../check-name-case.ts'
import type { LoginMethodType } from '../method-type.ts'
import { type HeaderSettings, headerKeys, toHeaderSettings } from './settings.ts'

export const headerMethod: LoginMethodType<HeaderSettings> = {
  name: 'header',
  title: 'a trusted header',
  kind: 'proxy',
  keys: headerKeys.keys,
  toSettings: toHeaderSettings,
  describe: () => 'trusted header',
  async open(settings, context) {
    const { HeaderLogin } = await import('./header-login.ts')
    return new HeaderLogin({ ...context, settings })
  },
  async checks(_settings, { names }) {
    return [createCheck('Trusted header', (report) => [checkNameCase(report, 'unknown', names)])]
  },
}
