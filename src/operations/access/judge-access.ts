/** Decision on an operation's demands by the permissions of a user, without a call. */
import { type Decision, decide, describeNeed, type Need } from '../../permissions/decide.ts'
import type { Authorization, Enforcement, PermissionView } from '../../permissions/permissions.ts'
import type { ServiceName } from '../../upstreams/services.ts'
import { type ApplicationSource, checksAtGateway, type Demand, isAlwaysDemanded } from '../demands.ts'
import type { Operation } from '../operation.ts'
import { routeOf } from '../route.ts'

/** What a request would be about. */
export interface AccessSubject {
  readonly application?: string | undefined
  readonly account?: string | undefined
  readonly buildService?: string | undefined
  readonly serviceAccount?: string | undefined
}

interface AccessFacts {
  readonly view: PermissionView | undefined
  readonly subject: AccessSubject
  /** Whether the application may be created; undefined where it exists, or nothing would create it. */
  readonly mayCreate?: boolean | undefined
}

export interface Reason {
  readonly need: string
  readonly allowed: boolean
  readonly rule: string
}

export interface AccessVerdict {
  readonly decision: 'allowed' | 'denied' | 'depends'
  readonly reasons: Reason[]
  /** What has to be added to the question, each as `name=VALUE: what it is`. */
  readonly open: string[]
  /** What may be added, because not every request of the operation needs it. */
  readonly optional: string[]
}

interface Findings {
  readonly needs: Need[]
  readonly reasons: Reason[]
  readonly open: Set<string>
  readonly optional: Set<string>
}

export function judgeAccess(operation: Operation, { view, subject, mayCreate }: AccessFacts): AccessVerdict {
  const found: Findings = { needs: [], reasons: [], open: new Set(), optional: new Set() }
  for (const demand of operation.demands) collect(found, demand, subject, mayCreate)
  const decisions = found.needs.map((need) => toReason(decide(view, need)))
  const reasons = [...found.reasons, ...decisions]
  const open = view?.admin === true ? [] : [...found.open]
  return { decision: conclude(reasons, open), reasons, open, optional: [...found.optional] }
}

/** The verdict while no permission service decides: no user is an administrator, and everything else is allowed. */
export function judgeUndecided({ demands }: Operation, hasLogin: boolean): AccessVerdict {
  const isForNoUser = hasLogin && demands.some((demand) => demand.kind === 'admin' && demand.withoutService === 'nobody')
  const reason = isForNoUser ? noAdministrators : nothingDecided
  return { decision: conclude([reason], []), reasons: [reason], open: [], optional: [] }
}

const noAdministrators: Reason = {
  need: 'an administrator',
  allowed: false,
  rule: 'there is no permission service, so no user is an administrator',
}
const nothingDecided: Reason = {
  need: 'nothing',
  allowed: true,
  rule: 'nothing to decide: no login is required, or there is no permission service',
}

function conclude(reasons: readonly Reason[], open: readonly string[]): AccessVerdict['decision'] {
  if (reasons.some(({ allowed }) => !allowed)) return 'denied'
  return open.length > 0 ? 'depends' : 'allowed'
}

