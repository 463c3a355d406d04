/** What an operator may set about the login against a directory (LDAP, Active Directory). */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { duration, type SettingsReport, withoutEffect } from '../../setting.ts'

export const LdapKeys = z.strictObject({
  'ldap.enabled': z.boolean().default(false).describe('Login against a directory (LDAP), with a form or HTTP Basic.'),
  'ldap.url': z
    .string()
    .optional()
    .describe(
      'Server and root: `ldaps://host/dc=example,dc=org`. Several servers are separated by blanks and tried in this order.',
    ),
  'ldap.managerDn': z
    .string()
    .optional()
    .describe('Who searches. Default: searches for users are anonymous, those for groups are made as the user.'),
  'ldap.managerPassword': z.string().optional().describe('Password of `ldap.managerDn`.'),
  'ldap.userDnPattern': z
    .string()
    .optional()
    .describe('Name of the entry of a user below the root, such as `uid={0},ou=users`; `{0}` is the user name.'),
  'ldap.userSearchBase': z.string().default('').describe('Where users are searched, below the root. Default: the root.'),
  'ldap.userSearchFilter': z
    .string()
    .optional()
    .describe('Finds the entry of a user, such as `(sAMAccountName={0})`; tried after the pattern, where there are both.'),
  'ldap.groupSearchBase': z
    .string()
    .optional()
    .describe("Where groups are searched, below the root; `''` is the root. Default: groups are not searched."),
  'ldap.groupSearchFilter': z
    .string()
    .default('(uniqueMember={0})')
    .describe('Finds the groups of a user: `{0}` is the name of the entry, `{1}` the user name.'),
  'ldap.groupRoleAttributes': z.string().min(1).default('cn').describe('Attribute of a group that names the role.'),
  'ldap.nestedGroups': z
    .enum(['none', 'recursive', 'active-directory'])
    .default('none')
    .describe(
      'Groups within groups: not at all; by a search for each level, up to 10; or by the rule that Active Directory has for it.',
    ),
  'ldap.memberOfAttribute': z
    .string()
    .regex(/^[A-Za-z][\w-]*$/, 'must be the name of an attribute, such as memberOf')
    .optional()
    .describe('Attribute of a user that lists groups, such as `memberOf`; besides the search, or instead of it.'),
  'ldap.usernameAttribute': z
    .string()
    .regex(/^[A-Za-z][\w-]*$/, 'must be the name of an attribute, such as uid')
    .optional()
    .describe('Attribute that gives the user name as others see it. Default: the user name as it was typed.'),
  'ldap.startTls': z.boolean().default(false).describe('Turn connections to `ldap://` into TLS before anything is said.'),
  'ldap.caFile': z
    .string()
    .optional()
    .describe('PEM file with the authorities that sign the certificates of the servers. Default: the well-known ones.'),
  'ldap.connectTimeout': duration('ms').prefault('5s').describe('How long a server may take to accept a connection.'),
  'ldap.readTimeout': duration('ms').prefault('10s').describe('How long a server may take to answer.'),
  'security.authn.ldap.enabled': z.boolean().default(false).describe('Switch of installers; `ldap.enabled` decides.'),
  'security.authn.ldap': withoutEffect('Settings of installers; those below `ldap` count.'),
})
export type LdapKeys = z.infer<typeof LdapKeys>

export interface LdapServer {
  readonly secure: boolean
  readonly host: string
  readonly port: number
  /** `ldaps://host:636`, for the log. */
  readonly url: string
}

export interface LdapSettings {
  /** At least one, in the order in which they are tried. */
  servers: readonly LdapServer[]
  startTls: boolean
  /** PEM. */
  authorities: string | undefined
  connectTimeoutMs: number
  readTimeoutMs: number
  manager: { dn: string; password: string } | undefined
  /** Complete names, the root included. */
  userDnPattern: string | undefined
  userSearch: { base: string; filter: string } | undefined
  groupSearch: { base: string; filter: string; roleAttribute: string; nested: LdapKeys['ldap.nestedGroups'] } | undefined
  memberOfAttribute: string | undefined
  usernameAttribute: string | undefined
}

/** Undefined when there is no login against a directory. */
export function toLdapSettings(keys: LdapKeys, report: SettingsReport): LdapSettings | undefined {
  if (!keys['ldap.enabled']) {
    if (keys['security.authn.ldap.enabled']) {
      report.problem('security.authn.ldap.enabled', 'Gate reads ldap.enabled: true and the settings below ldap; write them there')
    }
    return undefined
  }
  const { servers, root } = parseServers(keys['ldap.url'], report)
  checkTransport(keys, servers, report)
  checkUserSettings(keys, report)
  checkFilter(keys['ldap.groupSearchFilter'], 'ldap.groupSearchFilter', /\{[01]\}/, report)
  const below = (name: string) => [name, root].filter((part) => part !== '').join(',')
  const userSearchFilter = keys['ldap.userSearchFilter']
  const groupSearchBase = keys['ldap.groupSearchBase'] ?? (report.isSet('ldap.groupSearchBase') ? '' : undefined)
  const pattern = keys['ldap.userDnPattern']
  return {
    servers,
    startTls: keys['ldap.startTls'],
    authorities: readAuthorities(keys['ldap.caFile'], report),
    connectTimeoutMs: keys['ldap.connectTimeout'],
    readTimeoutMs: keys['ldap.readTimeout'],
    manager: toManager(keys, report),
    userDnPattern: pattern && below(pattern),
    userSearch: userSearchFilter ? { base: below(keys['ldap.userSearchBase']), filter: userSearchFilter } : undefined,
    groupSearch:
      groupSearchBase === undefined
        ? undefined
        : {
            base: below(groupSearchBase),
            filter: keys['ldap.groupSearchFilter'],
            roleAttribute: keys['ldap.groupRoleAttributes'],
            nested: keys['ldap.nestedGroups'],
          },
    memberOfAttribute: keys['ldap.memberOfAttribute'],
    usernameAttribute: keys['ldap.usernameAttribute'],
  }
}

