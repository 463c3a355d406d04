/** Permission and token checks before a request changes anything, and filters of what it lists. */
import { hash } from 'node:crypto'
import { GatewayError } from '@fairlead/base/errors.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { storedTemplate } from '@fairlead/model/pipeline-templates/inheritance.ts'
import { isReader } from '@fairlead/model/rights/built-in-roles.ts'
import { decide, isLeftOpen, type Need } from '@fairlead/model/rights/decide.ts'
import { rightsOf } from '@fairlead/model/rights/permission-view.ts'
import type { Authorization, PermissionView } from '@fairlead/model/rights/permissions.ts'
import { isGranted } from '@fairlead/model/rights/rights.ts'
import type { User } from '../../http/request-state.ts'
import { readsOnly } from '../../permissions/permission-errors.ts'
import { loadServiceAccountNames } from '../../permissions/service-accounts.ts'
import {
  type ApplicationSource,
  checksAtGateway,
  type Demand,
  type FilterField,
  isAlwaysDemanded,
  open,
} from '../demands.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { routeOf } from '../route.ts'
import { type AnswerFilter, filterAnswer, KeptLists } from './answer-filter.ts'
import { isDecided, requireAdministrator, requirePermissions } from './application-access.ts'
import {
  checkCount,
  distinct,
  isAboutBody,
  saysApplication,
  subjectsOfBody,
} from './demand-subjects.ts'
import { checkCarriedDocuments } from './job-form.ts'
import { subjectsMentionedIn } from './mentions.ts'
import {
  deployedNeeds,
  joinNeeds,
  type Needs,
  needsOfCanaryConfig,
  notificationNeeds,
  Owners,
  onApplications,
  templateNeeds,
} from './owners.ts'
import { accountParameters, applicationsInPath, valuesOf } from './parameters.ts'
import type { DemandSubject, OwnedKind } from './subject.ts'
import {
  checkTokenNeeds,
  checkTokenUse,
  isAlwaysReached,
  isLimitedToApplications,
  isMetByToken,
  isRead,
  reachesWithoutApplication,
  tokenLimited,
} from './token-limits.ts'

interface Plan {
  /** Whether the gateway itself checks, as far as permissions decide at all; otherwise the service behind it does. */
  readonly atGateway: boolean
  readonly ahead: readonly Demand[]
  readonly always: readonly Demand[]
  readonly aboutBody: readonly Demand[]
  readonly fields: readonly FilterField[]
  readonly isHarmless: boolean
  /** The address says all that `ahead` and `always` need: no service has to be asked. */
  readonly isAddressed: boolean
}

/** User and token are checked by the same needs: the token by all of them, the user where the gateway decides. */
export class Guard {
  readonly #platform: Platform
  readonly #owners = new Owners()
  readonly #kept = new KeptLists()
  readonly #plans = new WeakMap<Operation, Plan>()
  /** Requests of limited tokens of which the body has to say which application they are about. */
  readonly #open = new WeakSet<OperationRequest['state']>()

  constructor(platform: Platform) {
    this.#platform = platform
  }

