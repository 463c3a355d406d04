/** Settings of servers of Jenkins, with the keys of igor. */

import {
  httpAddress,
  off,
  optionalText,
  type SettingsReport,
  setting,
  settings,
  withoutEffect,
} from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'
import type { BuildServerDeclaration } from '../build-server.ts'
import { type HostSettings, hostKeys, toHosts } from '../remote/host-settings.ts'

const Master = z.strictObject({
  ...hostKeys,
  address: httpAddress.describe('Address of Jenkins.'),
  username: optionalText.describe('User of Jenkins.'),
  password: optionalText.describe('API token of the user, or the password.'),
  token: optionalText.describe(
    'The same as `password` beside a user; without one, a token for `Authorization: Bearer`.',
  ),
  csrf: off.describe(
    'Request a crumb before the first change; without it, once Jenkins demands one.',
  ),
  skipHostnameVerification: off.describe('Accept a certificate for another host name.'),
  keyStore: optionalText.describe('Key store with the client certificate: PKCS #12, JKS or PEM.'),
  keyStoreType: withoutEffect('The format is recognised.'),
  keyStorePassword: optionalText.describe('Its password.'),
  trustStoreType: withoutEffect('The format is recognised.'),
})

const mastersKey = 'jenkins.masters'

export const jenkinsKeys = settings({
  enabled: setting('jenkins.enabled', off).describe('Use the servers of `jenkins.masters`.'),
  masters: setting(mastersKey, z.array(Master).default([])).describe('Servers of Jenkins.'),
})

export interface JenkinsSettings extends HostSettings {
  readonly address: string
  /** Value of the header `Authorization`. */
  readonly authorization: string | undefined
  readonly csrf: boolean
  readonly skipHostnameVerification: boolean
}

export function toJenkinsSettings(
  keys: object,
  report: SettingsReport,
): readonly JenkinsSettings[] | undefined {
  const { enabled, masters } = jenkinsKeys.read(keys)
  const listed = { hosts: masters, key: mastersKey, enabled, enabledBy: 'jenkins.enabled' }
  return toHosts(listed, report, (master, host) => {
    const { address, csrf, skipHostnameVerification } = master
    return {
      ...host,
      address,
      authorization: toAuthorization(master),
      csrf,
      skipHostnameVerification,
    }
  })
}

export const jenkinsDeclaration: BuildServerDeclaration<readonly JenkinsSettings[]> = {
  id: 'jenkins',
  keys: jenkinsKeys.keys,
  toSettings: toJenkinsSettings,
}

function toAuthorization({
  username,
  password,
  token,
}: z.infer<typeof Master>): string | undefined {
  if (username === undefined) return token === undefined ? undefined : `Bearer ${token}`
  return `Basic ${Buffer.from(`${username}:${password ?? token ?? ''}`).toString('base64')}`
}
