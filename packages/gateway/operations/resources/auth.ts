/** The logged-in user, login and logout, sessions, and last resorts of administrators. */

import { GatewayError } from '@fairlead/base/errors.ts'
import {
  AnyObject,
  countModel,
  flagModel,
  maybeText,
  model,
  nonEmpty,
  nothing,
  TextList,
  textModel,
} from '@fairlead/base/json/schemas.ts'
import { toUserKey } from '@fairlead/base/names/user-name.ts'
import { z } from 'zod'
import { createPage, escapeHtml, type Site } from '../../http/page.ts'
import { parseAccept } from '../../http/parse-accept.ts'
import type { User } from '../../http/request-state.ts'
import { createFarewellPage } from '../../login/login-page.ts'
import { checkRedirectTarget } from '../../login/redirect-target.ts'
import type { UserSession } from '../../sessions/sessions.ts'
import { requireAdministrator } from '../access/application-access.ts'
import { get, operationsWith } from '../declare.ts'
import { adminOfExecutions, adminOnly, open } from '../demands.ts'
import {
  DirectAnswer,
  type HttpMethod,
  type Operation,
  type OperationRequest,
  StreamedAnswer,
} from '../operation.ts'
import type { Platform } from '../platform.ts'
import { mayMintTokens } from './api-tokens.ts'
import { usernameOf } from './caller.ts'

const nullableText = z.string().nullable()

const UserIdentity = z
  .strictObject({
    username: z.string(),
    email: nullableText,
    firstName: nullableText,
    lastName: nullableText,
    roles: TextList.describe(
      'Those of the permission service, or those learnt at login while it knows none.',
    ),
    allowedAccounts: TextList.describe('Accounts that the user may write to, as of the login.'),
    authorities: z
      .array(z.strictObject({ authority: z.string() }))
      .describe('The roles once more.'),
    enabled: z.literal(true),
    accountNonExpired: z.literal(true),
    accountNonLocked: z.literal(true),
    credentialsNonExpired: z.literal(true),
  })
  .meta({ id: 'UserIdentity' })
type UserIdentity = z.infer<typeof UserIdentity>

const CurrentUserModel = UserIdentity.extend({
  isAdmin: z.boolean(),
  canMintApiTokens: z.boolean(),
  maxUserTokenLifetimeDays: z.int().optional().describe('Present while there are API tokens.'),
  maxServiceAccountTokenLifetimeDays: z
    .int()
    .optional()
    .describe('Present while there are API tokens.'),
}).meta({ id: 'CurrentUser' })
type CurrentUserModel = z.infer<typeof CurrentUserModel>

const onlyAdmins = { 403: 'The caller is no administrator.' }

const own = operationsWith({ core: true, demands: open('caller only') })
const administrator = operationsWith({ demands: adminOnly, answer: nothing, errors: onlyAdmins })