  readsBody(operation: Operation, { state }: OperationRequest): boolean {
    return (
      isLimitedToApplications(state) ||
      (this.#planFor(operation).aboutBody.length > 0 && this.#checks(operation))
    )
  }

  check(operation: Operation, request: OperationRequest): Promise<void> | undefined {
    const { state } = request
    checkTokenUse(operation, state)
    const { ahead, always, aboutBody, isAddressed, isHarmless } = this.#planFor(operation)
    const checked = this.#checks(operation) ? ahead : always
    const isLimited = isLimitedToApplications(state)
    if (!isLimited && ahead.length + aboutBody.length === 0 && !isHarmless)
      return this.#checkReach(request, [])
    if (checked.length === 0 && !isLimited) return undefined
    if (
      isAddressed &&
      !isLimited &&
      operation.method !== 'DELETE' &&
      this.#isMetNow(checked, request)
    )
      return undefined
    return this.#checkEach(operation, request, checked)
  }

  /** The common case: what the user may do is cached, and covers what the address names. False: it takes a closer look. */
  #isMetNow(checked: readonly Demand[], request: OperationRequest): boolean {
    const { user } = request.state
    if (user === undefined || !isDecided(this.#platform)) return false
    const view = this.#knownView(user)
    if (view === undefined) return false
    for (const demand of checked) if (!isMetBy(view, demand, request)) return false
    return true
  }

  async #checkEach(
    operation: Operation,
    request: OperationRequest,
    checked: readonly Demand[],
  ): Promise<void> {
    const { state } = request
    const { ahead } = this.#planFor(operation)
    const isLimited = isLimitedToApplications(state)
    const needs = new Map<Demand, Needs>()
    for (const demand of isLimited ? ahead : checked)
      needs.set(demand, await this.#needsOf(demand, request))
    if (isLimited) await this.#checkToken(operation, request, [...needs.values()])
    for (const demand of checked) {
      if (demand.kind === 'admin')
        await requireAdministrator(state, this.#platform, demand.withoutService)
      else await requirePermissions(state, this.#platform, needs.get(demand)?.needs ?? [])
    }
    const { aboutBody, isHarmless } = this.#planFor(operation)
    // A template that does not exist belongs to no application.
    const isTemplate = checked.some(
      (demand) => demand.kind === 'template' && demand.authorization === 'WRITE',
    )
    if (isTemplate || (ahead.length + aboutBody.length === 0 && !isHarmless))
      await this.#checkReach(
        request,
        [...needs.values()].flatMap((each) => each.needs),
      )
    if (operation.method === 'DELETE')
      for (const id of valuesOf(request, ['id'])) this.#owners.forget(id)
  }

  async checkBody(operation: Operation, request: OperationRequest, body: unknown): Promise<void> {
    if (!this.readsBody(operation, request)) return
    checkCarriedDocuments(body)
    const { aboutBody } = this.#planFor(operation)
    const subjects = aboutBody.flatMap((demand) => subjectsOfBody(demand, request, body))
    checkCount(distinct(subjects))
    if (isLimitedToApplications(request.state)) {
      const mentioned = subjectsMentionedIn(body)
      checkCount(distinct(mentioned))
      await this.#checkTokenBody(request, subjects, mentioned)
    }
    if (!this.#checks(operation)) return
    const met: Need[] = []
    for (const subject of distinct(subjects)) {
      if ('later' in subject && (await this.#holdsBack(subject))) continue
      if (subject.kind === 'hidden') throw new GatewayError('PERMISSION_DENIED', subject.problem)
      const { needs } = await this.#needsOfSubject(subject, request)
      await requirePermissions(request.state, this.#platform, needs)
      met.push(...needs)
    }
    const { ahead, isHarmless } = this.#planFor(operation)
    if (ahead.length === 0 && !isHarmless) await this.#checkReach(request, met, body)
  }

  /**
   * The embedded store and engine check later what they hold back until then: what an expression is about, and service accounts that do
   * not exist yet.
   */
  async #holdsBack(subject: DemandSubject): Promise<boolean> {
    const { upstreams } = this.#platform
    const holders = ['front50', 'orca', 'echo'] as const
    if (!holders.every((service) => upstreams.traitsOf(service).holdsBack)) return false
    if (subject.kind !== 'need' || subject.need.kind !== 'service-account') return true
    const name = foldName(subject.need.name)
    return (await loadServiceAccountNames(upstreams)).every((known) => foldName(known) !== name)
  }

  /**
   * Users who only read change what permissions name for them, and nothing that belongs to no application or account. Roles of the
   * operator's own change what no application has, such as images, but file no tasks for applications that do not exist.
   *
   * @param met Needs of a change that the user meets
   * @throws {GatewayError} PERMISSION_DENIED, PERMISSIONS_UNAVAILABLE
   */
  async #checkReach(
    { state }: OperationRequest,
    met: readonly Need[],
    body?: unknown,
  ): Promise<void> {
    if (!isDecided(this.#platform)) return
    const view = await this.#platform.permissions.loadView(state.user)
    if (view?.readsOnly !== true) return
    const changes = met.filter(isChange)
    const isNamed = changes.some((need) => !isLeftOpen(view, need))
    const changesShared = subjectsMentionedIn(body).some(({ kind }) => kind === 'shared')
    if (changesShared || (!isNamed && (changes.length > 0 || isReader(view)))) throw readsOnly()
  }

  filterOf(
    operation: Operation,
    request: OperationRequest,
  ): undefined | Promise<AnswerFilter | undefined> {
    const { fields } = this.#planFor(operation)
    if (fields.length === 0 || !(this.#checks(operation) || isLimitedToApplications(request.state)))
      return undefined
    return this.#createFilter(operation, request, fields)
  }

  async #createFilter(
    operation: Operation,
    request: OperationRequest,
    fields: readonly FilterField[],
  ): Promise<AnswerFilter | undefined> {
    const { token } = request.state
    const reach =
      token?.applications === undefined
        ? ''
        : hash('sha1', JSON.stringify(token.applications), 'base64url')
    if (!this.#checks(operation)) {
      return {
        apply: (answer) => filterAnswer(answer, fields, (need) => isMetByToken(token, need)),
        rights: reach,
      }
    }
    const view = await this.#platform.permissions.loadView(request.state.user)
    if (view?.admin === true && token?.applications === undefined) return undefined
    const filter = (answer: unknown) =>
      filterAnswer(
        answer,
        fields,
        (need) => isMetByToken(token, need) && decide(view, need).allowed,
      )
    const rights = `${view === undefined ? '' : rightsOf(view)}${reach}`
    return {
      apply:
        token === undefined
          ? (answer) => this.#kept.of(answer, view, () => filter(answer))
          : filter,
      rights,
    }
  }

  /** What the caller may do, as one text, where the gateway has checked it; undefined: the service behind it does, or nothing is known. */
  rightsOf(operation: Operation, { user }: OperationRequest['state']): string | undefined {
    if (user === undefined || !this.#checks(operation)) return undefined
    const view = this.#knownView(user)
    return view && rightsOf(view)
  }

  /** Undefined: the permission service has to be asked, or does not know the user, or cannot say. */
  #knownView(user: User): PermissionView | undefined {
    const answer = this.#platform.permissions.lookUp(user)
    return answer instanceof Promise || answer.kind !== 'view' ? undefined : answer.view
  }

  #checks(operation: Operation): boolean {
    return this.#planFor(operation).atGateway && isDecided(this.#platform)
  }

  #planFor(operation: Operation): Plan {
    const known = this.#plans.get(operation)
    if (known !== undefined) return known
    const { upstreams } = this.#platform
    const { demands } = operation
    const ahead = demands.filter(
      (demand) => !isAboutBody(demand) && demand.kind !== 'filter' && demand.kind !== 'nothing',
    )
    const plan: Plan = {
      atGateway: checksAtGateway(demands, routeOf(operation).forward?.service, this.#platform),
      ahead,
      always: ahead.filter(isAlwaysDemanded),
      aboutBody: demands.filter(isAboutBody),
      fields: demands.flatMap((demand) => {
        if (
          demand.kind !== 'filter' ||
          (demand.filteredAt !== undefined &&
            upstreams.traitsOf(demand.filteredAt).filtersByAccount)
        )
          return []
        return demand.by
      }),
      isHarmless: isHarmless(operation),
      isAddressed: ahead.every(isAddressed),
    }
    this.#plans.set(operation, plan)
    return plan
  }

  async #checkToken(
    operation: Operation,
    request: OperationRequest,
    demanded: readonly Needs[],
  ): Promise<void> {
    const { needs, concerns, changesShared } = joinNeeds([
      ...demanded,
      onApplications(applicationsNamedIn(operation, request), 'READ'),
      await this.#startedNeeds(operation, request),
    ])
    if (isAlwaysReached(operation)) return
    if (changesShared) throw sharedChange()
    checkTokenNeeds(request.state, needs)
    if (concerns || reachesWithoutApplication(operation)) return
    if (
      operation.body?.required !== true ||
      !this.#planFor(operation).aboutBody.some(saysApplication)
    )
      throw withoutApplication()
    this.#open.add(request.state)
  }

  async #checkTokenBody(
    request: OperationRequest,
    demanded: readonly DemandSubject[],
    mentioned: readonly DemandSubject[],
  ): Promise<void> {
    let concerns = !this.#open.has(request.state)
    for (const subject of distinct([...mentioned, ...demanded])) {
      if (subject.kind === 'hidden')
        throw tokenLimited('an expression is used where an application or a pipeline must be named')
      const found = await this.#needsOfSubject(subject, request)
      if (found.changesShared) throw sharedChange()
      if (subject.kind === 'deployed' && !found.concerns) throw ofUnknownApplication(subject)
      checkTokenNeeds(request.state, found.needs)
      // Any field may bear the name of an application; only what is demanded makes the request about it.
      concerns ||= found.concerns && demanded.includes(subject)
    }
    if (!concerns) throw withoutApplication()
  }

  /** Where a stored definition is started, its application is checked once it has been found; a token is checked before. */
  async #startedNeeds({ demands }: Operation, request: OperationRequest): Promise<Needs> {
    const started = demands.flatMap((demand) =>
      demand.kind === 'application' && demand.of === 'started' ? [demand] : [],
    )
    const ids = started.flatMap(({ parameter }) =>
      parameter === undefined ? [] : valuesOf(request, [parameter]),
    )
    const all = ids.map((id) =>
      this.#owners.needsOf(request, {
        kind: 'owned',
        what: 'definition',
        id,
        authorization: 'EXECUTE',
        live: true,
      }),
    )
    return joinNeeds(await Promise.all(all))
  }

  async #needsOf(demand: Demand, request: OperationRequest): Promise<Needs> {
    const addressed = addressedNeeds(demand, request)
    if (addressed !== undefined) return addressed
    if (demand.kind === 'template')
      return this.#ownedNeeds(
        request,
        'template',
        templateIdsOf(demand, request),
        demand.authorization,
      )
    if (demand.kind !== 'application' || isNamed(demand.of)) return joinNeeds([])
    const { of, authorization, parameter = 'id' } = demand
    return this.#ownedNeeds(request, of, valuesOf(request, [parameter]), authorization)
  }

