/** Settings of a directory (LDAP, Active Directory): servers, searches, users and groups. */
import { z } from 'zod'
import {
  boundedTimeout,
  duration,
  off,
  optionalText,
  type SettingsReport,
  type SettingValues,
  setting,
} from '../settings/setting.ts'
import { readAuthorities } from '../tls/read-authorities.ts'

const attribute = z
  .string()
  .regex(/^[A-Za-z][\w-]*$/, 'must be the name of an attribute, such as memberOf')

/** Each capability that asks a directory has these settings below a prefix of its own, and may describe some otherwise. */
export function directoryKeys(
  prefix: string,
  descriptions: { managerDn?: string; userSearchFilter?: string } = {},
) {
  return {
    url: setting(`${prefix}.url`, optionalText).describe(
      'Server and root: `ldaps://host/dc=example,dc=org`. Several servers are separated by blanks and tried in this order.',
    ),
    managerDn: setting(`${prefix}.managerDn`, optionalText).describe(
      descriptions.managerDn ?? 'User for searches. Default: searches are anonymous.',
    ),
    managerPassword: setting(`${prefix}.managerPassword`, optionalText).describe(
      'Password of the manager.',
    ),
    userDnPattern: setting(`${prefix}.userDnPattern`, optionalText).describe(
      'Name of the entry of a user below the root, such as `uid={0},ou=users`; `{0}` is the user name.',
    ),
    userSearchBase: setting(`${prefix}.userSearchBase`, z.string().default('')).describe(
      'Base of searches for users, below the root. Default: the root.',
    ),
    userSearchFilter: setting(`${prefix}.userSearchFilter`, optionalText).describe(
      descriptions.userSearchFilter ?? 'Finds the entry of a user, such as `(sAMAccountName={0})`.',
    ),
    ...groupKeys(prefix),
    memberOfAttribute: setting(`${prefix}.memberOfAttribute`, attribute.optional()).describe(
      'Attribute of a user that lists groups, such as `memberOf`; in addition to the search, or instead of it.',
    ),
    startTls: setting(`${prefix}.startTls`, off).describe(
      'Upgrade connections to `ldap://` to TLS before anything is sent.',
    ),
    caFile: setting(`${prefix}.caFile`, optionalText).describe(
      'PEM file with the authorities that sign the certificates of the servers. Default: public authorities.',
    ),
    connectTimeoutMs: setting(
      `${prefix}.connectTimeout`,
      duration('ms').prefault('5s').transform(boundedTimeout),
    ).describe('Connect timeout; 0: a minute.'),
    readTimeoutMs: setting(
      `${prefix}.readTimeout`,
      duration('ms').prefault('10s').transform(boundedTimeout),
    ).describe('Read timeout; 0: a minute.'),
  }
}
function groupKeys(prefix: string) {
  return {
    groupSearchBase: setting(`${prefix}.groupSearchBase`, optionalText).describe(
      "Base of searches for groups, below the root; `''` is the root. Default: groups are not searched.",
    ),
    groupSearchFilter: setting(
      `${prefix}.groupSearchFilter`,
      z.string().default('(uniqueMember={0})'),
    ).describe('Finds the groups of a user: `{0}` is the name of the entry, `{1}` the user name.'),
    groupRoleAttribute: setting(
      `${prefix}.groupRoleAttributes`,
      z.string().min(1).default('cn'),
    ).describe('Attribute of a group that names the role.'),
    nestedGroups: setting(
      `${prefix}.nestedGroups`,
      z.enum(['none', 'recursive', 'active-directory']).default('none'),
    ).describe(
      'Groups within groups: ignored; by a search for each level, up to 10; or by the matching rule of Active Directory.',
    ),
  }
}

export type DirectoryValues = SettingValues<ReturnType<typeof directoryKeys>>

export type DirectorySettings = ReturnType<typeof toDirectorySettings>

export type LdapServer = Omit<NonNullable<ReturnType<typeof parseServer>>, 'root'>

/** @param prefix Of the keys, for messages */
export function toDirectorySettings(
  prefix: string,
  values: DirectoryValues,
  report: SettingsReport,
) {
  const { startTls, connectTimeoutMs, readTimeoutMs, memberOfAttribute, groupSearchFilter } = values
  const { servers, root } = parseServers(values.url, prefix, report)
  checkTransport(values, servers, prefix, report)
  checkUserSettings(values, prefix, report)
  checkFilter(groupSearchFilter, `${prefix}.groupSearchFilter`, /\{[01]\}/, report)
  const below = (name: string) => [name, root].filter((part) => part !== '').join(',')
  const groupSearchBase =
    values.groupSearchBase ?? (report.isSet(`${prefix}.groupSearchBase`) ? '' : undefined)
  return {
    /** At least one, in the order in which they are tried. */
    servers,
    startTls,
    /** PEM. */
    authorities: readAuthorities(values.caFile, `${prefix}.caFile`, report),
    connectTimeoutMs,
    readTimeoutMs,
    manager: toManager(values, prefix, report),
    /** Complete names, the root included. */
    userDnPattern: values.userDnPattern && below(values.userDnPattern),
    userSearch: values.userSearchFilter
      ? { base: below(values.userSearchBase), filter: values.userSearchFilter }
      : undefined,
    groupSearch:
      groupSearchBase === undefined
        ? undefined
        : {
            base: below(groupSearchBase),
            filter: groupSearchFilter,
            roleAttribute: values.groupRoleAttribute,
            nested: values.nestedGroups,
          },
    memberOfAttribute,
  }
}