export const authOperations: Operation[] = [
  get('userUsingGET', '/auth/user', 'Get the current user', {
    core: true,
    demands: open('describes the caller'),
    description: 'The logged-in user; without login an empty body. Needs no login.',
    handle: currentUser,
    answer: CurrentUserModel.optional(),
  }),
  own.get(
    'getServiceAccountsUsingGET',
    '/auth/user/serviceAccounts',
    'List usable service accounts',
    {
      description: 'Names of the service accounts that the caller may use.',
      query: {
        application: maybeText.describe(
          'Only those that may use this application; all of them when none may.',
        ),
      },
      handle: async ({ state, query }, { permissions }) =>
        state.user === undefined
          ? []
          : permissions.serviceAccountsOf(state.user, query['application'] as string | undefined),
      answer: TextList,
    },
  ),
  own.get('loggedOutUsingGET', '/auth/loggedOut', 'Show the logout page', {
    description: 'A farewell, shown after the logout. Needs no login.',
    handle: async (request, platform) => sayFarewell(request, platform),
    cost: 0,
    answer: z.string(),
  }),
  own.get('redirectUsingGET', '/auth/redirect', 'Return to the web UI', {
    description:
      'Sends a logged-in browser back to the web UI. Asking for it without login starts the login.',
    query: {
      to: textModel.describe(
        'Absolute URL within the web UI, fragment included, or an address of the console, as `/console/applications`.',
      ),
    },
    handle: async ({ search, state }, { settings }) =>
      new DirectAnswer(302, undefined, {
        location: checkRedirectTarget(search.getAll('to'), settings, state.baseUrl),
      }),
    success: 302,
    answer: nothing,
    errors: {
      400: 'The address is neither that of the web UI, `services.deck.baseUrl`, nor one of the console.',
    },
  }),
  administrator.post('syncUsingPOST', '/auth/roles/sync', 'Synchronise roles', {
    core: true,
    description: 'Has the permission service read role memberships again. For administrators.',
    handle: async (_request, platform) => platform.permissions.syncRoles(),
  }),
  get('rawUser', '/auth/rawUser', 'Get the user without permissions', {
    demands: open('caller only'),
    description: 'The caller as stored at login, without asking the permission service.',
    handle: async ({ state }) => state.user && toIdentity(state.user, state.user.roles),
    answer: UserIdentity.optional(),
  }),
  ...(['GET', 'POST', 'PUT', 'DELETE'] as const).map(logoutOperation),
  administrator.post('deleteSessionCache', '/auth/deleteSessionCache', 'End all sessions', {
    description: 'Ends all sessions, the caller’s included. For administrators.',
    handle: async (_request, platform) => {
      await platform.login.sessions.endAll()
    },
  }),
  get('root', '/', 'Open the web UI', {
    demands: open('caller only'),
    description:
      'Redirects the browser to the web UI, or to the console while no address of a web UI is configured.',
    handle: async ({ state, headers }, { settings, site }) => {
      const own = (path: string) =>
        new DirectAnswer(302, undefined, { location: `${state.baseUrl}${path}` })
      if (!settings.uiUnknown)
        return settings.uiUrl === ''
          ? own('/auth/user')
          : new DirectAnswer(302, undefined, { location: settings.uiUrl })
      // Clients that follow redirects after their login, such as spin, must not end where nothing listens.
      if (settings.servesConsole) return own('/console/')
      const wantsPage = String(headers.accept ?? '').includes('text/html')
      return wantsPage
        ? welcome(site, state.user?.username ?? 'anonymous', settings.uiUrl)
        : own('/auth/user')
    },
    success: 302,
    answer: nothing,
  }),
]

function welcome({ brand }: Site, username: string, uiUrl: string): DirectAnswer {
  const { html, headers } = createPage(
    'Welcome',
    `
      <h1>Welcome, ${escapeHtml(username)}</h1>
      <p>This is the API of your delivery platform; its console is switched off (<code>console.enabled</code>).</p>
      <p><a href="swagger-ui/index.html">Browse the API</a></p>
      <p>Deck, Spinnaker's web UI, may run at <a href="${escapeHtml(uiUrl)}">${escapeHtml(uiUrl)}</a>; tell its address in
      <code>services.deck.baseUrl</code>, and this page leads there.</p>
      <p><a href="auth/logout">Sign out</a></p>`,
    '',
    brand,
  )
  return new DirectAnswer(200, html, headers)
}

function logoutOperation(method: HttpMethod): Operation {
  return {
    id: method === 'GET' ? 'logout' : `logoutUsing${method}`,
    method,
    path: '/auth/logout',
    demands: open('caller only'),
    summary: 'Log out',
    description: 'Ends the session and leads to the farewell. Needs no login.',
    async handle({ state, headers }, { login }) {
      await login.logout(state, headers)
      return new DirectAnswer(302, undefined, { location: `${state.baseUrl}/auth/loggedOut` })
    },
    success: 302,
    cost: 0,
    answer: nothing,
  }
}

