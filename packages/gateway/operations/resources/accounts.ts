/** Cloud accounts, and the definitions of those that may change at run time. */

import { GatewayError } from '@fairlead/base/errors.ts'
import { flagModel, integer, maybeText, nothing } from '@fairlead/base/json/schemas.ts'
import { type JsonObject, withoutNulls } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import type { Account } from '@fairlead/model/environments/accounts.ts'
import { allowedAccounts } from '@fairlead/model/rights/allowed-accounts.ts'
import { rolesIn } from '@fairlead/model/rights/permissions.ts'
import { z } from 'zod'
import type { UpstreamCall } from '../../upstreams/upstream-call.ts'
import { createAccountFilter } from '../access/application-access.ts'
import { get, operationsWith, remove } from '../declare.ts'
import { demandsNothing, filteredBy, managesAccounts } from '../demands.ts'
import { AccountDefinition, AccountModel } from '../models/infrastructure.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { noteAge } from '../staleness.ts'

const listsAccounts = demandsNothing(
  'users see the accounts that they may read, each with whether they may write to it',
  'reads',
)

const account = operationsWith({ core: true, demands: listsAccounts })
const definition = operationsWith({ body: AccountDefinition, answer: AccountDefinition })

export const accountOperations: Operation[] = [
  account.get('getAccountsUsingGET', '/credentials', 'List accounts', {
    description:
      'Accounts that the caller may read, with `authorized`. Served from a list that is refreshed every half minute.',
    query: { expand: flagModel.default(false).describe('All fields of each account.') },
    handle: listAccounts,
    answer: z.array(AccountModel),
  }),
  account.get('getAccountUsingGET', '/credentials/{account}', 'Get an account', {
    description: 'One account with all its fields and `authorized`.',
    handle: findAccount,
    answer: AccountModel,
    errors: { 404: 'There is no account of that name that the caller may read.' },
  }),
  get('getAccountsByTypeUsingGET', '/credentials/type/{accountType}', 'List account definitions', {
    demands: filteredBy('account'),
    description: 'Stored account definitions of one cloud provider, ordered by name.',
    query: {
      limit: integer.optional(),
      startingAccountName: maybeText.describe('The first name of the page.'),
    },
    forward: 'clouddriver',
    answer: z.array(AccountDefinition),
  }),
  definition.post('createAccountUsingPOST', '/credentials', 'Create an account definition', {
    demands: managesAccounts,
    handle: (request, platform) =>
      change(request, platform, { method: 'POST', path: '/credentials', body: request.body }),
  }),
  definition.put('updateAccountUsingPUT', '/credentials', 'Update an account definition', {
    demands: [...managesAccounts, { kind: 'account', authorization: 'WRITE', of: 'body' }],
    handle: (request, platform) =>
      change(request, platform, { method: 'PUT', path: '/credentials', body: request.body }),
  }),
  remove('deleteAccountUsingDELETE', '/credentials/{accountName}', 'Delete an account definition', {
    demands: [...managesAccounts, { kind: 'account', authorization: 'WRITE', of: 'path' }],
    handle: (request, platform) =>
      change(request, platform, {
        method: 'DELETE',
        path: pathTo`/credentials/${request.path['accountName'] as string}`,
      }),
    answer: nothing,
  }),
]

async function listAccounts(request: OperationRequest, platform: Platform): Promise<JsonObject[]> {
  noteAge(request.state, [platform.accounts.freshness], platform.upstreams)
  const [mayRead, mayWrite] = await Promise.all([
    createAccountFilter(request, platform),
    createWriteCheck(request, platform),
  ])
  const toView = request.query['expand'] === true ? toFullView : toShortView
  return platform.accounts
    .list()
    .filter(({ name }) => mayRead(name))
    .map((account) => toView(account, mayWrite(account)))
}

async function findAccount(request: OperationRequest, platform: Platform): Promise<JsonObject> {
  noteAge(request.state, [platform.accounts.freshness], platform.upstreams)
  const name = request.path['account'] as string
  const account = platform.accounts.list().find((one) => one.name === name)
  const mayRead = await createAccountFilter(request, platform)
  if (account === undefined || !mayRead(name)) {
    throw new GatewayError('NOT_FOUND', `There is no account "${name}" that you may read.`)
  }
  const mayWrite = await createWriteCheck(request, platform)
  return toFullView(account, mayWrite(account))
}

/** Decided by the permission service; while there is none, by roles against the permissions of each account. */
async function createWriteCheck(
  request: OperationRequest,
  { accounts, permissions }: Platform,
): Promise<(account: Account) => boolean> {
  const { user } = request.state
  if (user === undefined) return () => false
  const view = permissions.enabled ? await permissions.viewOf(user) : 'off'
  const writable = new Set(allowedAccounts(view, accounts.list(), user.roles).map(foldName))
  return (account) => writable.has(foldName(account.name))
}

function permissionsOf(account: Account): Record<string, string[]> {
  const roles = Object.entries(rolesIn(account))
  return Object.fromEntries(
    roles.map(([authorization, names]) => [authorization, names.map((name) => name.toLowerCase())]),
  )
}

const shortFields = ['name', 'accountId', 'type', 'requiredGroupMembership'] as const

/** Clients read accounts into types that know no null. */
function toShortView(account: Account, authorized: boolean): JsonObject {
  const fields = shortFields.map((field) => [field, account.all[field]])
  return withoutNulls({
    ...Object.fromEntries(fields),
    permissions: permissionsOf(account),
    authorized,
  })
}

function toFullView(account: Account, authorized: boolean): JsonObject {
  return withoutNulls({ ...account.all, permissions: permissionsOf(account), authorized })
}

/** The list of accounts is read again at once, so that the author of the change sees it. */
async function change(
  request: OperationRequest,
  platform: Platform,
  call: UpstreamCall,
): Promise<unknown> {
  const answer = await request.json('clouddriver', call)
  await platform.accounts.refresh()
  return answer
}