  async #ownedNeeds(
    request: OperationRequest,
    what: OwnedKind,
    ids: readonly string[],
    authorization: Authorization,
  ): Promise<Needs> {
    const owned = ids.map((id) =>
      this.#owners.needsOf(request, { kind: 'owned', what, id, authorization }),
    )
    return joinNeeds(await Promise.all(owned))
  }

  async #needsOfSubject(
    subject: Exclude<DemandSubject, { kind: 'hidden' }>,
    request: OperationRequest,
  ): Promise<Needs> {
    switch (subject.kind) {
      case 'need':
        return { needs: [subject.need], concerns: subject.need.kind === 'application' }
      case 'owned':
        return this.#owners.needsOf(request, subject)
      case 'deployed':
        return deployedNeeds(request, subject)
      case 'template':
        return templateNeeds([subject.template], 'WRITE')
      case 'canary-config':
        return needsOfCanaryConfig(subject.config, 'WRITE')
      case 'shared':
        return { needs: [], concerns: true, changesShared: true }
    }
  }
}

/** Whether it reads, or changes nothing that others see, or a sender proves it: also for users who only read. */
export function isHarmless(operation: Operation): boolean {
  const harmless = (demand: Demand) =>
    demand.kind === 'nothing' &&
    (demand.limitedTokens !== 'never' ||
      [...open('caller only'), ...open('signed by sender')].includes(demand))
  return isRead(operation) || operation.demands.some(harmless)
}