async function currentUser(
  { state }: OperationRequest,
  platform: Platform,
): Promise<CurrentUserModel | undefined> {
  const { permissions, login } = platform
  const { user } = state
  if (user === undefined) return undefined
  const view = permissions.enabled ? await permissions.viewOf(user) : undefined
  const roles = view?.roles.map(({ name }) => name) ?? []
  return {
    ...toIdentity(user, roles.length > 0 ? roles : user.roles),
    isAdmin: view?.admin === true,
    canMintApiTokens: await mayMintTokens(state, platform),
    ...(login.tokens !== undefined && {
      maxUserTokenLifetimeDays: login.tokens.settings.maxUserDays,
      maxServiceAccountTokenLifetimeDays: login.tokens.settings.maxServiceAccountDays,
    }),
  }
}

function toIdentity({ method, ...user }: User, roles: readonly string[]): UserIdentity {
  const named = roles.filter((role) => role.trim() !== '')
  return {
    ...user,
    username: user.username,
    email: user.email,
    roles: [...roles],
    authorities: named.map((authority) => ({ authority })),
    enabled: true,
    accountNonExpired: true,
    accountNonLocked: true,
    credentialsNonExpired: true,
  }
}

const farewells = [
  'Moored and secured. Come back soon.',
  'The lines are cast off. Fair winds!',
  'You are signed out. Your pipelines keep sailing.',
  'Anchors aweigh, and goodbye.',
  'The watch is over. Sleep well.',
] as const

function sayFarewell({ headers }: OperationRequest, { site, settings }: Platform): unknown {
  const said = farewells[Math.floor(Math.random() * farewells.length)] as string
  if (parseAccept(headers.accept, ['json', 'yaml', 'text']) !== 'text') return said
  if (!/\btext\/html\b/i.test(headers.accept ?? '')) {
    return new DirectAnswer(200, said, { 'content-type': 'text/plain;charset=UTF-8' })
  }
  const page = createFarewellPage(
    { ...site, ui: settings.uiUnknown ? { ...settings, uiUrl: '' } : settings },
    said,
  )
  return new DirectAnswer(200, page.html, page.headers)
}

const refusals = { 403: 'The caller is not an administrator.' }

const Hydration = model('Hydration', {
  dryRun: z.boolean().optional(),
  executions: z
    .record(
      z.string(),
      z.looseObject({ canApply: z.boolean().nullish(), actions: z.array(AnyObject).nullish() }),
    )
    .optional()
    .describe('By id: what is or would be created.'),
})

const stuck = operationsWith({ demands: adminOfExecutions, errors: refusals })

export const adminOperations: Operation[] = [
  get('getAdminUsingGET', '/admin', 'Check for administrator', {
    demands: open('caller only'),
    description: 'The name of the caller, and whether the caller is an administrator.',
    handle: async (request, platform) => ({
      username: usernameOf(request),
      isAdmin: await platform.permissions.isAdmin(request.state.user),
    }),
    answer: z.object({ username: z.string(), isAdmin: z.boolean() }),
  }),
  stuck.put(
    'forceCancelPipelineUsingPUT',
    '/admin/executions/forceCancel',
    'Force-cancel an execution',
    {
      description: 'Marks an execution and its stages as cancelled without running anything.',
      query: {
        executionId: nonEmpty,
        executionType: z.enum(['PIPELINE', 'ORCHESTRATION']).default('PIPELINE'),
      },
      handle: forceCancel,
      answer: nothing,
    },
  ),
  stuck.post('hydrateQueueUsingPOST', '/admin/executions/hydrate', 'Requeue an execution', {
    description:
      'Creates the work of a running execution again, or with `dryRun` reports what would be created.',
    query: { executionId: nonEmpty, dryRun: flagModel.default(true) },
    handle: hydrate,
    answer: Hydration,
  }),
]

async function forceCancel(request: OperationRequest): Promise<void> {
  const { executionId, executionType } = request.query
  const query = { executionId, executionType, canceledBy: usernameOf(request) }
  await request.json('orca', { method: 'PUT', path: '/admin/forceCancelExecution', query })
}

async function hydrate(request: OperationRequest): Promise<StreamedAnswer> {
  const { executionId, dryRun } = request.query
  return new StreamedAnswer('orca', {
    method: 'POST',
    path: '/admin/queue/hydrate',
    query: { executionId, dryRun },
  })
}

