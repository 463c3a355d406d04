/** Checks LDAP servers: connection, TLS, manager's password, searches. */
import { X509Certificate } from 'node:crypto'
import { PresenceFilter } from 'ldapts'
import { blocksOf, checkExpiry } from '../findings/expiry.ts'
import {
  type Check,
  createCheck,
  type Finding,
  type Reporter,
  type Timeouts,
} from '../findings/finding.ts'
import { adviseOn, adviseOnConnection } from './advice.ts'
import {
  type DirectoryConnection,
  DirectoryRefusal,
  DirectoryUnreachable,
  openConnection,
} from './connection.ts'
import { fillFilter, parseFilterTemplate } from './filter-template.ts'
import type { DirectorySettings, LdapServer } from './settings.ts'

/** In no directory, it is hoped: searches for it find nothing. */
const absentUser = 'fairlead-doctor-nobody'

interface DirectoryPurpose {
  readonly name: string
  readonly key: string
  /** Whether groups are searched with the password of the user where there is no manager. */
  readonly asUser: boolean
}

export function checkDirectory(
  settings: DirectorySettings,
  purpose: DirectoryPurpose,
  { answerMs }: Timeouts,
  now: number,
): Check[] {
  const hurried = {
    ...settings,
    connectTimeoutMs: Math.min(settings.connectTimeoutMs, answerMs),
    readTimeoutMs: Math.min(settings.readTimeoutMs, answerMs),
  }
  const servers = settings.servers.map((server) =>
    createCheck(`${purpose.name} ${server.url}`, (report) =>
      checkServer(server, hurried, purpose, report),
    ),
  )
  const authorities = `${purpose.name}, ${purpose.key}.caFile`
  return [
    ...servers,
    createCheck(authorities, (report) => checkAuthorities(settings, purpose, report, now)),
  ]
}

async function checkServer(
  server: LdapServer,
  settings: DirectorySettings,
  purpose: DirectoryPurpose,
  report: Reporter,
): Promise<Finding[]> {
  const tls = server.secure ? 'TLS' : settings.startTls ? 'StartTLS' : 'no TLS'
  const found: Finding[] = []
  let connection: DirectoryConnection | undefined
  const attempt = async (tried: string, work: (opened: DirectoryConnection) => Promise<string>) => {
    try {
      connection ??= await openConnection(server, settings)
      found.push(report.ok(tried, await work(connection)))
      return true
    } catch (error) {
      found.push(toProblem(report, purpose, tried, error))
      return false
    }
  }
  try {
    const isThere = await attempt(`connect with ${tls}`, async (opened) => {
      const root = {
        base: '',
        scope: 'base',
        filter: anything,
        attributes: ['namingContexts'],
        maxEntries: 1,
      } as const
      await opened.search(root).catch(ignoreRefusal)
      return 'it answers'
    })
    if (!isThere) return found
    const { manager } = settings
    const bound =
      manager === undefined ||
      (await attempt(`bind as the manager ${manager.dn}`, async (opened) => {
        await opened.bind(manager.dn, manager.password)
        return 'the password is right'
      }))
    if (bound) for (const [tried, work] of searchesOf(settings, purpose)) await attempt(tried, work)
    return found
  } finally {
    connection?.close()
  }
}

type DirectoryAttempt = readonly [
  tried: string,
  work: (connection: DirectoryConnection) => Promise<string>,
]

const anything = new PresenceFilter({ attribute: 'objectClass' })

/** Searches without the password of a user. */
function searchesOf(
  { userSearch, groupSearch, userDnPattern, manager }: DirectorySettings,
  { asUser }: DirectoryPurpose,
): DirectoryAttempt[] {
  const as = manager === undefined ? 'anonymous' : 'the manager'
  const search = (
    what: string,
    { base, filter }: { base: string; filter: string },
    values: string[],
  ): DirectoryAttempt => [
    `search ${what} as ${as}: base "${base}", filter ${filter}`,
    async (connection) => {
      const filled = fillFilter(parseFilterTemplate(filter), values)
      await connection.search({
        base,
        scope: 'sub',
        filter: filled,
        attributes: ['cn'],
        maxEntries: 1,
      })
      return 'the base exists and the search is answered'
    },
  ]
  const parent = userDnPattern?.replace(/^(?:[^,\\]|\\.)*,/s, '')
  return [
    ...(userSearch === undefined ? [] : [search('users', userSearch, [absentUser])]),
    ...(groupSearch === undefined || (asUser && manager === undefined)
      ? []
      : [search('groups', groupSearch, [`cn=${absentUser}`, absentUser])]),
    ...(parent === undefined || manager === undefined || parent.includes('{0}')
      ? []
      : [readParent(parent)]),
  ]
}

function readParent(base: string): DirectoryAttempt {
  return [
    `read the entry above the users, "${base}"`,
    async (connection) => {
      await connection.search({
        base,
        scope: 'base',
        filter: anything,
        attributes: ['objectClass'],
        maxEntries: 1,
      })
      return 'it exists'
    },
  ]
}

function toProblem(
  report: Reporter,
  { key }: DirectoryPurpose,
  tried: string,
  error: unknown,
): Finding {
  const reason = (error as Error).message || String(error)
  const named = (advice: string | undefined) => advice?.replaceAll(/\bldap\./g, `${key}.`)
  if (error instanceof DirectoryRefusal) {
    return report.problem(
      tried,
      `the directory refuses: ${reason}`,
      named(adviseOn(error)) ?? 'ask the administrator of the directory',
    )
  }
  if (error instanceof DirectoryUnreachable) {
    const advice =
      named(adviseOnConnection(error.cause)) ??
      `check host and port in ${key}.url, the network between, and whether the server speaks TLS there`
    return report.problem(tried, `it cannot be asked: ${reason}`, advice)
  }
  return report.problem(tried, reason, 'correct the filter in the configuration')
}

/** Some directories keep this entry to themselves, and have answered by saying so. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof DirectoryRefusal)) throw error
}

function checkAuthorities(
  { authorities }: DirectorySettings,
  { key }: DirectoryPurpose,
  report: Reporter,
  now: number,
): Finding[] {
  const advice = `add the authority that follows it to ${key}.caFile`
  return blocksOf(authorities ?? '').map((pem) =>
    checkExpiry(
      report,
      { what: 'the authority of the servers', certificate: new X509Certificate(pem), advice },
      now,
    ),
  )
}
