/** Explains whether a user may use an operation, with the permission service's answer. */

import type { ServiceName } from '@fairlead/base/services/services.ts'
import { socketPathFor } from '@fairlead/base/storage/socket-path.ts'
import {
  loadResourcePermissions,
  type ResourcePermissions,
} from '@fairlead/gateway/operations/access/access-resources.ts'
import {
  type AccessDecision,
  type AccessSubject,
  decideWithoutService,
  enforcementOf,
  type Reason,
} from '@fairlead/gateway/operations/access/decide-access.ts'
import {
  evaluateAccess,
  explainRoles,
  toSubject,
  toUser,
} from '@fairlead/gateway/operations/access/explain-access.ts'
import { findApiOperation } from '@fairlead/gateway/operations/access/find-operation.ts'
import { allOperations } from '@fairlead/gateway/operations/all.ts'
import { formatDemands } from '@fairlead/gateway/operations/demands.ts'
import type { Operation } from '@fairlead/gateway/operations/operation.ts'
import { Permissions } from '@fairlead/gateway/permissions/fiat-permissions.ts'
import { toAddresses } from '@fairlead/gateway/upstreams/addresses.ts'
import { anonymousIdentity } from '@fairlead/gateway/upstreams/identity.ts'
import type { UpstreamCall } from '@fairlead/gateway/upstreams/upstream-call.ts'
import type { Upstreams } from '@fairlead/gateway/upstreams/upstreams.ts'
import type { PermissionView } from '@fairlead/model/rights/permissions.ts'
import pino from 'pino'
import type { Config } from '../config/config.ts'
import { openQuestions } from './open-questions.ts'

export interface AccessQuestion extends AccessSubject {
  readonly username: string
  /** Id of the operation, or a request such as `POST /pipelines`. */
  readonly operation: string
}

interface AccessAnswer {
  readonly decision: AccessDecision['decision']
  readonly lines: readonly string[]
}

const timeoutMs = 3000

/** @throws {Error} when there is no such operation, or the permission service does not answer; the message says what to do */
export async function explainAccess(
  config: Config,
  question: AccessQuestion,
): Promise<AccessAnswer> {
  const found = findApiOperation(allOperations, question.operation)
  const services = toAddresses(
    config.upstreams,
    config.upstreams.embedded.remote ?? socketPathFor(config.backends.dataDir, 'backends.sock'),
  )
  const upstreams = openQuestions(config.upstreams, services, timeoutMs)
  const settings = {
    ...config.permissions,
    retry: { ...config.permissions.retry, maxElapsedMs: 0 },
  }
  const permissions = new Permissions({ settings, upstreams, log: pino({ level: 'silent' }) })
  try {
    const isDecided = permissions.enabled && !config.login.anonymous
    const { decision, lines } = isDecided
      ? await explainDecision(found, question, { permissions, upstreams })
      : explainUndecided(found.operation, !config.login.anonymous)
    return {
      decision,
      lines: [describeDemands(found.operation), ...lines, `Decision: ${decision}`],
    }
  } finally {
    permissions.close()
    await upstreams.close()
  }
}

function explainUndecided(operation: Operation, hasLogin: boolean): AccessAnswer {
  const { decision, reasons } = decideWithoutService(operation, hasLogin)
  return { decision, lines: reasons.map(describeReason) }
}

/** @throws {Error} when the permission service does not answer */
async function explainDecision(
  found: ReturnType<typeof findApiOperation>,
  { username, ...named }: AccessQuestion,
  { permissions, upstreams }: { permissions: Permissions; upstreams: Upstreams },
): Promise<AccessAnswer> {
  const { operation } = found
  const subject = toSubject(found, named)
  const user = toUser(username)
  const answer = await permissions.lookUp(user)
  if (answer.kind === 'unavailable') {
    throw new Error(
      'The permission service does not answer. An embedded one runs with the gateway: start it first.',
    )
  }
  const view = answer.kind === 'view' ? answer.view : undefined
  const call = (service: ServiceName, asked: UpstreamCall) =>
    upstreams.call(service, asked, anonymousIdentity)
  const decided = await evaluateAccess({ call, permissions, operation, user, view, subject })
  const checked = enforcementOf(operation, { permissions, upstreams })
  const lines = [
    ...describeUser(username, view),
    ...(await loadResourcePermissions(call, subject)).map(describeResource),
    ...decided.reasons.map(describeReason),
    ...decided.open.map((what) => `?   to be added: ${toOption(what)}`),
    ...decided.optional.map((what) => `    may be added: ${toOption(what)}`),
    ...(checked === undefined ? [] : [`Checked by ${checked.by}: ${checked.note}`]),
  ]
  return { decision: decided.decision, lines }
}

function describeDemands({ id, method, path, demands }: Operation): string {
  return `${id} (${method} ${path}) demands ${formatDemands(demands)}`
}

function describeUser(username: string, view: PermissionView | undefined): string[] {
  if (view === undefined)
    return [
      `The permission service does not know the user "${username}": users become known when they log in.`,
    ]
  const roles = explainRoles(view, undefined).map(({ name, from }) => `${name} (${from})`)
  return [
    `Roles of ${username}: ${roles.length === 0 ? 'none' : roles.join(', ')}${view.admin ? '; an administrator' : ''}`,
  ]
}

function describeResource({ kind, name, permissions }: ResourcePermissions): string {
  const lists = Object.entries(permissions).map(
    ([authorization, roles]) => `${authorization} ${roles.join(', ')}`,
  )
  return `Permissions of the ${kind} ${name}: ${lists.length === 0 ? 'not restricted' : lists.join('; ')}`
}

function describeReason({ need, allowed, rule }: Reason): string {
  return `${allowed ? 'yes' : 'no '} ${need}: ${rule}`
}

/** `buildService=NAME: …` as the command line writes it. */
function toOption(what: string): string {
  return what.replace(
    /^(\w+)=/,
    (_, name: string) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} `,
  )
}
