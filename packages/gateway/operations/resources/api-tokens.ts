/** API tokens: users manage their own, administrators those of service accounts. */

import { GatewayError } from '@fairlead/base/errors.ts'
import { model, nothing, TextList } from '@fairlead/base/json/schemas.ts'
import { describeChoice, nearestName } from '@fairlead/base/names/edit-distance.ts'
import { toUserKey } from '@fairlead/base/names/user-name.ts'
import { z } from 'zod'
import type { RequestState, User } from '../../http/request-state.ts'
import type { Principal, StoredToken } from '../../login/tokens/token-store.ts'
import type { IssuedToken as Issued, Tokens } from '../../login/tokens/tokens.ts'
import { requireAdministrator } from '../access/application-access.ts'
import { get, operationsWith, post } from '../declare.ts'
import { adminOnly, demandsNothing, open } from '../demands.ts'
import { parseMoment } from '../moment.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { readList } from '../upstream-shape.ts'

const moment = z.string().describe('ISO 8601, UTC.')

const ApiToken = z
  .object({
    id: z.string(),
    name: z.string(),
    principalId: z.string().describe('Whom the token speaks for.'),
    principalType: z.enum(['USER', 'SERVICE_ACCOUNT']),
    createdByUserId: z.string(),
    createdAt: moment,
    rotatedAt: moment.optional(),
    expiresAt: moment.optional().describe('Absent: never.'),
    lastUsedAt: moment.optional().describe('To about a minute.'),
    readOnly: z.boolean(),
    applications: TextList.optional().describe('Absent: all.'),
    operations: TextList.optional().describe('Absent: all.'),
  })
  .meta({ id: 'ApiToken' })
type ApiToken = z.infer<typeof ApiToken>

export const IssuedApiToken = ApiToken.extend({
  token: z.string().describe('The secret. It is not shown again.'),
}).meta({
  id: 'IssuedApiToken',
})

const nameList = TextList.nullish()

const CreateToken = z.object({
  name: z
    .string()
    .nullish()
    .describe('Up to 64 characters, unique among the tokens of the principal.'),
  principalType: z.string().nullish().describe('`USER` (default) or `SERVICE_ACCOUNT`.'),
  principalId: z
    .string()
    .nullish()
    .describe('The service account; other users create tokens for themselves only.'),
  expiresAt: z
    .string()
    .nullish()
    .describe('ISO 8601. Default: as late as allowed; for a service account never.'),
  readOnly: z
    .boolean()
    .nullish()
    .describe('Allows reading and the evaluation of expressions only.'),
  applications: nameList.describe('Allows only what is about these applications.'),
  operations: nameList.describe('Allows only the operations with these ids.'),
})
type CreateToken = z.infer<typeof CreateToken>

/** Checked body, with the error that the tokens themselves give. */
const CompleteToken = CreateToken.extend({
  name: z.string().min(1).max(64).describe('Unique among the tokens of the principal.'),
}).meta({ id: 'ApiTokenRequest' })

const RotateToken = z
  .object({
    overlapSeconds: z
      .int()
      .min(0)
      .max(604_800)
      .nullish()
      .describe('For how long the former secret is accepted.'),
  })
  .meta({ id: 'ApiTokenRotation' })

const ServiceAccount = model('ServiceAccount', { name: z.string(), memberOf: TextList.nullish() })

const notFound = { 404: 'There is no such token, or API tokens are switched off.' }
const notAllowed = { 403: 'The caller may not do this to that token.' }

const rotatesItself = demandsNothing(
  'it concerns the caller alone, and a token may replace itself, whatever it is for',
  'itself',
)

const token = operationsWith({ errors: { ...notAllowed, ...notFound } })

