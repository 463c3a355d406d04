/** Explains a login: each step of the configured methods, and the result. */

import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Keep, openParts } from '@fairlead/base/concurrency/open-parts.ts'
import { GatewayError } from '@fairlead/base/errors.ts'
import { openRedis } from '@fairlead/base/redis/open-redis.ts'
import { socketPathFor } from '@fairlead/base/storage/socket-path.ts'
import { openTlsFiles } from '@fairlead/base/tls/tls-files.ts'
import type { User } from '@fairlead/gateway/http/request-state.ts'
import type { LoginMethod } from '@fairlead/gateway/login/login-method.ts'
import { type LoginMethods, openMethods } from '@fairlead/gateway/login/open-login.ts'
import {
  joinNames,
  type LoginCredentials,
  type StepVerdict,
  type Trace,
} from '@fairlead/gateway/login/trace.ts'
import { AccountCache } from '@fairlead/gateway/operations/account-cache.ts'
import { Permissions } from '@fairlead/gateway/permissions/fiat-permissions.ts'
import { loadServiceAccountNames } from '@fairlead/gateway/permissions/service-accounts.ts'
import { toAddresses } from '@fairlead/gateway/upstreams/addresses.ts'
import type { LoginReport, PermissionAnswer } from '@fairlead/model/rights/permissions.ts'
import pino from 'pino'
import type { Config } from '../config/config.ts'
import { isListening } from './check-services.ts'
import { openQuestions } from './open-questions.ts'

interface LoginStep {
  readonly verdict: StepVerdict
  readonly text: string
}

export interface MethodResult {
  readonly method: string
  readonly steps: readonly LoginStep[]
  /** Undefined: the login ends here. */
  readonly user: User | undefined
  readonly reason: string | undefined
}

interface ExplainedRole {
  readonly role: string
  readonly from: string
}

export interface Explanation {
  readonly admitted: boolean
  readonly judgements: readonly MethodResult[]
  readonly user: User | undefined
  readonly roles: readonly ExplainedRole[]
  readonly permissions: readonly string[]
  readonly notes: readonly string[]
}

interface ExplainOptions {
  readonly config: Config
  readonly credentials: LoginCredentials
  readonly command?: (words: string) => string
  readonly now?: () => number
}

const timeoutMs = 3000

/** It logs no user in and consumes nothing. @throws {Error} when a method cannot be opened; the message says why */
export async function explainLogin({
  config,
  credentials,
  command,
  now = Date.now,
}: ExplainOptions): Promise<Explanation> {
  if (config.login.anonymous) return explainAnonymous()
  const notes: string[] = []
  const { result, close } = await openParts(async (keep) => {
    const surroundings = await openSurroundings({ config, notes, now, keep })
    const methods = await openAll(surroundings, { config, command, now, keep })
    return explain(methods, surroundings, credentials)
  })
  await close()
  return { ...result, notes }
}

function explainAnonymous(): Explanation {
  const text =
    'every request runs as the user anonymous (anonymous.enabled), so Fairlead ignores credentials'
  return {
    admitted: true,
    judgements: [],
    user: undefined,
    roles: [],
    permissions: [],
    notes: [text],
  }
}

type DoctorSurroundings = Awaited<ReturnType<typeof openSurroundings>>

interface OpeningContext extends Pick<ExplainOptions, 'config' | 'command'> {
  readonly now: () => number
  readonly keep: Keep
}

async function openSurroundings({
  config,
  notes,
  now,
  keep,
}: OpeningContext & { notes: string[] }) {
  const socketPath = socketPathFor(config.backends.dataDir, 'backends.sock')
  const { remote } = config.upstreams.embedded
  const runs = remote !== undefined || (await isListening(socketPath))
  const all = toAddresses(config.upstreams, remote ?? socketPath)
  const services = Object.fromEntries(
    Object.entries(all).filter(([, { kind }]) => kind === 'external' || runs),
  )
  const log = pino({ level: 'warn' }, { write: (line: string) => void notes.push(toNote(line)) })
  const upstreams = keep(openQuestions(config.upstreams, services, timeoutMs))
  const settings = {
    ...config.permissions,
    retry: { ...config.permissions.retry, maxElapsedMs: 0 },
  }
  const real = keep(new Permissions({ settings, upstreams, log, now }))
  const listener: { tell: Trace } = { tell: () => {} }
  const isAbsent = all.fiat !== undefined && services['fiat'] === undefined
  if (isAbsent)
    notes.push('the embedded permission service runs with the gateway, which is not running here')
  const permissions: Permissions = observePermissions(real, {
    isAbsent,
    onReport: (text) => listener.tell('note', text),
  })
  return { upstreams, permissions, listener, log, dataDir: findDataDir(config, keep) }
}

/** Where there is none yet nothing is known, and explaining does not create it. */
function findDataDir({ backends: { dataDir } }: Config, keep: Keep): string {
  if (existsSync(dataDir)) return dataDir
  const temporary = mkdtempSync(join(tmpdir(), 'fairlead-explain-'))
  keep({ close: () => rmSync(temporary, { recursive: true, force: true }) })
  return temporary
}

