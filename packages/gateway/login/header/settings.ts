/** Settings of the login by a header of a trusted proxy. */

import {
  off,
  type SettingsReport,
  setting,
  settings,
  whole,
} from '@fairlead/base/settings/setting.ts'
import { namesProxies } from '../../http/origin.ts'

export const headerKeys = settings({
  enabled: setting('header.enabled', off).describe(
    'Take the user from the header `X-SPINNAKER-USER`, which a proxy in front must set; see `internal-proxies`.',
  ),
  cacheMinutes: setting('header.serviceAccountCacheTimeoutMinutes', whole(0).default(60)).describe(
    'Minutes for which the names of service accounts are cached; their use is no login.',
  ),
})

export type HeaderSettings = NonNullable<ReturnType<typeof toHeaderSettings>>

export function toHeaderSettings(keys: object, report: SettingsReport) {
  const { enabled, cacheMinutes } = headerKeys.read(keys)
  if (!enabled) return undefined
  const named = namesProxies(report)
  report.notice(
    'Warning: header.enabled lets every program that connects from ' +
      (named ? 'an address of internal-proxies' : 'a private address') +
      ' be any user. Nothing but the proxy may reach the listener, and the proxy has to replace X-SPINNAKER-USER in each request.' +
      (named ? '' : ' Name the addresses of the proxy in server.tomcat.remoteip.internal-proxies.'),
  )
  return { key: 'header.enabled', serviceAccountsMs: cacheMinutes * 60_000 }
}
