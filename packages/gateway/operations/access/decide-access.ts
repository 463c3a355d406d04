/** Decision on an operation's demands by the permissions of a user, without a call. */
import { isReader } from '@fairlead/model/rights/built-in-roles.ts'
import { decide, describeNeed, type Need } from '@fairlead/model/rights/decide.ts'
import type {
  Authorization,
  Enforcement,
  PermissionView,
} from '@fairlead/model/rights/permissions.ts'
import { checksAtGateway, type Demand, isAlwaysDemanded, placeOf } from '../demands.ts'
import type { Operation } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { routeOf } from '../route.ts'
import { isChange, isHarmless } from './guard.ts'

export interface AccessSubject {
  readonly application?: string
  readonly account?: string
  readonly buildService?: string
  readonly serviceAccount?: string
}

interface AccessFacts {
  readonly view: PermissionView | undefined
  readonly subject: AccessSubject
  /** Whether the application may be created; undefined where it exists, or nothing would create it. */
  readonly mayCreate?: boolean
}

export interface Reason {
  readonly need: string
  readonly allowed: boolean
  readonly rule: string
}

export interface AccessDecision {
  readonly decision: 'allowed' | 'denied' | 'depends'
  readonly reasons: Reason[]
  readonly open: string[]
  readonly optional: string[]
}

interface AccessFindings {
  readonly needs: Need[]
  readonly reasons: Reason[]
  readonly open: Set<string>
  readonly optional: Set<string>
}

export function decideAccess(
  operation: Operation,
  { view, subject, mayCreate }: AccessFacts,
): AccessDecision {
  const found: AccessFindings = { needs: [], reasons: [], open: new Set(), optional: new Set() }
  for (const demand of operation.demands)
    collectors[demand.kind](found, demand as never, subject, mayCreate)
  const decisions = found.needs.map((need) => ({ need: describeNeed(need), ...decide(view, need) }))
  const reasons = [...found.reasons, ...decisions]
  const open = view?.admin === true ? [] : [...found.open]
  const isLeft = open.length === 0 && !isHarmless(operation) && !found.needs.some(isChange)
  if (isLeft && view !== undefined && isReader(view)) reasons.push(onlyReads)
  return { decision: conclude(reasons, open), reasons, open, optional: [...found.optional] }
}

/** The decision while no permission service decides: no user is an administrator, and everything else is allowed. */
export function decideWithoutService({ demands }: Operation, hasLogin: boolean): AccessDecision {
  const isForNoUser =
    hasLogin &&
    demands.some((demand) => demand.kind === 'admin' && demand.withoutService === 'nobody')
  const reason = isForNoUser ? noAdministrators : nothingDecided
  return { decision: conclude([reason], []), reasons: [reason], open: [], optional: [] }
}

const onlyReads: Reason = {
  need: 'a role that lets change something',
  allowed: false,
  rule: 'what belongs to no application or account is not changed by users whose roles let them read',
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

function conclude(reasons: readonly Reason[], open: readonly string[]): AccessDecision['decision'] {
  if (reasons.some(({ allowed }) => !allowed)) return 'denied'
  return open.length > 0 ? 'depends' : 'allowed'
}

const collectors: {
  readonly [Kind in Demand['kind']]: (
    found: AccessFindings,
    demand: Extract<Demand, { kind: Kind }>,
    subject: AccessSubject,
    mayCreate: boolean | undefined,
  ) => void
} = {
  nothing: ({ reasons }, { why }) => reasons.push({ need: 'nothing', allowed: true, rule: why }),
  filter: ({ reasons }) =>
    reasons.push({
      need: 'nothing',
      allowed: true,
      rule: 'what the user may not READ is left out of the answer',
    }),
  trigger: ({ optional }) =>
    optional.add(
      'application=NAME: the application of an execution that the trigger names as its parent',
    ),
  'canary-config': (found, _, { application }) =>
    addApplication(found, application, 'WRITE', 'among those of the canary configuration'),
  admin: ({ needs }, { kind }) => needs.push({ kind }),
  'account-manager': ({ needs }, { kind }) => needs.push({ kind }),
  filed: ({ optional }) =>
    optional.add('application=NAME: the application under which the task is filed'),
  'named-application': ({ needs }, { application: name, authorization }) =>
    needs.push({ kind: 'application', name, authorization, whenUnknown: 'admin' }),
  application: (found, { authorization, of }, { application }) =>
    addApplication(found, application, authorization, placeOf(of)),
  // Users ask about an application, whose settings need no more than its own demand.
  notifications: () => {},
  account: (found, { authorization }, { account }) =>
    addNamed(found, 'account', account, authorization),
  'build-service': (found, { authorization }, { buildService }) =>
    addNamed(found, 'build-service', buildService, authorization),
  template: (found, { authorization }, { application }) =>
    addApplication(found, application, authorization, 'among the scopes of the template'),
  definitions(found, _, { application, serviceAccount }) {
    addApplication(
      found,
      application,
      'WRITE',
      'of the definition, as it is stored and as it will be',
    )
    addServiceAccount(found, serviceAccount)
  },
  jobs: (found, _, subject, mayCreate) => addJobs(found, subject, mayCreate),
}

function addJobs(
  found: AccessFindings,
  subject: AccessSubject,
  mayCreate: boolean | undefined,
): void {
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

function addApplication(
  found: AccessFindings,
  name: string | undefined,
  authorization: Authorization,
  place: string,
): void {
  if (name === undefined) found.open.add(`application=NAME: the application ${place}`)
  else found.needs.push({ kind: 'application', name, authorization })
}

function addNamed(
  found: AccessFindings,
  kind: 'account' | 'build-service',
  name: string | undefined,
  authorization: Authorization,
): void {
  if (name !== undefined) found.needs.push({ kind, name, authorization })
  else
    found.open.add(
      kind === 'account' ? 'account=NAME: the account' : 'buildService=NAME: the build service',
    )
}

function addServiceAccount(found: AccessFindings, name: string | undefined): void {
  if (name !== undefined) found.needs.push({ kind: 'service-account', name })
  else
    found.optional.add(
      'serviceAccount=NAME: a service account that a trigger of a definition runs as',
    )
}

export function enforcementOf(
  operation: Operation,
  platform: Pick<Platform, 'permissions' | 'upstreams'>,
): { by: Enforcement; note: string } | undefined {
  if (operation.demands[0].kind === 'nothing') return undefined
  const service = routeOf(operation).forward?.service
  const behind = service ?? 'the service behind it'
  const isOwn = operation.demands.some(isAlwaysDemanded)
  if (!isOwn && !checksAtGateway(operation.demands, service, platform)) {
    const note = `the gateway passes the request on, and ${behind} has the last word: it asks the same permission service, by its own rules`
    return { by: 'services', note }
  }
  if (platform.permissions.enforcement === 'both' && !isOwn) {
    return { by: 'both', note: `the gateway refuses it, and so may ${behind}` }
  }
  return { by: 'gateway', note: 'the gateway refuses it before anything is passed on' }
}
