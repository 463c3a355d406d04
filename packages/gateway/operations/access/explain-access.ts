/** Explanations of access: the decision, its rules, who enforces it, and the origin of roles. */

import { GatewayError } from '@fairlead/base/errors.ts'
import { maybeText, nonEmpty, TextList, textModel } from '@fairlead/base/json/schemas.ts'
import { toUserKey } from '@fairlead/base/names/user-name.ts'
import type { PermissionView } from '@fairlead/model/rights/permissions.ts'
import { z } from 'zod'
import type { User } from '../../http/request-state.ts'
import { createUser } from '../../login/user.ts'
import type { Permissions } from '../../permissions/fiat-permissions.ts'
import { get, post } from '../declare.ts'
import { formatDemands, open } from '../demands.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { applicationExists, loadResourcePermissions } from './access-resources.ts'
import { isDecided, requireAdministrator } from './application-access.ts'
import {
  type AccessDecision,
  type AccessSubject,
  decideAccess,
  decideWithoutService,
  enforcementOf,
  type Reason,
} from './decide-access.ts'
import { type FoundOperation, findApiOperation } from './find-operation.ts'
import { accountsInPath, applicationsInPath } from './parameters.ts'
import { explainTokenLimits, isLimitedToUse, tokenLimited } from './token-limits.ts'

const AccessExplanation = z
  .object({
    operation: z.string(),
    request: z.string().describe('Method and path.'),
    username: z.string(),
    known: z
      .boolean()
      .describe(
        'Whether the permission service knows the user; users become known when they log in.',
      ),
    admin: z.boolean(),
    roles: z.array(
      z.object({
        name: z.string(),
        source: z
          .string()
          .describe(
            'As the permission service calls it: EXTERNAL, FILE, LDAP, GOOGLE_GROUPS, GITHUB_TEAMS; or SUPPOSED.',
          ),
        from: z.string().describe('The same in words.'),
      }),
    ),
    demands: z.string().describe('What the operation demands.'),
    decision: z.enum(['allowed', 'denied', 'depends']).describe('`depends`: on what `open` lists.'),
    reasons: z.array(z.object({ need: z.string(), allowed: z.boolean(), rule: z.string() })),
    open: TextList.describe(
      'What to add to the question for a decision, as `name=VALUE: what it is`.',
    ),
    optional: TextList.describe(
      'What some requests of this operation need besides, in the same form.',
    ),
    enforcement: z
      .object({ by: z.enum(['gateway', 'services', 'both']), note: z.string() })
      .optional()
      .describe('Who refuses what is denied: see `permissions.enforce`.'),
    resources: z
      .array(
        z.object({
          kind: z.string(),
          name: z.string(),
          permissions: z.record(z.string(), TextList),
        }),
      )
      .optional()
      .describe(
        'Roles by authorization of the requested objects; an object without any is unrestricted. For administrators.',
      ),
  })
  .meta({ id: 'AccessExplanation' })
export type AccessExplanation = z.infer<typeof AccessExplanation>

const question = {
  operation: nonEmpty.describe(
    'Id of the operation, such as savePipelineUsingPOST, or a request, such as `POST /pipelines`.',
  ),
  application: maybeText.describe('The application that it would be about.'),
  account: maybeText.describe('The account that it would be about.'),
  buildService: maybeText.describe('The build service that it would be about.'),
  serviceAccount: maybeText.describe('The service account that a trigger would run as.'),
  username: maybeText.describe('Another user. For administrators.'),
  roles: textModel
    .optional()
    .describe(
      'Roles that the user is supposed to have, separated by commas, instead of the known ones. For administrators.',
    ),
}
type ExplainedQuery = { readonly [Name in keyof typeof question]?: string }

/** Most that one screen asks, so that a request costs about as much as others do. */
const maxQuestions = 50
const Questions = z
  .object({ questions: z.array(z.object(question)).min(1).max(maxQuestions) })
  .meta({ id: 'AccessQuestions' })

const errors = {
  400: 'The permission service cannot suppose roles.',
  403: 'Only administrators may ask about others, and with no token that is limited to applications or other operations.',
  404: 'There is no such operation; the nearest ones are named.',
}

export function createAccessOperations(operations: () => readonly Operation[]): Operation[] {
  return [
    get('explainAccessUsingGET', '/auth/explain', 'Explain access to an operation', {
      demands: open('describes the caller'),
      description:
        'Whether the caller may call an operation, and which rule decides. Nothing is executed.',
      query: question,
      handle: (request, platform) =>
        explainAccess(request, request.query as ExplainedQuery, platform, operations()),
      answer: AccessExplanation,
      errors,
    }),
    post('explainAccessesUsingPOST', '/auth/explain', 'Explain access to several operations', {
      demands: open('describes the caller'),
      changesNothing: true,
      description: `Up to ${maxQuestions} questions at once, answered in their order. Nothing is executed.`,
      body: Questions,
      handle: async (request, platform) => {
        const { questions } = request.body as z.infer<typeof Questions>
        const explanations: AccessExplanation[] = []
        for (const asked of questions)
          explanations.push(await explainAccess(request, asked, platform, operations()))
        return { explanations }
      },
      answer: z
        .object({ explanations: z.array(AccessExplanation) })
        .meta({ id: 'AccessExplanations' }),
      errors,
    }),
  ]
}