const LoginSession = z
  .object({
    id: z.string(),
    current: z.boolean().describe('Whether this request belongs to it.'),
    method: z.string().describe('How the user logged in.'),
    createdAt: z.string().optional().describe('Moment of the login, ISO 8601, UTC.'),
    lastUsedAt: z.string().describe('To about a minute.'),
    address: z.string().optional().describe('Address from which the user logged in.'),
    userAgent: z.string().optional().describe('Browser with which the user logged in.'),
  })
  .meta({ id: 'LoginSession' })
type LoginSession = z.infer<typeof LoginSession>

const maxLimit = 1000
const query = { username: maybeText.describe('Another user. For administrators.') }
const errors = { 403: 'Only administrators may ask about others.' }

const ending = operationsWith({
  demands: open('caller only'),
  query,
  success: 204,
  answer: nothing,
})

export const loginSessionOperations: Operation[] = [
  get('listSessionsUsingGET', '/auth/sessions', 'List login sessions', {
    demands: open('caller only'),
    description:
      'Sessions of the caller, the one used last first. While there are more, the header `Link` has the next page, `rel="next"`.',
    query: {
      ...query,
      limit: z.int().min(1).max(maxLimit).default(100).describe('Size of a page.'),
      offset: countModel.default(0).describe('Position in the list, as in `Link`.'),
    },
    handle: list,
    answer: z.array(LoginSession),
    errors,
  }),
  ending.remove('endOtherSessionsUsingDELETE', '/auth/sessions', 'End other sessions', {
    description: 'Ends all other sessions of the caller; of another user, all.',
    handle: async (request, platform) => {
      const username = await whose(request, platform)
      const current = platform.login.sessionKeyOf(request.state)
      if (username !== undefined) await platform.login.sessions.endOthers(username, current)
    },
    errors,
  }),
  ending.remove('endSessionUsingDELETE', '/auth/sessions/{id}', 'End a session', {
    handle: async (request, platform) => {
      const { id = '' } = request.path
      const username = await whose(request, platform)
      const ended = username !== undefined && (await platform.login.sessions.endOne(username, id))
      if (!ended)
        throw new GatewayError('NOT_FOUND', 'There is no such session, or it has ended already.')
    },
    errors: { ...errors, 404: 'There is no such session.' },
  }),
]

async function list(
  request: OperationRequest,
  platform: Platform,
): Promise<LoginSession[] | DirectAnswer> {
  const username = await whose(request, platform)
  if (username === undefined) return []
  const [limit, offset] = [request.query['limit'] as number, request.query['offset'] as number]
  const { sessions, next } = await platform.login.sessions.ofUser(username, { offset, limit })
  const current = platform.login.sessionKeyOf(request.state)
  const shown = sessions.map((session) => toLoginSession(session, current))
  if (next === undefined) return shown
  const wanted = request.query['username'] as string | undefined
  const page = new URLSearchParams({
    ...(wanted !== undefined && { username: wanted }),
    limit: `${limit}`,
    offset: `${next}`,
  })
  return new DirectAnswer(200, shown, { link: `<?${page}>; rel="next"` })
}

async function whose(request: OperationRequest, platform: Platform): Promise<string | undefined> {
  const own = request.state.user?.username
  const wanted = request.query['username'] as string | undefined
  if (!platform.login.active) return undefined
  if (wanted !== undefined && toUserKey(wanted) !== toUserKey(own ?? ''))
    await requireAdministrator(request.state, platform)
  return wanted ?? own
}

function toLoginSession(
  { id, key, content, lastUseMs }: UserSession,
  current: string | undefined,
): LoginSession {
  const { user, loggedInAtMs, loginOrigin } = content
  return {
    id,
    current: key === current,
    method: user?.method ?? '',
    ...(loggedInAtMs !== undefined && { createdAt: new Date(loggedInAtMs).toISOString() }),
    lastUsedAt: new Date(lastUseMs).toISOString(),
    ...(loginOrigin !== undefined && { address: loginOrigin.address }),
    ...(loginOrigin?.userAgent !== undefined && { userAgent: loginOrigin.userAgent }),
  }
}
