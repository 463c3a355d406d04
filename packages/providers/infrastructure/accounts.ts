/** Accounts: the places that can be deployed to, of every provider. */
import { PortError } from '@fairlead/ports/port-error.ts'
import { pathValue } from '@fairlead/ports/requests/request-values.ts'
import type { Account } from './model.ts'
import { type Answer, type Asked, get, type Infrastructure, type InfrastructureRoute } from './route.ts'
import { toAccountView } from './views.ts'

/** Unfiltered: the permission service reads them to know who may use them. */
const accounts: Answer = (_request, { providers, marks }) =>
  providers.flatMap((provider) => provider.accounts).map((account) => toAccountView(account, marks))

const accountsOfType: Answer = (request, { providers, marks }) =>
  providers
    .filter(({ id }) => id === pathValue(request, 'accountType'))
    .flatMap((provider) => provider.accounts)
    .map((account) => toAccountView(account, marks))

const account: Answer = (request, infrastructure) => toAccountView(requireAccount(request, infrastructure), infrastructure.marks)

/** @throws {PortError} 404 */
function requireAccount(request: Asked, { providers }: Infrastructure): Account {
  const name = pathValue(request, 'account')
  const found = providers.flatMap((provider) => provider.accounts).find((one) => one.name === name)
  if (found === undefined) throw new PortError(404, `Account does not exist (name: ${name})`)
  return found
}

const removed: Answer = (request, infrastructure) => {
  requireAccount(request, infrastructure)
  return notStored(request, infrastructure)
}

const notStored: Answer = () => {
  throw new PortError(
    400,
    'Account definitions cannot be stored in this installation. Write them into its configuration (local.accounts), or connect ' +
      'an infrastructure service that stores them (services.clouddriver.baseUrl).',
  )
}

export const allAccounts = get('/credentials', accounts)

export const accountRoutes: InfrastructureRoute[] = [
  allAccounts,
  get('/credentials/:account', account),
  get('/credentials/type/:accountType', accountsOfType),
  { method: 'POST', path: '/credentials', answer: notStored },
  { method: 'PUT', path: '/credentials', answer: notStored },
  { method: 'DELETE', path: '/credentials/:account', answer: removed },
]