async function explainAccess(
  request: OperationRequest,
  query: ExplainedQuery,
  platform: Platform,
  operations: readonly Operation[],
): Promise<AccessExplanation> {
  const { state } = request
  const own = state.user?.username ?? 'anonymous'
  const username = filled(query.username) ?? own
  const isOwn = toUserKey(username) === toUserKey(own)
  const roles = filled(query.roles)?.split(',')
  const isLimited = isLimitedToUse(state)
  const isSupposed = !isOwn || roles !== undefined
  if (isSupposed) {
    await requireAdministrator(state, platform)
    if (isLimited)
      throw tokenLimited('it is limited in use, and so shows only its own user and roles')
  }
  const found = findApiOperation(operations, query.operation ?? '')
  const { operation } = found
  const known = { ...describeOperation(operation), username }
  if (!isDecided(platform)) {
    return {
      ...known,
      known: true,
      admin: false,
      roles: [],
      ...decideWithoutService(operation, platform.login.active),
    }
  }
  const subject = toSubject(found, query)
  const user = isOwn && state.user !== undefined ? state.user : toUser(username)
  const view = await (roles === undefined
    ? platform.permissions.loadView(user)
    : supposeRoles(user, roles, platform))
  const { call } = request
  const decided = await evaluateAccess({
    call,
    permissions: platform.permissions,
    operation,
    user,
    view,
    subject,
    roles,
  })
  const enforcement = enforcementOf(operation, platform)
  const mayLook = isSupposed || (view?.admin === true && !isLimited)
  return {
    ...known,
    known: view !== undefined,
    admin: view?.admin === true,
    roles:
      roles === undefined
        ? explainRoles(view, isOwn ? state.user?.method : await lastMethodOf(username, platform))
        : (view?.roles ?? []).map(({ name }) => ({
            name,
            source: 'SUPPOSED',
            from: 'the question',
          })),
    ...(isOwn ? withTokenLimits(decided, operation, request, subject) : decided),
    ...(mayLook && { resources: await loadResourcePermissions(call, subject) }),
    ...(enforcement && { enforcement }),
  }
}

function describeOperation({ id, method, path, demands }: Operation) {
  return { operation: id, request: `${method} ${path}`, demands: formatDemands(demands) }
}

/** What the question says wins over the path of a request that it names. */
export function toSubject(
  { operation, path }: FoundOperation,
  query: ExplainedQuery,
): AccessSubject {
  const buildServices = operation.demands.flatMap((demand) =>
    demand.kind === 'build-service' ? [demand.parameter] : [],
  )
  return {
    application: filled(query.application) ?? applicationsInPath(path)[0],
    account: filled(query.account) ?? accountsInPath(path)[0],
    buildService: filled(query.buildService) ?? buildServices.map((name) => path[name])[0],
    serviceAccount: filled(query.serviceAccount),
  }
}

function filled(value = ''): string | undefined {
  return value.trim() === '' ? undefined : value
}

export function toUser(username: string): User {
  return createUser('explained', username)
}

interface AccessCheck {
  readonly call: OperationRequest['call']
  readonly permissions: Permissions
  readonly operation: Operation
  readonly user: User
  readonly view: PermissionView | undefined
  readonly subject: AccessSubject
  readonly roles?: readonly string[]
}

export async function evaluateAccess(question: AccessCheck): Promise<AccessDecision> {
  const { operation, view, subject } = question
  return decideAccess(operation, { view, subject, mayCreate: await mayCreate(question) })
}

async function mayCreate(question: AccessCheck): Promise<boolean | undefined> {
  const { call, permissions, operation, user, view, subject, roles } = question
  const { application } = subject
  if (
    application === undefined ||
    view === undefined ||
    !operation.demands.some(({ kind }) => kind === 'jobs')
  )
    return undefined
  if ((await applicationExists(call, application)) !== false) return undefined
  return view.admin || permissions.mayCreateApplication(user, application, roles)
}

async function supposeRoles(
  user: User,
  roles: readonly string[],
  { permissions }: Platform,
): Promise<PermissionView> {
  const view = await permissions.viewWithRoles(user, roles)
  if (view !== undefined) return view
  throw new GatewayError(
    'BAD_ARGUMENT',
    'Only the embedded permission service can suppose roles: leave out `roles`.',
  )
}

async function lastMethodOf(username: string, { login }: Platform): Promise<string | undefined> {
  const newest = await login.sessions
    .ofUser(username, { offset: 0, limit: 1 })
    .catch(() => undefined)
  return newest?.sessions[0]?.content.user?.method
}

function withTokenLimits(
  decided: AccessDecision,
  operation: Operation,
  { state }: OperationRequest,
  { application }: AccessSubject,
): AccessDecision {
  const { token } = state
  if (token === undefined) return decided
  const limits = explainTokenLimits(operation, token, application)
  const need = 'an API token that is meant for it'
  const reasons: Reason[] =
    limits.length === 0
      ? [
          {
            need,
            allowed: true,
            rule: 'the token with which you ask is not limited in this respect',
          },
        ]
      : limits.map((limit) => ({
          need,
          allowed: false,
          rule: `of the token with which you ask: ${limit}`,
        }))
  const decision = limits.length === 0 ? decided.decision : 'denied'
  return { ...decided, decision, reasons: [...decided.reasons, ...reasons] }
}

const providers: Readonly<Record<string, string>> = {
  FILE: 'the role file',
  LDAP: 'the directory',
  GOOGLE_GROUPS: 'Google Groups',
  GITHUB_TEAMS: 'GitHub teams',
}

export function explainRoles(
  view: PermissionView | undefined,
  method: string | undefined,
): AccessExplanation['roles'] {
  return (view?.roles ?? []).map(({ name, source = 'EXTERNAL' }) => ({
    name,
    source,
    from: originOf(source, method),
  }))
}

function originOf(source: string, method: string | undefined): string {
  if (source === 'EXTERNAL')
    return method === undefined ? 'the last login' : `the last login, by ${method}`
  return Object.hasOwn(providers, source)
    ? String(providers[source])
    : `the role provider ${source}`
}
