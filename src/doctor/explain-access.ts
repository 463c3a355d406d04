/** Explains from the command line whether somebody may use an operation: asks the permission service as the gateway does. */
import pino from 'pino'
import { socketPathFor } from '../backends/embedded.ts'
import type { Config } from '../config/config.ts'
import { pathTo } from '../http/encode-path.ts'
import type { User } from '../http/request-state.ts'
import { allOperations } from '../operations/all.ts'
import { formatDemands } from '../operations/demands.ts'
import { judgeAccess } from '../operations/explain-access.ts'
import { isFields } from '../operations/upstream-shape.ts'
import { openPermissions } from '../permissions/fiat-permissions.ts'
import { toAddresses } from '../upstreams/addresses.ts'
import { anonymousIdentity } from '../upstreams/identity.ts'
import { Upstreams } from '../upstreams/upstreams.ts'

export interface AccessQuestion {
  readonly username: string
  /** Id of the operation. */
  readonly operation: string
  readonly application: string | undefined
  readonly account: string | undefined
}

export interface AccessAnswer {
  readonly decision: 'allowed' | 'denied' | 'depends'
  /** For people, one fact each. */
  readonly lines: readonly string[]
}

const timeoutMs = 3000

/** @throws {Error} when there is no such operation, or the permission service does not answer; the message says what to do */
export async function explainAccess(config: Config, question: AccessQuestion): Promise<AccessAnswer> {
  const operation = allOperations.find(({ id }) => id === question.operation)
  if (operation === undefined)
    throw new Error(`There is no operation ${question.operation}; fairlead openapi prints all of them.`)
  const demands = `${operation.method} ${operation.path} demands ${formatDemands(operation.demands)}`
  const services = toAddresses(config.upstreams, socketPathFor(config.backends.dataDir))
  if (config.login.anonymous || services.fiat === undefined) {
    const why = config.login.anonymous ? 'anonymous.enabled serves everybody' : 'there is no permission service'
    return { decision: 'allowed', lines: [demands, `Allowed: ${why}.`] }
  }
  const upstreams = openUpstreams(services)
  const settings = { ...config.permissions, retry: { ...config.permissions.retry, maxElapsedMs: 0 } }
  const permissions = openPermissions({ settings, upstreams, log: pino({ level: 'silent' }) })
  try {
    const answer = await permissions.lookUp(toUser(question.username))
    if (answer.kind === 'unavailable') {
      throw new Error('The permission service does not answer. An embedded one runs with the gateway: start it first.')
    }
    const view = answer.kind === 'view' ? answer.view : undefined
    const judged = judgeAccess(operation, view, question)
    const roles = judged.roles.map(({ name, from }) => `${name} (${from})`).join(', ')
    return {
      decision: judged.decision,
      lines: [
        demands,
        ...(view === undefined
          ? [`The permission service does not know ${question.username}: users become known at a login.`]
          : []),
        `Roles of ${question.username}: ${roles === '' ? 'none' : roles}${judged.admin ? '; an administrator' : ''}`,
        ...(await describeApplication(upstreams, question.application)),
        ...judged.reasons.map(({ need, allowed, rule }) => `${allowed ? 'yes' : 'no '} ${need}: ${rule}`),
        ...judged.open.map((what) => `?   the question names no ${what}`),
        `Decision: ${judged.decision}`,
      ],
    }
  } finally {
    permissions.close()
    await upstreams.close()
  }
}

async function describeApplication(upstreams: Upstreams, application: string | undefined): Promise<string[]> {
  if (application === undefined) return []
  const call = { path: pathTo`/permissions/applications/${application}` }
  const answer = await upstreams.call('front50', call, anonymousIdentity).catch(() => undefined)
  if (answer?.status !== 200) return [`Permissions of ${application}: none are stored`]
  const found: unknown = JSON.parse(answer.text)
  const permissions = isFields(found) && isFields(found['permissions']) ? Object.entries(found['permissions']) : []
  const lists = permissions.map(([authorization, roles]) => `${authorization} ${String(roles)}`).join('; ')
  return [`Permissions of ${application}: ${lists === '' ? 'nobody restricts it' : lists}`]
}

function toUser(username: string): User {
  return { username, email: null, firstName: null, lastName: null, roles: [], allowedAccounts: [], method: 'explained' }
}

function openUpstreams(services: ReturnType<typeof toAddresses>): Upstreams {
  return new Upstreams({
    services,
    connectTimeoutMs: timeoutMs,
    readTimeoutMs: timeoutMs,
    keepAliveMs: 1000,
    maxConnections: 10,
    maxPending: 100,
    maxAnswerBytes: 128 * 1024 * 1024,
    retry: false,
  })
}