export function isChange(need: Need): boolean {
  return need.kind === 'one-of'
    ? need.needs.some(isChange)
    : !('authorization' in need) || need.authorization !== 'READ'
}

/** The address or the body names the application, or the operation finds it. */
function isNamed(of: ApplicationSource): of is Exclude<ApplicationSource, OwnedKind> {
  return of === 'path' || of === 'query' || of === 'body' || of === 'started'
}

/** CREATE is a question of its own to the permission service. */
function isAddressed(demand: Demand): boolean {
  if (demand.kind === 'application')
    return (demand.of === 'path' || demand.of === 'query') && demand.authorization !== 'CREATE'
  return [
    'account-manager',
    'filed',
    'named-application',
    'account',
    'build-service',
    'notifications',
  ].includes(demand.kind)
}

/** Most requests are about one application, which needs no decision that people can read. */
function isMetBy(view: PermissionView, demand: Demand, request: OperationRequest): boolean {
  if (demand.kind === 'application' && demand.of === 'path')
    return applicationsInPath(request.path).every((name) =>
      isGranted(view, 'application', name, demand.authorization),
    )
  return addressedNeeds(demand, request)?.needs.every((need) => decide(view, need).allowed) === true
}

/** What a demand needs whose subject the address names, or the demand itself; undefined for all others. */
function addressedNeeds(demand: Demand, request: OperationRequest): Needs | undefined {
  switch (demand.kind) {
    case 'account-manager':
      return { needs: [{ kind: demand.kind }], concerns: false }
    case 'filed':
      return filedNeeds(request)
    case 'named-application': {
      const { application: name, authorization } = demand
      return {
        needs: [{ kind: 'application', name, authorization, whenUnknown: 'admin' }],
        concerns: true,
      }
    }
    case 'notifications':
      return notificationNeeds(request.path)
    case 'account':
      return named(valuesOf(request, accountParameters), 'account', demand.authorization)
    case 'build-service':
      return named(valuesOf(request, [demand.parameter]), 'build-service', demand.authorization)
    case 'application':
      if (demand.of === 'path')
        return onApplications(applicationsInPath(request.path), demand.authorization)
      return demand.of === 'query'
        ? onApplications(valuesOf(request, ['application']), demand.authorization)
        : undefined
    default:
      return undefined
  }
}

