/** Accounts that are kept in the infrastructure service's own store and may change while it runs. */

import { z } from 'zod'
import { pathTo } from '../../http/encode-path.ts'
import type { UpstreamCall } from '../../upstreams/upstreams.ts'
import { filteredByAccount, managesAccounts } from '../demands.ts'
import { AccountDefinition } from '../models/infrastructure.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { integer, nothing, text } from '../schemas.ts'

export const accountOperations: Operation[] = [
  {
    id: 'getAccountsByTypeUsingGET',
    section: 'beyond',
    method: 'GET',
    path: '/credentials/type/{accountType}',
    demands: filteredByAccount,
    summary: 'List account definitions',
    description: 'Stored account definitions of one cloud provider, ordered by name.',
    query: {
      limit: integer.optional(),
      startingAccountName: text.optional().describe('The first name of the page.'),
    },
    forward: { service: 'clouddriver', path: '/credentials/type/{accountType}', query: ['limit', 'startingAccountName'] },
    answer: z.array(AccountDefinition),
  },
  {
    id: 'createAccountUsingPOST',
    section: 'beyond',
    method: 'POST',
    path: '/credentials',
    demands: managesAccounts,
    summary: 'Create an account definition',
    body: { schema: AccountDefinition, required: true },
    handle: (request, platform) => change(request, platform, { method: 'POST', path: '/credentials', body: request.body }),
    answer: AccountDefinition,
  },
  {
    id: 'updateAccountUsingPUT',
    section: 'beyond',
    method: 'PUT',
    path: '/credentials',
    demands: [...managesAccounts, { kind: 'account', authorization: 'WRITE', of: 'body' }],
    summary: 'Update an account definition',
    body: { schema: AccountDefinition, required: true },
    handle: (request, platform) => change(request, platform, { method: 'PUT', path: '/credentials', body: request.body }),
    answer: AccountDefinition,
  },
  {
    id: 'deleteAccountUsingDELETE',
    section: 'beyond',
    method: 'DELETE',
    path: '/credentials/{accountName}',
    demands: [...managesAccounts, { kind: 'account', authorization: 'WRITE', of: 'path' }],
    summary: 'Delete an account definition',
    handle: (request, platform) =>
      change(request, platform, { method: 'DELETE', path: pathTo`/credentials/${request.path['accountName'] as string}` }),
    answer: nothing,
  },
]

/** The list of accounts is read again at once, so that the author of the change sees it. */
async function change(request: OperationRequest, platform: Platform, call: UpstreamCall): Promise<unknown> {
  const answer = await request.json('clouddriver', call)
  await platform.accounts.refresh()
  return answer
}