export const apiTokenOperations: Operation[] = [
  get('listApiTokensUsingGET', '/auth/apiTokens', 'List API tokens', {
    demands: open('caller only'),
    description:
      'The API tokens of the caller; administrators see those of all service accounts as well.',
    handle: listVisible,
    answer: z.array(ApiToken),
    errors: notFound,
  }),
  post('createApiTokenUsingPOST', '/auth/apiTokens', 'Create an API token', {
    demands: open('caller only'),
    description: 'Creates an API token. Only this response contains its secret.',
    body: { schema: CreateToken, shown: CompleteToken, required: true },
    handle: create,
    success: 201,
    answer: IssuedApiToken,
    errors: { ...notAllowed, ...notFound, 409: 'The name is taken, or there are too many tokens.' },
  }),
  token.get(
    'listAllUserTokensUsingGET',
    '/auth/apiTokens/admin/users',
    'List API tokens of all users',
    {
      demands: adminOnly,
      handle: async (_request, platform) => (await tokensOf(platform).listAll('USER')).map(toToken),
      answer: z.array(ApiToken),
    },
  ),
  token.get(
    'getApiServiceAccountsUsingGET',
    '/auth/apiTokens/serviceAccounts',
    'List service accounts for tokens',
    {
      demands: adminOnly,
      description:
        'Service accounts for which administrators may create tokens. For administrators.',
      handle: async (request, platform) => {
        tokensOf(platform)
        return eligibleAccounts(request)
      },
      answer: z.array(ServiceAccount),
    },
  ),
  token.post('rotateApiTokenUsingPOST', '/auth/apiTokens/{id}/rotate', 'Rotate an API token', {
    demands: rotatesItself,
    description:
      'Gives a token another secret; the former one is accepted a while longer. A token may rotate itself, which does not extend its lifetime.',
    body: { schema: RotateToken, required: false },
    handle: rotate,
    answer: IssuedApiToken,
  }),
  token.remove('revokeApiTokenUsingDELETE', '/auth/apiTokens/{id}', 'Revoke an API token', {
    demands: open('caller only'),
    description: 'Revokes an API token, at once and everywhere.',
    handle: async (request, platform) => {
      const { token, tokens, by } = await findManaged(request, platform)
      await tokens.revoke(token.id, by)
    },
    success: 204,
    answer: nothing,
  }),
]

function tokensOf({ login }: Platform): Tokens {
  if (login.tokens !== undefined) return login.tokens
  throw new GatewayError(
    'NOT_FOUND',
    'API tokens are switched off here. An operator may set api-tokens.enabled: true.',
  )
}

function callerOf({ state }: OperationRequest): User {
  if (state.user === undefined) throw new GatewayError('LOGIN_REQUIRED', 'Log in first.')
  return state.user
}

async function listVisible(request: OperationRequest, platform: Platform): Promise<ApiToken[]> {
  const tokens = tokensOf(platform)
  const caller = callerOf(request)
  const own = await tokens.ofPrincipal({ type: 'USER', id: caller.username })
  if (!(await platform.permissions.isAdmin(caller))) return own.map(toToken)
  return [...own, ...(await tokens.listAll('SERVICE_ACCOUNT'))].map(toToken)
}

async function create(
  request: OperationRequest,
  platform: Platform,
): Promise<z.infer<typeof IssuedApiToken>> {
  const tokens = tokensOf(platform)
  const caller = callerOf(request)
  const wanted = request.body as CreateToken
  const principal = await toPrincipal(request, platform, wanted)
  checkFieldNames(wanted)
  const issued = await tokens.create({
    name: wanted.name ?? '',
    principal,
    method: principal.type === 'USER' ? caller.method : undefined,
    createdBy: caller.username,
    expiresAtMs: parseMoment('expiresAt', wanted.expiresAt),
    limits: {
      readOnly: wanted.readOnly ?? false,
      applications: wanted.applications ?? undefined,
      operations: checkOperations(wanted.operations ?? undefined, platform),
    },
  })
  return toIssuedToken(issued)
}

/** A limit that is misspelt would be no limit. @throws {GatewayError} BAD_ARGUMENT */
function checkFieldNames(wanted: CreateToken): void {
  const known = Object.keys(CreateToken.shape)
  for (const name of Object.keys(wanted).filter((each) => !known.includes(each))) {
    if (nearestName(known, name) !== undefined)
      throw new GatewayError('BAD_ARGUMENT', describeChoice(name, 'a field of a token', known))
  }
}

async function toPrincipal(
  request: OperationRequest,
  platform: Platform,
  wanted: CreateToken,
): Promise<Principal> {
  const type = (wanted.principalType ?? 'USER').toUpperCase()
  if (request.state.token !== undefined) {
    throw new GatewayError(
      'PERMISSION_DENIED',
      'An API token creates no others. Log in to create one.',
    )
  }
  if (type === 'SERVICE_ACCOUNT') {
    await requireAdministrator(request.state, platform)
    const id = wanted.principalId ?? ''
    if ((await eligibleAccounts(request)).some(({ name }) => name === id)) return { type, id }
    throw new GatewayError(
      'BAD_ARGUMENT',
      `"${id.slice(0, 100)}" is no service account for tokens. List it in service-accounts.`,
    )
  }
  if (type !== 'USER')
    throw new GatewayError('BAD_ARGUMENT', '"principalType" is USER or SERVICE_ACCOUNT.')
  const { username } = callerOf(request)
  if (wanted.principalId && toUserKey(wanted.principalId) !== toUserKey(username)) {
    throw new GatewayError(
      'BAD_ARGUMENT',
      'You can create tokens for yourself only. Leave "principalId" out.',
    )
  }
  if (await mayMintTokens(request.state, platform)) return { type, id: username }
  throw new GatewayError(
    'PERMISSION_DENIED',
    'You may not create API tokens. Ask for a role named in api-tokens.allowed-minting-roles.',
  )
}

