/** Login by client certificate. */
import { createCheck } from '@fairlead/base/findings/finding.ts'
import { checkNameCase } from '../check-name-case.ts'
import type { LoginMethodType } from '../method-type.ts'
import { toX509Settings, type X509Settings, x509Keys } from './settings.ts'

export const x509Method: LoginMethodType<X509Settings> = {
  name: 'x509',
  title: 'client certificates',
  kind: 'certificate',
  keys: x509Keys.keys,
  toSettings: toX509Settings,
  describe: () => 'client certificates',
  async open(settings, context) {
    const { certificates: trust } = context
    if (trust === undefined)
      throw new Error('login by client certificate needs trusted authorities')
    const { X509Login } = await import('./x509-login.ts')
    return new X509Login({ ...context, settings, trust })
  },
  async checks(_settings, { names }) {
    return [
      createCheck('Client certificates', (report) => [checkNameCase(report, 'unknown', names)]),
    ]
  },
}