function parseServers(
  text: string | undefined,
  prefix: string,
  report: SettingsReport,
): { servers: LdapServer[]; root: string } {
  const parsed = (text ?? '').split(/\s+/).filter(Boolean).map(parseServer)
  const roots = new Set(parsed.map((server) => server?.root.toLowerCase()))
  if (parsed.length === 0) {
    report.problem(`${prefix}.url`, 'names no server; write ldaps://host/dc=example,dc=org')
  } else if (parsed.includes(undefined)) {
    report.problem(
      `${prefix}.url`,
      'must be addresses such as ldaps://host:636/dc=example,dc=org, separated by blanks',
    )
  } else if (roots.size > 1) {
    report.problem(
      `${prefix}.url`,
      'the servers hold the same directory, so all addresses must end in the same root',
    )
  }
  const servers = parsed.filter((server) => server !== undefined)
  return { servers, root: servers[0]?.root ?? '' }
}

function parseServer(text: string) {
  const url = URL.parse(text)
  if (url === null || !/^ldaps?:$/.test(url.protocol) || url.hostname === '') return undefined
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    return undefined
  const secure = url.protocol === 'ldaps:'
  const port = url.port === '' ? (secure ? 636 : 389) : Number(url.port)
  try {
    const root = decodeURIComponent(url.pathname.replace(/^\//, '')).trim()
    return {
      secure,
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port,
      /** `ldaps://host:636`, for the log. */
      url: `${url.protocol}//${url.hostname}:${port}`,
      root,
    }
  } catch {
    return undefined
  }
}

function checkTransport(
  keys: DirectoryValues,
  servers: readonly LdapServer[],
  prefix: string,
  report: SettingsReport,
): void {
  const plain = servers.filter(({ secure }) => !secure)
  if (keys.startTls && plain.length < servers.length) {
    report.problem(
      `${prefix}.startTls`,
      'an address with ldaps:// is TLS already; leave the key out, or write ldap://',
    )
  }
  const inClear = plain.filter(({ host }) => !/^(localhost|127\.[\d.]+|::1)$/.test(host))
  if (!keys.startTls && inClear.length > 0) {
    report.notice(
      `Warning: passwords travel to the directory in clear text. Write ldaps://, or set ${prefix}.startTls: true.`,
    )
  }
  if (
    keys.caFile !== undefined &&
    !keys.startTls &&
    plain.length === servers.length &&
    servers.length > 0
  ) {
    report.notice(
      `${prefix}.caFile has no effect, because no connection to the directory uses TLS.`,
    )
  }
}

function checkUserSettings(
  { userDnPattern: pattern, userSearchFilter: filter }: DirectoryValues,
  prefix: string,
  report: SettingsReport,
): void {
  if (pattern === undefined && filter === undefined) {
    report.problem(
      `${prefix}.userDnPattern`,
      `is missing; set the place of users, or ${prefix}.userSearchFilter, such as (uid={0}) or (sAMAccountName={0})`,
    )
  }
  if (pattern !== undefined && !/^[^=,]+=.*\{0\}/.test(pattern)) {
    report.problem(
      `${prefix}.userDnPattern`,
      'must be the name of an entry with {0} in the place of the user name: uid={0},ou=users',
    )
  }
  if (filter !== undefined) checkFilter(filter, `${prefix}.userSearchFilter`, /\{0\}/, report)
}

/** The shape alone, so that most mistakes are found together with those elsewhere; the rest when the directory is asked for the first time. */
function checkFilter(filter: string, key: string, needed: RegExp, report: SettingsReport): void {
  let depth = 0
  let lowest = 0
  for (const bracket of filter.replace(/[^()]/g, '')) {
    depth += bracket === '(' ? 1 : -1
    lowest = Math.min(lowest, depth)
  }
  if (depth !== 0 || lowest < 0) report.problem(key, `the brackets of the filter do not match`)
  else if (!needed.test(filter))
    report.problem(key, 'must contain {0} in the place of what is searched')
}

function toManager(
  { managerDn: dn, managerPassword: password }: DirectoryValues,
  prefix: string,
  report: SettingsReport,
): { dn: string; password: string } | undefined {
  if (dn !== undefined && password === undefined) {
    report.problem(
      `${prefix}.managerPassword`,
      `is needed with ${prefix}.managerDn; without a password the directory would treat it as anonymous`,
    )
  }
  if (dn === undefined && password !== undefined)
    report.notice(`${prefix}.managerPassword has no effect without ${prefix}.managerDn.`)
  return dn !== undefined && password !== undefined ? { dn, password } : undefined
}
