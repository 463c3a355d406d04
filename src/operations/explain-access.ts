/** Explains whether somebody may use an operation: the decision with its rule, the permissions, and the roles with their origin. */
import { z } from 'zod'
import { GatewayError } from '../errors.ts'
import { pathTo } from '../http/encode-path.ts'
import { type Decision, decide, describeNeed, type Need } from '../permissions/decide.ts'
import type { PermissionView } from '../permissions/permissions.ts'
import { checkAdmin } from './administrators.ts'
import { isDecided } from './application-access.ts'
import { type Demand, formatDemands, ownAffair } from './demands.ts'
import type { Operation, OperationRequest } from './operation.ts'
import type { Platform } from './platform.ts'
import { AnyObject, text } from './schemas.ts'
import { isFields } from './upstream-shape.ts'

const AccessExplanation = z.object({
  operation: z.string(),
  username: z.string(),
  demands: z.string().describe('What the operation demands.'),
  decision: z.enum(['allowed', 'denied', 'depends']).describe('`depends`: on a resource that the question does not name.'),
  reasons: z.array(z.object({ need: z.string(), allowed: z.boolean(), rule: z.string() })),
  open: z.array(z.string()).describe('What the question has to name for a decision.'),
  resource: AnyObject.optional().describe('The permissions of the application: roles by authorization. For administrators.'),
  roles: z.array(z.object({ name: z.string(), from: z.string() })),
  admin: z.boolean(),
})
export type AccessExplanation = z.infer<typeof AccessExplanation>

/** @param operations What is served, this operation included once the list is complete */
export function createAccessOperations(operations: () => readonly Operation[]): Operation[] {
  return [
    {
      id: 'explainAccessUsingGET',
      section: 'beyond',
      method: 'GET',
      path: '/auth/explain',
      demands: ownAffair,
      summary: 'Whether the caller may use an operation, and by which rule. Nothing of it is carried out.',
      query: {
        operation: text.describe('Id of the operation, such as savePipelineUsingPOST.'),
        application: text.optional().describe('The application that it would be about.'),
        account: text.optional().describe('The account that it would be about.'),
        username: text.optional().describe('Somebody else. For administrators.'),
      },
      handle: (request, platform) => explainAccess(request, platform, operations()),
      answer: AccessExplanation,
      errors: { 403: 'Only administrators may ask about others.', 404: 'There is no such operation.' },
    },
  ]
}

async function explainAccess(
  request: OperationRequest,
  platform: Platform,
  operations: readonly Operation[],
): Promise<AccessExplanation> {
  const { query, state } = request
  const operation = operations.find(({ id }) => id === query['operation'])
  if (operation === undefined) throw new GatewayError('NOT_FOUND', 'There is no such operation; /openapi.json lists all of them.')
  const own = state.user?.username ?? 'anonymous'
  const username = String(query['username'] ?? own)
  if (username !== own) await checkAdmin(request, platform)
  const known = { operation: operation.id, username, demands: formatDemands(operation.demands) }
  if (!isDecided(platform)) {
    const rule = 'nobody decides: no login is required, or there is no permission service'
    return {
      ...known,
      decision: 'allowed',
      reasons: [{ need: 'nothing', allowed: true, rule }],
      open: [],
      roles: [],
      admin: false,
    }
  }
  const view = await viewOf(request, platform, username)
  const mayLook = view?.admin === true || (await platform.permissions.isAdmin(state.user))
  const resource = mayLook ? await loadPermissions(request, textOf(query['application'])) : undefined
  const judged = judgeAccess(operation, view, { application: textOf(query['application']), account: textOf(query['account']) })
  return { ...known, ...judged, ...(resource && { resource }) }
}

/** What the view of a user means for an operation on these resources. Asks nobody. */
export function judgeAccess(
  operation: Operation,
  view: PermissionView | undefined,
  { application, account }: { application: string | undefined; account: string | undefined },
): Pick<AccessExplanation, 'decision' | 'reasons' | 'open' | 'roles' | 'admin'> {
  const { needs, open } = collectNeeds(operation.demands, application, account)
  const decisions = needs.map((need) => decide(view, need))
  const admin = view?.admin === true
  return {
    decision: conclude(decisions, admin ? [] : open),
    reasons: decisions.map(({ need, allowed, rule }) => ({ need: describeNeed(need), allowed, rule })),
    open,
    roles: (view?.roles ?? []).map(({ name, source }) => ({ name, from: originOf(source) })),
    admin,
  }
}

function conclude(decisions: readonly Decision[], open: readonly string[]): AccessExplanation['decision'] {
  if (decisions.some(({ allowed }) => !allowed)) return 'denied'
  return open.length > 0 ? 'depends' : 'allowed'
}

/** @throws {GatewayError} NOT_FOUND, PERMISSIONS_UNAVAILABLE */
async function viewOf({ state }: OperationRequest, platform: Platform, username: string): Promise<PermissionView | undefined> {
  const nobody = { email: null, firstName: null, lastName: null, roles: [], allowedAccounts: [], method: 'explained' }
  const user = state.user?.username === username ? state.user : { ...nobody, username }
  const answer = await platform.permissions.lookUp(user)
  if (answer.kind === 'unavailable') {
    const { cause } = answer
    throw new GatewayError('PERMISSIONS_UNAVAILABLE', 'The permission service does not answer. Try again later.', { cause })
  }
  return answer.kind === 'view' ? answer.view : undefined
}

/** What the question settles, and what it leaves open. */
function collectNeeds(
  demands: readonly Demand[],
  application: string | undefined,
  account: string | undefined,
): { needs: Need[]; open: string[] } {
  const needs: Need[] = []
  const open: string[] = []
  const add = (
    kind: 'application' | 'account',
    name: string | undefined,
    authorization: 'READ' | 'WRITE' | 'EXECUTE' | 'CREATE',
  ) => (name === undefined ? open.push(kind) : needs.push({ kind, name, authorization }))
  for (const demand of demands) {
    if (demand.kind === 'admin' || demand.kind === 'account-manager') needs.push({ kind: demand.kind })
    if (demand.kind === 'application') add('application', application, demand.authorization)
    if (demand.kind === 'named-application') add('application', demand.application, demand.authorization)
    if (demand.kind === 'account') add('account', account, demand.authorization)
    if (demand.kind === 'definitions' || demand.kind === 'jobs') add('application', application, 'WRITE')
    if (demand.kind === 'jobs' && account !== undefined) add('account', account, 'WRITE')
    if (demand.kind === 'build-service') open.push('build service')
  }
  return { needs, open: [...new Set(open)] }
}

/** Roles by authorization, as the definition store has them; undefined when it has none or cannot say. */
async function loadPermissions(
  request: OperationRequest,
  application: string | undefined,
): Promise<Record<string, unknown> | undefined> {
  if (application === undefined) return undefined
  try {
    const found = await request.json('front50', { path: pathTo`/permissions/applications/${application}` })
    return isFields(found) && isFields(found['permissions']) ? found['permissions'] : undefined
  } catch {
    // The decision stands without it.
    return undefined
  }
}

function originOf(source: string | undefined): string {
  return source === undefined || source === 'EXTERNAL' ? 'the last login' : `the role provider ${source}`
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined
}