/** The default is no application of the caller's choice. */
function filedNeeds(request: OperationRequest): Needs {
  const names = request.search.has('application') ? valuesOf(request, ['application']) : []
  return {
    needs: names.map((name) => ({
      kind: 'application',
      name,
      authorization: 'WRITE',
      whenUnknown: 'nothing',
    })),
    concerns: false,
  }
}

function templateIdsOf(
  { of }: Extract<Demand, { kind: 'template' }>,
  request: OperationRequest,
): string[] {
  if (of !== 'source') return valuesOf(request, ['id'])
  return valuesOf(request, ['source']).flatMap((source) => storedTemplate(source)?.name ?? [])
}

/** Applications that the address names. In a query they say what is read; a change may name there where its task is filed. */
function applicationsNamedIn(operation: Operation, request: OperationRequest): string[] {
  const inPath = applicationsInPath(request.path)
  return isRead(operation)
    ? [...inPath, ...valuesOf(request, ['application']), ...valuesOf(request, ['applications'])]
    : inPath
}

function named(
  names: readonly string[],
  kind: 'account' | 'build-service',
  authorization: Authorization,
): Needs {
  return { needs: names.map((name) => ({ kind, name, authorization })), concerns: false }
}

function ofUnknownApplication({
  what,
  id,
}: Extract<DemandSubject, { kind: 'deployed' }>): GatewayError {
  const place = what === 'job' ? 'one application, account and region' : 'one account and region'
  return tokenLimited(
    `no application is known for the ${what} "${id}". Name it as it exists, with its ${place}`,
  )
}

function sharedChange(): GatewayError {
  return tokenLimited('it changes what belongs to no single application')
}

function withoutApplication(): GatewayError {
  return tokenLimited('the request does not name the application that it concerns')
}
