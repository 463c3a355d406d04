/** Settings of the login by a header of a trusted proxy. */
import { z } from 'zod'
import type { SettingsReport } from '../../setting.ts'

export const HeaderKeys = z.strictObject({
  'header.enabled': z
    .boolean()
    .default(false)
    .describe('Take the user from the header `X-SPINNAKER-USER`, which a proxy in front must set; see `internal-proxies`.'),
  'header.serviceAccountCacheTimeoutMinutes': z
    .int()
    .min(0)
    .default(60)
    .describe('Minutes for which the names of service accounts are cached; their use is no login.'),
})
export type HeaderKeys = z.infer<typeof HeaderKeys>

const proxyKeys = ['server.tomcat.remoteip.internal-proxies', 'server.tomcat.internalProxies']

export type HeaderSettings = NonNullable<ReturnType<typeof toHeaderSettings>>

/** Undefined while the method is off. */
export function toHeaderSettings(keys: HeaderKeys, report: SettingsReport) {
  if (!keys['header.enabled']) return undefined
  const named = proxyKeys.some((key) => report.isSet(key))
  report.notice(
    'Warning: header.enabled lets every program that connects from ' +
      (named ? 'an address of internal-proxies' : 'a private address') +
      ' be any user. Nothing but the proxy may reach the listener, and the proxy has to replace X-SPINNAKER-USER in each request.' +
      (named ? '' : ' Name the addresses of the proxy in server.tomcat.remoteip.internal-proxies.'),
  )
  return { serviceAccountsMs: keys['header.serviceAccountCacheTimeoutMinutes'] * 60_000 }
}