async function openAll(
  { upstreams, permissions, log, dataDir }: DoctorSurroundings,
  { config, command, now, keep }: OpeningContext,
): Promise<LoginMethods> {
  const tls = config.http.tls && keep(openTlsFiles(config.http.tls, log))
  const redis = config.redis && keep(await openRedis(config.redis, log))
  const accounts = keep(new AccountCache(upstreams, timeoutMs, log))
  return openMethods({
    settings: config.login,
    permissions,
    learnsRolesFromLogins: config.upstreams.services.fiat.kind === 'embedded',
    accounts,
    serviceAccounts: () => loadServiceAccountNames(upstreams),
    adminRoles: config.backends.adminRoles,
    ui: config.operations,
    origin: config.http.origin,
    certificates: tls,
    contextPath: config.http.origin.contextPath,
    dataDir,
    redis,
    log,
    keep,
    now,
    ...(command && { command }),
  })
}

async function explain(
  opened: LoginMethods,
  { permissions, listener }: DoctorSurroundings,
  credentials: LoginCredentials,
): Promise<Omit<Explanation, 'notes'>> {
  const judgements: MethodResult[] = []
  for (const method of opened.methods) {
    const steps: LoginStep[] = []
    listener.tell = (verdict, text) => void steps.push({ verdict, text })
    const result = await askMethod(method, opened, credentials, listener.tell)
    if (result !== undefined) judgements.push({ method: method.name, steps, ...result })
  }
  listener.tell = () => {}
  const user = judgements.find((one) => one.user !== undefined)?.user
  const answer = user && permissions.enabled ? await permissions.lookUp(user) : undefined
  return {
    admitted: user !== undefined,
    judgements,
    user,
    roles: user === undefined ? [] : rolesOf(user, answer),
    permissions: user === undefined ? [] : describePermissions(user, permissions, answer),
  }
}

async function askMethod(
  method: LoginMethod,
  { prepareUser }: LoginMethods,
  credentials: LoginCredentials,
  trace: Trace,
): Promise<Pick<MethodResult, 'user' | 'reason'> | undefined> {
  try {
    const outcome = (await method.explain?.(credentials, trace)) ?? { kind: 'not-mine' }
    if (outcome.kind === 'not-mine') return undefined
    if (outcome.kind === 'refused') return { user: undefined, reason: outcome.reason }
    if (!method.interactive) return { user: outcome.user, reason: undefined }
    const { user, nameCase = 'unknown' } = outcome
    const known = nameCase === 'insensitive' ? 'is known to ignore' : 'may not ignore'
    trace('note', `what knows the user ${known} case in user names (login.caseInsensitiveNames)`)
    return { user: await prepareUser(user, method.reportOf(user), nameCase), reason: undefined }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return { user: undefined, reason: error.message }
  }
}

function rolesOf(user: User, answer: PermissionAnswer | undefined): ExplainedRole[] {
  const view = answer?.kind === 'view' ? answer.view.roles : []
  return [
    ...user.roles.map((role) => ({ role, from: `login by ${user.method}` })),
    ...view
      .filter(({ name }) => !user.roles.includes(name.toLowerCase()))
      .map(({ name, source }) => ({
        role: name,
        from: `permission service${source === undefined ? '' : ` (${source})`}`,
      })),
  ]
}

function describePermissions(
  user: User,
  permissions: Permissions,
  answer: PermissionAnswer | undefined,
): string[] {
  if (answer === undefined)
    return ['there is no permission service, so every logged-in user may do everything']
  if (answer.kind === 'unavailable') return ['the permission service does not answer']
  if (answer.kind === 'unknown') {
    const later = permissions.sessionFilter
      ? 'users that it does not know have to log in again, which reports them'
      : 'a login reports them'
    return [`it does not know ${user.username} at present; ${later}`]
  }
  const { view } = answer
  const names = (resources: readonly { name: string }[]) =>
    `${resources.length} (${joinNames(resources.slice(0, 10).map(({ name }) => name))})`
  return [
    `it knows ${view.name}${view.admin ? ', who is an administrator' : ''}`,
    `applications: ${names(view.applications)}; accounts: ${names(view.accounts)}; service accounts: ${names(view.serviceAccounts)}`,
  ]
}

function toNote(line: string): string {
  const { msg, reason, err } = JSON.parse(line) as {
    msg?: string
    reason?: string
    err?: { message?: string }
  }
  return [msg, reason ?? err?.message].filter((part) => part !== undefined).join(': ')
}

interface LoginObservation {
  /** It is configured and does not run at present. */
  readonly isAbsent: boolean
  /** Told what would have been reported. */
  readonly onReport: (text: string) => void
}

/** What a login asks is answered; everything else is that of the real one. */
function observePermissions(
  real: Permissions,
  { isAbsent, onReport }: LoginObservation,
): Permissions {
  const absent = { kind: 'unavailable', cause: new Error('it is not running') } as const
  const own: Partial<Permissions> = {
    enabled: real.enabled || isAbsent,
    lookUp: async (user) => (isAbsent ? absent : real.lookUp(user)),
    viewOf: async (user) => (isAbsent ? undefined : real.viewOf(user)),
    reportLogin: async (user, report) => onReport(describe(user, report)),
    reportLogout: async () => {},
    syncRoles: async () => {},
    close: () => {},
  }
  return new Proxy(real, {
    get: (target, name) => {
      if (Object.hasOwn(own, name)) return Reflect.get(own, name)
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

function describe({ username, roles }: User, report: LoginReport | undefined): string {
  const withRoles = report?.call !== 'roles-if-any' || roles.length > 0
  return `the login tells the permission service that ${username} is here, ${
    withRoles ? `with the roles ${joinNames(roles)}` : 'without saying anything about roles'
  }`
}