/**
 * A logged-in user with one of the roles, or an administrator. A token creates no other: that would outlive its end and its
 * limits.
 *
 * @see docs/contracts/authentication.md#api-tokens
 */
export async function mayMintTokens(
  { user, token }: RequestState,
  { login, permissions }: Platform,
): Promise<boolean> {
  if (login.tokens === undefined || user === undefined || token !== undefined) return false
  const { mintingRoles } = login.tokens.settings
  if (mintingRoles === 'all') return true
  const view = permissions.enabled ? await permissions.viewOf(user) : undefined
  const roles = permissions.enabled ? (view?.roles.map(({ name }) => name) ?? []) : user.roles
  return (
    view?.admin === true || roles.some((role) => mintingRoles.includes(role.trim().toLowerCase()))
  )
}

async function eligibleAccounts(request: OperationRequest) {
  return readList(
    await request.call('front50', { path: '/serviceAccounts/tokenEligible' }),
    'front50',
  )
}

async function rotate(
  request: OperationRequest,
  platform: Platform,
): Promise<z.infer<typeof IssuedApiToken>> {
  const { token, tokens, by } = await findManaged(request, platform)
  const { overlapSeconds } = (request.body ?? {}) as z.infer<typeof RotateToken>
  const overlapMs = typeof overlapSeconds === 'number' ? overlapSeconds * 1000 : undefined
  // A stolen token must not extend its own lifetime.
  const renews = request.state.token === undefined
  if (
    renews &&
    token.principal.type === 'USER' &&
    toUserKey(token.principal.id) !== toUserKey(by)
  ) {
    throw new GatewayError(
      'PERMISSION_DENIED',
      `Only ${token.principal.id} may have the secret of this token. You may revoke it.`,
    )
  }
  return toIssuedToken(await tokens.rotate(token.id, { by, renews, overlapMs }))
}

async function findManaged(request: OperationRequest, platform: Platform) {
  const tokens = tokensOf(platform)
  const caller = callerOf(request)
  const token = await tokens.find(request.path['id'] as string)
  const { state } = request
  const own =
    token.principal.type === 'USER' && toUserKey(token.principal.id) === toUserKey(caller.username)
  const allowed =
    state.token === undefined
      ? own || (await platform.permissions.isAdmin(caller))
      : state.token.id === token.id
  if (allowed) return { tokens, token, by: caller.username }
  throw new GatewayError('PERMISSION_DENIED', 'This token belongs to another user.')
}

/** @throws {GatewayError} BAD_ARGUMENT for an id that no operation has: such a token would be good for nothing */
function checkOperations(
  ids: readonly string[] | undefined,
  platform: Platform,
): readonly string[] | undefined {
  const unknown = ids?.find((id) => !platform.operationIds.has(id.trim()))
  if (unknown === undefined) return ids
  throw new GatewayError(
    'BAD_ARGUMENT',
    `There is no operation "${unknown.slice(0, 100)}". GET /openapi.json lists all of them.`,
  )
}

/** Includes the secret, for the one answer that shows it. */
export function toIssuedToken({ token, text }: Issued): z.infer<typeof IssuedApiToken> {
  return { ...toToken(token), token: text }
}

function toToken({ secret, limits, principal, ...token }: StoredToken): ApiToken {
  return {
    id: token.id,
    name: token.name,
    principalId: principal.id,
    principalType: principal.type,
    createdByUserId: token.createdBy,
    createdAt: formatMoment(token.createdAtMs),
    ...(secret.sinceMs !== token.createdAtMs && { rotatedAt: formatMoment(secret.sinceMs) }),
    ...(token.expiresAtMs !== undefined && { expiresAt: formatMoment(token.expiresAtMs) }),
    ...(token.lastUsedAtMs !== undefined && { lastUsedAt: formatMoment(token.lastUsedAtMs) }),
    readOnly: limits.readOnly,
    ...(limits.applications !== undefined && { applications: [...limits.applications] }),
    ...(limits.operations !== undefined && { operations: [...limits.operations] }),
  }
}

function formatMoment(ms: number): string {
  return new Date(ms).toISOString()
}
