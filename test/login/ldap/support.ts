/** Settings and servers that the tests of the login against a directory share. */
import type { TestContext } from 'node:test'
import {
  type DirectoryOptions,
  type DirectoryServer,
  manager,
  startDirectory,
} from '../../support/directory.ts'
import { type GatewayOptions, type GatewaySettings, runGateway } from '../../support/gateway.ts'
import { Browser } from '../browser.ts'
import { gatewayUrl, proxyHeaders, ui } from '../support.ts'

export { gatewayUrl, ui }

export const pattern = { userDnPattern: 'uid={0},ou=users' }
export const search = {
  userSearchFilter: '(uid={0})',
  managerDn: manager.dn,
  managerPassword: manager.password,
}

export interface LdapGateway {
  readonly directory: DirectoryServer
  readonly url: string
  /** What the gateway logged, as text. */
  readonly lines: Record<string, unknown>[]
  open(): Browser
}

/** The settings below `ldap`, or what makes them of the directory. */
export type LdapBlock =
  | Record<string, unknown>
  | ((directory: DirectoryServer) => Record<string, unknown>)

/** A gateway behind a proxy, whose users are those of the example directory; undefined where the directory is missing. */
export async function startLdap(
  t: TestContext,
  ldap: LdapBlock,
  {
    directory: directoryOptions,
    settings = {},
    now,
  }: { directory?: DirectoryOptions; settings?: GatewaySettings; now?: GatewayOptions['now'] } = {},
): Promise<LdapGateway | undefined> {
  const directory = await startDirectory(t, directoryOptions)
  if (directory === undefined) return undefined
  return {
    directory,
    ...(await startGatewayFor(
      t,
      { url: directory.url, ...resolve(ldap, directory) },
      { settings, now },
    )),
  }
}

function resolve(ldap: LdapBlock, directory: DirectoryServer): Record<string, unknown> {
  return typeof ldap === 'function' ? ldap(directory) : ldap
}

export async function startGatewayFor(
  t: TestContext,
  ldap: Record<string, unknown>,
  { settings = {}, now }: { settings?: GatewaySettings; now?: GatewayOptions['now'] } = {},
): Promise<Omit<LdapGateway, 'directory'>> {
  const lines: Record<string, unknown>[] = []
  const merged = {
    ldap: { enabled: true, ...ldap },
    server: { 'forward-headers-strategy': 'native' },
    ...settings,
    services: { deck: { baseUrl: ui }, ...settings.services },
  }
  const { url } = await runGateway(t, merged, { now, log: (line) => lines.push(line) })
  return { url, lines, open: () => new Browser(url, proxyHeaders) }
}