function parseServers(text: string | undefined, report: SettingsReport): { servers: LdapServer[]; root: string } {
  const parsed = (text ?? '').split(/\s+/).filter(Boolean).map(parseServer)
  const roots = new Set(parsed.map((server) => server?.root.toLowerCase()))
  if (parsed.length === 0) {
    report.problem('ldap.url', 'names no server; write ldaps://host/dc=example,dc=org')
  } else if (parsed.includes(undefined)) {
    report.problem('ldap.url', 'must be addresses such as ldaps://host:636/dc=example,dc=org, separated by blanks')
  } else if (roots.size > 1) {
    report.problem('ldap.url', 'the servers hold the same directory, so all addresses must end in the same root')
  }
  const servers = parsed.filter((server) => server !== undefined)
  return { servers, root: servers[0]?.root ?? '' }
}

function parseServer(text: string): (LdapServer & { root: string }) | undefined {
  const url = URL.parse(text)
  if (url === null || !/^ldaps?:$/.test(url.protocol) || url.hostname === '') return undefined
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') return undefined
  const secure = url.protocol === 'ldaps:'
  const port = url.port === '' ? (secure ? 636 : 389) : Number(url.port)
  try {
    const root = decodeURIComponent(url.pathname.replace(/^\//, '')).trim()
    return { secure, host: url.hostname.replace(/^\[|\]$/g, ''), port, url: `${url.protocol}//${url.hostname}:${port}`, root }
  } catch {
    return undefined
  }
}

function checkTransport(keys: LdapKeys, servers: readonly LdapServer[], report: SettingsReport): void {
  const plain = servers.filter(({ secure }) => !secure)
  if (keys['ldap.startTls'] && plain.length < servers.length) {
    report.problem('ldap.startTls', 'an address with ldaps:// is TLS already; leave the key out, or write ldap://')
  }
  const inClear = plain.filter(({ host }) => !/^(localhost|127\.[\d.]+|::1)$/.test(host))
  if (!keys['ldap.startTls'] && inClear.length > 0) {
    report.notice('Warning: passwords travel to the directory in clear text. Write ldaps://, or set ldap.startTls: true.')
  }
  if (keys['ldap.caFile'] !== undefined && !keys['ldap.startTls'] && plain.length === servers.length && servers.length > 0) {
    report.notice('ldap.caFile has no effect, because no connection to the directory uses TLS.')
  }
}

function checkUserSettings(keys: LdapKeys, report: SettingsReport): void {
  const { 'ldap.userDnPattern': pattern, 'ldap.userSearchFilter': filter } = keys
  if (pattern === undefined && filter === undefined) {
    report.problem(
      'ldap.userDnPattern',
      'says nowhere where users are; set it, or ldap.userSearchFilter, such as (uid={0}) or (sAMAccountName={0})',
    )
  }
  if (pattern !== undefined && !/^[^=,]+=.*\{0\}/.test(pattern)) {
    report.problem('ldap.userDnPattern', 'must be the name of an entry with {0} in the place of the user name: uid={0},ou=users')
  }
  if (filter !== undefined) checkFilter(filter, 'ldap.userSearchFilter', /\{0\}/, report)
}

/** The shape alone, so that most mistakes are found together with those elsewhere; the rest when the login is opened. */
function checkFilter(filter: string, key: string, needed: RegExp, report: SettingsReport): void {
  let depth = 0
  let lowest = 0
  for (const bracket of filter.replace(/[^()]/g, '')) {
    depth += bracket === '(' ? 1 : -1
    lowest = Math.min(lowest, depth)
  }
  if (depth !== 0 || lowest < 0) report.problem(key, `the brackets of the filter do not match`)
  else if (!needed.test(filter)) report.problem(key, 'must contain {0} in the place of what is searched')
}

function toManager(keys: LdapKeys, report: SettingsReport): LdapSettings['manager'] {
  const { 'ldap.managerDn': dn, 'ldap.managerPassword': password } = keys
  if (dn !== undefined && password === undefined) {
    report.problem(
      'ldap.managerPassword',
      'is needed with ldap.managerDn; without a password the directory would take it for nobody',
    )
  }
  if (dn === undefined && password !== undefined) report.notice('ldap.managerPassword has no effect without ldap.managerDn.')
  return dn !== undefined && password !== undefined ? { dn, password } : undefined
}

function readAuthorities(file: string | undefined, report: SettingsReport): string | undefined {
  if (file === undefined) return undefined
  const authorities = readText(file)
  if (authorities === undefined) report.problem('ldap.caFile', `the file ${file} cannot be read`)
  else if (!holdsCertificates(authorities)) report.problem('ldap.caFile', `the file ${file} holds no certificate in PEM form`)
  return authorities
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

function holdsCertificates(text: string): boolean {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? []
  try {
    for (const block of blocks) new X509Certificate(block)
    return blocks.length > 0
  } catch {
    return false
  }
}