function collect(found: Findings, demand: Demand, subject: AccessSubject, mayCreate: boolean | undefined): void {
  switch (demand.kind) {
    case 'nothing':
      found.reasons.push({ need: 'nothing', allowed: true, rule: demand.why })
      return
    case 'filter':
      found.reasons.push({ need: 'nothing', allowed: true, rule: 'what the user may not READ is left out of the answer' })
      return
    case 'trigger':
      found.optional.add('application=NAME: the application of an execution that the trigger names as its parent')
      return
    case 'canary-config':
      addApplication(found, subject.application, 'WRITE', 'among those of the canary configuration')
      return
    case 'admin':
    case 'account-manager':
      found.needs.push({ kind: demand.kind })
      return
    case 'filed':
      found.optional.add('application=NAME: the application under which the task is filed')
      return
    case 'named-application': {
      const { application: name, authorization } = demand
      found.needs.push({ kind: 'application', name, authorization, whenUnknown: 'admin' })
      return
    }
    case 'application':
      addApplication(found, subject.application, demand.authorization, placeOf(demand.of))
      return
    case 'notifications':
      // Users ask about an application, whose settings need no more than its own demand.
      return
    case 'account':
      addNamed(found, 'account', subject.account, demand.authorization)
      return
    case 'build-service':
      addNamed(found, 'build-service', subject.buildService, demand.authorization)
      return
    case 'template':
      addApplication(found, subject.application, demand.authorization, 'among the scopes of the template')
      return
    case 'definitions':
      addApplication(found, subject.application, 'WRITE', 'of the definition, as it is stored and as it will be')
      addServiceAccount(found, subject.serviceAccount)
      return
    case 'jobs':
      addJobs(found, subject, mayCreate)
  }
}

function addJobs(found: Findings, subject: AccessSubject, mayCreate: boolean | undefined): void {
  if (mayCreate === undefined) addApplication(found, subject.application, 'WRITE', 'of the jobs')
  else found.reasons.push(toCreation(String(subject.application), mayCreate))
  if (subject.account === undefined) found.optional.add('account=NAME: an account that a job names')
  else addNamed(found, 'account', subject.account, 'WRITE')
  addServiceAccount(found, subject.serviceAccount)
}

function toCreation(application: string, allowed: boolean): Reason {
  const rule = allowed
    ? 'there is no such application; creation is not restricted, or a role of the user has CREATE for its name'
    : 'there is no such application; creation is restricted, and no role of the user has CREATE for its name'
  return { need: `CREATE for the application ${application}`, allowed, rule }
}

function addApplication(found: Findings, name: string | undefined, authorization: Authorization, place: string): void {
  if (name === undefined) found.open.add(`application=NAME: the application ${place}`)
  else found.needs.push({ kind: 'application', name, authorization })
}

function addNamed(
  found: Findings,
  kind: 'account' | 'build-service',
  name: string | undefined,
  authorization: Authorization,
): void {
  if (name !== undefined) found.needs.push({ kind, name, authorization })
  else found.open.add(kind === 'account' ? 'account=NAME: the account' : 'buildService=NAME: the build service')
}

function addServiceAccount(found: Findings, name: string | undefined): void {
  if (name !== undefined) found.needs.push({ kind: 'service-account', name })
  else found.optional.add('serviceAccount=NAME: a service account that a trigger of a definition runs as')
}

function placeOf(of: ApplicationSource): string {
  if (of === 'path' || of === 'query' || of === 'body') return `in the ${of}`
  return of === 'started' ? 'of the definition that is started' : `to which the ${of} belongs`
}

function toReason({ need, allowed, rule }: Decision): Reason {
  return { need: describeNeed(need), allowed, rule }
}

interface EnforcementNote {
  readonly by: Enforcement
  readonly note: string
}

/** Who refuses what is denied; undefined where nothing is demanded. */
export function enforcementOf(
  operation: Operation,
  where: { enforcement: Enforcement; isEmbedded: (service: ServiceName) => boolean },
): EnforcementNote | undefined {
  if (operation.demands[0].kind === 'nothing') return undefined
  const service = routeOf(operation).forward?.service
  const behind = service ?? 'the service behind it'
  const isOwn = operation.demands.some(isAlwaysDemanded)
  if (!isOwn && !checksAtGateway(operation.demands, service, where)) {
    const note = `the gateway passes the request on, and ${behind} has the last word: it asks the same permission service, by its own rules`
    return { by: 'services', note }
  }
  if (where.enforcement === 'both' && !isOwn) return { by: 'both', note: `the gateway refuses it, and so may ${behind}` }
  return { by: 'gateway', note: 'the gateway refuses it before anything is passed on' }
}
