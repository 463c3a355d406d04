/** Lists login sessions and ends them: the caller's own, and for administrators those of others. */
import { z } from 'zod'
import { GatewayError } from '../../errors.ts'
import { countModel, nothing, textModel } from '../../json/schemas.ts'
import { toUserKey } from '../../names/user-name.ts'
import type { UserSession } from '../../sessions/sessions.ts'
import { requireAdministrator } from '../access/application-access.ts'
import { get, operationsWith } from '../declare.ts'
import { ownAffair } from '../demands.ts'
import { DirectAnswer, type Operation, type OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'

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
const query = { username: textModel.optional().describe('Another user. For administrators.') }
const errors = { 403: 'Only administrators may ask about others.' }

const ending = operationsWith({ demands: ownAffair, query, success: 204, answer: nothing })

export const loginSessionOperations: Operation[] = [
  get('listSessionsUsingGET', '/auth/sessions', {
    demands: ownAffair,
    summary: 'List login sessions',
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
  ending.remove('endOtherSessionsUsingDELETE', '/auth/sessions', {
    summary: 'End other sessions',
    description: 'Ends all other sessions of the caller; of another user, all.',
    handle: async (request, platform) => {
      const username = await whose(request, platform)
      const current = platform.login.sessionKeyOf(request.state)
      if (username !== undefined) await platform.login.sessions.endOthers(username, current)
    },
    errors,
  }),
  ending.remove('endSessionUsingDELETE', '/auth/sessions/{id}', {
    summary: 'End a session',
    handle: async (request, platform) => {
      const { id = '' } = request.path
      const username = await whose(request, platform)
      const ended = username !== undefined && (await platform.login.sessions.endOne(username, id))
      if (!ended) throw new GatewayError('NOT_FOUND', 'There is no such session, or it has ended already.')
    },
    errors: { ...errors, 404: 'There is no such session.' },
  }),
]

async function list(request: OperationRequest, platform: Platform): Promise<LoginSession[] | DirectAnswer> {
  const username = await whose(request, platform)
  if (username === undefined) return []
  const [limit, offset] = [request.query['limit'] as number, request.query['offset'] as number]
  const { sessions, next } = await platform.login.sessions.listOf(username, { offset, limit })
  const current = platform.login.sessionKeyOf(request.state)
  const shown = sessions.map((session) => toLoginSession(session, current))
  if (next === undefined) return shown
  const wanted = request.query['username'] as string | undefined
  const page = new URLSearchParams({ ...(wanted !== undefined && { username: wanted }), limit: `${limit}`, offset: `${next}` })
  return new DirectAnswer(200, shown, { link: `<?${page}>; rel="next"` })
}

async function whose(request: OperationRequest, platform: Platform): Promise<string | undefined> {
  const own = request.state.user?.username
  const wanted = request.query['username'] as string | undefined
  if (!platform.login.active) return undefined
  if (wanted !== undefined && toUserKey(wanted) !== toUserKey(own ?? '')) await requireAdministrator(request.state, platform)
  return wanted ?? own
}

function toLoginSession({ id, key, content, lastUseMs }: UserSession, current: string | undefined): LoginSession {
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
